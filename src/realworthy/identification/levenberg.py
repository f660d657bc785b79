"""Gauss–Newton with Marquardt's damping, on any residuals.

Each iteration is two batches of worlds: one for all derivatives, and one that tries
several dampings of the step at once, of which the best is taken.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.differences import Jacobian, differentiate
from realworthy.identification.normal import NormalEquations, Prior
from realworthy.identification.squares import SumOfSquares

Floats = NDArray[np.float64]
_LADDER = np.array([0.1, 1.0, 10.0, 100.0])
"""Multiples of the damping that are tried side by side."""
_FIRST, _LEAST, _MOST = 1e-2, 1e-8, 1e8
_WORTHWHILE = 1e-4
"""Share of the promised fall that a step must keep (gain ratio)."""
_FURTHEST = 2.0
"""Longest step in scales of z."""
_NEAR = 0.5
"""Share of the cost that a step promises; below it starts are worth estimating."""


@dataclass(kw_only=True, slots=True)
class LeastSquaresSettings:
    """How a least-squares fit is run."""

    iterations: int = 50
    step: float = 1e-2
    """Of differences, in scales of z: one percent for what has a log transform."""
    least_step: float = 1e-3
    """What it shrinks to as steps become small: kinks of dry friction stay outside."""
    outlier: float = 3.0
    """Residuals beyond this many sd count linearly (Huber); inf: plain squares.

    The sd is the noise's, or that of the residuals at hand where it is larger.
    """
    promise: float = 1e-2
    """Variances of a residual by which the cost may still fall: a tenth of an sd."""
    share: float = 3e-6
    """Share of the cost by which it may still fall at the end."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One step of a fit."""

    cost: float
    """Robust sum of squared residuals, priors included, before the step."""
    promised: float
    """By how much a full step would lower it, were the problem linear."""
    damping: float
    """Of the step that was taken; inf where none was."""
    z: Floats


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where a search ended, with everything linear about that point."""

    z: Floats
    starts: Floats
    residuals: Floats
    weights: Floats
    """(N,) 1, and less for outliers."""
    jacobian: Jacobian
    equations: NormalEquations
    variance: float
    """s²: weighted squares per degree of freedom."""
    converged: bool
    trace: tuple[Iteration, ...]


def minimise(
    problem: SumOfSquares, z: Floats, prior: Prior, settings: LeastSquaresSettings
) -> Minimum:
    """Least squares from z; every piece's start begins where it was measured."""
    bounds = problem.coordinates
    starts = np.zeros((len(problem.runs), problem.start_count))
    residuals = problem.residuals(z[None], starts[None]).values[0]
    trace: list[Iteration] = []
    damping, near, converged, reach = _FIRST, False, False, settings.step
    while True:
        jacobian = differentiate(problem, z, starts, step=reach, by_start=near)
        limit = _find_limit(residuals, settings.outlier)
        weights = np.minimum(1.0, limit / np.maximum(np.abs(residuals), limit))
        equations = NormalEquations(
            jacobian, residuals, weights, problem.runs, starts, prior, z
        )
        cost = float(_cost(residuals, limit) + np.sum(starts**2) + prior.cost(z))
        variance = float(weights @ residuals**2) / max(1, len(residuals) - len(z))
        lowest, highest = bounds.lower - z, bounds.upper - z
        promised = equations.predict(*equations.step(0.0, lowest, highest))
        small = max(settings.promise * variance, settings.share * cost)
        if promised <= small and not near:
            near = True
            continue
        near |= promised < _NEAR * cost
        converged = promised <= small
        if converged or len(trace) >= settings.iterations:
            trace.append(Iteration(cost, promised, np.inf, z))
            break
        ladder = damping * (_LADDER[:2] if near else _LADDER)
        taken = _try_steps(problem, z, starts, equations, ladder, prior, limit, cost)
        if taken is None:
            trace.append(Iteration(cost, promised, np.inf, z))
            break
        trace.append(Iteration(cost, promised, taken.damping, z))
        length = float(np.max(np.abs(taken.z - z) / bounds.scale))
        reach = float(np.clip(0.3 * length, settings.least_step, settings.step))
        z, starts, residuals = taken.z, taken.starts, taken.residuals
        damping = max(_LEAST, taken.damping)
    return Minimum(
        z=z,
        starts=starts,
        residuals=residuals,
        weights=weights,
        jacobian=jacobian,
        equations=equations,
        variance=variance,
        converged=converged,
        trace=tuple(trace),
    )


@dataclass(frozen=True, slots=True)
class _Taken:
    z: Floats
    starts: Floats
    residuals: Floats
    damping: float


def _try_steps(
    problem: SumOfSquares,
    z: Floats,
    starts: Floats,
    equations: NormalEquations,
    dampings: Floats,
    prior: Prior,
    limit: float,
    cost: float,
) -> _Taken | None:
    """The best of several damped steps; None where no damping lowers the cost."""
    bounds = problem.coordinates
    lowest = np.maximum(bounds.lower - z, -_FURTHEST * bounds.scale)
    highest = np.minimum(bounds.upper - z, _FURTHEST * bounds.scale)
    while dampings[0] < _MOST:
        steps = [equations.step(mu, lowest, highest) for mu in dampings]
        new_z = np.clip(z + [dz for dz, _ in steps], bounds.lower, bounds.upper)
        new_starts = starts + np.array([ds for _, ds in steps])
        residuals = problem.residuals(new_z, new_starts).values
        costs = _cost(residuals, limit) + prior.cost(new_z)
        costs += np.sum(new_starts**2, axis=(1, 2))
        best = int(np.argmin(costs))
        if cost - costs[best] > _WORTHWHILE * equations.predict(*steps[best]) > 0:
            return _Taken(
                new_z[best], new_starts[best], residuals[best], dampings[best]
            )
        dampings = 10 * dampings[-1] * _LADDER[1:]
    return None


def _find_limit(residuals: Floats, outlier: float) -> float:
    """Residual beyond which the loss is linear."""
    spread = float(np.median(np.abs(residuals))) / 0.6745
    return outlier * max(1.0, spread)


def _cost(residuals: Floats, limit: float) -> Floats:
    """(…,) Huber's loss of (…, N): r², and 2 c |r| − c² beyond c."""
    size = np.abs(residuals)
    inner = np.minimum(size, limit)
    return np.sum(inner * (2 * size - inner), axis=-1)
