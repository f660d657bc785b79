"""Motions keep their limits whatever their genes, and derivatives are derivatives."""

import numpy as np
import pytest

from realworthy.identification.excitation.motion_family import (
    MotionFamily,
    choose_harmonics,
)
from realworthy.robots.limits import Limits

LIMITS = Limits(
    joints=("a", "b"),
    lower=np.array([-1.0, 0.1]),
    upper=np.array([2.0, 0.4]),
    speed=np.array([3.0, 0.5]),
    acceleration=np.array([20.0, 30.0]),
    torque=np.array([np.inf, np.inf]),
)
FAMILY = MotionFamily(
    limits=LIMITS,
    home=np.array([0.0, 0.3]),
    period=5.0,
    harmonics=choose_harmonics(5.0, 3.0, 6),
    fade=0.8,
)


@pytest.mark.parametrize("seed", range(20))
def test_limits_hold_and_one_of_them_is_reached(seed: int):
    genes = 3 * FAMILY.draw(np.random.default_rng(seed))
    genes[:, -1] = 50.0  # as large as it may be
    found = FAMILY.build(genes, np.ones(2), seconds=10.0, rate=200.0)
    shares = np.stack(
        [
            (found.position - FAMILY.home) / (LIMITS.upper - FAMILY.home),
            (FAMILY.home - found.position) / (FAMILY.home - LIMITS.lower),
            np.abs(found.velocity) / LIMITS.speed,
            np.abs(found.acceleration) / LIMITS.acceleration,
        ]
    )
    np.testing.assert_allclose(shares.max((0, 1)), 1.0, rtol=1e-9)


def test_derivatives_are_those_of_the_positions():
    genes = FAMILY.draw(np.random.default_rng(3))
    found = FAMILY.build(genes, np.ones(2), seconds=10.0, rate=2000.0)
    velocity = np.gradient(found.position, found.time, axis=0)
    acceleration = np.gradient(found.velocity, found.time, axis=0)
    np.testing.assert_allclose(found.velocity[1:-1], velocity[1:-1], atol=1e-3)
    np.testing.assert_allclose(found.acceleration[1:-1], acceleration[1:-1], atol=0.02)


def test_a_motion_begins_and_ends_at_rest_at_home():
    genes = FAMILY.draw(np.random.default_rng(4))
    found = FAMILY.build(genes, np.ones(2), seconds=7.3, rate=100.0)
    for row in (0, -1):
        np.testing.assert_allclose(found.position[row], FAMILY.home, atol=1e-12)
        np.testing.assert_allclose(found.velocity[row], 0.0, atol=1e-12)
        np.testing.assert_allclose(found.acceleration[row], 0.0, atol=1e-9)


def test_scale_is_the_amplitude():
    genes = FAMILY.draw(np.random.default_rng(5))
    whole = FAMILY.build(genes, np.ones(2), seconds=5.0, rate=100.0)
    part = FAMILY.build(genes, np.array([0.5, 0.25]), seconds=5.0, rate=100.0)
    away = whole.position - FAMILY.home
    np.testing.assert_allclose(part.position - FAMILY.home, away * [0.5, 0.25])


def test_harmonics_are_distinct_and_within_the_band():
    assert choose_harmonics(10.0, 3.0, 8).tolist() == [1, 2, 3, 4, 7, 11, 18, 30]
    assert choose_harmonics(1.0, 3.0, 8).tolist() == [1, 2, 3]
    assert choose_harmonics(0.2, 3.0, 8).tolist() == [1]
