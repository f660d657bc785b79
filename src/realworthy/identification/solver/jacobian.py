"""Derivatives of residuals by differences, all in one batch of worlds.

Central ones, or one-sided ones for half the worlds where a search is still far off.

Where some numbers move some joints alone, as in a geared arm, several are moved at once
and separated by the joint that answers (Curtis, Powell and Reid 1974). Thirty columns
then cost as much as six.

Derivatives that tell what can be exchanged from what is known.

Two numbers that can be exchanged, as a drive's `kd` and a joint's `damping`, have the
same column but for the errors of differences: curves and kinks within a step, other
columns that were moved with them. Thousands of rows make a thousandth of a column look
like knowledge of each. So differences are taken again, along the directions that the
columns call strong and weak: what can be exchanged then moves nothing, and an error is
a share of how far a direction moves, not of its parts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.residuals import Point, SumOfSquares
from realworthy.identification.solver.covariance import eliminate_starts

Floats = NDArray[np.float64]
_START_STEP = 30.0
"""Standard deviations by which starts are moved, over the step of z."""
_MIN_TOUCH_SHARE, _MIN_START_TOUCH_SHARE = 0.05, 0.2
"""Share of a column's length on a joint below which it does not count as moving it."""
_MIN_START_LENGTH = 0.1
"""Squared length below which a start is told by its prior alone."""


@dataclass(frozen=True, slots=True)
class Jacobian:
    """Derivatives of N residuals at one point."""

    by_z: Floats
    """(N, d) per unit of z."""
    by_start: Floats
    """(N, k) per sd of the start of the piece that a residual belongs to."""
    lost: tuple[int, ...]
    """Columns of `by_z` that are zero because a world diverged."""


@dataclass(frozen=True, slots=True)
class Colouring:
    """Which of the d + k columns can be moved together."""

    colours: NDArray[np.intp]
    """(columns,) number of the group that a column is moved with."""
    touched: NDArray[np.bool_]
    """(columns, labels) what a column moves."""


def differentiate(
    problem: SumOfSquares,
    z: Floats,
    starts: Floats,
    *,
    step: float = 1e-2,
    by_start: bool = True,
    colouring: Colouring | None = None,
    residuals: Floats | None = None,
) -> Jacobian:
    """Derivatives at (d,) z and (pieces, k) starts; `step` is in scales of z.

    A piece knows no other piece's start, so that one pair of candidates moves the same
    number of every start; they count as known unless `by_start`. At a bound the
    difference is one-sided; everywhere where (N,) `residuals` at that point are given.
    """
    d, k = len(z), problem.start_count
    start_step = _START_STEP * step
    if colouring is None:
        colouring = _tell_all_apart(problem, d + k)
    columns = np.arange(d + k if by_start else d)
    names, groups = np.unique(colouring.colours[columns], return_inverse=True)
    bounds = problem.coordinates
    above = np.minimum(z + step * bounds.scale, bounds.upper)
    below = np.maximum(z - step * bounds.scale, bounds.lower)
    if residuals is None:
        ends, width = [(above, 1), (below, -1)], above - below
    else:  # towards the end that is further
        there = np.where(above - z >= z - below, above, below)
        ends, width = [(there, 1)], there - z
    candidates, moved = [], []
    for to, sign in ends:
        for group in range(len(names)):
            together = columns[groups == group]
            candidates.append(np.where(np.isin(np.arange(d), together), to, z))
            off = start_step * sign * np.isin(np.arange(d, d + k), together)
            moved.append(starts + off)
    answers = problem.residuals(np.array(candidates), np.array(moved))
    values = answers.values.reshape(len(ends), len(names), -1)
    change = values[0] - (values[1] if residuals is None else residuals)
    blown = np.asarray(answers.diverged.reshape(len(ends), -1).any(axis=0))
    width = np.concatenate([width, np.full(k, len(ends) * start_step)])
    out = np.zeros((answers.values.shape[1], d + k))
    for column, group in zip(columns, groups, strict=True):
        if not blown[group]:
            rows = colouring.touched[column][problem.labels]
            out[rows, column] = change[group, rows] / width[column]
    lost = np.flatnonzero(blown[groups] & (columns < d))
    return Jacobian(out[:, :d], out[:, d:], tuple(lost.tolist()))


def colour_columns(problem: SumOfSquares, jacobian: Jacobian) -> Colouring:
    """Groups of columns that move different joints, from one exact Jacobian."""
    d, columns = jacobian.by_z.shape[1], np.hstack([jacobian.by_z, jacobian.by_start])
    count = int(problem.labels.max()) + 1
    parts = [columns[problem.labels == label] for label in range(count)]
    power = np.stack([np.sum(part**2, axis=0) for part in parts], axis=1)
    total = power.sum(axis=1, keepdims=True)
    is_start = np.arange(len(power))[:, None] >= d
    faint = np.where(is_start, _MIN_START_TOUCH_SHARE, _MIN_TOUCH_SHARE)
    touched = (power > faint**2 * total) & ~(is_start & (total < _MIN_START_LENGTH))
    colours = np.zeros(len(touched), dtype=np.intp)
    taken: list[NDArray[np.bool_]] = []
    for i, moved in enumerate(touched):
        free = [c for c, theirs in enumerate(taken) if not (moved & theirs).any()]
        if not free:
            free = [len(taken)]
            taken.append(np.zeros_like(moved))
        colours[i] = free[0]
        taken[free[0]] = taken[free[0]] | moved
    return Colouring(colours, touched)


def _tell_all_apart(problem: SumOfSquares, count: int) -> Colouring:
    labels = int(problem.labels.max()) + 1
    return Colouring(np.arange(count), np.ones((count, labels), dtype=bool))


_DIRECTION_STEP = 1e-2
"""Length of a step, in scales of z."""


def refine_jacobian(
    problem: SumOfSquares, point: Point, jacobian: Jacobian
) -> Jacobian:
    """Derivatives at a point, taken anew along the directions of those at hand.

    Two candidates for each number. Starts answer as they did; numbers within a step of
    an end of their range are left as they are.
    """
    bounds = problem.coordinates
    reach = _DIRECTION_STEP * bounds.scale
    free = (bounds.lower + reach < point.z) & (point.z < bounds.upper - reach)
    free[list(jacobian.lost)] = False
    if not free.any():
        return jacobian
    by_z, scale = jacobian.by_z.copy(), bounds.scale[free]
    sensitivity = (
        eliminate_starts(by_z[:, free], jacobian.by_start, problem.runs) * scale
    )
    axes = np.zeros((len(scale), len(free)))
    axes[:, free] = np.linalg.eigh(sensitivity.T @ sensitivity)[1].T
    by_z[:, free] = _differentiate_along(problem, point, axes) @ axes[:, free] / scale
    return Jacobian(by_z, jacobian.by_start, jacobian.lost)


def _differentiate_along(problem: SumOfSquares, point: Point, axes: Floats) -> Floats:
    """(N, m) central differences along (m, d) `axes` of length one, in scales of z."""
    moves = _DIRECTION_STEP * axes * problem.coordinates.scale
    places = point.z + np.concatenate([moves, -moves])
    starts = np.broadcast_to(point.starts, (len(places), *point.starts.shape))
    answers = problem.residuals(places, starts)
    above, below = np.split(answers.values, 2)
    blown = answers.diverged.reshape(2, -1).any(axis=0)
    return np.where(blown, 0.0, (above - below).T / (2 * _DIRECTION_STEP))
