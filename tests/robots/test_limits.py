"""Limits of joints: what is over them, in words."""

import numpy as np
import pytest

from realworthy.errors import UnknownName
from realworthy.robots import Limits

LIMITS = Limits(
    joints=("hip", "knee"),
    lower=np.array([-1.0, -2.0]),
    upper=np.array([1.0, 0.0]),
    speed=np.array([3.0, 4.0]),
    acceleration=np.array([30.0, 40.0]),
    torque=np.array([10.0, np.inf]),
)


@pytest.mark.parametrize(
    ("position", "velocity", "torque", "words"),
    [
        ((1.2, -1.0), (0, 0), (0, 0), "hip at 1.200 rad is outside -1.000 … 1.000 rad"),
        ((0.0, -1.0), (0, -4.4), (0, 0), "knee: speed 4.4 rad/s exceeds 4 rad/s"),
        ((0.0, -1.0), (0, 0), (11, 99), "hip: torque 11 N·m exceeds 10 N·m"),
        ((0.0, -1.0), (3, 4), (10, 99), ""),
    ],
)
def test_what_is_furthest_over_a_limit_in_words(position, velocity, torque, words):
    values = (np.array(v, dtype=float) for v in (position, velocity, torque))
    assert LIMITS.find_excess(*values) == words


def test_a_limit_may_be_reached():
    at = np.array([1.0, -2.0])
    torque = np.array([10.0, 99.0])  # nothing limits the knee's
    assert LIMITS.find_excess(at, LIMITS.speed, torque) == ""


def test_limits_of_a_joint_that_is_not_there():
    assert LIMITS.select(["knee"]).upper == 0.0
    with pytest.raises(UnknownName):
        LIMITS.select(["elbow"])
