"""What a twin can be told: one line per number of its command."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from realworthy.actuators.controllers import CommandKind
from realworthy.twins.bind import BoundTwin
from realworthy.twins.signal_sensors import command_names
from realworthy.twins.writers.actuators import (
    is_dc_motor,
    is_position_servo,
    is_velocity_servo,
)

if TYPE_CHECKING:
    from realworthy.twins.twin import Twin

_ACTUATOR, _JOINT = mujoco.mjtObj.mjOBJ_ACTUATOR, mujoco.mjtObj.mjOBJ_JOINT
_NAMED_INPUTS: dict[str, CommandKind] = {
    "pos": "position",
    "vel": "velocity",
    "ff": "torque",
    "voltage": "voltage",
}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One number of a command."""

    signal: str
    """Such as `knee.command`."""
    joint: str | None
    """The joint that it drives, if it drives one."""
    kind: CommandKind
    lower: float
    upper: float
    """±inf where nothing clips it."""


def describe_commands(bound: BoundTwin) -> tuple[CommandLine, ...]:
    """The command of a bound twin, in order."""
    model = bound.model
    explicit = {drive.name: drive.law for drive in bound.drives}
    signals = iter(command_names(model))
    lines = []
    for i in range(model.nactuator):
        name = mujoco.mj_id2name(model, _ACTUATOR, i)
        on_joint = model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT
        target = int(model.actuator_trnid[i, 0])
        joint = mujoco.mj_id2name(model, _JOINT, target) if on_joint else None
        first = int(model.actuator_ctrladr[i])
        for k in range(int(model.actuator_ctrlnum[i])):
            kind = explicit[name].inputs[k] if name in explicit else _kind(model, i, k)
            clipped = name not in explicit and model.actuator_ctrllimited[first + k]
            low, high = model.actuator_ctrlrange[first + k]
            ends = (float(low), float(high)) if clipped else (-np.inf, np.inf)
            lines.append(CommandLine(next(signals), joint, kind, *ends))
    return tuple(lines)


def _kind(model: mujoco.MjModel, actuator: int, place: int) -> CommandKind:
    """What one input of a native actuator means."""
    name = mujoco.mj_actuatorInputName(model, actuator, place)
    if name in _NAMED_INPUTS:
        return _NAMED_INPUTS[name]
    if is_position_servo(model, actuator):
        return "position"
    if is_velocity_servo(model, actuator):
        return "velocity"
    if is_dc_motor(model, actuator):
        return "voltage"
    return "torque"


def find_owner(line: CommandLine) -> str:
    """The joint or actuator that a command is named after."""
    return line.signal.partition(".command")[0]


def find_gains(twin: "Twin", line: CommandLine) -> tuple[float, float] | None:
    """Nominal kp [N·m/rad] and kd [N·m·s/rad] of a position drive; None of another."""
    owner, space = find_owner(line), twin.space
    if line.kind != "position" or f"{owner}.kp" not in space:
        return None
    damping = f"{owner}.kd"
    kd = space[damping].nominal if damping in space else 0.0
    return space[f"{owner}.kp"].nominal, kd
