"""Rows that are missing or not to be used: where a recording is cut before it is
fitted.

Small gaps are bridged; across long ones nothing is known. While a robot brakes by
itself it does not follow the commands that the recording holds.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from realworthy.errors import BadRecording
from realworthy.recordings.signals import BRAKING, Values

if TYPE_CHECKING:
    from realworthy.recordings.recording import Recording

GAP = 2.5
"""Steps longer than this many median steps are gaps: rows were lost."""
_LONG_S, _LONG_ROWS = 1.0, 25.0
"""[s] and median steps: a gap of more than both is long. Recordings of real robots that
we hold lack up to 0.22 s and 22 rows at a time (crazypad, 2026-11-18), which replays
bridge well; in a second without commands or measurements a robot may do anything, and a
clock that was set jumps by hours."""

_BETWEEN_BRAKES_S = 0.5
"""[s] between two brakes that are worth a part of their own: ten times the time for
which a joint of our stand-ins still shows how it was braked (2026-11-18)."""


def find_gaps(time: Values) -> np.ndarray:
    """Rows after which rows are missing, by the length of the step."""
    steps = np.diff(time)
    return np.flatnonzero(steps > GAP * np.median(steps))


def find_long_gaps(time: Values) -> np.ndarray:
    """Rows after which so many are missing that nothing may be put there."""
    steps = np.diff(time)
    return np.flatnonzero(steps > max(_LONG_S, _LONG_ROWS * float(np.median(steps))))


def check_no_long_gap(time: Values, *, owner: str) -> None:
    """Raises where rows would have to be made up across a long gap."""
    gaps = find_long_gaps(time)
    if len(gaps):
        row = int(gaps[0])
        raise BadRecording(
            f"{owner} has no rows from {time[row]:.9g} to {time[row + 1]:.9g} s, and "
            "nothing may be made up over so long a gap.",
            hint="Cut it there: realworthy.recordings.cut_at_gaps, or Recording.crop.",
        )


def cut_at_gaps(
    recordings: "Iterable[Recording]",
) -> "tuple[list[Recording], tuple[str, ...]]":
    """Recordings without long gaps and without rows in which the robot braked by
    itself, and what was done to which.

    One that has some is cut there: each part that is long enough is a recording of its
    own, and shorter ones are left out.
    """
    whole, said = [], []
    for recording in recordings:
        parts, words = _cut(recording)
        whole += parts
        said += words
    return whole, tuple(said)


def _cut(recording: "Recording") -> "tuple[list[Recording], list[str]]":
    time, braking = recording.time, recording.signals.get(BRAKING)
    gaps = find_long_gaps(time)
    brakes = np.zeros(len(time), bool) if braking is None else braking > 0
    if not len(gaps) and braking is None:
        return [recording], []
    # Parts end where rows are missing, and on both sides of each brake.
    edges = np.union1d(gaps + 1, np.flatnonzero(np.diff(brakes)) + 1)
    ends = np.array_split(np.arange(len(time)), edges.astype(int))
    least = _LONG_S if len(gaps) else _BETWEEN_BRAKES_S
    runs = [
        (float(time[rows[0]]), float(time[rows[-1]]))
        for rows in ends
        if len(rows) > 1 and not brakes[rows[0]]
    ]
    parts = [
        recording.crop(first, last).without(BRAKING)
        for first, last in runs
        if last - first >= least
    ]
    if not parts:
        _refuse(recording, int(brakes.sum()))
    name, seconds = recording.name or "A recording", sum(p.duration for p in parts)
    kept = f"{len(parts)} parts" if len(parts) > 1 else "1 part"
    said = []
    if len(gaps):
        row = int(gaps[0])
        step, more = time[row + 1] - time[row], ", and elsewhere" * (len(gaps) > 1)
        said.append(
            f"{name} lacks rows after {time[row]:.4g} s for {step:.4g} s{more}, and "
            f"was cut there: {kept}, {seconds:.4g} s in all."
        )
    if brakes.any():
        said.append(
            f"The robot braked by itself in {brakes.sum()} of {len(time)} rows of "
            f"{name}, which are left out: {kept}, {seconds:.4g} s in all."
        )
    return parts, said


def _refuse(recording: "Recording", brakes: int) -> None:
    if not brakes:
        check_no_long_gap(recording.time, owner=recording.owner)
    raise BadRecording(
        f"{recording.owner}: the robot braked by itself in {brakes} of "
        f"{len(recording.time)} rows, and nothing between them is long enough to use.",
        hint="Record it again with a faster link, or a longer deadline at the robot.",
    )
