"""Actuator descriptions in MuJoCo: which form they take, and what it commands."""

import mujoco
import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    ControllerDuty,
    ControllerPosition,
    ControllerPositionVelocity,
    ControllerTorque,
    ControllerVelocity,
    ControllerVoltage,
    FrictionM1,
    FrictionM2,
    MotorDc,
)
from realworthy.errors import UnknownName
from realworthy.simulators import MujocoCpu
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands

MOTOR = MotorDc(torque_constant=0.4, resistance=4.0, supply_voltage=12.0)
NATIVE = {
    "torque": Actuator(joint="elbow", controller=ControllerTorque(), torque_limit=4.0),
    "position": Actuator(joint="elbow", controller=ControllerPosition(kp=9.0, kd=0.3)),
    "velocity": Actuator(joint="elbow", controller=ControllerVelocity(kd=0.7)),
    "voltage": Actuator(joint="elbow", controller=ControllerVoltage(), motor=MOTOR),
}


@pytest.mark.parametrize("kind", NATIVE)
def test_a_native_drive_says_what_it_takes(kind: str, arm: Twin):
    bound = bind(arm.with_actuators({"elbow": NATIVE[kind]}))
    assert not bound.drives
    line = describe_commands(bound)[-1]
    assert (line.signal, line.joint, line.kind) == ("elbow.command", "elbow", kind)


def test_a_servo_of_position_and_velocity_has_two_inputs(arm: Twin):
    controller = ControllerPositionVelocity(kp=9.0, kd=0.6, feed_forward=True)
    twin = arm.with_actuators({"elbow": Actuator(joint="elbow", controller=controller)})
    bound = bind(twin, twin.space.select(["elbow.kp", "elbow.kd"]))
    lines = describe_commands(bound)[-3:]
    assert [line.kind for line in lines] == ["position", "velocity", "torque"]
    assert [line.signal for line in lines] == [
        "elbow.command",
        "elbow.command.velocity",
        "elbow.command.torque",
    ]
    simulator = MujocoCpu(bound, 2, substeps=1)
    simulator.write([[9.0, 0.6], [12.0, 0.2]])
    simulator.reset()
    force = simulator.array("actuator_force")
    simulator.step([[0.0, 0.1, 0.5, 0.25]] * 2)
    # kp · (0.1 − 0) + kd · (0.5 − 0) + 0.25 at rest in the zero pose
    np.testing.assert_allclose(force[:, 1], [0.9 + 0.3 + 0.25, 1.2 + 0.1 + 0.25])


@pytest.mark.parametrize(
    "drive",
    [
        Actuator(joint="elbow", controller=ControllerDuty(duty_gain=1.0), motor=MOTOR),
        Actuator(joint="elbow", controller=ControllerTorque(), friction=FrictionM2()),
        Actuator(joint="elbow", controller=ControllerTorque(), strength=0.9),
        Actuator(joint="elbow", controller=ControllerTorque(), soft_saturation=2.0),
    ],
)
def test_what_mujoco_cannot_do_runs_as_a_law(drive: Actuator, arm: Twin):
    bound = bind(arm.with_actuators({"elbow": drive}))
    assert [d.name for d in bound.drives] == ["elbow"]


def test_friction_m1_becomes_the_joints_own_and_replaces_what_it_had(arm: Twin):
    friction = FrictionM1(coulomb_friction=0.3, damping=0.02)
    drive = Actuator(joint="elbow", controller=ControllerTorque(), friction=friction)
    model = bind(arm.with_actuators({"elbow": drive})).model
    dof = int(model.joint("elbow").dofadr[0])
    assert model.dof_frictionloss[dof] == 0.3
    assert model.dof_damping[dof] == 0.02
    assert model.dof_solimp[dof, 0] > 0.999


def test_backlash_is_a_second_hinge_that_turns_freely_within_its_width(arm: Twin):
    drive = Actuator(joint="elbow", controller=ControllerTorque(), backlash=0.04)
    model = bind(arm.with_actuators({"elbow": drive})).model
    play = model.joint("elbow.play")
    np.testing.assert_allclose(play.range, [-0.02, 0.02])
    assert play.bodyid == model.joint("elbow").bodyid


def test_an_actuator_of_a_joint_that_is_not_there_is_refused(arm: Twin):
    drive = Actuator(joint="elbov", controller=ControllerTorque())
    with pytest.raises(UnknownName, match="has no joint 'elbov'"):
        bind(arm.with_actuators({"elbov": drive}))


def test_the_old_actuator_of_a_joint_goes_when_a_new_one_comes(arm: Twin):
    twin = arm.with_actuators({"drive": NATIVE["velocity"]})
    model = bind(twin).model
    names = [model.actuator(i).name for i in range(model.nactuator)]
    assert names == ["shoulder", "drive"]
    assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, "elbow") < 0


def test_a_law_keeps_commands_as_long_as_the_delays_of_e_need(arm: Twin):
    drive = Actuator(joint="elbow", controller=ControllerTorque(), strength=0.9)
    twin = arm.with_actuators({"elbow": drive})
    bound = bind(twin, twin.space.select(["elbow.delay"]))
    simulator = MujocoCpu(bound, 2, substeps=1)
    simulator.write([[0.0], [0.01]])
    simulator.reset()
    torque = simulator.array("ctrl")
    seen = []
    for _ in range(8):
        simulator.step([[0.0, 1.0]] * 2)
        seen.append(torque[:, 1].copy())
    first = np.argmax(np.array(seen) > 0.5, axis=0)
    np.testing.assert_array_equal(first, [0, 5])  # 10 ms are 5 time steps
