"""What every search over whole candidates shares: costs, places, and a fair ending.

Searches that others use, kept to compare with: L-BFGS-B and random candidates.

Both are held to the same standard as least squares: the place where they end is
linearised, what a full step from there still promises is said, and intervals reach as
far as that step.

A global search with CMA-ES for contacts and dry friction, then least squares.

Evolution needs no derivatives, so kinks do not stop it; it needs many worlds instead,
which are simulated as one batch per generation.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.least_squares import polish, to_prior
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.identification.solver.linearisation import Prior, compute_costs
from realworthy.parameters import Belief

Floats = NDArray[np.float64]


class CandidateSearch:
    """Costs of candidates around a start; x is z from there in scales of z.

    Pieces start from smoothed measurements. Worlds that blow up cost much, and finitely
    so. `lower` and `upper` are (d,) bounds of x. `progress` hears which share of the
    `budget` of candidates is used.
    """

    def __init__(
        self,
        problem: Problem,
        start: Mapping[str, float] | None,
        prior: Belief | None,
        *,
        budget: float = np.inf,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self._budget, self._spent, self._progress = budget, 0, progress
        self.problem, bounds = problem, problem.coordinates
        self.z = bounds.to_z(problem.space.vector(start or {}))
        self.prior: Prior = to_prior(problem, prior, self.z)
        self.lower = (bounds.lower - self.z) / bounds.scale
        self.upper = (bounds.upper - self.z) / bounds.scale

    def to_z(self, x: Floats) -> Floats:
        """(…, d) coordinates z of (…, d) x."""
        return self.z + self.problem.coordinates.scale * x

    def costs(self, x: Floats) -> Floats:
        """(n,) sums of squared residuals with what the prior adds."""
        z = np.atleast_2d(self.to_z(x))
        starts = np.zeros((len(z), len(self.problem.pieces), 0))
        residuals = self.problem.residuals(z, starts).values
        self._spent += len(z)
        if self._progress is not None:
            self._progress(min(1.0, self._spent / self._budget))
        return compute_costs(z, starts, residuals, self.prior, np.inf)


def widen_to_minimum(fit: Fit) -> Fit:
    """The fit with a covariance that reaches the minimum which a full step promises.

    The step Δ lowers the cost by p = Δᵀ H Δ, and the covariance is s² H⁻¹, inflation
    included in s². With (1 + p / s²) times that, the minimum lies within one sd. A
    search that ends in the minimum (p = 0) keeps its covariance.
    """
    variance = fit.reduced_chi2 * fit.inflation
    promised = fit.trace[-1].promised
    if not promised > 0 or not variance > 0:
        return fit
    return replace(fit, covariance_z=(1 + promised / variance) * fit.covariance_z)


_AS_IS = LeastSquaresSettings(iterations=0)
_MAX_RESTART_SD = 3.0
"""Standard deviations within which a restart must end."""
_MAX_RESTART_COST_RATIO = 1.01
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
    search = CandidateSearch(
        problem, start, prior, budget=settings.evaluations, progress=progress
    )
    first = _descend(search, np.zeros(len(search.z)), settings)
    fit = polish(problem, search.to_z(first), search.prior, _AS_IS)
    draw = np.random.default_rng(settings.seed)
    aside = first + settings.restart * draw.choice([-1.0, 1.0], len(first))
    again = _descend(search, np.clip(aside, search.lower, search.upper), settings)
    costs = search.costs(np.array([first, again]))
    warnings = []
    if not fit.converged:
        warnings.append(
            "L-BFGS-B stopped before the minimum; fit_least_squares can continue here."
        )
    off = (search.to_z(again) - fit.z) / np.sqrt(np.diag(fit.covariance_z))
    if (
        np.abs(off).max() > _MAX_RESTART_SD
        or costs.max() > _MAX_RESTART_COST_RATIO * costs.min()
    ):
        name = problem.space.names[int(np.argmax(np.abs(off)))]
        warnings.append(
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
            warnings=tuple(warnings),
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
    search = CandidateSearch(
        problem, start, prior, budget=settings.count, progress=progress
    )
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
    warning = f"The best of {settings.count} random candidates; no minimum was sought."
    return widen_to_minimum(
        polish(
            problem,
            search.to_z(best),
            search.prior,
            _AS_IS,
            began=began,
            counts=counts,
            warnings=(warning,),
        )
    )


def _descend(search: CandidateSearch, x: Floats, settings: LbfgsSettings) -> Floats:
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
    solution = minimize(
        value, x, jac=True, method="L-BFGS-B", bounds=box, options=options
    )
    return np.clip(solution.x, search.lower, search.upper)


def _descend_raw(search: CandidateSearch, x: Floats, settings: LbfgsSettings) -> Floats:
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

    solution = minimize(
        value,
        bounds.from_z(search.to_z(x)),
        method="L-BFGS-B",
        bounds=np.stack([low, high], axis=1),
        options={"maxiter": settings.iterations, "eps": _RAW_STEP},
    )
    return to_x(solution.x)


_EDGE_ROOM = 1.0
"""Initial sd by which the first mean keeps away from a bound, so that draws fit."""
_MAX_RESAMPLINGS = 200
"""Draws of one candidate outside the box before it is put on the border."""
_COSTS_DISAGREE = 0.05
"""Share by which the cost of mean and best may differ before it is said."""


@dataclass(kw_only=True, slots=True)
class EvolutionSettings:
    """How a search with CMA-ES is run."""

    spread: float = 0.5
    """First sd of candidates, in scales of z: 0.5 is a factor of 1.6 for gains."""
    population: int | None = None
    """Candidates per generation; None: 4 + 3 ln d, as Hansen advises."""
    generations: int = 200
    evaluations: int = 5000
    """Most candidates that are simulated before the polish."""
    tolerance: float = 1e-2
    """(max − min)/min of a generation's costs at which it ends."""
    seed: int = 0
    polish: LeastSquaresSettings | None = None
    """Of the least squares that follows; its defaults where not given."""


def fit_cmaes(
    problem: Problem,
    start: Mapping[str, float] | None = None,
    *,
    prior: Belief | None = None,
    settings: EvolutionSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> Fit:
    """The e that evolution finds around `start`, polished by least squares.

    Of the final mean and the best candidate ever, the polish begins with the one of
    lower cost; warnings say where they disagree and where the budget ended the search.
    `progress` hears which share of the budget is used, 0 … 1.
    """
    began = time.perf_counter()
    settings = settings or EvolutionSettings()
    counts = problem.evaluation_count, problem.diverged_count
    search = CandidateSearch(
        problem, start, prior, budget=settings.evaluations, progress=progress
    )
    x, warnings = _evolve(search, settings)
    return polish(
        problem,
        search.to_z(x),
        search.prior,
        settings.polish or LeastSquaresSettings(),
        began=began,
        counts=counts,
        warnings=warnings,
    )


def _evolve(
    search: CandidateSearch, settings: EvolutionSettings
) -> tuple[Floats, tuple[str, ...]]:
    from cmaes import CMA

    d = len(search.z)
    sigma = settings.spread
    room = np.minimum(_EDGE_ROOM * sigma, 0.25 * (search.upper - search.lower))
    evolution = CMA(
        mean=np.clip(np.zeros(d), search.lower + room, search.upper - room),
        sigma=sigma,
        bounds=np.stack([search.lower, search.upper], axis=1),
        n_max_resampling=_MAX_RESAMPLINGS,
        seed=settings.seed,
        population_size=settings.population,
    )
    best, lowest, spent, ended = np.zeros(d), np.inf, 0, False
    for _ in range(settings.generations):
        if spent + evolution.population_size > settings.evaluations:
            break
        asked = np.array([evolution.ask() for _ in range(evolution.population_size)])
        costs = search.costs(asked)
        spent += len(asked)
        evolution.tell(list(zip(asked, costs.tolist(), strict=True)))
        if costs.min() < lowest:
            best, lowest = asked[np.argmin(costs)], float(costs.min())
        ended = float(np.ptp(costs)) <= settings.tolerance * float(costs.min())
        if ended or evolution.should_stop():
            ended = True
            break
    mean = np.clip(evolution.mean, search.lower, search.upper)
    at_mean = float(search.costs(mean)[0])
    warnings = []
    if not ended:
        warnings.append(
            f"Evolution used its budget, {spent} candidates, before they agreed. Allow "
            "more evaluations, or begin nearer."
        )
    if abs(at_mean - lowest) > _COSTS_DISAGREE * lowest:
        warnings.append(
            f"Mean and best candidate of the evolution disagree: costs {at_mean:.4g} "
            f"and {lowest:.4g}."
        )
    return (mean if at_mean <= lowest else best), tuple(warnings)
