"""Candidates for the friction of drives: the same robot with M1 to M6 at its joints."""

import math
from collections.abc import Iterable, Sequence

import msgspec

from realworthy.actuators import (
    Actuator,
    ControllerPosition,
    ControllerTorque,
    ControllerVelocity,
    ControllerVoltage,
    Friction,
    FrictionM1,
    FrictionM2,
    FrictionM3,
    FrictionM4,
    FrictionM5,
    FrictionM6,
    MotorDc,
)
from realworthy.errors import RealworthyError, UnknownName
from realworthy.identification.validation.structures import Structure
from realworthy.twins import Twin, bind
from realworthy.twins.commands import CommandLine, describe_commands

FRICTIONS: dict[str, type[Friction]] = {
    "m1": FrictionM1,
    "m2": FrictionM2,
    "m3": FrictionM3,
    "m4": FrictionM4,
    "m5": FrictionM5,
    "m6": FrictionM6,
}
"""Name → model of friction, the simplest first."""
_FIRST_VALUES = {
    "stribeck_friction": 0.3,
    "load_friction": 0.05,
    "stribeck_load_friction": 0.02,
    "load_friction_motor": 0.05,
    "load_friction_external": 0.05,
    "stribeck_load_friction_motor": 0.02,
    "stribeck_load_friction_external": 0.02,
    "quadratic_load_friction_motor": 1e-3,
    "quadratic_load_friction_external": 1e-3,
}
"""Where new numbers begin; the first is a share of Coulomb friction."""
_UNFITTED = ("stribeck_exponent",)
"""Numbers that recordings seldom tell: they stay at their default."""


def frictions(
    twin: Twin,
    joints: Sequence[str],
    models: Iterable[str] = tuple(FRICTIONS),
    *,
    others: Sequence[str] = (),
) -> dict[str, Structure]:
    """Model → structure that has it at `joints`, other numbers of drives kept.

    To fit: all numbers of the friction but the Stribeck exponent, and `others`, such as
    `elbow.kp`.
    """
    found = {}
    for name in models:
        if name not in FRICTIONS:
            raise UnknownName("friction", name, FRICTIONS, owner="realworthy")
        drives, numbers = {}, []
        for joint in joints:
            command, actuator = describe_drive(twin, joint)
            friction = _begin(FRICTIONS[name], actuator.friction)
            drives[command] = msgspec.structs.replace(actuator, friction=friction)
            numbers += [
                f"{command}.{kind}"
                for kind in friction.__struct_fields__
                if kind not in _UNFITTED
            ]
        found[name] = Structure(
            twin=twin.with_actuators(drives), parameters=(*numbers, *others)
        )
    return found


def describe_drive(twin: Twin, joint: str) -> tuple[str, Actuator]:
    """Name and description of a joint's drive, native ones put into our words."""
    for name, actuator in twin.actuators.items():
        if actuator.joint == joint:
            return name, actuator
    lines = [line for line in describe_commands(bind(twin)) if line.joint == joint]
    if len(lines) != 1:
        raise RealworthyError(
            f"{twin.owner} has no single drive at joint '{joint}'.",
            hint="Describe its actuator in a twin file; see docs/actuators.md.",
        )
    line = lines[0]
    name = line.signal.removesuffix(".command")
    controller = {
        "position": lambda: ControllerPosition(
            kp=_get(twin, f"{name}.kp"), kd=_get(twin, f"{name}.kd")
        ),
        "velocity": lambda: ControllerVelocity(kd=_get(twin, f"{name}.kd")),
        "torque": ControllerTorque,
        "voltage": ControllerVoltage,
    }.get(line.kind)
    if controller is None:
        raise RealworthyError(
            f"The drive of joint '{joint}' takes {line.kind} commands; its friction "
            "cannot be exchanged unless a twin file describes it.",
            hint="See docs/actuators.md.",
        )
    if line.kind == "voltage":
        return name, _describe_dc(twin, name, line)
    limit = _get(twin, f"{name}.torque_limit")
    return name, Actuator(
        joint=joint,
        controller=controller(),
        friction=FrictionM1(
            coulomb_friction=_get(twin, f"{joint}.coulomb_friction"),
            damping=_get(twin, f"{joint}.damping"),
        ),
        delay=_get(twin, f"{name}.delay"),
        delay_limit=max(0.1, _get(twin, f"{name}.delay")),
        torque_limit=limit or None,
        armature=_get(twin, f"{joint}.armature"),
    )


def _describe_dc(twin: Twin, name: str, line: CommandLine) -> Actuator:
    """A native motor that takes voltage, its friction that of the joint."""
    joint = line.joint or name
    return Actuator(
        joint=joint,
        controller=ControllerVoltage(),
        motor=MotorDc(
            torque_constant=_get(twin, f"{name}.torque_constant"),
            resistance=_get(twin, f"{name}.resistance"),
            supply_voltage=line.upper if math.isfinite(line.upper) else 1.0,
        ),
        friction=FrictionM1(
            coulomb_friction=_get(twin, f"{joint}.coulomb_friction"),
            damping=_get(twin, f"{joint}.damping"),
        ),
        armature=_get(twin, f"{joint}.armature"),
    )


def _get(twin: Twin, name: str) -> float:
    """The twin's number; 0 where it has none."""
    return twin.space[name].nominal if name in twin.space.names else 0.0


def _begin(model: type[Friction], old: Friction | None) -> Friction:
    """The model with the numbers that the old one has, and a little of each other."""
    known = {} if old is None else msgspec.structs.asdict(old)
    coulomb = known.get("coulomb_friction", 0.0) or 0.01
    values = {}
    for kind in model.__struct_fields__:
        if kind in known:
            values[kind] = known[kind]
        elif kind == "stribeck_friction":
            values[kind] = _FIRST_VALUES[kind] * coulomb
        elif kind in _FIRST_VALUES:
            values[kind] = _FIRST_VALUES[kind]
    return model(**{**values, "coulomb_friction": coulomb})
