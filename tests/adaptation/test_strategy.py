from collections.abc import Sequence

import numpy as np
import pytest

from realworthy.adaptation.searches import SEARCHES, HillSearch
from realworthy.adaptation.strategy import search_strategy
from realworthy.adaptation.strategy_file import StrategySlot, StrategyVector
from realworthy.adaptation.trials import RobotLost
from realworthy.errors import RealworthyError, UnknownName
from realworthy.twins import load_twin

SLOT = StrategySlot(
    lower=np.array([-2.0, -1.0]), upper=np.array([2.0, 3.0]), default=np.zeros(2)
)
BEST = np.array([1.0, 2.0])


class Plant:
    """Return 0 at BEST, falling with the square of the distance; noise of 0.3."""

    def __init__(self, seed: int, *, is_shuffled: bool = False) -> None:
        self.rng, self.tried = np.random.default_rng(seed), 0
        self.is_shuffled = is_shuffled

    def __call__(self, vectors: Sequence[StrategyVector]) -> np.ndarray:
        self.tried += len(vectors)
        off = np.array([np.square(v.values - BEST).sum() for v in vectors])
        if self.is_shuffled:
            off[:] = 2.0
        return -off + 0.3 * self.rng.normal(size=len(off))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_recovers_most_of_what_there_is_in_fifty_noisy_trials(name: str):
    """Doing nothing is worth −5; at least 60 % of the gap in the median of 5 seeds."""
    closed = []
    for seed in range(5):
        plant = Plant(seed)
        found = search_strategy(SLOT, plant, search=name, trials=50, seed=seed)
        assert plant.tried <= 50
        value = -np.square(found.strategy.values - BEST).sum()
        closed.append(1 + value / 5.0)
        assert found.is_used == (found.gain_interval.lower > 0)
    assert np.median(closed) > 0.6
    assert min(closed) > 0.2


@pytest.mark.parametrize("name", SEARCHES)
def test_returns_that_say_nothing_leave_the_policy_as_it_was(name: str):
    """Of 20 searches one may seem to help by chance, and a second."""
    used = [
        search_strategy(
            SLOT, Plant(seed, is_shuffled=True), search=name, trials=30, seed=seed
        ).is_used
        for seed in range(20)
    ]
    assert sum(used) <= 2


def test_an_incumbent_that_is_tried_again_does_not_drift_upward():
    rng = np.random.default_rng(0)
    search = HillSearch(np.full(2, 0.5), seed=0)
    for _ in range(200):  # returns are noise alone
        x = search.ask()
        assert (x[0] == search.best).all()
        search.tell(x, rng.normal(size=len(x)))
    kept_maximum = rng.normal(size=200 * 5).max()
    assert search._seen.mean() < 0.6 * kept_maximum


def test_a_robot_that_disappears_leaves_the_best_so_far():
    plant = Plant(0)

    def attempt(vectors: Sequence[StrategyVector]) -> np.ndarray:
        if plant.tried >= 17:
            raise RobotLost("Trial 18 did not run: no answer.")
        return plant(vectors)

    found = search_strategy(SLOT, attempt, trials=60, seed=0)
    assert "Trial 18 did not run" in found.stop
    assert len(found.searched) == 17
    assert np.square(found.strategy.values - BEST).sum() < 5.0
    assert not found.is_used  # nothing was tried afresh


def test_a_robot_that_was_never_there_is_an_error():
    def attempt(vectors: Sequence[StrategyVector]) -> np.ndarray:
        raise RobotLost("Trial 1 did not run: no answer.")

    with pytest.raises(RobotLost):
        search_strategy(SLOT, attempt, trials=30)


def test_a_search_says_what_its_winner_owed_to_luck():
    luck = [
        search_strategy(SLOT, Plant(s), search="bayes", trials=30, seed=s).luck
        for s in range(5)
    ]
    assert np.isfinite(luck).all()


def test_too_few_trials_to_compare_afresh_are_refused():
    with pytest.raises(RealworthyError, match="too few"):
        search_strategy(SLOT, Plant(0), trials=8)
    with pytest.raises(UnknownName, match="search"):
        search_strategy(SLOT, Plant(0), search="luck")


def test_no_twin_takes_a_strategy():
    strategy = StrategyVector(np.array([0.3, 0.1]))
    with pytest.raises(UnknownName):
        load_twin("pendulum").with_values(strategy.name())


def test_a_strategy_beyond_its_slot_is_cut():
    assert SLOT.place(np.array([-1.0, 2.0])).values.tolist() == [-2.0, 3.0]
    np.testing.assert_allclose(SLOT.place(SLOT.start).values, SLOT.default)
