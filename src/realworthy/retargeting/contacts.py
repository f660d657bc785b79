"""When the feet of a figure stand: low and still, for long enough to be a step."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
GRAVITY = 9.81
_SPEED = 0.13
"""Share of √(g · leg) below which a foot stands: 0.38 m/s for a person, 0.23 m/s for a
dog. Feet in swing reach 1 √(g · leg) and more; those of the CMU walks roll at up to 0.1
while they stand (2026-11-19)."""
_HEIGHT = 0.055
"""Of the leg's length above the lowest it gets, within which a foot stands: 5 cm for a
person, whose ankle rises by 2 cm before the toe follows."""
_MIN_SECONDS = 0.06
"""[s] of a step at least, and of the pause between two: a runner's foot stands 0.15."""
_LOWEST = 2.0
"""Percentile of heights that is the ground: rows below are noise."""


def find_contacts(
    time: Floats, point: Floats, leg: float, *, ground: float | None = None
) -> tuple[Flags, float]:
    """(rows,) whether a point stands, and the height [m] at which it does.

    `ground` is the height of the floor under the point, where that is known.
    """
    speed = np.linalg.norm(np.gradient(smooth(time, point), time, axis=0), axis=1)
    lowest = np.percentile(point[:, 2], _LOWEST) if ground is None else ground
    low = point[:, 2] < lowest + _HEIGHT * leg
    stands = drop_short(time, low & (speed < _SPEED * np.sqrt(GRAVITY * leg)))
    height = np.median(point[stands, 2]) if stands.any() else lowest
    return stands, float(height)


def smooth(time: Floats, values: Floats, seconds: float = 0.02) -> Floats:
    """With a Gaussian of this width [s] over regular rows."""
    from scipy.ndimage import gaussian_filter1d

    rows = seconds / float(np.median(np.diff(time)))
    return gaussian_filter1d(values, rows, axis=0, mode="nearest")


def drop_short(time: Floats, flags: Flags) -> Flags:
    """Without pauses and then steps that are shorter than a step can be."""
    found = flags.copy()
    for value in (False, True):
        for start, end in list_runs(found, value):
            inside = start > 0 and end < len(found) - 1
            if time[end] - time[start] < _MIN_SECONDS and (inside or value):
                found[start : end + 1] = not value
    return found


def list_runs(flags: Flags, value: bool = True) -> list[tuple[int, int]]:
    """First and last row of every run of one value."""
    same = np.concatenate([[False], flags == value, [False]])
    edges = np.flatnonzero(np.diff(same.astype(int)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


_STEEPEST = 0.1
"""Slope of a ground that is taken for a capture's error: 2 to 4 % in walks of CMU that
went over a level floor (2026-11-19). A ramp that is steeper is one."""
_ROOM = 0.1
"""[m] over which feet must go about before their heights say anything of a slope."""
_OFF_GROUND = 0.03
"""[m] above the ground from which a still foot is not on it: at the top of a jump."""


def find_slope(time: Floats, tracks: list[Floats], leg: float) -> Floats:
    """(2,) rise of the ground along x and y, by the places where feet are still.

    Least squares of z = a x + b y + c, one c for each track, with a ridge of `_ROOM`;
    feet that are still in the air are left out in turn.
    """
    parts, heights, group = [], [], []
    for k, track in enumerate(tracks):
        speed = np.linalg.norm(np.gradient(smooth(time, track), time, axis=0), axis=1)
        still = track[speed < _SPEED * np.sqrt(GRAVITY * leg)]
        parts.append(still[:, :2])
        heights.append(still[:, 2])
        group.append(np.full(len(still), k))
    place, z, of = np.concatenate(parts), np.concatenate(heights), np.concatenate(group)
    if len(z) < 10:
        return np.zeros(2)
    place = place - place.mean(axis=0)
    columns = np.hstack([place, of[:, None] == np.arange(len(tracks))]).astype(float)
    kept = np.ones(len(z), dtype=bool)
    slope: Floats = np.zeros(2)
    for _ in range(8):
        rows = columns[kept]
        square = rows.T @ rows + 1e-9 * np.eye(columns.shape[1])
        square[0, 0] += _ROOM**2 * len(rows)
        square[1, 1] += _ROOM**2 * len(rows)
        found = np.linalg.solve(square, rows.T @ z[kept])
        slope = np.asarray(found[:2], dtype=np.float64)
        above = z - columns @ found
        fewer = above < max(_OFF_GROUND, 1.5 * float(np.median(np.abs(above[kept]))))
        if (fewer == kept).all() or fewer.sum() < 10:
            break
        kept = fewer
    return slope if float(np.linalg.norm(slope)) <= _STEEPEST else np.zeros(2)
