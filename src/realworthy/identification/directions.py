"""Derivatives that tell what can be exchanged from what is known.

Two numbers that can be exchanged, as a drive's `kd` and a joint's `damping`, have the
same column but for the errors of differences: curves and kinks within a step, other
columns that were moved with them. Thousands of rows make a thousandth of a column look
like knowledge of each. So differences are taken again, along the directions that the
columns call strong and weak: what can be exchanged then moves nothing, and an error is
a share of how far a direction moves, not of its parts.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.covariance import eliminate_starts
from realworthy.identification.differences import Jacobian
from realworthy.identification.linearised import Point
from realworthy.identification.squares import SumOfSquares

Floats = NDArray[np.float64]
_STEP = 1e-2
"""Length of a step, in scales of z."""


def sharpen(problem: SumOfSquares, point: Point, jacobian: Jacobian) -> Jacobian:
    """Derivatives at a point, taken anew along the directions of those at hand.

    Two candidates for each number. Starts answer as they did; numbers within a step of
    an end of their range are left as they are.
    """
    bounds = problem.coordinates
    reach = _STEP * bounds.scale
    free = (bounds.lower + reach < point.z) & (point.z < bounds.upper - reach)
    free[list(jacobian.lost)] = False
    if not free.any():
        return jacobian
    by_z, scale = jacobian.by_z.copy(), bounds.scale[free]
    told = eliminate_starts(by_z[:, free], jacobian.by_start, problem.runs) * scale
    axes = np.zeros((len(scale), len(free)))
    axes[:, free] = np.linalg.eigh(told.T @ told)[1].T
    by_z[:, free] = _differentiate_along(problem, point, axes) @ axes[:, free] / scale
    return Jacobian(by_z, jacobian.by_start, jacobian.lost)


def _differentiate_along(problem: SumOfSquares, point: Point, axes: Floats) -> Floats:
    """(N, m) central differences along (m, d) `axes` of length one, in scales of z."""
    moves = _STEP * axes * problem.coordinates.scale
    places = point.z + np.concatenate([moves, -moves])
    starts = np.broadcast_to(point.starts, (len(places), *point.starts.shape))
    found = problem.residuals(places, starts)
    above, below = np.split(found.values, 2)
    blown = found.diverged.reshape(2, -1).any(axis=0)
    return np.where(blown, 0.0, (above - below).T / (2 * _STEP))
