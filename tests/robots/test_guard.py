"""A guard stops at what is beyond a limit, and not at a single odd sample."""

import numpy as np
import pytest

from realworthy.errors import UnknownName
from realworthy.robots import State
from realworthy.robots.guard import Guard, Limits

LIMITS = Limits(
    joints=("hip", "knee"),
    lower=np.array([-1.0, -2.0]),
    upper=np.array([1.0, 0.0]),
    speed=np.array([3.0, 4.0]),
    acceleration=np.array([30.0, 40.0]),
    torque=np.array([10.0, np.inf]),
)


def state(position=(0.0, -1.0), velocity=(0.0, 0.0), torque=(0.0, 0.0)) -> State:
    """In the robot's order: knee before hip."""
    rows = [np.array(v[::-1], dtype=float) for v in (position, velocity, torque)]
    return State(
        time=0.0,
        sequence=0,
        position=rows[0],
        velocity=rows[1],
        torque=rows[2],
        others=np.zeros(0),
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (state(position=(1.2, -1.0)), "hip at 1.200 rad is outside -1.000 … 1.000 rad"),
        (state(velocity=(0.0, -4.4)), "knee: speed 4.4 rad/s exceeds 4 rad/s"),
        (state(torque=(11.0, 99.0)), "hip: torque 11 N·m exceeds 10 N·m"),
    ],
)
def test_three_samples_in_a_row_beyond_a_limit_stop(bad: State, reason: str):
    guard = Guard(LIMITS, ("knee", "hip"))
    assert [guard.judge(bad) for _ in range(3)] == ["", "", reason]


def test_two_odd_samples_do_not_stop():
    guard = Guard(LIMITS, ("knee", "hip"))
    bad = state(velocity=(99.0, 0.0))
    said = [guard.judge(s) for s in (bad, bad, state(), bad, bad, state())]
    assert said == [""] * 6


def test_values_that_are_not_numbers_stop_at_once():
    guard = Guard(LIMITS, ("knee", "hip"))
    assert "not numbers" in guard.judge(state(position=(np.nan, -1.0)))


def test_a_limit_may_be_reached():
    at = np.array([1.0, -2.0])
    torque = np.array([10.0, 99.0])  # nothing limits the knee's
    assert LIMITS.find_excess(at, LIMITS.speed, torque) == ""


def test_limits_of_a_joint_that_is_not_there():
    assert LIMITS.select(["knee"]).upper == 0.0
    with pytest.raises(UnknownName):
        LIMITS.select(["elbow"])
