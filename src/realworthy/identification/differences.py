"""Derivatives of residuals by central differences, all in one batch of worlds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.squares import SumOfSquares

Floats = NDArray[np.float64]
START_STEP = 0.3
"""Standard deviations by which starts are moved."""


@dataclass(frozen=True, slots=True)
class Jacobian:
    """Derivatives of N residuals at one point."""

    by_z: Floats
    """(N, d) per unit of z."""
    by_start: Floats
    """(N, k) per sd of the start of the piece that a residual belongs to."""
    lost: tuple[int, ...]
    """Columns of `by_z` that are zero because a world blew up."""


def differentiate(
    problem: SumOfSquares,
    z: Floats,
    starts: Floats,
    *,
    step: float = 1e-2,
    by_start: bool = True,
) -> Jacobian:
    """Derivatives at (d,) z and (pieces, k) starts; `step` is in scales of z.

    A piece knows no other piece's start, so that one pair of candidates moves the same
    number of every start; they count as known unless `by_start`. At a bound the
    difference is one-sided.
    """
    bounds, d = problem.coordinates, len(z)
    k = problem.start_count if by_start else 0
    reach = step * bounds.scale
    above = np.minimum(z + np.diag(reach), bounds.upper)
    below = np.maximum(z - np.diag(reach), bounds.lower)
    candidates = np.concatenate([above, below, np.tile(z, (2 * k, 1))])
    moved = np.tile(starts, (2 * d + 2 * k, 1, 1))
    for j in range(k):
        moved[2 * d + j, :, j] += START_STEP
        moved[2 * d + k + j, :, j] -= START_STEP
    found = problem.residuals(candidates, moved)
    values, blown = found.values, found.diverged
    by_z = (values[:d] - values[d : 2 * d]).T / np.diag(above - below)
    lost = np.flatnonzero(blown[:d] | blown[d : 2 * d])
    by_z[:, lost] = 0.0
    by_s = np.zeros((len(by_z), problem.start_count))
    ahead, behind = slice(2 * d, 2 * d + k), slice(2 * d + k, None)
    by_s[:, :k] = (values[ahead] - values[behind]).T / (2 * START_STEP)
    by_s[:, :k][:, blown[ahead] | blown[behind]] = 0.0
    return Jacobian(by_z, by_s, tuple(lost.tolist()))
