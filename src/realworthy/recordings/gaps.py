"""Rows that are missing: small gaps are bridged, across long ones nothing is known."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from realworthy.errors import BadRecording
from realworthy.recordings.signals import Values

if TYPE_CHECKING:
    from realworthy.recordings.recording import Recording

GAP = 2.5
"""Steps longer than this many median steps are gaps: rows were lost."""
_LONG_S, _LONG_ROWS = 1.0, 25.0
"""[s] and median steps: a gap of more than both is long. Recordings of real robots that
we hold lack up to 0.22 s and 22 rows at a time (crazypad, 2026-11-18), which replays
bridge well; in a second without commands or measurements a robot may do anything, and a
clock that was set jumps by hours."""


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
    """Recordings without long gaps, and what was done to which.

    One that has some is cut there: each part of a second or more is a recording of its
    own, and shorter ones are left out.
    """
    whole, said = [], []
    for recording in recordings:
        gaps = find_long_gaps(recording.time)
        if not len(gaps):
            whole.append(recording)
            continue
        ends = zip([0, *(gaps + 1)], [*gaps, len(recording.time) - 1], strict=True)
        parts = [
            recording.crop(recording.time[first], recording.time[last])
            for first, last in ends
            if recording.time[last] - recording.time[first] >= _LONG_S
        ]
        if not parts:
            check_no_long_gap(recording.time, owner=recording.owner)
        whole += parts
        row, seconds = int(gaps[0]), sum(part.duration for part in parts)
        step = float(recording.time[row + 1] - recording.time[row])
        more = ", and elsewhere" if len(gaps) > 1 else ""
        kept = f"{len(parts)} parts" if len(parts) > 1 else "1 part"
        said.append(
            f"{recording.name or 'A recording'} lacks rows after "
            f"{recording.time[row]:.4g} s for {step:.4g} s{more}, and was cut there: "
            f"{kept}, {seconds:.4g} s in all."
        )
    return whole, tuple(said)
