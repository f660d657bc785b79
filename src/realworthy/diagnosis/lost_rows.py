"""Rows that were lost and stamped as if none were.

A joint cannot move several times as far in one row as in the rows around it and go on
as before. Where it seems to, rows are missing between; how many, all joints that move
tell alike.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings import Recording

Floats = NDArray[np.float64]

AROUND = 3
"""Rows before and after whose speed is held against a jump."""
MIN_ROWS_LOST = 3
"""Rows that must be lost at once to be counted. Loops that now and then run late make
one or two of them: real logs of a double pendulum do, stamped as they should be."""
TICKS = 2.0
"""Encoder steps per row that a joint must move before and after; slower, it creeps and
sticks by itself."""
SPEED_AFTER_OVER_BEFORE = (0.4, 2.5)
"""Speed after over speed before, where a joint goes on as before."""
MIN_STANDARD_ERRORS = 6.0
"""Standard errors by which the number of rows must exceed one."""
MAX_SPREAD = 0.35
"""Relative spread of that number among joints that move."""
FEW_ROWS = 60


@dataclass(frozen=True, slots=True)
class LostRows:
    """Where rows are missing, and the times with them counted."""

    rows: NDArray[np.intp]
    """Rows before which others are missing."""
    counts: NDArray[np.intp]
    """How many are missing there."""
    time: Floats
    """[s] as it would have been stamped."""


def find_lost_rows(recording: Recording) -> LostRows:
    """Jumps of positions that only missing rows explain.

    Only gaps in which something moves can be seen; those at rest harm nobody.
    """
    time = recording.time
    none = np.empty(0, dtype=np.intp)
    names = [f"{joint}.position" for joint in recording.joints]
    if len(time) < FEW_ROWS or not names:
        return LostRows(none, none, time)
    period = np.diff(time)
    # Speeds: a row that is stamped late moved further, and is no jump.
    speed = np.stack([np.diff(recording.signals[n]) for n in names], axis=1)
    speed = speed / period[:, None] * float(np.median(period))
    tick = np.array([_find_tick(recording.signals[n]) for n in names])
    noise = np.maximum(_estimate_noise(speed), 0.5 * tick)
    rows, counts = [], []
    for k in _list_jumps(speed):
        found = _count(speed, noise, tick, k)
        if found is not None:
            rows.append(k + 1)
            counts.append(found)
    extra = np.zeros(len(time))
    extra[rows] = np.array(counts) * float(np.median(period))
    return LostRows(
        np.array(rows, dtype=np.intp),
        np.array(counts, dtype=np.intp),
        time + np.cumsum(extra),
    )


def _list_jumps(speed: Floats) -> list[int]:
    """Steps in which some joint moves twice as far as in any step around."""
    from scipy.ndimage import maximum_filter1d

    size = np.abs(speed)
    behind = maximum_filter1d(size, AROUND, axis=0, origin=AROUND // 2)
    ahead = maximum_filter1d(size, AROUND, axis=0, origin=-(AROUND // 2))
    around = np.full_like(size, np.inf)
    around[1:-1] = np.maximum(behind[:-2], ahead[2:])
    # After rows that repeat themselves motion catches up; nothing is lost.
    stale = maximum_filter1d(np.all(speed == 0, axis=1).astype(int), 2 * AROUND + 1)
    found = np.flatnonzero(np.any(size > 2 * around, axis=1) & (stale == 0))
    return [int(k) for k in found if AROUND < k < len(speed) - AROUND - 1]


def _estimate_noise(speed: Floats) -> Floats:
    """(joints,) noise of a step, by how far steps are from the mean around them."""
    rough = np.abs(speed[2:] - 2 * speed[1:-1] + speed[:-2])
    return np.median(rough, axis=0) / 0.6745 / np.sqrt(6) + 1e-12


def _find_tick(values: Floats) -> float:
    """Smallest distance between two values; 0 where nothing moves."""
    gaps = np.diff(np.unique(values))
    gaps = gaps[gaps > 1e-9 * np.ptp(values)]
    return float(gaps.min()) if len(gaps) else 0.0


def _count(speed: Floats, noise: Floats, tick: Floats, k: int) -> int | None:
    """Rows missing in step k, as the joints that move agree; None where none are."""
    step = speed[k]
    before = speed[k - AROUND : k].mean(axis=0)
    after = speed[k + 1 : k + 1 + AROUND].mean(axis=0)
    around = 0.5 * (before + after)
    own = noise / np.sqrt(2 * AROUND)
    least = np.maximum(4 * own, TICKS * tick)
    moves = (np.abs(before) > least) & (np.abs(after) > least)
    ratio = after / np.where(moves, before, 1.0)
    moves &= (ratio > SPEED_AFTER_OVER_BEFORE[0]) & (ratio < SPEED_AFTER_OVER_BEFORE[1])
    if not moves.any():
        return None
    weights = (around[moves] / noise[moves]) ** 2
    times = step[moves] / around[moves]
    mean = float(np.sum(weights * times) / np.sum(weights))
    # A mean of few steps is itself uncertain, in proportion to the number.
    error = np.hypot(
        1 / np.sqrt(np.sum(weights)), mean / np.sqrt(2 * AROUND * np.sum(weights))
    )
    if mean < 1 + MIN_ROWS_LOST - 0.5 or mean - 1 < MIN_STANDARD_ERRORS * error:
        return None
    spread = np.sqrt(np.sum(weights * (times - mean) ** 2) / np.sum(weights))
    if np.count_nonzero(moves) > 1 and spread > MAX_SPREAD * mean:
        return None
    return round(mean) - 1
