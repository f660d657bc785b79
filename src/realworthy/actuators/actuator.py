"""What drives one joint, as a twin file describes it.

    command → delay, slew → controller → motor → limits → gearbox → joint

Every number is on the joint's side of the gear, except the motor's own, which are on
the motor's side of `gear`; with `gear` 1 both are the same.
"""

import msgspec

from realworthy.actuators.controllers import Asks, Controller, get_asks
from realworthy.actuators.delay import SLACK, DelayBeyondLimit, Interpolation
from realworthy.actuators.friction import Friction
from realworthy.actuators.kinds import BadActuator, check_number, collect_numbers
from realworthy.actuators.motors import Motor, MotorDc, MotorIdeal
from realworthy.actuators.network import MotorNetwork


class Actuator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Description of one actuator; `build_law` makes it run."""

    joint: str
    controller: Controller
    motor: Motor = MotorIdeal()
    friction: Friction | None = None
    delay: float = 0.0
    """[s] from the command to its effect."""
    delay_limit: float | None = None
    """[s] longest delay that a world may have; sizes the buffer. None: `delay`."""
    interpolation: Interpolation = "linear"
    """Between kept commands: `linear` to fit a delay, `hold` for a bus with cycles."""
    slew_rate: float | None = None
    """Fastest change of the (first) command, per second."""
    strength: float = 1.0
    """Torque delivered per torque computed; leave it at 1 where the motor is known."""
    soft_saturation: float | None = None
    """κ [N·m] in κ tanh(τ/κ), applied before the limit."""
    torque_limit: float | None = None
    """[N·m], either way."""
    gear: float = 1.0
    """Turns of the motor per turn of the joint."""
    armature: float | None = None
    """[kg·m²] of the rotor, seen at the joint; an engine adds it to the joint."""
    backlash: float | None = None
    """[rad] of free play; a twin makes it a second hinge."""

    def __post_init__(self) -> None:
        owner = f"actuator of '{self.joint}'"
        for kind, value in self.parameters().items():
            check_number(kind, value, owner=owner)
        if not 0.0 < self.gear < float("inf"):
            raise BadActuator(
                f"{owner}: gear is {self.gear:g}; it must be above 0.",
                hint="It counts turns of the motor per turn of the joint.",
            )
        _check_stages(self, get_asks(self.controller))
        if not 0.0 <= self.get_delay_limit() < float("inf"):
            raise BadActuator(
                f"{owner}: delay_limit is {self.delay_limit}; it must be at least 0.",
                hint="Its unit is s.",
            )
        if self.delay > self.get_delay_limit() * (1.0 + SLACK):
            raise DelayBeyondLimit(self.joint, self.delay, self.get_delay_limit())

    def parameters(self) -> dict[str, float]:
        """Nominal numbers of e by kind; `KINDS` has their units."""
        return collect_numbers(self)

    def get_delay_limit(self) -> float:
        """[s] for which commands are kept."""
        return self.delay if self.delay_limit is None else self.delay_limit


def _check_stages(actuator: Actuator, asks: Asks) -> None:
    """Refuses a motor that cannot do what its controller asks."""
    motor, controller = actuator.motor, actuator.controller
    fits = {
        "duty": isinstance(motor, MotorDc),
        "goal": isinstance(motor, MotorNetwork),
        "torque": not isinstance(motor, MotorNetwork),
    }
    if not fits[asks]:
        wanted = {
            "duty": "dc",
            "goal": "network",
            "torque": "ideal, torque_speed or dc",
        }
        raise BadActuator(
            f"actuator of '{actuator.joint}': a controller of kind {_name(controller)}"
            f" cannot drive a motor of kind {_name(motor)}.",
            hint=f"With it goes a motor of kind {wanted[asks]}; with a motor of kind"
            " network, a controller of kind goal.",
        )
    if isinstance(motor, MotorNetwork) and actuator.gear != 1.0:
        raise BadActuator(
            f"actuator of '{actuator.joint}': a network motor has no gear.",
            hint="A network gives torque at the joint. Leave gear out.",
        )


def _name(stage: Controller | Motor) -> str:
    return str(stage.__struct_config__.tag)
