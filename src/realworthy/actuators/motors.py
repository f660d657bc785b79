"""From what the firmware asks to torque: ideal, datasheet, and direct-current motors.

Numbers here are on the motor's side of the gear; with `gear` 1 that is the joint's.
The direct-current motor obeys

    L di/dt = v − R i − K_e ω        (without inductance: i = (v − K_e ω) / R)
    τ = K_t i; where iron saturates K_t i / (1 + |i| / i_s), or a table over current
    C dT/dt = i² R(T) − (T − T_a) / R_th,   R(T) = R₀ (1 + α (T − T₀))

with the voltage v held for a timestep. Firmware that limits current can only move the
duty, so it clips it to [(K_e ω − R i_max)/V, (K_e ω + R i_max)/V] and then to
±max_duty: at high speed the limit may be out of reach. Asked for a torque, the drive
chooses the voltage that gives the current τ/K_t, as far as the supply allows: it knows
nothing of saturation. Back-EMF is K_e ω at every current.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import array_api_compat as api
import msgspec

from realworthy.actuators.arrays import Array, Numbers, State, clamp
from realworthy.actuators.controllers import Asks
from realworthy.actuators.kinds import ActuatorStage, BadActuator
from realworthy.actuators.network import MotorNetwork


class MotorIdeal(ActuatorStage, frozen=True, kw_only=True, tag="ideal"):
    """Delivers the torque asked for."""


class MotorTorqueSpeed(ActuatorStage, frozen=True, kw_only=True, tag="torque_speed"):
    """The line of a datasheet: |τ| ≤ τ_stall (1 − ω sgn τ / ω_0), at most τ_stall.

    Braking, the motor can give its whole stall torque at any speed.
    """

    stall_torque: float
    no_load_speed: float


class Thermal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Winding and housing as one heat capacity."""

    thermal_resistance: float
    """Winding to ambient."""
    thermal_capacity: float
    temperature_coefficient: float = 0.00393
    """Of the resistance; copper's."""
    ambient_temperature: float = 25.0
    reference_temperature: float = 25.0
    """At which `resistance` was measured."""
    warn_temperature: float | None = None
    max_temperature: float | None = None
    """The current limit falls linearly to zero between these two."""


class MotorDc(ActuatorStage, frozen=True, kw_only=True, tag="dc"):
    """Brushed motor, or a brushless one in its q axis."""

    torque_constant: float
    back_emf_constant: float | None = None
    """If None, it is the torque constant, also where that differs between worlds."""
    resistance: float
    supply_voltage: float
    current_limit: float | None = None
    inductance: float | None = None
    saturation_current: float | None = None
    """At which a motor gives half the torque that it would if it were linear."""
    thermal: Thermal | None = None
    current_table: tuple[float, ...] = ()
    """[A], rising from 0."""
    torque_table: tuple[float, ...] = ()
    """[N·m] at those currents, constant beyond; `strength` scales them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rising = all(a < b for a, b in pairwise(self.current_table))
        same_length = len(self.current_table) == len(self.torque_table) != 1
        if not (rising and same_length) or any(self.current_table[:1]):
            raise BadActuator(
                "dc: current_table must rise from 0 and torque_table must have as"
                f" many entries; they are {list(self.current_table)} and"
                f" {list(self.torque_table)}.",
                hint="Example: current_table: [0, 10, 20], torque_table: [0, 1, 1.9]",
            )
        if self.current_table and self.saturation_current is not None:
            raise BadActuator(
                "dc: current_table and saturation_current both say how torque bends.",
                hint="Leave one of them out.",
            )
        if self.thermal is not None:
            _check_derating(self.thermal, self.current_limit)


Motor: TypeAlias = MotorIdeal | MotorTorqueSpeed | MotorDc | MotorNetwork


def limit_torque_speed(numbers: Numbers, torque: Array, velocity: Array) -> Array:
    """The torque that the datasheet's line allows at this velocity."""
    stall = numbers["stall_torque"]
    slope = stall / numbers["no_load_speed"]
    most = clamp(stall - slope * velocity, 0.0 * stall, stall)
    least = clamp(-stall - slope * velocity, -stall, 0.0 * stall)
    return clamp(torque, least, most)


def drive_dc(
    motor: MotorDc,
    numbers: Numbers,
    request: Array,
    velocity: Array,
    *,
    asks: Asks,
    powered: Array | None,
    state: State,
    timestep: float,
) -> tuple[Array, Array, State]:
    """Torque and current (worlds,), means over the timestep, and what changed."""
    xp = api.array_namespace(velocity)
    winding = _examine(numbers, velocity, state, timestep)
    duty = _choose_duty(winding, numbers, request, asks=asks)

    steady = (duty * numbers["supply_voltage"] - winding.back_emf) / winding.resistance
    current = after = steady
    if "inductance" in numbers:
        after = steady + (winding.current - steady) * winding.keep
        constants = timestep * winding.resistance / numbers["inductance"]
        swing = (winding.current - steady) * (1.0 - winding.keep)
        current = steady + swing / constants
    if powered is not None:
        current = xp.where(powered, current, 0.0)
        after = xp.where(powered, after, 0.0)

    updates: State = {}
    if "inductance" in numbers:
        updates["current"] = after[:, None]
    if "thermal_capacity" in numbers:
        heat = current**2 * winding.resistance
        updates["temperature_rise"] = _warm(numbers, heat, state, timestep)
    if motor.current_table:
        return _look_up(motor, current), current, updates
    torque = numbers["torque_constant"] * current
    if "saturation_current" in numbers:
        torque = torque / (1.0 + xp.abs(current) / numbers["saturation_current"])
    return torque, current, updates


@dataclass(frozen=True, slots=True)
class _Winding:
    """The motor as this timestep finds it."""

    resistance: Array
    limit: Array | None  # of current
    back_emf: Array
    current: Array
    keep: Array  # share of that current which a timestep leaves


def _examine(
    numbers: Numbers, velocity: Array, state: State, timestep: float
) -> _Winding:
    xp = api.array_namespace(velocity)
    resistance, limit = numbers["resistance"], numbers.get("current_limit")
    if "thermal_capacity" in numbers:
        hot = numbers["ambient_temperature"] + state["temperature_rise"][:, 0]
        warmer = hot - numbers["reference_temperature"]
        resistance = resistance * (1.0 + numbers["temperature_coefficient"] * warmer)
        if "max_temperature" in numbers and limit is not None:
            most = numbers["max_temperature"]
            margin = (most - hot) / (most - numbers["warn_temperature"])
            limit = limit * xp.clip(margin, min=0.0, max=1.0)
    keep, current = 0.0 * resistance, 0.0 * velocity
    if "inductance" in numbers:
        keep = xp.exp(-timestep * resistance / numbers["inductance"])
        current = state["current"][:, 0]
    constant_e = numbers.get("back_emf_constant", numbers["torque_constant"])
    return _Winding(resistance, limit, constant_e * velocity, current, keep)


def _choose_duty(
    winding: _Winding, numbers: Numbers, request: Array, *, asks: Asks
) -> Array:
    """Share of the supply voltage that the drive puts on the motor."""
    supply, limit = numbers["supply_voltage"], winding.limit
    if asks == "torque":
        wanted = request / numbers["torque_constant"]
        if limit is not None:
            wanted = clamp(wanted, -limit, limit)
        steady = (wanted - winding.keep * winding.current) / (1.0 - winding.keep)
        duty = (winding.back_emf + winding.resistance * steady) / supply
    else:
        duty = request
        if limit is not None:
            span = winding.resistance * limit / supply
            centre = winding.back_emf / supply
            duty = clamp(duty, centre - span, centre + span)
    most = numbers["max_duty"]
    return clamp(duty, -most, most)  # last: the supply has the last word


def _check_derating(thermal: Thermal, current_limit: float | None) -> None:
    warn, most = thermal.warn_temperature, thermal.max_temperature
    if warn is None and most is None:
        return
    if warn is None or most is None or warn >= most:
        raise BadActuator(
            f"dc: warn_temperature is {warn}, max_temperature {most}.",
            hint="Give both, the warning below the maximum, or neither.",
        )
    if current_limit is None:
        raise BadActuator(
            "dc: warn_ and max_temperature lower a current_limit, and there is none.",
            hint="Give current_limit, or leave the two temperatures out.",
        )


def _warm(numbers: Numbers, heat: Array, state: State, timestep: float) -> Array:
    """Rise over ambient [K] (worlds, 1) after a timestep of constant `heat` [W]."""
    xp = api.array_namespace(heat)
    time_constant = numbers["thermal_resistance"] * numbers["thermal_capacity"]
    rise = state["temperature_rise"][:, 0]
    final_rise = numbers["thermal_resistance"] * heat
    return (rise - (final_rise - rise) * xp.expm1(-timestep / time_constant))[:, None]


def _look_up(motor: MotorDc, current: Array) -> Array:
    """Torque of the table: straight lines between its points, constant beyond."""
    xp = api.array_namespace(current)
    size = xp.abs(current)
    torque = 0.0 * size + motor.torque_table[0]
    points = zip(motor.current_table, motor.torque_table, strict=True)
    for (from_current, from_torque), (to_current, to_torque) in pairwise(points):
        slope = (to_torque - from_torque) / (to_current - from_current)
        part = xp.clip(size - from_current, min=0.0, max=to_current - from_current)
        torque = torque + slope * part
    return xp.sign(current) * torque
