"""Which search finds the numbers: one list, one kind of answer.

Everything around the search is the same for all of them: what is fitted, the prior,
folds, verdicts, and the judgement on held-out recordings.
"""

import enum
from collections.abc import Callable, Mapping
from typing import Protocol

from realworthy.errors import RealworthyError, UnknownName
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.candidate_search import (
    EvolutionSettings,
    LbfgsSettings,
    RandomSettings,
    fit_cmaes,
    fit_lbfgs,
    fit_random,
)
from realworthy.identification.solver.fit import Fit
from realworthy.parameters import Belief


class Method(enum.StrEnum):
    """How the numbers are searched for."""

    LEAST_SQUARES = "least_squares"
    """Gauss–Newton steps from derivatives, in stages: the default."""
    CMA_ES = "cma_es"
    """Evolution, which kinks do not stop, then least squares from its best."""
    L_BFGS_B = "l_bfgs_b"
    """Quasi-Newton on the sum of squares, twice, from two starts."""
    RANDOM_SEARCH = "random_search"
    """The best of many random candidates around the twin's numbers."""


def to_words(method: Method) -> str:
    """The method as people call it."""
    return {
        Method.LEAST_SQUARES: "least squares",
        Method.CMA_ES: "CMA-ES",
        Method.L_BFGS_B: "L-BFGS-B",
        Method.RANDOM_SEARCH: "random search",
    }[method]


class SearchMethod(Protocol):
    """A search over whole candidates, from `start`."""

    def __call__(
        self,
        problem: Problem,
        start: Mapping[str, float],
        *,
        prior: Belief,
        evaluations: int | None,
        progress: Callable[[float], None],
    ) -> Fit:
        """`evaluations` are the candidates that it may simulate; None: its default.

        `progress` hears which share of them is used, 0 … 1.
        """
        ...


def _search_by_evolution(
    problem: Problem,
    start: Mapping[str, float],
    *,
    prior: Belief,
    evaluations: int | None,
    progress: Callable[[float], None],
) -> Fit:
    settings = EvolutionSettings()
    if evaluations is not None:
        settings = EvolutionSettings(evaluations=evaluations, generations=evaluations)
    return fit_cmaes(problem, start, prior=prior, settings=settings, progress=progress)


def _search_by_lbfgs(
    problem: Problem,
    start: Mapping[str, float],
    *,
    prior: Belief,
    evaluations: int | None,
    progress: Callable[[float], None],
) -> Fit:
    settings = LbfgsSettings()
    if evaluations is not None:
        settings.evaluations = evaluations
    return fit_lbfgs(problem, start, prior=prior, settings=settings, progress=progress)


def _search_at_random(
    problem: Problem,
    start: Mapping[str, float],
    *,
    prior: Belief,
    evaluations: int | None,
    progress: Callable[[float], None],
) -> Fit:
    settings = RandomSettings()
    if evaluations is not None:
        settings.count = evaluations
    return fit_random(problem, start, prior=prior, settings=settings, progress=progress)


SEARCHES: Mapping[Method, SearchMethod] = {
    Method.CMA_ES: _search_by_evolution,
    Method.L_BFGS_B: _search_by_lbfgs,
    Method.RANDOM_SEARCH: _search_at_random,
}
"""Methods that search over whole candidates; least squares goes its way in stages."""


def find_method(name: str) -> Method:
    """The method of a name; raises for others, with those that exist."""
    try:
        return Method(name)
    except ValueError:
        names = [method.value for method in Method]
        raise UnknownName("method", name, names, owner="calibrate") from None


def check_budget(method: Method, evaluations: int | None) -> None:
    """Raises where a budget is none, or the method takes none."""
    if evaluations is None:
        return
    if method is Method.LEAST_SQUARES:
        searches = ", ".join(search.value for search in SEARCHES)
        raise RealworthyError(
            "Least squares takes no number of evaluations: it ends when it converges.",
            hint=f"Methods that take one: {searches}.",
        )
    if evaluations < 1:
        raise RealworthyError(f"evaluations should be 1 or more, not {evaluations}.")
