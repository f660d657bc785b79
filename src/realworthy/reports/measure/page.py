"""The page of `measure`: how far a twin is from a robot."""

import math
from collections.abc import Sequence
from pathlib import Path

from realworthy.gap import Gap
from realworthy.reports.elements.numbers import Amount, find_units, join_units
from realworthy.reports.elements.page import Page, Tone, write_page
from realworthy.reports.measure.view import GapView, compute_noise

_MAX_ERROR_OVER_NOISE = 1000.0
"""Error over noise beyond which the ratio is not printed: it compares nothing."""


def write_gap(
    gap: Gap, path: Path | str, *, left_out: Sequence[str] = (), overwrite: bool = False
) -> None:
    """Writes the page of a gap; `left_out` says which recordings are not in it, why.

    One HTML file without links to others, written whole or not at all.
    """
    view = GapView(gap)
    page = Page(
        command="measure",
        title=gap.twin,
        subtitle=describe_recordings(gap),
        warnings=(*gather_warnings(gap), *(f"Excluded: {why}" for why in left_out)),
        tone=_choose_tone(gap),
        verdict=_choose_verdict(gap),
        summary=_summarise(gap),
        tiles=view.tiles,
    )
    write_page("gap.html", page, view, path, overwrite=overwrite)


def describe_recordings(gap: Gap) -> str:
    """`3 recordings, 41.2 s, 6 joints`."""
    seconds = sum(one.track.recording.duration for one in gap.recordings)
    counts = {
        "recording": len(gap.recordings),
        "joint": len(gap.replay.per_joint),
    }
    told = [f"{n} {noun}{'' if n == 1 else 's'}" for noun, n in counts.items()]
    return ", ".join([told[0], str(Amount(seconds, "s")), told[1]])


def gather_warnings(gap: Gap) -> tuple[str, ...]:
    """What makes figures of a gap untrustworthy."""
    warnings = []
    blown = [one.name for one in gap.recordings if one.replay.diverged]
    if blown:
        warnings.append(
            f"The simulation diverged while replaying {', '.join(blown)}: replay "
            "errors are not finite. Look for a wrong unit or sign, or shorten the "
            "twin's time step."
        )
    for one in gap.recordings:
        if one.transition.diverged:
            warnings.append(
                f"{one.name}: {one.transition.diverged} of "
                f"{one.transition.start_count} predictions diverged and are left out."
            )
        if one.track.hangs:
            warnings.append(
                f"{one.name}: the motion of the base was not recorded; it is held "
                "still above the floor, so that this error means little for a "
                "walking robot."
            )
    return tuple(warnings)


def _summarise(gap: Gap) -> str:
    unit = join_units(find_units(gap).values())
    noise, error = compute_noise(gap), gap.replay.position_rmse
    if not math.isfinite(error):
        return (
            f"Replayed from the first measured pose, {gap.twin} diverges, so that "
            "there is no error to state."
        )
    if leading := gap.leading_horizon:
        seconds, short = leading
        return (
            f"{seconds:g} s ahead of measured states {gap.twin} is off by "
            f"{Amount(short, unit)} (root mean square). The motion is unstable: "
            f"replaying it whole, off by {Amount(error, unit)}, says little about the "
            "twin."
        )
    told = (
        f"Replayed from the first measured pose, {gap.twin} is off by "
        f"{Amount(error, unit)} (root mean square)"
    )
    if noise > 0 and error <= _MAX_ERROR_OVER_NOISE * noise:
        return f"{told}, {Amount(error / noise)} times the sensor noise."
    return f"{told}, far above the sensor noise." if error > 0 else f"{told}."


def _choose_verdict(gap: Gap) -> str:
    if not math.isfinite(gap.replay.position_rmse):
        return "The simulation diverged"
    return "At the noise floor" if _is_at_floor(gap) else "There is a gap"


def _choose_tone(gap: Gap) -> Tone:
    if not math.isfinite(gap.replay.position_rmse):
        return "bad"
    return "good" if _is_at_floor(gap) else "attention"


def _is_at_floor(gap: Gap) -> bool:
    return all(one.growth.kind == "noise_floor" for one in gap.recordings)
