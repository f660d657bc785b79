"""Searches that others use, kept to compare with: L-BFGS-B and random candidates.

Both are held to the same standard as least squares: the place where they end is
linearised, what a full step from there still promises is said, and intervals reach as
far as that step.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.fit import Fit
from realworthy.identification.least_squares import polish
from realworthy.identification.levenberg import LeastSquaresSettings
from realworthy.identification.problem import Problem
from realworthy.identification.search import Search, widen_to_minimum
from realworthy.parameters import Belief

Floats = NDArray[np.float64]
_AS_IS = LeastSquaresSettings(iterations=0)
_AGREE = 3.0
"""Standard deviations within which a restart must end."""
_WORSE = 1.01
"""Cost of a restart over that of the first run up to which they agree."""
_RAW_STEP = 1.5e-8
"""Difference step of optimisers that know no units: √ε."""


@dataclass(kw_only=True, slots=True)
class LbfgsSettings:
    """How L-BFGS-B is run."""

    iterations: int = 200
    """Of each of both runs, at most."""
    evaluations: int = 20_000
    """Most candidates that both runs simulate together; 200 iterations of ten numbers
    take 10,000."""
    scaled: bool = True
    """Search in scales of z; False: in raw units of e with steps of 1.5e-8, a trap."""
    step: float = 1e-4
    """Of central differences, in scales of z."""
    restart: float = 0.3
    """How far from the answer a second run begins, in scales of z."""
    seed: int = 0


@dataclass(kw_only=True, slots=True)
class RandomSettings:
    """How random candidates are drawn."""

    count: int = 1000
    reach: float = 1.0
    """Furthest from the start, in scales of z: e-fold for gains."""
    batch: int = 64
    seed: int = 0


def fit_lbfgs(
    problem: Problem,
    start: Mapping[str, float] | None = None,
    *,
    prior: Belief | None = None,
    settings: LbfgsSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> Fit:
    """Where L-BFGS-B ends: a baseline, least squares gets nearer with fewer worlds.

    It has converged only if least squares sees nothing left to gain, and a second run
    from elsewhere ends at the same place; else a warning says what failed. `progress`
    hears which share of the budget is used, 0 … 1.
    """
    began = time.perf_counter()
    settings = settings or LbfgsSettings()
    counts = problem.evaluation_count, problem.diverged_count
    search = Search(
        problem, start, prior, budget=settings.evaluations, progress=progress
    )
    first = _descend(search, np.zeros(len(search.z)), settings)
    fit = polish(problem, search.to_z(first), search.prior, _AS_IS)
    draw = np.random.default_rng(settings.seed)
    aside = first + settings.restart * draw.choice([-1.0, 1.0], len(first))
    again = _descend(search, np.clip(aside, search.lower, search.upper), settings)
    costs = search.costs(np.array([first, again]))
    said = []
    if not fit.converged:
        said.append(
            "L-BFGS-B stopped before the minimum; fit_least_squares goes on from here."
        )
    off = (search.to_z(again) - fit.z) / np.sqrt(np.diag(fit.covariance_z))
    if np.abs(off).max() > _AGREE or costs.max() > _WORSE * costs.min():
        name = problem.space.names[int(np.argmax(np.abs(off)))]
        said.append(
            f"A restart ends elsewhere: {name} differs by {np.abs(off).max():.2g} sd, "
            f"costs are {costs[0]:.4g} and {costs[1]:.4g}. Do not trust this answer."
        )
    best = first if costs[0] <= costs[1] else again
    return widen_to_minimum(
        polish(
            problem,
            search.to_z(best),
            search.prior,
            _AS_IS,
            began=began,
            counts=counts,
            warnings=tuple(said),
        )
    )


def fit_random(
    problem: Problem,
    start: Mapping[str, float] | None = None,
    *,
    prior: Belief | None = None,
    settings: RandomSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> Fit:
    """The best of many candidates drawn evenly around `start`; a baseline.

    `progress` hears which share of them is drawn, 0 … 1.
    """
    began = time.perf_counter()
    settings = settings or RandomSettings()
    counts = problem.evaluation_count, problem.diverged_count
    search = Search(problem, start, prior, budget=settings.count, progress=progress)
    draw = np.random.default_rng(settings.seed)
    low = np.maximum(search.lower, -settings.reach)
    high = np.minimum(search.upper, settings.reach)
    best, lowest = np.zeros(len(low)), float(search.costs(np.zeros(len(low)))[0])
    for first in range(0, settings.count, settings.batch):
        size = min(settings.batch, settings.count - first)
        drawn = draw.uniform(low, high, (size, len(low)))
        costs = search.costs(drawn)
        if costs.min() < lowest:
            best, lowest = drawn[np.argmin(costs)], float(costs.min())
    said = f"The best of {settings.count} random candidates; no minimum was sought."
    return widen_to_minimum(
        polish(
            problem,
            search.to_z(best),
            search.prior,
            _AS_IS,
            began=began,
            counts=counts,
            warnings=(said,),
        )
    )


def _descend(search: Search, x: Floats, settings: LbfgsSettings) -> Floats:
    """(d,) x at which L-BFGS-B ends from (d,) x."""
    from scipy.optimize import minimize

    if not settings.scaled:
        return _descend_raw(search, x, settings)
    d = len(x)
    steps = settings.step * np.eye(d)

    def value(x: Floats) -> tuple[float, Floats]:
        around = np.concatenate([x[None], x + steps, x - steps])
        inside = np.clip(around, search.lower, search.upper)
        costs = search.costs(inside)
        width = np.diag(inside[1 : d + 1] - inside[d + 1 :])
        return float(costs[0]), (costs[1 : d + 1] - costs[d + 1 :]) / width

    box = np.stack([search.lower, search.upper], axis=1)
    calls = max(1, settings.evaluations // (2 * (2 * d + 1)))  # of each of both runs
    options = {"maxiter": settings.iterations, "maxfun": calls}
    found = minimize(value, x, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return np.clip(found.x, search.lower, search.upper)


def _descend_raw(search: Search, x: Floats, settings: LbfgsSettings) -> Floats:
    """As optimisers do it that are handed kilograms beside seconds."""
    from scipy.optimize import minimize

    problem = search.problem
    bounds = problem.coordinates
    low, high = bounds.from_z(bounds.lower), bounds.from_z(bounds.upper)

    def to_x(e: Floats) -> Floats:
        inside = (bounds.to_z(e) - search.z) / bounds.scale
        return np.clip(inside, search.lower, search.upper)

    rows = sum(run.stop - run.start for run in problem.runs)

    def value(e: Floats) -> float:  # a mean, as published recipes have it
        return float(search.costs(to_x(e))[0]) / rows

    found = minimize(
        value,
        bounds.from_z(search.to_z(x)),
        method="L-BFGS-B",
        bounds=np.stack([low, high], axis=1),
        options={"maxiter": settings.iterations, "eps": _RAW_STEP},
    )
    return to_x(found.x)
