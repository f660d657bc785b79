"""Backlash: how wide the loop is that a shaft and its link draw."""

import math

import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    BadActuator,
    Bench,
    ControllerPosition,
    FrictionM1,
    build_law,
    follow_play,
    measure_play,
    simulate_bench,
)

SERVO = Actuator(
    joint="a",
    controller=ControllerPosition(kp=30.0, kd=0.5),
    friction=FrictionM1(coulomb_friction=0.05, damping=0.02),
    armature=0.004,
)


def swing() -> np.ndarray:
    """The shaft of a servo that follows a slow sine."""
    time = 0.001 * np.arange(4000)
    command = 0.4 * np.sin(2 * math.pi * 0.5 * time)[:, None, None]
    law = build_law(SERVO, timestep=0.001)
    return simulate_bench(law, Bench(), command).position[:, 0]


@pytest.mark.parametrize("width", [0.0, 0.01, 0.06])
def test_the_hysteresis_loop_is_as_wide_as_the_play(width: float):
    shaft, link = swing(), [0.0]
    for angle in shaft:
        link.append(float(follow_play(np.array(angle), np.array(link[-1]), width)))
    positions = np.array(link[1:])
    later = slice(2000, None)  # a whole period, after both edges were met
    assert measure_play(shaft[later], positions[later]) == pytest.approx(
        width, rel=0.01
    )
    rising = np.gradient(shaft) > 0
    at_centre = np.abs(shaft) < 0.005
    up = positions[later][(rising & at_centre)[later]].mean()
    down = positions[later][(~rising & at_centre)[later]].mean()
    assert down - up == pytest.approx(width, abs=0.002)


def test_the_link_rests_inside_the_gap():
    link = np.array([0.0])
    assert follow_play(np.array([0.004]), link, 0.01) == 0.0
    assert follow_play(np.array([0.02]), link, 0.01) == pytest.approx(0.015)
    assert follow_play(np.array([-0.02]), link, 0.01) == pytest.approx(-0.015)


def test_the_bench_refuses_backlash_that_it_cannot_integrate():
    loose = Actuator(joint="a", controller=ControllerPosition(kp=1.0), backlash=0.01)
    with pytest.raises(BadActuator, match="the bench has no backlash"):
        simulate_bench(build_law(loose, timestep=0.001), Bench(), np.zeros((1, 1, 1)))
