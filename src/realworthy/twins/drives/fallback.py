"""Network and physical model side by side; the envelope decides which one is used."""

from collections.abc import Mapping
from typing import final

import array_api_compat as api

from realworthy.actuators import Actuator, ActuatorLaw, ActuatorOutput, Array, State
from realworthy.residuals import Envelope

_PHYSICAL = "physical."


@final
class LawWithFallback:
    """Steps like `actuators.Law`: a network inside its envelope, else the physics.

    torque = g · network + (1 − g) · physics, g = 1 within what the network was trained
    on and towards 0 outside. The network's torque holds friction already, so that the
    physical friction budget counts with 1 − g.
    """

    def __init__(
        self,
        network: ActuatorLaw,
        physical: ActuatorLaw,
        envelope: Envelope,
        *,
        gain: float = 1.0,
    ) -> None:
        self.network, self.physical, self.envelope = network, physical, envelope
        self.gain = gain
        self.timestep = network.timestep
        self.actuator: Actuator = physical.actuator
        self.inputs = physical.inputs
        self.parameters = physical.parameters

    @property
    def structure(self) -> tuple[object, ...]:
        """Equal for laws that differ only in joint and physical numbers."""
        own = (id(self.envelope), self.gain)
        return (*own, *self.network.structure, *self.physical.structure)

    def initial_state(self, world_count: int, like: Array) -> State:
        """State after rest at command zero."""
        state = self.network.initial_state(world_count, like)
        return state | _mark(self.physical.initial_state(world_count, like))

    def prime(
        self,
        state: State,
        command: Array,
        *,
        position: Array | None = None,
        velocity: Array | None = None,
        worlds: Array | None = None,
    ) -> State:
        """State as if `command` had been sent for long; see `ActuatorLaw.prime`."""
        mine, theirs = _split(state)
        joint = {"position": position, "velocity": velocity, "worlds": worlds}
        primed = self.network.prime(mine, command, **joint)
        return primed | _mark(self.physical.prime(theirs, command, **joint))

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
        """Torque and friction budget; `parameters` are those of the physical model."""
        xp = api.array_namespace(velocity)
        mine, theirs = _split(state)
        joint = position, velocity, load
        learned = self.network.step(command, *joint, {}, mine, powered=powered)
        physics = self.physical.step(
            command, *joint, parameters, theirs, powered=powered
        )
        g = self.gate(command[:, 0], position, velocity)
        if powered is not None:
            g = xp.where(powered, g, 0.0)  # friction remains, which only physics has
        return ActuatorOutput(
            g * learned.torque + (1.0 - g) * physics.torque,
            (1.0 - g) * physics.friction,
            learned.state | _mark(physics.state),
            physics.current,
        )

    def gate(self, goal: Array, position: Array, velocity: Array) -> Array:
        """(worlds,) share of the network."""
        xp = api.array_namespace(velocity)
        error = self.gain * (goal - position)
        return self.envelope.gate(xp.stack([error, velocity], axis=1))

    def check_parameters(self, parameters: Mapping[str, Array]) -> None:
        """Raises for a number that the physical model lacks."""
        self.physical.check_parameters(parameters)


def _mark(state: State) -> State:
    return {_PHYSICAL + name: value for name, value in state.items()}


def _split(state: State) -> tuple[State, State]:
    theirs = {
        name.removeprefix(_PHYSICAL): value
        for name, value in state.items()
        if name.startswith(_PHYSICAL)
    }
    mine = {n: v for n, v in state.items() if not n.startswith(_PHYSICAL)}
    return mine, theirs
