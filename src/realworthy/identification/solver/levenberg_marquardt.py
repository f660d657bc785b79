"""Gauss–Newton with Marquardt's damping, on any residuals.

About a point, the residuals are r + J Δ, and the step solves (Marquardt 1963)

    (Jᵀ W J + Λ + μ D) Δ = −(Jᵀ W r + Λ (z − z̄)),   D = diag(Jᵀ W J + Λ)

with Huber's weights W, a Gaussian prior of mean z̄ and precision Λ, and the damping μ:
Gauss–Newton for small μ, short steps down the scaled gradient for large ones. A step's
gain ratio is the fall of the cost by what the linear model promised
(Nocedal and Wright 2006, §4.1 and §10.3).

Each iteration is two batches of worlds: one for all derivatives, and one that tries
several dampings of the step at once, of which the best is taken.
"""

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.residuals import Point, SumOfSquares, evaluate_at
from realworthy.identification.solver.jacobian import Colouring, differentiate
from realworthy.identification.solver.linearisation import (
    Linearised,
    Prior,
    compute_costs,
    linearise,
)

Floats = NDArray[np.float64]
_DAMPING_FACTORS = np.array([0.1, 1.0, 10.0, 100.0])
"""Multiples of the damping that are tried side by side."""
_FIRST_DAMPING, _MIN_DAMPING, _MAX_DAMPING = 1e-2, 1e-8, 1e8
"""μ: a hundredth of the diagonal at first, nearly Gauss–Newton's step; 1e-8 is that
step, and at 1e8 what remains is 1e-8 of the scaled gradient."""
_MIN_GAIN_RATIO = 1e-4
"""Share of the promised fall that a step must keep (gain ratio)."""
_MAX_STEP = 2.0
"""Longest step in scales of z."""
_STARTS_FROM_PROMISE = 0.5
"""Share of the cost that a step promises; below it starts are worth estimating."""
_ROUGH_PROMISE = 1.0
"""Squared sd that may be left where kinks let no step get through."""
_GOOD_GAIN_RATIO = 0.3
"""Share of a promise that a good model keeps."""
_NO_PROGRESS_SHARE, _ROUGH_PROMISE_SHARE = 1e-3, 1e-2
"""Shares of the cost below which a fall is no progress, and is negligible."""


@dataclass(kw_only=True, slots=True)
class LeastSquaresSettings:
    """How a least-squares fit is run."""

    iterations: int = 50
    step: float = 1e-2
    """Of differences, in scales of z: one percent for what has a log transform."""
    least_step: float = 1e-4
    """What it shrinks to as steps become small."""
    outlier: float = 3.0
    """Residuals beyond this many sd count linearly (Huber); inf: plain squares.

    The sd is the noise's, or that of the residuals at hand where it is larger.
    """
    promise: float = 0.02
    """Squared sd of the estimate that a full step may still promise at the end."""
    share: float = 3e-6
    """Share of the cost that it may still promise at the end."""
    is_rough: bool = False
    """Whether derivatives are one-sided: half the worlds, and no more than roughly."""


class Ending(enum.StrEnum):
    """Why a search ended."""

    CONVERGED = "converged"
    ROUGH = "rough"
    """Steps no longer keep what derivatives promise, as with much dry friction."""
    SPENT = "spent"
    """All iterations were used."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One step of a fit."""

    cost: float
    """Robust sum of squared residuals, priors included, before the step."""
    promised: float
    """By how much a full step would lower it, were the problem linear."""
    fell: float
    """By how much the step that was taken lowered it."""
    damping: float
    """Of the step that was taken; inf where none was."""
    z: Floats


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where a search ended."""

    at: Linearised
    ending: Ending
    trace: tuple[Iteration, ...]


def minimise(
    problem: SumOfSquares,
    z: Floats,
    prior: Prior,
    settings: LeastSquaresSettings,
    *,
    colouring: Colouring | None = None,
    starts: Floats | None = None,
) -> Minimum:
    """Least squares from z; every piece's start begins where it was measured.

    (pieces, k) `starts` are better guesses of them, and estimated on from there.
    """
    point = evaluate_at(problem, z, starts)
    trace: list[Iteration] = []
    damping, reach, limit = _FIRST_DAMPING, settings.step, np.inf
    near = starts is not None
    while True:
        jacobian = differentiate(
            problem,
            point.z,
            point.starts,
            step=reach,
            by_start=near,
            colouring=colouring,
            residuals=point.residuals if settings.is_rough else None,
        )
        at = linearise(problem, point, jacobian, prior, settings.outlier, limit)
        limit = at.limit
        enough = min(
            settings.promise * at.variance * at.inflation, _NO_PROGRESS_SHARE * at.cost
        )
        small = at.promised <= max(enough, settings.share * at.cost)
        if small and not near:
            near = True  # only the starts are left to estimate
            continue
        near |= at.promised < _STARTS_FROM_PROMISE * at.cost
        ladder = damping * (_DAMPING_FACTORS[:2] if near else _DAMPING_FACTORS)
        over = small or len(trace) >= settings.iterations or _is_flat(trace)
        taken = None if over else try_steps(problem, at, ladder, prior)
        if taken is None:
            trace.append(Iteration(at.cost, at.promised, 0.0, np.inf, point.z))
            return Minimum(at, _name_ending(at, small, trace, settings), tuple(trace))
        trace.append(taken.describe(at))
        length = np.abs(taken.point.z - point.z) / problem.coordinates.scale
        shorter = max(settings.least_step, min(settings.step, 0.1 * length.max()))
        if taken.fell > _GOOD_GAIN_RATIO * at.promised:
            reach = shorter
        else:  # beyond kinks where it was short, out of curves where it was long
            is_long = reach > 2 * shorter or reach == settings.step
            reach = settings.least_step if is_long else settings.step
        point, damping = taken.point, max(_MIN_DAMPING, taken.damping)


@dataclass(frozen=True, slots=True)
class _Step:
    point: Point
    damping: float
    fell: float

    def describe(self, at: Linearised) -> Iteration:
        return Iteration(at.cost, at.promised, self.fell, self.damping, at.point.z)


def try_steps(
    problem: SumOfSquares, at: Linearised, dampings: Floats, prior: Prior
) -> _Step | None:
    """The best of several damped steps; None where no damping lowers the cost."""
    bounds, z = problem.coordinates, at.point.z
    lowest = np.maximum(bounds.lower - z, -_MAX_STEP * bounds.scale)
    highest = np.minimum(bounds.upper - z, _MAX_STEP * bounds.scale)
    while dampings[0] < _MAX_DAMPING:
        # (H + μ D) Δ = −g for every μ at once
        steps = [at.equations.step(mu, lowest, highest) for mu in dampings]
        new_z = np.clip(z + [dz for dz, _ in steps], bounds.lower, bounds.upper)
        starts = at.point.starts + np.array([ds for _, ds in steps])
        residuals = problem.residuals(new_z, starts).values
        costs = compute_costs(new_z, starts, residuals, prior, at.limit)
        best = int(np.argmin(costs))
        fell = at.cost - float(costs[best])
        # gain ratio (C(z) − C(z + Δ)) / (−2 gᵀΔ − Δᵀ H Δ)
        if fell > _MIN_GAIN_RATIO * at.equations.predict(*steps[best]) > 0:
            found = Point(new_z[best], starts[best], residuals[best])
            return _Step(found, float(dampings[best]), fell)
        dampings = 10 * dampings[-1] * _DAMPING_FACTORS[1:]
    return None


def _is_flat(trace: list[Iteration]) -> bool:
    """Whether the last two steps kept little of their promise and led nowhere."""
    last = trace[-2:]
    return len(last) == 2 and all(
        step.fell < _GOOD_GAIN_RATIO * step.promised
        and step.fell < _NO_PROGRESS_SHARE * step.cost
        for step in last
    )


def _name_ending(
    at: Linearised, small: bool, trace: list[Iteration], settings: LeastSquaresSettings
) -> Ending:
    left = min(
        _ROUGH_PROMISE * at.variance * at.inflation, _ROUGH_PROMISE_SHARE * at.cost
    )
    if small or at.promised <= left:
        return Ending.CONVERGED
    return Ending.SPENT if len(trace) > settings.iterations else Ending.ROUGH
