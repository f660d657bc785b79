"""Beliefs side by side."""

import numpy as np
import pytest

from realworthy.errors import BadBelief
from realworthy.parameters import (
    GaussianBelief,
    IndependentBelief,
    JoinedBelief,
    Uniform,
)
from realworthy.twins import load_twin

SPACE = load_twin("pendulum").space
FIRST = SPACE.select(["pendulum.mass", "joint.damping"])
SECOND = SPACE.select(["all.delay"])


def build() -> tuple[GaussianBelief, IndependentBelief, JoinedBelief]:
    covariance = np.array([[1.0, 0.6], [0.6, 1.0]]) * 0.05**2
    told = GaussianBelief(FIRST, FIRST.to_z(FIRST.nominal), covariance)
    other = IndependentBelief(SECOND, {"all.delay": Uniform(0.0, 0.02)})
    return told, other, JoinedBelief(told, other)


def test_each_part_is_drawn_as_it_was():
    told, other, joined = build()
    assert joined.space.names == ("pendulum.mass", "joint.damping", "all.delay")
    u = np.random.default_rng(0).uniform(size=(50, joined.width))
    e = joined.quantile(u)
    assert np.array_equal(e[:, :2], told.quantile(u[:, : told.width]))
    assert np.array_equal(e[:, 2:], other.quantile(u[:, told.width :]))
    wanted = told.log_density(e[:, :2]) + other.log_density(e[:, 2:])
    assert joined.log_density(e) == pytest.approx(wanted)


def test_moments_are_those_of_the_parts():
    told, other, joined = build()
    assert joined.mean == {**told.mean, **other.mean}
    assert joined.sd == {**told.sd, **other.sd}
    by_hand = np.eye(3)
    by_hand[:2, :2] = told.correlation()
    assert joined.correlation() == pytest.approx(by_hand)


def test_parts_without_a_number_that_is_asked_for_go():
    told, _, joined = build()
    few = joined.marginal(["joint.damping", "all.delay"])
    assert few.space.names == ("joint.damping", "all.delay")
    left = joined.condition({"all.delay": 0.01})
    assert left.space.names == FIRST.names
    assert left.mean == told.mean
    known = joined.condition({"pendulum.mass": 1.2 * told.mean["pendulum.mass"]})
    alone = told.condition({"pendulum.mass": 1.2 * told.mean["pendulum.mass"]})
    assert known.mean["joint.damping"] == alone.mean["joint.damping"]


def test_two_beliefs_about_one_number_are_refused():
    told, _, _ = build()
    with pytest.raises(BadBelief, match=r"contain joint\.damping"):
        JoinedBelief(told, told.marginal(["joint.damping"]))
