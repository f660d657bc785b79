"""A look around before a search: which of many far candidates explains each joint best?

Numbers of one kind move together (all gains, all frictions), so that a few dozen worlds
cover a space of many joints; then every joint keeps the candidate that suits it.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.differences import Colouring, colour, differentiate
from realworthy.identification.squares import SumOfSquares
from realworthy.parameters import Transform

Floats = NDArray[np.float64]
_REACH = 4.6
"""Furthest look in a log coordinate: a factor of one hundred."""


def look_around(
    problem: SumOfSquares, z: Floats, *, count: int = 64
) -> tuple[Floats, Colouring]:
    """The best of z, of `count` candidates around it, and of their best parts."""
    starts = np.zeros((len(problem.runs), problem.start_count))
    candidates = _spread(problem, z, count)
    size = np.abs(problem.residuals(candidates).values)
    best = candidates[np.argmin(size.sum(1))]
    colouring = colour(problem, differentiate(problem, best, starts))
    mixed = np.array(best)
    for label in range(colouring.touched.shape[1]):
        chosen = candidates[np.argmin(size[:, problem.labels == label].sum(1))]
        alone = colouring.touched[: len(z)].sum(1) == 1
        own = alone & colouring.touched[: len(z), label]
        mixed[own] = chosen[own]
    last = np.abs(problem.residuals(np.stack([best, mixed])).values).sum(1)
    return (mixed if last[1] < last[0] else best), colouring


def _spread(problem: SumOfSquares, z: Floats, count: int) -> Floats:
    """(count + 1, d) z itself, and points around it that fill the space of kinds."""
    from scipy.stats import qmc

    bounds = problem.coordinates
    kinds = sorted({parameter.kind for parameter in bounds.space})
    columns = [kinds.index(parameter.kind) for parameter in bounds.space]
    unit = 2 * qmc.Sobol(len(kinds), rng=0).random(count)[:, columns] - 1
    reach = np.array(
        [
            0.25 * scale if p.transform is Transform.IDENTITY else _REACH
            for p, scale in zip(bounds.space, bounds.scale, strict=True)
        ]
    )
    around = np.clip(z + reach * unit, bounds.lower, bounds.upper)
    return np.concatenate([z[None], around])
