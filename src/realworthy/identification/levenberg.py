"""Gauss–Newton with Marquardt's damping, on any residuals.

Each iteration is two batches of worlds: one for all derivatives, and one that tries
several dampings of the step at once, of which the best is taken.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.covariance import estimate_autocorrelation
from realworthy.identification.differences import Colouring, Jacobian, differentiate
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
_HALF_SD = 0.25
"""Squared sd that may be left where kinks let no step get through."""


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
    promise: float = 0.02
    """Squared sd of the estimate that a full step may still promise at the end."""
    share: float = 3e-6
    """Share of the cost that it may still promise at the end."""


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
class Point:
    """Where a search stands: (d,) z, (pieces, k) starts and (N,) residuals."""

    z: Floats
    starts: Floats
    residuals: Floats


@dataclass(frozen=True, slots=True)
class Linearised:
    """Everything linear about a point, and what a full step from it promises."""

    point: Point
    jacobian: Jacobian
    limit: float
    """Residual beyond which the loss is linear."""
    weights: Floats
    """(N,) 1, and less for outliers."""
    equations: NormalEquations
    cost: float
    promised: float
    variance: float
    """s²: weighted squares per degree of freedom."""
    rho: Floats
    """ρ_1 … ρ_K: how residuals last."""

    @property
    def inflation(self) -> float:
        """1 + 2 Σ |ρ_k|: how many residuals in a row say the same thing, at most."""
        return float(1 + 2 * np.abs(self.rho).sum())


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where a search ended."""

    at: Linearised
    converged: bool
    trace: tuple[Iteration, ...]


def minimise(
    problem: SumOfSquares,
    z: Floats,
    prior: Prior,
    settings: LeastSquaresSettings,
    *,
    colouring: Colouring | None = None,
) -> Minimum:
    """Least squares from z; every piece's start begins where it was measured."""
    point = begin(problem, z)
    trace: list[Iteration] = []
    damping, reach, limit, near = _FIRST, settings.step, np.inf, False
    while True:
        jacobian = differentiate(
            problem,
            point.z,
            point.starts,
            step=reach,
            by_start=near,
            colouring=colouring,
        )
        at = linearise(problem, point, jacobian, prior, settings.outlier, limit)
        limit = at.limit
        enough = settings.promise * at.variance * at.inflation
        small = at.promised <= max(enough, settings.share * at.cost)
        if small and not near:
            near = True  # only the starts are left to estimate
            continue
        near |= at.promised < _NEAR * at.cost
        ladder = damping * (_LADDER[:2] if near else _LADDER)
        spent = len(trace) >= settings.iterations
        taken = None if small or spent else _try_steps(problem, at, ladder, prior)
        damping = np.inf if taken is None else taken[1]
        trace.append(Iteration(at.cost, at.promised, damping, point.z))
        if taken is None:
            tolerable = _HALF_SD * at.variance * at.inflation
            return Minimum(at, small or at.promised <= tolerable, tuple(trace))
        length = np.abs(taken[0].z - point.z) / problem.coordinates.scale
        reach = float(np.clip(0.3 * length.max(), settings.least_step, settings.step))
        point, damping = taken[0], max(_LEAST, damping)


def begin(problem: SumOfSquares, z: Floats) -> Point:
    """z with every start as measured."""
    starts = np.zeros((len(problem.runs), problem.start_count))
    return Point(z, starts, problem.residuals(z[None], starts[None]).values[0])


def linearise(
    problem: SumOfSquares,
    point: Point,
    jacobian: Jacobian,
    prior: Prior,
    outlier: float,
    most: float = np.inf,
) -> Linearised:
    """The problem around a point; residuals beyond `most`, or less, are outliers."""
    residuals, bounds = point.residuals, problem.coordinates
    limit = min(most, _find_limit(residuals, outlier))
    weights = np.minimum(1.0, limit / np.maximum(np.abs(residuals), limit))
    equations = NormalEquations(
        jacobian, residuals, weights, problem.runs, point.starts, prior, point.z
    )
    step = equations.step(0.0, bounds.lower - point.z, bounds.upper - point.z)
    freedom = max(1, len(residuals) - len(point.z))
    held = np.sqrt(weights) * residuals
    return Linearised(
        point=point,
        jacobian=jacobian,
        limit=limit,
        weights=weights,
        equations=equations,
        cost=float(_costs(point.z, point.starts, residuals, prior, limit)),
        promised=equations.predict(*step),
        variance=float(held @ held) / freedom,
        rho=estimate_autocorrelation(held, problem.series),
    )


def _try_steps(
    problem: SumOfSquares, at: Linearised, dampings: Floats, prior: Prior
) -> tuple[Point, float] | None:
    """The best of several damped steps; None where no damping lowers the cost."""
    bounds, z = problem.coordinates, at.point.z
    lowest = np.maximum(bounds.lower - z, -_FURTHEST * bounds.scale)
    highest = np.minimum(bounds.upper - z, _FURTHEST * bounds.scale)
    while dampings[0] < _MOST:
        steps = [at.equations.step(mu, lowest, highest) for mu in dampings]
        new_z = np.clip(z + [dz for dz, _ in steps], bounds.lower, bounds.upper)
        starts = at.point.starts + np.array([ds for _, ds in steps])
        residuals = problem.residuals(new_z, starts).values
        costs = _costs(new_z, starts, residuals, prior, at.limit)
        best = int(np.argmin(costs))
        promised = at.equations.predict(*steps[best])
        if at.cost - costs[best] > _WORTHWHILE * promised > 0:
            found = Point(new_z[best], starts[best], residuals[best])
            return found, float(dampings[best])
        dampings = 10 * dampings[-1] * _LADDER[1:]
    return None


def _find_limit(residuals: Floats, outlier: float) -> float:
    spread = float(np.median(np.abs(residuals))) / 0.6745
    return outlier * max(1.0, spread)


def _costs(
    z: Floats, starts: Floats, residuals: Floats, prior: Prior, limit: float
) -> Floats:
    """(…,) Huber's loss, r² and 2 c |r| − c² beyond c, with what priors add."""
    size = np.abs(residuals)
    inner = np.minimum(size, limit)
    loss = np.sum(inner * (2 * size - inner), axis=-1)
    return loss + np.sum(starts**2, axis=(-2, -1)) + prior.cost(z)
