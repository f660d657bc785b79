"""What sensors add: noise of the size that was asked for, steps, and e of a sensor."""

import numpy as np
import pytest

from realworthy.realities import Interface, RealityNoise, StandIn
from realworthy.realities.effects import Backlash, Quantisation, Slosh

from .conftest import FLOATER, PAIR, SERVO, MakeReality, listen, rotor, stacked

NOISE = RealityNoise(position=0.01, velocity=0.2, torque=0.05)


def test_joint_noise_has_its_standard_deviation(make: MakeReality):
    """Three joints at rest, so everything that is measured is noise."""
    states = listen(StandIn(make(PAIR, noise=NOISE)), np.zeros((1500, 2)))
    for name in ("position", "velocity", "torque"):
        measured = stacked(states, name)
        assert measured.std() == pytest.approx(getattr(NOISE, name), rel=0.05)
        mixed = np.corrcoef(measured.T) - np.eye(3)
        assert np.abs(mixed).max() < 0.1  # each joint has its own
        assert abs(np.corrcoef(measured[1:, 0], measured[:-1, 0])[0, 1]) < 0.1


def test_noise_follows_units_and_not_what_is_true(make: MakeReality):
    """A joint that reports degrees reports its noise in degrees."""
    faults = Interface(unit_scale={"left": 57.0})
    states = listen(
        StandIn(make(PAIR, noise=NOISE, interface=faults)), np.zeros((1500, 2))
    )
    spread = stacked(states, "position").std(0)
    assert spread[0] == pytest.approx(57 * 0.01, rel=0.05)
    assert spread[2] == pytest.approx(0.01, rel=0.05)


def test_base_noise_has_its_standard_deviation(make: MakeReality):
    noise = RealityNoise(gyro=0.02, acceleration=0.3, orientation=0.01)
    robot = StandIn(make(FLOATER, noise=noise))
    measured = stacked(listen(robot, np.zeros((1500, 1))), "others")
    by_name = dict(zip(robot.info.other_signals, measured.T, strict=True))
    for sensor, sd in (("base.gyro", 0.02), ("imu_gyro", 0.02)):
        spread = np.std([by_name[f"{sensor}.{axis}"] for axis in "xyz"])
        assert spread == pytest.approx(sd, rel=0.05)
    spread = np.std([by_name[f"imu_accelerometer.{axis}"] for axis in "xyz"])
    assert spread == pytest.approx(0.3, rel=0.05)
    turns = 2 * np.array([by_name[f"base.orientation.{axis}"] for axis in "xyz"])
    assert turns.std() == pytest.approx(0.01, rel=0.05)
    size = np.sum([by_name[f"base.orientation.{axis}"] ** 2 for axis in "wxyz"], 0)
    np.testing.assert_allclose(size, 1.0)


def test_quantised_positions_are_whole_steps_nearest_to_the_truth(make: MakeReality):
    ramp = np.linspace(0, 0.5, 200)[:, None]
    coarse = StandIn(make(rotor(SERVO), Quantisation(joint="hinge", step=0.01)))
    steps = stacked(listen(coarse, ramp), "position")[:, 0] / 0.01
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    truth = stacked(listen(StandIn(make(rotor(SERVO))), ramp), "position")[:, 0]
    np.testing.assert_array_equal(np.round(steps), np.round(truth / 0.01))


def test_sensors_have_the_scale_bias_and_noise_of_e(make: MakeReality):
    torque = 0.02 * np.ones((800, 1))
    truth = stacked(listen(StandIn(make(rotor())), torque), "position")[:, 0]
    e = {
        "hinge.position.sensor_scale": 1.1,
        "hinge.position.sensor_bias": 0.02,
        "hinge.position.sensor_noise": 0.003,
    }
    reality = make(rotor(), parameters=e)
    measured = stacked(listen(StandIn(reality), torque), "position")[:, 0]
    error = measured - (1.1 * truth + 0.02)
    assert abs(error.mean()) < 4e-4
    assert error.std() == pytest.approx(0.003, rel=0.1)


def test_a_servo_follows_its_own_encoder(make: MakeReality):
    """Bias and scale of e move the joint, not what it reports of its goal."""
    e = {"hinge.position.sensor_scale": 1.25, "hinge.position.sensor_bias": 0.1}
    states = listen(StandIn(make(rotor(SERVO), parameters=e)), np.full((500, 1), 0.6))
    assert states[-1].position[0] == pytest.approx(0.6, abs=1e-4)
    assert states[-1].torque[0] == pytest.approx(0.0, abs=1e-2)


def test_the_encoder_sits_on_the_motor_and_nothing_else_is_told(make: MakeReality):
    hidden = make(
        rotor(SERVO),
        Backlash(joint="hinge", width=0.1),
        Slosh(body="rotor", mass=0.1, length=0.1),
    )
    robot = StandIn(hidden)
    assert robot.info.joints == ("hinge",)
    assert robot.info.other_signals == ()
    listen(robot, np.full((100, 1), 0.5))
    assert robot.read().position.shape == (1,)


def test_a_play_that_the_twin_knows_of_is_not_measured_either(make: MakeReality):
    described = (
        "hinge: {joint: hinge, controller: {kind: position, kp: 50, kd: 2}, "
        "torque_limit: 10, backlash: 0.05}"
    )
    robot = StandIn(make(rotor(SERVO), actuators=described))
    assert robot.info.joints == ("hinge",)
    assert robot.info.other_signals == ()
