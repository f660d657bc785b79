"""A global search with CMA-ES for contacts and dry friction, then least squares.

Evolution needs no derivatives, so kinks do not stop it; it needs many worlds instead,
which are simulated as one batch per generation.
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
from realworthy.identification.search import Search
from realworthy.parameters import Belief

Floats = NDArray[np.float64]
_EDGE = 1.0
"""Initial sd by which the first mean keeps away from a bound, so that draws fit."""
_RESAMPLED = 200
"""Draws of one candidate outside the box before it is put on the border."""
_APART = 0.05
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
    search = Search(
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
    search: Search, settings: EvolutionSettings
) -> tuple[Floats, tuple[str, ...]]:
    from cmaes import CMA

    d = len(search.z)
    sigma = settings.spread
    room = np.minimum(_EDGE * sigma, 0.25 * (search.upper - search.lower))
    evolution = CMA(
        mean=np.clip(np.zeros(d), search.lower + room, search.upper - room),
        sigma=sigma,
        bounds=np.stack([search.lower, search.upper], axis=1),
        n_max_resampling=_RESAMPLED,
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
    said = []
    if not ended:
        said.append(
            f"Evolution used its budget, {spent} candidates, before they agreed. Allow "
            "more evaluations, or begin nearer."
        )
    if abs(at_mean - lowest) > _APART * lowest:
        said.append(
            f"Mean and best candidate of the evolution disagree: costs {at_mean:.4g} "
            f"and {lowest:.4g}."
        )
    return (mean if at_mean <= lowest else best), tuple(said)
