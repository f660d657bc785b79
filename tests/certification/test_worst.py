"""The search finds a planted failure, says how near it is, and invents none."""

from dataclasses import replace

import numpy as np
import pytest

from realworthy.certification.limits import worst_case as worst
from realworthy.certification.limits.validity import find_box
from realworthy.certification.limits.worst_case import examine_worst
from realworthy.certification.subject import Subject
from realworthy.certification.suite.suite import WorstCaseSearch
from tests.certification.mutants import ExtraDelay, mutate
from tests.certification.pretended import Floats, Pretended

SEARCH = WorstCaseSearch(evaluations=128, episodes=2)
PLANTED = ("pole.mass", "cart.damping", "cart.torque_limit")
EDGE = (0.9, 0.9, 0.1)
"""Of each range; the last parameter fails below, the others above."""


def measure_distance(subject: Subject, e: Floats) -> Floats:
    """(episodes,) to the planted corner, a thousandth of the box; below 0: inside."""
    names, lower, upper = find_box(subject)
    places = [names.index(name) for name in PLANTED]
    u = ((e - lower) / (upper - lower))[:, places]
    return np.stack(
        [EDGE[0] - u[:, 0], EDGE[1] - u[:, 1], u[:, 2] - EDGE[2]], axis=1
    ).max(axis=1)


def test_a_planted_narrow_failure_is_found(
    balancing: Subject, monkeypatch: pytest.MonkeyPatch
):
    played = Pretended(
        lambda e: measure_distance(balancing, e) > 0,
        lambda e: measure_distance(balancing, e),
    )
    monkeypatch.setattr(worst, "play_condition", played)
    found = examine_worst(balancing, SEARCH, bar=0.8, seed=0)
    assert found.is_failure
    assert found.evaluations <= SEARCH.evaluations
    at = np.array([list(found.e.values())])
    assert measure_distance(balancing, at)[0] <= 0
    near = np.array([list(found.nearest.values())])
    assert measure_distance(balancing, near)[0] == pytest.approx(0, abs=0.02)
    assert found.safe_fraction is not None
    assert 0.5 < found.safe_fraction < 1
    assert found.repeated is not None
    assert found.repeated.successes == 0
    assert found.failures[0].name == "fall"
    assert found.failures[0].e == found.e


def test_none_is_claimed_where_there_is_none(
    balancing: Subject, monkeypatch: pytest.MonkeyPatch
):
    played = Pretended(
        lambda e: np.ones(len(e), np.bool_), lambda e: measure_distance(balancing, e)
    )
    monkeypatch.setattr(worst, "play_condition", played)
    found = examine_worst(balancing, SEARCH, bar=0.8, seed=0)
    assert not found.is_failure
    assert not found.failures
    assert "no proof" in found.about


def test_bad_luck_is_played_again(balancing: Subject, monkeypatch: pytest.MonkeyPatch):
    """A tenth of episodes fail by chance: no e does it, though some try looks bad."""
    rng = np.random.default_rng(5)
    played = Pretended(
        lambda e: rng.random(len(e)) > 0.1, lambda e: rng.normal(size=len(e))
    )
    monkeypatch.setattr(worst, "play_condition", played)
    found = examine_worst(balancing, SEARCH, bar=0.8, seed=0)
    assert not found.is_failure
    assert "passes when retested" in found.about


def test_a_real_one_is_found_and_repeats_itself(balancing: Subject):
    """A cart that is late fails where the true delay adds to it."""
    late = replace(balancing, wrap=lambda policy: mutate(policy, ExtraDelay(steps=5)))
    search = WorstCaseSearch(evaluations=16, episodes=2)
    found = examine_worst(late, search, bar=0.8, seed=0)
    assert found.is_failure
    assert found.repeated is not None
    assert found.repeated.mean < 0.8
    assert found.failures[0].name == "joint_limit"
