"""A look around before a search: which far candidates explain each joint best?

Numbers of one kind move together (all gains, all frictions), so that a few dozen worlds
cover a space of many joints; then every joint keeps the candidates that suit it.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.residuals import SumOfSquares, evaluate_at
from realworthy.identification.solver.jacobian import (
    Colouring,
    colour_columns,
    differentiate,
)
from realworthy.parameters import Transform

Floats = NDArray[np.float64]
_LOG_REACH = 4.6
"""Furthest look in a log coordinate: a factor of one hundred."""
_CANDIDATES, _CHOICES = 64, 3
"""Sobol points of a scan, a power of two as its balance asks; starts kept of them."""
_MIN_DISTANCE = 1.0
"""Scales of z by which choices differ at least in one number."""


def scan_candidates(problem: SumOfSquares, z: Floats) -> tuple[Floats, Colouring]:
    """(3, d) points to go on from, the best first, and which joint a number moves.

    Each is put together of what suits each joint best, second best and third best.
    """
    candidates = _spread(problem, z)
    size = np.abs(problem.residuals(candidates).values)
    best = candidates[np.argmin(size.sum(1))]
    starts = evaluate_at(problem, best).starts
    colouring = colour_columns(problem, differentiate(problem, best, starts))
    points = np.tile(best, (_CHOICES, 1))
    for label, own in enumerate(find_owned(colouring, len(z))):
        order = np.argsort(size[:, problem.labels == label].sum(1))
        chosen = _choose_apart(candidates[order][:, own], problem, own)
        points[:, own] = chosen
    return points, colouring


def combine_by_joint(
    problem: SumOfSquares, points: Floats, residuals: Floats, colouring: Colouring
) -> Floats:
    """(d,) every joint's numbers from the point that explains that joint best."""
    size = np.abs(residuals)
    mixed = np.array(points[np.argmin(size.sum(1))])
    for label, own in enumerate(find_owned(colouring, points.shape[1])):
        best = np.argmin(size[:, problem.labels == label].sum(1))
        mixed[own] = points[best, own]
    return mixed


def find_owned(colouring: Colouring, d: int) -> list[NDArray[np.bool_]]:
    """For each joint (d,) which numbers move it and no other."""
    touched = colouring.touched[:d]
    alone = touched.sum(1) == 1
    return [alone & touched[:, label] for label in range(touched.shape[1])]


def _choose_apart(
    ordered: Floats, problem: SumOfSquares, own: NDArray[np.bool_]
) -> Floats:
    """(3, own) the first rows that differ; the first one again where there are none."""
    scale = problem.coordinates.scale[own]
    chosen = [ordered[0]]
    for row in ordered[1:]:
        apart = [np.max(np.abs(row - c) / scale, initial=0.0) for c in chosen]
        if len(chosen) < _CHOICES and min(apart) > _MIN_DISTANCE:
            chosen.append(row)
    return np.array(chosen + [ordered[0]] * (_CHOICES - len(chosen)))


def _spread(problem: SumOfSquares, z: Floats) -> Floats:
    """(65, d) z itself, and points around it that fill the space of kinds."""
    from scipy.stats import qmc

    bounds = problem.coordinates
    kinds = sorted({parameter.kind for parameter in bounds.space})
    columns = [kinds.index(parameter.kind) for parameter in bounds.space]
    unit = 2 * qmc.Sobol(len(kinds), rng=0).random(_CANDIDATES)[:, columns] - 1
    reach = np.array(
        [
            0.25 * scale if p.transform is Transform.IDENTITY else _LOG_REACH
            for p, scale in zip(bounds.space, bounds.scale, strict=True)
        ]
    )
    around = np.clip(z + reach * unit, bounds.lower, bounds.upper)
    return np.concatenate([z[None], around])
