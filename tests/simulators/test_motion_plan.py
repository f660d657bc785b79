"""What a motion needs, against equations on paper."""

import numpy as np
import pytest

from realworthy.errors import UnknownName
from realworthy.recordings.motion import Motion
from realworthy.simulators.motion_plan import compute_torques, plan_motion
from realworthy.twins import Twin, bind, load_twin


def sway(joints: tuple[str, ...], size: float = 0.4):
    time = np.arange(301) / 100
    position = size * (1 - np.cos(2 * np.pi * time / 1.5))
    return Motion(time, joints, np.tile(position[:, None], len(joints))).sample(100.0)


def test_a_pendulum_needs_inertia_gravity_damping_and_friction():
    reference = sway(("joint",))
    found = compute_torques(bind(load_twin("pendulum")), reference)[:, 0]
    q, v, a = (
        x[:, 0]
        for x in (reference.position, reference.velocity, reference.acceleration)
    )
    inertia = 0.009806 + 0.676 * 0.45**2 + 0.002185
    gravity = 0.676 * 9.81 * 0.45 * np.sin(q)
    by_hand = inertia * a + gravity + 0.04707 * v + 0.289 * np.sign(v)
    moving = np.abs(v) > 0.1
    np.testing.assert_allclose(found[moving], by_hand[moving], atol=0.01)


def test_a_voltage_makes_up_for_resistance_and_back_emf():
    plan = plan_motion(bind(load_twin("servo_bench")), sway(("arm",)))
    (line,) = plan.lines
    assert line.kind == "voltage"
    assert line.per_torque == pytest.approx(4.76365 / 0.32321, rel=1e-6)
    assert line.per_velocity == pytest.approx(0.32321, rel=1e-6)


def test_a_servo_of_position_is_sent_the_motion_and_a_wheel_its_speed():
    arm = plan_motion(bind(load_twin("arm")), sway(("elbow_flex",)))
    here = np.zeros(1)
    sent = arm.command(100, here, here)
    rest = [0, -0.9, 0.9, 0.6, 0, 0, 0.3]
    rest[2] = arm.reference.position[100, 0]
    np.testing.assert_allclose(sent, rest)
    assert arm.is_open_loop
    wheels = plan_motion(bind(load_twin("diffdrive")), sway(("left_wheel",), 0.1))
    at = wheels.reference.position[100]
    sent = wheels.command(100, at - 0.01, here)
    expected = wheels.reference.velocity[100, 0] + 2.0 * 0.01
    np.testing.assert_allclose(sent, [expected, 0.0])


def test_commands_stay_within_what_the_drive_takes():
    plan = plan_motion(bind(load_twin("pendulum")), sway(("joint",)))
    assert plan.command(0, np.array([-9.0]), np.zeros(1)) == 12.0
    both = plan.command(0, np.array([[-9.0], [9.0]]), np.zeros((2, 1)))
    np.testing.assert_array_equal(both, [[12.0], [-12.0]])


def test_a_joint_that_nothing_drives_is_refused():
    twin: Twin = load_twin("cartpole")
    with pytest.raises(UnknownName, match="no driven joint 'pole'"):
        plan_motion(bind(twin), sway(("pole",)))
