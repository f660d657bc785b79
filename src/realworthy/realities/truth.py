"""What a twin really is: its file's effects built in, and room for its true e."""

import math

import msgspec
import numpy as np

from realworthy.artefacts import COUNT
from realworthy.errors import RealworthyError, UnknownName
from realworthy.realities.effects import (
    Backlash,
    Contact,
    Flexibility,
    LoadFriction,
    Saturation,
    Slosh,
    Stribeck,
    SupplySag,
    ThermalFade,
)
from realworthy.realities.file import RealityFile
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout
from realworthy.twins.structure import (
    add_backlash,
    add_flexibility,
    add_obstacle,
    add_slosh,
    limit_torque,
    play_joint,
    set_timestep,
)

_OF_A_DRIVE = (Backlash, Flexibility, LoadFriction, Saturation, ThermalFade)
_SUBSTEPS = 4
"""Substeps of the twin in a control period, where the file names no rate."""


def build_truth(file: RealityFile, twin: Twin) -> BoundTwin:
    """The true model; raises for a name or number that the twin cannot have."""
    layout = Layout(bind(twin))
    _check_steps(file, twin)
    _check_parameters(file, twin)
    _check_effects(file, layout)
    file.interface.check_joints(robot_joints(twin, layout))
    _check_command_kind(file, layout)
    moved = [e.joint for e in file.effects if isinstance(e, Stribeck | LoadFriction)]
    # friction that moves needs the stiff friction that a bound one gets
    friction = [f"{joint}.coulomb_friction" for joint in moved]
    names = list(dict.fromkeys((*file.parameters, *friction)))
    # the twin's own space: what effects add is not scaled by all.mass and its like
    return bind(_build_structure(file, twin), twin.space.select(names))


def control_period(file: RealityFile, twin: Twin) -> float:
    """[s] between commands: the file's rate in whole substeps of the twin, or four."""
    timestep = float(twin.compiled.model.opt.timestep)
    if file.rate > 0:
        return timestep * max(1, round(1 / (file.rate * timestep)))
    return timestep * _SUBSTEPS


def robot_joints(twin: Twin, layout: Layout) -> tuple[str, ...]:
    """Joints that the robot reports: the twin's, but not the links behind a play."""
    played = {play_joint(a.joint) for a in twin.actuators.values() if a.backlash}
    return tuple(joint for joint in layout.joints if joint not in played)


def _build_structure(file: RealityFile, twin: Twin) -> Twin:
    if file.timestep_factor != 1.0:
        period = control_period(file, twin)
        wanted = float(twin.compiled.model.opt.timestep) * file.timestep_factor
        timestep = period / max(1, round(period / wanted))
        twin = twin.edited(lambda spec: set_timestep(spec, timestep))
    for effect in file.effects:
        if isinstance(effect, Backlash):
            twin = twin.edited(lambda s, e=effect: add_backlash(s, e.joint, e.width))
        elif isinstance(effect, Flexibility):
            twin = twin.edited(
                lambda s, e=effect: add_flexibility(
                    s, e.joint, stiffness=e.stiffness, damping=e.damping
                )
            )
        elif isinstance(effect, Saturation):
            twin = _saturate(twin, effect)
        elif isinstance(effect, Slosh):
            twin = twin.edited(
                lambda s, e=effect: add_slosh(
                    s, e.body, mass=e.mass, length=e.length, damping=e.damping
                )
            )
        elif isinstance(effect, Contact):
            twin = twin.edited(
                lambda s, e=effect: add_obstacle(s, position=e.position, size=e.size)
            )
    return twin


def _check_steps(file: RealityFile, twin: Twin) -> None:
    """Raises where a moment of it would take for ever, or have to be remembered."""
    timestep = float(twin.compiled.model.opt.timestep)
    wait = 1 / file.rate if file.rate > 1e-12 else 0.0 if file.rate == 0 else math.inf
    faults = file.interface
    for what, seconds in (
        ("rate: a period of it has", max(wait, _SUBSTEPS * timestep)),
        ("interface: clock_offset is", faults.clock_offset),
        ("interface: jitter is", 3 * faults.jitter),  # it goes up to √6 of it
    ):
        COUNT.check(
            seconds / (timestep * min(file.timestep_factor, 1.0)),
            f"{what} too many substeps",
        )


def _saturate(twin: Twin, effect: Saturation) -> Twin:
    described = {n: a for n, a in twin.actuators.items() if a.joint == effect.joint}
    if described:  # these replace whatever the model has
        limited = {
            name: msgspec.structs.replace(actuator, torque_limit=effect.limit)
            for name, actuator in described.items()
        }
        return twin.with_actuators(limited)
    return twin.edited(lambda spec: limit_torque(spec, effect.joint, effect.limit))


def _check_parameters(file: RealityFile, twin: Twin) -> None:
    for name, value in file.parameters.items():
        parameter = twin.space[name]
        if not parameter.lower <= value <= parameter.upper or not np.isfinite(value):
            raise RealworthyError(
                f"parameters: '{name}' is {value:g} {parameter.unit}, outside "
                f"[{parameter.lower:g}, {parameter.upper:g}].",
                hint=f"The twin has {parameter.nominal:g}.",
            )


def _check_effects(file: RealityFile, layout: Layout) -> None:
    seen: set[tuple[str, str]] = set()
    for effect in file.effects:
        kind = str(effect.__struct_config__.tag)
        if isinstance(effect, Slosh):
            _check_body(effect.body, layout)
            place = effect.body
        elif isinstance(effect, SupplySag):
            _check_limits(layout, range(len(layout.actuators)), "supply_sag")
            place = "the supply"
        elif isinstance(effect, Contact):
            continue
        else:
            layout.joint(effect.joint)
            place = effect.joint
            if isinstance(effect, _OF_A_DRIVE):
                layout.actuator(place)
        if (kind, place) in seen:
            raise RealworthyError(f"effects: there are two of {kind} on '{place}'.")
        seen.add((kind, place))
        if isinstance(effect, ThermalFade) and effect.rated_torque is None:
            _check_limits(layout, [layout.actuator(place)], "thermal_fade")
        if isinstance(effect, Saturation):
            _check_saturation(effect, layout)


def _check_body(body: str, layout: Layout) -> None:
    if body not in layout.bodies:
        owner = f"twin '{layout.bound.twin.name}'"
        raise UnknownName("body", body, layout.bodies, owner=owner, hint="")


def _check_limits(layout: Layout, actuators: range | list[int], kind: str) -> None:
    for i in actuators:
        if not np.isfinite(layout.torque_limits[i]):
            raise RealworthyError(
                f"effects: {kind} needs a torque limit, and actuator "
                f"'{layout.actuators[i]}' states none.",
                hint="Give it a forcerange in the model"
                + (", or say rated_torque." if kind == "thermal_fade" else "."),
            )


def _check_saturation(effect: Saturation, layout: Layout) -> None:
    limit = float(layout.torque_limits[layout.actuator(effect.joint)])
    if effect.limit >= limit:
        raise RealworthyError(
            f"effects: saturation of '{effect.joint}' at {effect.limit:g} N·m changes "
            f"nothing: its actuator ends at {limit:g} N·m anyway.",
            hint="Give a lower limit.",
        )


def _check_command_kind(file: RealityFile, layout: Layout) -> None:
    kinds = {line.kind for line in describe_commands(layout.bound)}
    if file.interface.command_kind and kinds != {"position"}:
        raise RealworthyError(
            "interface: command_kind is for robots that take position commands; this "
            f"one takes {' and '.join(sorted(kinds)) or 'none'}.",
            hint="Leave it out, or choose a twin with position servos, such as arm.",
        )
