"""Strategy search: what fills a policy's slot is found by real return.

The slot is z of a policy that RMA or UP-OSI taught; its strategy s is moved to

    s* = argmax_s E[Σ r]  on this robot,

whether or not any e would have encoded to it (SO-CMA, Yu et al. 2019; latent search,
Peng et al. 2020). Every trial runs inside the deploy filter, no more are made than were
allowed, and the winner is tried afresh beside what was before: what it led by in the
search was partly luck, and how much is told. Where fresh trials do not show a gain the
policy stays as it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.adaptation.searches import SEARCHES, StrategySearch
from realworthy.adaptation.strategy_file import StrategySlot, StrategyVector
from realworthy.adaptation.trials import RobotLost
from realworthy.errors import RealworthyError, UnknownName
from realworthy.gap.intervals import Interval, compute_mean_bootstrap
from realworthy.progress import Progress, ignore

Floats = NDArray[np.float64]
Attempt = Callable[[Sequence[StrategyVector]], Floats]
"""Tries strategies, one trial each; (n,) returns."""
FRESH_TRIALS = 5
"""Of the winner, and of what was before, after the search (Yu et al. 2019, code)."""
_PATIENCE = 3
"""Batches without a clear gain after which a search ends: two may be chance."""


@dataclass(kw_only=True, slots=True)
class SearchResult:
    """What a search found, and what it was worth afresh."""

    slot: StrategySlot
    strategy: StrategyVector
    """The best it knows, whether or not it is used."""
    adapted: Floats
    """Returns of its fresh trials."""
    before: Floats
    """Returns of the default in as many."""
    searched: list[tuple[StrategyVector, float]] = field(default_factory=list)
    """Every trial of the search, in order."""
    expected: float = float("nan")
    """Return that the search believed the winner had: the mean of the trials nearest to
    it."""
    stop: str = ""

    @property
    def gain_interval(self) -> Interval:
        if min(len(self.adapted), len(self.before)) < 2:
            return Interval(float("-inf"), float("inf"))
        return compute_mean_bootstrap(self.adapted, self.before)

    @property
    def is_used(self) -> bool:
        """Whether fresh trials show that it is better than doing nothing."""
        return self.gain_interval.lower > 0

    @property
    def luck(self) -> float:
        """Return that the search believed beyond fresh trials: the winner's curse."""
        return (
            self.expected - float(self.adapted.mean())
            if len(self.adapted)
            else float("nan")
        )


def search_strategy(
    slot: StrategySlot,
    attempt: Attempt,
    *,
    search: str = "cma",
    trials: int = 30,
    repeats: int = 1,
    fresh: int = FRESH_TRIALS,
    seed: int = 0,
    progress: Progress = ignore,
) -> SearchResult:
    """No more than `trials` trials, of which 2 `fresh` come after the search.

    A robot that is lost ends it with the best so far.
    """
    if search not in SEARCHES:
        raise UnknownName("search", search, SEARCHES, owner="adapt strategy")
    if trials < 2 * fresh + repeats:
        raise RealworthyError(
            f"{trials} trials are too few: {2 * fresh} compare the winner with what was"
            " before, and the search itself needs some.",
            hint=f"Allow {4 * fresh} or more.",
        )
    proposer = SEARCHES[search](slot.start, seed=seed)
    result = SearchResult(
        slot=slot,
        strategy=StrategyVector(slot.default),
        adapted=np.zeros(0),
        before=np.zeros(0),
    )
    try:
        _search(proposer, result, attempt, trials - 2 * fresh, repeats, progress)
        result.strategy = slot.place(proposer.best)
        result.expected = _expect(result)
        default = StrategyVector(slot.default)
        for k in range(fresh):  # turn by turn: what warms up or wears, wears both
            both = attempt([default, result.strategy])
            result.before = np.append(result.before, both[0])
            result.adapted = np.append(result.adapted, both[1])
            progress(1 - (fresh - k - 1) / trials, "comparing afresh")
    except RobotLost as error:
        if not result.searched:
            raise  # nothing was learned: there is nothing to keep
        result.strategy = slot.place(proposer.best)
        result.stop = f"{error} {len(result.searched)} trials were made."
        return result
    low, high = result.gain_interval
    if result.is_used:
        result.stop += " Go on only for more than was gained."
    elif high <= 0:
        result.stop += " The default is better: stop here."
    else:
        needed = _count_needed(result)
        result.stop += (
            f" Fresh trials do not show a gain ({low:.3g} to {high:.3g}): about"
            f" {needed} of each would, if it is what it seems."
            if needed
            else " Fresh trials show no gain: stop here."
        )
    result.stop = result.stop.strip()
    return result


def _search(
    proposer: StrategySearch,
    result: SearchResult,
    attempt: Attempt,
    trials: int,
    repeats: int,
    progress: Progress,
) -> None:
    """Until the trials are spent, or batches no longer get better."""
    means: list[float] = []
    since = 0
    while len(result.searched) + repeats <= trials:
        x = proposer.ask()[: (trials - len(result.searched)) // repeats]
        vectors = [result.slot.place(row) for row in x]
        values = np.zeros(len(x))
        for _ in range(repeats):
            found = np.array([], dtype=np.float64)
            for vector in vectors:  # one by one: what was tried is known if it ends
                found = np.append(found, attempt([vector]))
                result.searched.append((vector, float(found[-1])))
            values += found / repeats
        proposer.tell(x, values)
        progress(len(result.searched) / trials, "trials")
        noise = values.std() / np.sqrt(len(values)) if len(values) > 1 else 0.0
        is_better = not means or values.mean() > max(means) + noise
        since = 0 if is_better else since + 1
        means.append(float(values.mean()))
        if since >= _PATIENCE and len(values) > 1:
            result.stop = (
                f"The last {_PATIENCE} batches were no better than those before them."
            )
            return
    result.stop = f"All {trials} trials of the search were made."


def _expect(result: SearchResult) -> float:
    """Mean return of the fifth of the trials nearest to the winner."""
    x = np.stack([vector.values for vector, _ in result.searched])
    values = np.array([value for _, value in result.searched])
    near = np.linalg.norm(x - result.strategy.values, axis=1).argsort()
    return float(values[near[: max(1, len(x) // 5)]].mean())


def _count_needed(result: SearchResult) -> int:
    """Trials of each, at which an interval about the present difference excludes zero;
    0: the difference is not positive."""
    gain = result.adapted.mean() - result.before.mean()
    if gain <= 0:
        return 0
    spread = result.adapted.var(ddof=1) + result.before.var(ddof=1)
    return int(np.ceil(2 * 1.96**2 * spread / gain**2)) + 1
