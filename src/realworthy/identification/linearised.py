"""A problem around one point: weights, normal equations, what a step promises."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.covariance import estimate_autocorrelation
from realworthy.identification.differences import Jacobian
from realworthy.identification.normal import NormalEquations, Prior
from realworthy.identification.squares import SumOfSquares

Floats = NDArray[np.float64]


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


def begin(problem: SumOfSquares, z: Floats, starts: Floats | None = None) -> Point:
    """z with every start as measured, or where (pieces, k) `starts` say."""
    if starts is None:
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
    weights = np.minimum(1.0, limit / np.maximum(np.abs(residuals), 1e-12))
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
        cost=float(compute_costs(point.z, point.starts, residuals, prior, limit)),
        promised=equations.predict(*step),
        variance=float(held @ held) / freedom,
        rho=estimate_autocorrelation(held, problem.series),
    )


def weigh_point(
    problem: SumOfSquares, point: Point, prior: Prior, outlier: float
) -> Linearised:
    """What a point is worth; it takes no derivatives, and promises no step."""
    rows = len(point.residuals)
    flat = Jacobian(
        np.zeros((rows, len(point.z))), np.zeros((rows, problem.start_count)), ()
    )
    return linearise(problem, point, flat, prior, outlier)


def _find_limit(residuals: Floats, outlier: float) -> float:
    spread = float(np.median(np.abs(residuals))) / 0.6745
    return outlier * max(1.0, spread)


def compute_costs(
    z: Floats, starts: Floats, residuals: Floats, prior: Prior, limit: float
) -> Floats:
    """(…,) Huber's loss, r² and 2 c |r| − c² beyond c, with what priors add."""
    size = np.abs(residuals)
    inner = np.minimum(size, limit)
    loss = np.sum(inner * (2 * size - inner), axis=-1)
    return loss + np.sum(starts**2, axis=(-2, -1)) + prior.cost(z)
