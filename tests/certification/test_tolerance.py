"""The bound on realities never tried holds for any distribution of them."""

from collections.abc import Callable

import numpy as np
import pytest

from realworthy.certification.limits.tolerance import bound_realities
from realworthy.errors import RealworthyError

Draw = Callable[[np.random.Generator, int], np.ndarray]


def at(share: float) -> Draw:
    return lambda rng, count: np.full(count, share)


def mix(outliers: float, low: float, high: float) -> Draw:
    return lambda rng, count: np.where(rng.random(count) < outliers, low, high)


def beta(a: float, b: float) -> Draw:
    return lambda rng, count: rng.beta(a, b, count)


REALITIES: dict[str, Draw] = {
    "perfect": at(1.0),
    "alike 0.999": at(0.999),
    "alike 0.97": at(0.97),
    "alike 0.9": at(0.9),
    "one in twenty fails": mix(0.05, 0.0, 1.0),
    "one in twenty is poor": mix(0.05, 0.3, 0.99),
    "just too many fail": mix(0.105, 0.0, 1.0),
    "just too many are worse": mix(0.12, 0.9, 1.0),
    "two kinds": mix(0.3, 0.5, 0.98),
    "skewed": beta(20, 1),
    "broad": beta(5, 2),
    "extremes": beta(0.5, 0.5),
}


@pytest.mark.parametrize(("realities", "episodes"), [(64, 32), (40, 8), (64, 120)])
@pytest.mark.parametrize("name", REALITIES)
def test_the_bound_holds_for_new_realities(name: str, realities: int, episodes: int):
    """In 95 % of repeats at least 90 % of new realities keep it in 100 episodes."""
    rng, draw, repeats = np.random.default_rng(3), REALITIES[name], 300
    fresh = rng.binomial(100, draw(rng, 100_000))
    holding = 1 - np.cumsum(np.bincount(fresh, minlength=101)) / len(fresh)
    shares = np.concatenate([[1.0], holding[:-1]])  # of realities with at least k
    counts = np.full(realities, episodes)
    held = 0
    for _ in range(repeats):
        hits = rng.binomial(episodes, draw(rng, realities))
        bound = bound_realities(hits, counts).lower
        held += shares[round(100 * bound)] >= 0.9
    assert held / repeats >= 0.93


def test_the_bound_is_not_vacuous():
    counts = np.full(64, 32)
    assert bound_realities(counts, counts).lower >= 0.97
    # two lost realities of 64 are no more than a tenth: P(≤ 2 of 64 | 0.1) = 4 %
    hits = counts.copy()
    hits[:2] = 0
    assert bound_realities(hits, counts).lower >= 0.6
    hits[2] = 0  # 11 %: three may be a tenth of all
    assert bound_realities(hits, counts).lower == 0.0
    rng = np.random.default_rng(0)
    alike = [
        bound_realities(rng.binomial(32, 0.97, 64), counts).lower for _ in range(50)
    ]
    assert np.median(alike) >= 0.88  # a tenth truly shows less than 0.95


def test_few_episodes_do_not_pass_for_perfection():
    # every reality that succeeds in 95 % would pass one episode each this often
    ones = np.ones(64, int)
    assert bound_realities(ones, ones).lower < 0.9


def test_more_failures_never_raise_the_bound():
    counts = np.full(48, 20)
    bounds = [
        bound_realities(np.maximum(counts - lost, 0), counts).lower
        for lost in range(21)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 0.9
    assert bounds[-1] == 0.0


def test_realities_may_have_unequal_episodes():
    counts = np.repeat([16, 32], 32)
    both = bound_realities(counts, counts).lower
    few = bound_realities(np.full(64, 16), np.full(64, 16)).lower
    many = bound_realities(np.full(64, 32), np.full(64, 32)).lower
    assert min(few, many) <= both <= max(few, many)


def test_too_few_realities_say_how_many_are_needed():
    bound = bound_realities(np.full(28, 50), np.full(28, 50))
    assert bound.lower == 0.0
    assert bound.realities_needed == 29  # 0.9^28 = 5.2 %, 0.9^29 = 4.7 %
    assert "29" in str(bound)
    assert bound_realities(np.full(29, 50), np.full(29, 50)).lower > 0.8


def test_counts_that_cannot_be_are_refused():
    with pytest.raises(RealworthyError, match="between 0 and the episodes"):
        bound_realities([3], [2])
    with pytest.raises(RealworthyError, match="one number for each"):
        bound_realities([3, 3], [4])
