"""How a stand-in brakes, and what happens on the way to its actuators."""

import numpy as np
import pytest

from realworthy.realities import Interface, Reality, StandIn, load_reality
from realworthy.realities.effects import Backlash
from realworthy.robots import Command, Mode
from realworthy.twins.commands import describe_commands

from .conftest import (
    DC_MOTOR,
    INERTIA,
    PERIOD,
    SERVO,
    MakeReality,
    listen,
    rotor,
    stacked,
)

VELOCITY = '<velocity name="hinge" joint="hinge" kv="2" ctrlrange="-9 9"/>'


def coast(reality: Reality, *, start: float, seconds: float) -> np.ndarray:
    """Speeds of a braking stand-in that begins with a given speed [rad/s]."""
    robot = StandIn(reality)
    robot.connect()
    speeds = []
    for _ in range(round(seconds / PERIOD)):
        robot.wait(PERIOD)
        speeds.append(robot.read().velocity[0])
    assert robot.read().mode is Mode.DAMP
    assert speeds[0] < start
    return np.array(speeds)


@pytest.mark.parametrize(
    ("actuator", "brake"),
    [
        ('<motor name="hinge" joint="hinge" ctrlrange="-90 90"/>', INERTIA / 0.1),
        ('<motor name="hinge" joint="hinge" ctrlrange="-90 90" gear="5"/>', 0.5),
        (SERVO, 2.0),
        (VELOCITY, 2.0),
        (DC_MOTOR, 0.5**2 / 2),
    ],
    ids=["torque", "geared torque", "position", "velocity", "voltage"],
)
def test_braking_takes_speed_off_exponentially(
    make: MakeReality, actuator: str, brake: float
):
    """Torque −inertia/0.1 s, a servo's kd, or a short circuit's K²/R, per speed."""
    initial = {"hinge.initial_velocity": 3.0}
    reality = make(rotor(actuator), parameters=initial)
    speeds = coast(reality, start=3.0, seconds=0.2)
    expected = 3.0 * np.exp(-brake / INERTIA * 0.2)
    assert speeds[-1] == pytest.approx(expected, rel=0.08, abs=0.01)


def test_braking_torque_stays_within_the_limits_of_the_command(make: MakeReality):
    weak = rotor('<motor name="hinge" joint="hinge" ctrlrange="-0.1 0.1"/>')
    reality = make(weak, parameters={"hinge.initial_velocity": 3.0})
    speeds = coast(reality, start=3.0, seconds=0.2)
    assert speeds[-1] == pytest.approx(3.0 - 0.1 / INERTIA * 0.2, rel=1e-3)


def test_braking_behind_a_play_does_not_bounce(make: MakeReality):
    reality = make(
        rotor(),
        Backlash(joint="hinge", width=0.02),
        parameters={"hinge.initial_velocity": 3.0, "hinge.armature": 0.0005},
    )
    speeds = coast(reality, start=3.0, seconds=3.0)
    assert np.abs(speeds[-100:]).max() < 0.05


def test_a_braking_arm_sinks_slowly():
    robot = StandIn(load_reality("arm_1_soft"))
    robot.connect()
    speeds = []
    for _ in range(100):
        robot.wait(0.008)
        speeds.append(np.abs(robot.read().velocity).max())
    assert max(speeds) < 1.0


def test_a_long_wait_brakes_like_many_short_ones(make: MakeReality):
    reality = make(rotor(), parameters={"hinge.initial_velocity": 3.0})
    ends = []
    for pieces in (1, 100):
        robot = StandIn(reality)
        robot.connect()
        for _ in range(pieces):
            robot.wait(0.4 / pieces)
        ends.append(robot.read().velocity[0])
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_delayed_servos_begin_by_holding_their_pose():
    """Commands still on their way at the start do not pull the arm to zero."""
    late = StandIn(load_reality("arm_2_tired"))
    late.connect()
    late.wait(0.016)  # of a delay of 0.02 s
    assert np.abs(late.read().torque).max() < 0.5


def test_command_noise_of_e_reaches_the_motor(make: MakeReality):
    reality = make(rotor(), parameters={"hinge.action_noise": 0.5})
    torque = stacked(listen(StandIn(reality), np.full((1500, 1), 2.0)), "torque")[1:]
    assert torque.mean() == pytest.approx(2.0, abs=0.05)
    assert torque.std() == pytest.approx(0.5, rel=0.05)


def test_after_a_brake_old_commands_are_forgotten(make: MakeReality):
    robot = StandIn(make(rotor(SERVO), interface=Interface(rate=10.0)))
    robot.connect()
    robot.write(Command(sequence=0, values=np.array([0.1])))
    robot.wait(0.05)
    robot.damp()
    robot.wait(0.01)
    robot.write(Command(sequence=1, values=np.array([0.0])))
    robot.wait(PERIOD)  # the next look at commands is at 0.1 s
    state = robot.read()
    assert state.torque[0] == pytest.approx(-2 * state.velocity[0], rel=0.1)


MANY_INPUTS = """
<mujoco><option timestep="0.001"/><worldbody>
  <body><joint name="a" axis="0 0 1"/><geom size="0.1"/></body>
  <body><joint name="b" axis="0 0 1"/><geom size="0.1"/></body>
</worldbody><actuator>
  <pid name="a" joint="a" kp="50" kv="5"/>
  <pid name="b" joint="b" kp="50" kv="5"/>
</actuator></mujoco>
"""


def test_inputs_mean_what_mujoco_calls_them(make: MakeReality):
    dc = DC_MOTOR.replace('input="voltage"', 'input="pos" controller="5 0 0.1"')
    slow = '<intvelocity name="hinge" joint="hinge" kp="9" actrange="-1 1"/>'
    kinds = {
        "pid": [line.kind for line in describe_commands(make(MANY_INPUTS).truth)],
        "dc": [line.kind for line in describe_commands(make(rotor(dc)).truth)],
        "slow": [line.kind for line in describe_commands(make(rotor(slow)).truth)],
    }
    assert kinds == {
        "pid": ["position", "velocity", "position", "velocity"],
        "dc": ["position"],
        "slow": ["velocity"],
    }


def test_a_wrong_order_takes_all_inputs_of_a_motor_along(make: MakeReality):
    faulty = StandIn(make(MANY_INPUTS, interface=Interface(joint_order=["b", "a"])))
    clean = StandIn(make(MANY_INPUTS))
    goals = np.tile([0.3, 0.1, -0.2, 0.0], (100, 1))
    found = stacked(listen(faulty, goals), "position")
    expected = stacked(listen(clean, goals[:, [2, 3, 0, 1]]), "position")[:, ::-1]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.ptp(found, axis=0).min() > 0.1
