"""From a motion to what a robot is sent: inverse dynamics and drives of its twin."""

import copy

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import MotorDc
from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings.motion import Reference
from realworthy.robots.plan import Line, Plan
from realworthy.twins import BoundTwin
from realworthy.twins.commands import CommandLine, describe_commands
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_BANDWIDTH = 2 * np.pi * 2.0
"""[rad/s] with which a torque drive is led back to its motion; bears delays."""
_DAMPING = 0.7
"""Share of critical damping."""
_DIFFERENCE_STEP = 1e-3
"""Command and speed with which a drive's law is read off, small against its limits."""


def plan_motion(bound: BoundTwin, reference: Reference) -> Plan:
    """How a twin's commands follow a motion; other joints rest at the home pose."""
    layout, joints = Layout(bound), reference.joints
    owner = f"twin '{bound.twin.name}'"
    for joint in joints:
        if joint not in layout.driven_joints:
            raise UnknownName("driven joint", joint, layout.driven_joints, owner=owner)
    commands = describe_commands(bound)
    lines = tuple(
        _make_line(layout, reference, commands, place) for place in range(len(commands))
    )
    dofs = [layout.joint(joint)[1] for joint in joints]
    inertia = layout.inertias[dofs]
    pushed = any(line.joint >= 0 and _is_torque(line.kind) for line in lines)
    torque = np.zeros_like(reference.position)
    if pushed:
        torque = compute_torques(bound, reference)
    return Plan(
        reference=reference,
        lines=lines,
        torque=torque,
        stiffness=inertia * _BANDWIDTH**2,
        damping=2 * _DAMPING * inertia * _BANDWIDTH,
    )


def compute_torques(bound: BoundTwin, reference: Reference) -> Floats:
    """(rows, joints) [N·m] that the twin's drives must give for a motion."""
    model, layout = bound.model, Layout(bound)
    places = [layout.joint(joint) for joint in reference.joints]
    qpos, dofs = [q for q, _ in places], [v for _, v in places]
    data = mujoco.MjData(model)
    home = bound.compiled.own["own.initial_qpos"]
    found = np.empty_like(reference.position)
    for row in range(len(found)):
        data.qpos[:], data.qvel[:], data.qacc[:] = home, 0.0, 0.0
        data.qpos[qpos] = reference.position[row]
        data.qvel[dofs] = reference.velocity[row]
        data.qacc[dofs] = reference.acceleration[row]
        mujoco.mj_inverse(model, data)
        found[row] = data.qfrc_inverse[dofs]
    return found


def _make_line(
    layout: Layout,
    reference: Reference,
    commands: tuple[CommandLine, ...],
    place: int,
) -> Line:
    command = commands[place]
    rest = float(layout.bound.compiled.own["own.initial_ctrl"][place])
    joint = -1
    if command.joint in reference.joints:
        joint = reference.joints.index(command.joint)
    kinds = {line.kind for line in commands if line.joint == command.joint}
    leads = {"position", "velocity"} & kinds
    if _is_torque(command.kind) and leads:
        joint = -1  # feed-forward beside a servo that follows by itself
    per_torque, per_velocity = 1.0, 0.0
    if joint >= 0 and _is_torque(command.kind):
        per_torque, per_velocity = _read_drive(layout, command)
    return Line(
        signal=command.signal,
        kind=command.kind,
        joint=joint,
        rest=rest,
        lower=command.lower,
        upper=command.upper,
        per_torque=per_torque,
        per_velocity=per_velocity,
    )


def _is_torque(kind: str) -> bool:
    return kind in ("torque", "voltage")


def _read_drive(layout: Layout, command: CommandLine) -> tuple[float, float]:
    """Command per torque on the joint, and per speed of the joint."""
    assert command.joint is not None
    i = layout.actuator(command.joint)
    if i in layout.explicit_actuators:
        return _read_law(layout, i, command)
    model = copy.copy(layout.bound.model)
    model.actuator_delay[:] = 0.0
    control = int(model.actuator_ctrladr[i])
    _, dof = layout.joint(command.joint)

    def push(value: float, speed: float) -> float:
        data = mujoco.MjData(model)
        data.ctrl[control], data.qvel[dof] = value, speed
        mujoco.mj_forward(model, data)
        return float(data.qfrc_actuator[dof])

    still = push(0.0, 0.0)
    per_command = (push(_DIFFERENCE_STEP, 0.0) - still) / _DIFFERENCE_STEP
    per_speed = (push(0.0, _DIFFERENCE_STEP) - still) / _DIFFERENCE_STEP
    if per_command == 0:
        raise RealworthyError(f"The command of joint '{command.joint}' moves nothing.")
    return 1 / per_command, -per_speed / per_command


def _read_law(layout: Layout, i: int, command: CommandLine) -> tuple[float, float]:
    name = layout.actuators[i]
    law = next(drive.law for drive in layout.bound.drives if drive.name == name)
    actuator = law.actuator
    motor, strength = actuator.motor, actuator.strength
    if command.kind == "torque":
        return 1 / strength, 0.0
    if not isinstance(motor, MotorDc):
        raise RealworthyError(
            f"Joint '{command.joint}' is driven by a voltage through a motor that is "
            "not a direct-current one; nothing here can lead it along a motion."
        )
    emf = motor.back_emf_constant or motor.torque_constant
    per_torque = motor.resistance / (actuator.gear * motor.torque_constant * strength)
    return per_torque, emf * actuator.gear
