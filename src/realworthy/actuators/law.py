"""The explicit law of an actuator: commands in, torque and friction budget out.

One law serves any number of worlds at once, each with its own numbers. Rows are
independent, so joints whose laws have equal `structure` can also be stacked as rows of
one call. An engine calls `step` once per substep with the joint as it is now, applies
the torque, and lets friction stop the joint as far as the budget reaches
(`apply_friction`, or the engine's own dry friction).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, final

import array_api_compat as api
import msgspec

from realworthy.actuators.actuator import Actuator
from realworthy.actuators.arrays import Array, State, clamp, constant, select, zeros
from realworthy.actuators.controllers import (
    Asks,
    CommandKind,
    control,
    filter_velocity,
    get_asks,
    get_inputs,
    limit_slew,
)
from realworthy.actuators.delay import SLACK, DelayBeyondLimit, DelayLine
from realworthy.actuators.friction import compute_friction
from realworthy.actuators.kinds import BadActuator, check_number, collect_choices
from realworthy.actuators.motors import (
    MotorDc,
    MotorTorqueSpeed,
    drive_dc,
    limit_torque_speed,
)
from realworthy.actuators.network import DriveWeights, MotorNetwork
from realworthy.errors import UnknownParameter

_NOT_IN_LAW = ("armature", "backlash")


class ActuatorOutput(NamedTuple):
    """What one substep of an actuator yields."""

    torque: Array
    """(worlds,) [N·m] at the joint, before friction."""
    friction: Array
    """(worlds,) [N·m] budget τ_f ≥ 0, viscous part included."""
    state: State
    current: Array | None
    """(worlds,) [A] mean over the substep; None if the motor has no current."""


@final
class ActuatorLaw:
    """Runs an `Actuator` at a fixed timestep; made by `build_law`."""

    def __init__(self, actuator: Actuator, *, timestep: float, folder: Path) -> None:
        self.actuator = actuator
        self.timestep = timestep
        self.inputs: tuple[CommandKind, ...] = get_inputs(actuator.controller)
        self.parameters: dict[str, float] = {
            kind: value
            for kind, value in actuator.parameters().items()
            if kind not in _NOT_IN_LAW
        }
        """Nominal numbers by kind; any of them may be given per world."""
        self._delay = DelayLine(
            limit=actuator.get_delay_limit(),
            timestep=timestep,
            interpolation=actuator.interpolation,
        )
        self._asks: Asks = get_asks(actuator.controller)
        self._network: DriveWeights | None = None
        if isinstance(actuator.motor, MotorNetwork):
            self._network = DriveWeights(
                actuator.motor, timestep=timestep, folder=folder
            )
        self._nominal: dict[object, dict[str, Array]] = {}

    @property
    def command_kind(self) -> CommandKind:
        """Kind of the first input."""
        return self.inputs[0]

    @property
    def structure(self) -> tuple[object, ...]:
        """Equal for laws that differ only in joint and numbers."""
        nameless = msgspec.structs.replace(
            self.actuator, joint="", delay_limit=self._delay.limit
        )
        return (self.timestep, *collect_choices(nameless))

    def initial_state(self, world_count: int, like: Array) -> State:
        """State after rest at command zero, in arrays of the same kind as `like`."""
        command = zeros((world_count, len(self.inputs)), like)
        return self._start(command, command[:, 0], command[:, 0])

    def prime(
        self,
        state: State,
        command: Array,
        *,
        position: Array | None = None,
        velocity: Array | None = None,
        worlds: Array | None = None,
    ) -> State:
        """State as after a reset, `command` (worlds, inputs) having been sent for long.

        Delays, filters and networks then see no jump; the motor is cold and without
        current. `worlds` (worlds,) of bool keeps the others as they were. `position`
        and `velocity` (worlds,), else zero, matter to filters and networks only.
        """
        still = 0.0 * command[:, 0]
        fresh = self._start(
            command,
            still if position is None else position,
            still if velocity is None else velocity,
        )
        if worlds is None:
            return fresh
        return {name: select(worlds, fresh[name], state[name]) for name in state}

    def step(
        self,
        command: Array,
        position: Array,
        velocity: Array,
        load: Array,
        parameters: Mapping[str, Array],
        state: State,
        *,
        powered: Array | None = None,
    ) -> ActuatorOutput:
        """Torque and friction budget for the coming timestep.

        `command` is (worlds, inputs) as sent now, `position` and `velocity` (worlds,)
        the joint now, `load` (worlds,) the external torque on it [N·m], gravity
        included. `parameters` holds (worlds,) arrays for kinds that are not nominal, as
        `check_parameters` admits them. Where `powered` (worlds,) is false, torque and
        current are zero and friction remains.
        """
        xp = api.array_namespace(velocity)
        numbers = self._nominal_like(velocity)
        for kind, value in parameters.items():
            numbers[kind] = xp.astype(value, velocity.dtype, copy=False)
        updates: State = {}

        delayed, updates["commands"] = self._delay.step(
            command, numbers["delay"], state["commands"]
        )
        delayed, slewed = limit_slew(numbers, delayed, state, self.timestep)
        seen, filtered = filter_velocity(numbers, velocity, state, self.timestep)
        request = control(self.actuator.controller, numbers, delayed, position, seen)
        torque, current, remembered = self._drive(
            numbers, request, position, velocity, powered, state
        )
        torque = self._limit(numbers, torque)
        if powered is not None:
            torque = xp.where(powered, torque, 0.0)
        if self.actuator.friction is None:
            friction = 0.0 * velocity
        else:
            friction = compute_friction(numbers, torque, load, velocity)
        updates |= slewed | filtered | remembered
        return ActuatorOutput(torque, friction, updates, current)

    def check_parameters(self, parameters: Mapping[str, Array]) -> None:
        """Raises for a kind that this law lacks, or a number that no world may have."""
        owner = f"actuator of '{self.actuator.joint}'"
        for kind, values in parameters.items():
            if kind not in self.parameters:
                raise UnknownParameter(kind, self.parameters, owner=owner)
            xp = api.array_namespace(values)
            for extreme in (float(xp.min(values)), float(xp.max(values))):
                check_number(kind, extreme, owner=owner)
        if "delay" in parameters:
            longest = float(
                api.array_namespace(parameters["delay"]).max(parameters["delay"])
            )
            if longest > self._delay.limit * (1.0 + SLACK):
                raise DelayBeyondLimit(self.actuator.joint, longest, self._delay.limit)

    def _start(self, command: Array, position: Array, velocity: Array) -> State:
        state: State = {"commands": self._delay.fill(command)}
        column = 0.0 * velocity[:, None]
        if "slew_rate" in self.parameters:
            state["slewed_command"] = 1.0 * command[:, :1]
        if "velocity_filter" in self.parameters:
            state["seen_velocity"] = 1.0 * velocity[:, None]
        if "inductance" in self.parameters:
            state["current"] = column
        if "thermal_capacity" in self.parameters:
            state["temperature_rise"] = column
        if self._network is not None:
            state |= self._network.start(command[:, 0] - position, velocity)
        return state

    def _drive(
        self,
        numbers: dict[str, Array],
        request: Array,
        position: Array,
        velocity: Array,
        powered: Array | None,
        state: State,
    ) -> tuple[Array, Array | None, State]:
        """Torque at the joint, current and what the motor remembers."""
        motor, gear = self.actuator.motor, self.actuator.gear
        if self._network is not None:
            torque, updates = self._network.step(request - position, velocity, state)
            return torque, None, updates
        if self._asks == "torque":
            request = request / gear
        if isinstance(motor, MotorDc):
            torque, current, updates = drive_dc(
                motor,
                numbers,
                request,
                gear * velocity,
                asks=self._asks,
                powered=powered,
                state=state,
                timestep=self.timestep,
            )
            return gear * torque, current, updates
        if isinstance(motor, MotorTorqueSpeed):
            request = limit_torque_speed(numbers, request, gear * velocity)
        return gear * request, None, {}

    def _limit(self, numbers: dict[str, Array], torque: Array) -> Array:
        torque = numbers["strength"] * torque
        if "soft_saturation" in numbers:
            xp = api.array_namespace(torque)
            bend = numbers["soft_saturation"]
            torque = bend * xp.tanh(torque / bend)
        if "torque_limit" in numbers:
            torque = clamp(torque, -numbers["torque_limit"], numbers["torque_limit"])
        return torque

    def _nominal_like(self, like: Array) -> dict[str, Array]:
        """Nominal numbers without dimensions, made once per dtype and device."""
        key = (api.array_namespace(like), like.dtype, api.device(like))
        if key not in self._nominal:
            numbers = {"max_duty": 1.0} | self.parameters
            self._nominal[key] = {k: constant(v, like) for k, v in numbers.items()}
        return dict(self._nominal[key])


def build_law(
    actuator: Actuator, *, timestep: float, folder: Path | str = "."
) -> ActuatorLaw:
    """The law of `actuator` at a physics timestep [s].

    `folder` is where a network's file is looked for: that of the twin file.
    """
    if not 0.0 < timestep < 1.0:
        raise BadActuator(
            f"timestep is {timestep:g} s.", hint="It must be between 0 and 1 s."
        )
    return ActuatorLaw(actuator, timestep=timestep, folder=Path(folder))
