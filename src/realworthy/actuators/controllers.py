"""What the drive's firmware asks of its motor, from the (delayed) command.

    torque             τ = command
    position           τ = kp (q_c − q) − kd q̇
    velocity           τ = kd (q̇_c − q̇)
    position_velocity  τ = kp (q_c − q) + kd (q̇_c − q̇) [+ command of torque]
    duty               duty = duty_gain (q_c − q), the servos of hobby arms
    voltage            duty = command / supply voltage
    goal               hands q_c on to a network that learned the whole drive

q̇ is the measured velocity, after a first-order low pass of time constant
`velocity_filter` where there is one. A command may be slewed first, as servos with a
speed limit do: the goal then moves at most `slew_rate` per second.
"""

from typing import Literal, TypeAlias

import array_api_compat as api

from realworthy.actuators.arrays import Array, Numbers, State, clamp
from realworthy.actuators.kinds import ActuatorStage

CommandKind = Literal["position", "velocity", "torque", "voltage"]
Asks = Literal["torque", "duty", "goal"]
"""The quantity that a controller hands to the motor: [N·m], [1] or [rad]."""


class ControllerTorque(ActuatorStage, frozen=True, kw_only=True, tag="torque"):
    """Torque in, torque out."""


class ControllerPosition(ActuatorStage, frozen=True, kw_only=True, tag="position"):
    """PD around a commanded position."""

    kp: float
    kd: float = 0.0
    velocity_filter: float | None = None


class ControllerVelocity(ActuatorStage, frozen=True, kw_only=True, tag="velocity"):
    """Proportional control of velocity."""

    kd: float
    velocity_filter: float | None = None


class ControllerPositionVelocity(
    ActuatorStage, frozen=True, kw_only=True, tag="position_velocity"
):
    """PD around a commanded position and velocity, with torque if `feed_forward`."""

    kp: float
    kd: float
    velocity_filter: float | None = None
    feed_forward: bool = False


class ControllerDuty(ActuatorStage, frozen=True, kw_only=True, tag="duty"):
    """Proportional firmware of a hobby servo; needs a motor fed by voltage."""

    duty_gain: float
    """Share of the supply voltage per radian of error."""
    max_duty: float = 1.0


class ControllerVoltage(ActuatorStage, frozen=True, kw_only=True, tag="voltage"):
    """Voltage in; needs a motor fed by voltage."""

    max_duty: float = 1.0


class ControllerGoal(ActuatorStage, frozen=True, kw_only=True, tag="goal"):
    """No law of its own: a network motor gets the goal position."""


Controller: TypeAlias = (
    ControllerTorque
    | ControllerPosition
    | ControllerVelocity
    | ControllerPositionVelocity
    | ControllerDuty
    | ControllerVoltage
    | ControllerGoal
)


def get_inputs(controller: Controller) -> tuple[CommandKind, ...]:
    """What the columns of a command mean; the first is the command's kind."""
    match controller:
        case ControllerTorque():
            return ("torque",)
        case ControllerVelocity():
            return ("velocity",)
        case ControllerVoltage():
            return ("voltage",)
        case ControllerPositionVelocity():
            torque = ("torque",) if controller.feed_forward else ()
            return ("position", "velocity", *torque)
        case ControllerPosition() | ControllerDuty() | ControllerGoal():
            return ("position",)


def get_asks(controller: Controller) -> Asks:
    """Which quantity the controller hands to the motor."""
    match controller:
        case ControllerDuty() | ControllerVoltage():
            return "duty"
        case ControllerGoal():
            return "goal"
        case _:
            return "torque"


def control(
    controller: Controller,
    numbers: Numbers,
    command: Array,
    position: Array,
    velocity: Array,
) -> Array:
    """What the firmware asks for (worlds,), given the velocity that it sees."""
    first = command[:, 0]
    match controller:
        case ControllerTorque() | ControllerGoal():
            return first
        case ControllerPosition():
            return numbers["kp"] * (first - position) - numbers["kd"] * velocity
        case ControllerVelocity():
            return numbers["kd"] * (first - velocity)
        case ControllerPositionVelocity():
            torque = numbers["kp"] * (first - position)
            torque = torque + numbers["kd"] * (command[:, 1] - velocity)
            return torque + command[:, 2] if controller.feed_forward else torque
        case ControllerDuty():
            return numbers["duty_gain"] * (first - position)
        case ControllerVoltage():
            return first / numbers["supply_voltage"]


def filter_velocity(
    numbers: Numbers, velocity: Array, state: State, timestep: float
) -> tuple[Array, State]:
    """The velocity that the firmware sees, low-passed exactly for a held velocity."""
    if "velocity_filter" not in numbers:
        return velocity, {}
    xp = api.array_namespace(velocity)
    time_constant = numbers["velocity_filter"]
    slow = time_constant > 0.0
    keep = xp.exp(-timestep / xp.where(slow, time_constant, 1.0))
    keep = xp.where(slow, keep, 0.0)
    seen = keep * state["seen_velocity"][:, 0] + (1.0 - keep) * velocity
    return seen, {"seen_velocity": seen[:, None]}


def limit_slew(
    numbers: Numbers, command: Array, state: State, timestep: float
) -> tuple[Array, State]:
    """The command, its first input moving at most `slew_rate` per second."""
    if "slew_rate" not in numbers:
        return command, {}
    xp = api.array_namespace(command)
    reach = numbers["slew_rate"] * timestep
    last = state["slewed_command"][:, 0]
    slewed = clamp(command[:, 0], last - reach, last + reach)[:, None]
    return xp.concat([slewed, command[:, 1:]], axis=1), {"slewed_command": slewed}
