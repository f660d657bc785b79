"""The physical numbers of an actuator: unit, possible range, search box, transform.

`KINDS` is the one list. A field of a description whose name is here is a number of e:
it may differ from world to world, be randomized and be identified. Boxes of the
friction terms are those of Better Actuator Models (Duclusaud and Passault), for hobby
servos. Units are those of a hinge; on a slider read N for N·m and m for rad.
"""

import msgspec

from realworthy.errors import RealworthyError
from realworthy.parameters.kind import Kind
from realworthy.parameters.parameter import Transform

IDENTITY, LOG, LOGIT = Transform.IDENTITY, Transform.LOG, Transform.LOGIT


class BadActuator(RealworthyError, ValueError):
    """An actuator that cannot exist, or that cannot be built at this timestep."""


KINDS: dict[str, Kind] = {
    # command
    "delay": Kind("s", LOGIT, (0.0, 0.04)),
    "slew_rate": Kind("command unit/s", LOG),
    # controller
    "kp": Kind("N·m/rad", LOG),
    "kd": Kind("N·m·s/rad", LOGIT),
    "velocity_filter": Kind("s", LOGIT, (0.0, 0.05)),
    "duty_gain": Kind("1/rad", LOG),
    "max_duty": Kind("1", LOGIT, (0.8, 1.0), upper=1.0),
    # motor
    "torque_constant": Kind("N·m/A", LOG),
    "back_emf_constant": Kind("V·s/rad", LOG),
    "resistance": Kind("Ω", LOG),
    "inductance": Kind("H", LOG),
    "supply_voltage": Kind("V", LOG),
    "current_limit": Kind("A", LOG),
    "saturation_current": Kind("A", LOG),
    "stall_torque": Kind("N·m", LOG),
    "no_load_speed": Kind("rad/s", LOG),
    "thermal_resistance": Kind("K/W", LOG),
    "thermal_capacity": Kind("J/K", LOG),
    "temperature_coefficient": Kind("1/K", LOGIT, (0.0, 0.006)),
    "ambient_temperature": Kind("°C", IDENTITY, (0.0, 45.0), lower=-273.15),
    "reference_temperature": Kind("°C", IDENTITY, (20.0, 25.0), lower=-273.15),
    "warn_temperature": Kind("°C", IDENTITY, (50.0, 120.0), lower=-273.15),
    "max_temperature": Kind("°C", IDENTITY, (60.0, 150.0), lower=-273.15),
    # limits
    "strength": Kind("1", LOG, (0.7, 1.3)),
    "soft_saturation": Kind("N·m", LOG),
    "torque_limit": Kind("N·m", LOG),
    # gearbox
    "coulomb_friction": Kind("N·m", LOGIT, (0.0, 0.2)),
    "damping": Kind("N·m·s/rad", LOGIT, (0.0, 1.0)),
    "stribeck_friction": Kind("N·m", LOGIT, (0.0, 0.2)),
    "stribeck_velocity": Kind("rad/s", LOG, (0.1, 3.0)),
    "stribeck_exponent": Kind("1", LOG, (1.0, 10.0)),
    "load_friction": Kind("1", LOGIT, (0.0, 0.5)),
    "load_friction_motor": Kind("1", LOGIT, (0.0, 0.5)),
    "load_friction_external": Kind("1", LOGIT, (0.0, 0.5)),
    "stribeck_load_friction": Kind("1", LOGIT, (0.0, 1.0)),
    "stribeck_load_friction_motor": Kind("1", LOGIT, (0.0, 1.0)),
    "stribeck_load_friction_external": Kind("1", LOGIT, (0.0, 1.0)),
    "quadratic_load_friction_motor": Kind("1/(N·m)", LOGIT, (0.0, 0.01)),
    "quadratic_load_friction_external": Kind("1/(N·m)", LOGIT, (0.0, 0.01)),
    # structure that an engine writes; the law does not read it
    "armature": Kind("kg·m²", LOG),
    "backlash": Kind("rad", LOGIT, (0.0, 0.1)),
}


class ActuatorStage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"
):
    """One stage of the pipeline as a file describes it; abstract."""

    def __post_init__(self) -> None:
        for kind, value in collect_numbers(self).items():
            check_number(kind, value, owner=str(self.__struct_config__.tag))


def compute_box(kind: str, nominal: float) -> tuple[float, float]:
    """Default search box: the kind's own, widened to hold `nominal`, or around it."""
    described = KINDS[kind]
    spread = abs(nominal) if nominal else 1.0
    if described.box is None:
        least = spread / 3 if described.transform is LOG else 0.0
        return least, min(3 * spread, described.upper)
    lower, upper = described.box
    if not lower <= nominal <= upper:
        lower = min(lower, nominal - spread / 2)
        upper = max(upper, nominal + spread)
    return max(lower, described.lower), min(upper, described.upper)


def check_number(kind: str, value: float, *, owner: str) -> None:
    """Raises `BadActuator` for a number outside the possible range of its kind."""
    described = KINDS[kind]
    if described.is_possible(value):
        return
    raise BadActuator(
        f"{owner}: {kind} is {value:g}; it must be {described.range_in_words}.",
        hint=f"Its unit is {described.unit}.",
    )


def collect_numbers(description: msgspec.Struct) -> dict[str, float]:
    """The numbers of e in a description and in the descriptions inside it, by kind."""
    numbers: dict[str, float] = {}
    for field in description.__struct_fields__:
        value = getattr(description, field)
        if isinstance(value, msgspec.Struct):
            numbers |= collect_numbers(value)
        elif field in KINDS and value is not None:
            numbers[field] = float(value)
    return numbers


def collect_choices(description: msgspec.Struct) -> tuple[object, ...]:
    """What distinguishes descriptions other than the size of their numbers."""
    choices: list[object] = [type(description)]
    for field in description.__struct_fields__:
        value = getattr(description, field)
        if isinstance(value, msgspec.Struct):
            choices.append(collect_choices(value))
        else:
            choices.append(value is None if field in KINDS else value)
    return tuple(choices)
