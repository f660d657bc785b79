"""A line that hands each command on after a continuous delay.

At time t the line yields the command of t − delay; with delay 0, the command of now.
Commands are kept every timestep, newest first. `linear` joins them by straight lines,
so the response is continuous in the delay (fit with it). `hold` yields the newest
command that is at least `delay` old, as a bus with fixed cycles does; its response is a
staircase in the delay. MuJoCo's own buffers agree from one timestep up; below, MuJoCo
rounds the delay up to one timestep and this line does not.
"""

import math
from typing import Literal, final

import array_api_compat as api

from realworthy.actuators.arrays import Array, shift_in
from realworthy.actuators.kinds import BadActuator

Interpolation = Literal["linear", "hold"]
SLACK = 1e-4
"""Of a timestep: 0.012 s is twelve steps of 0.001 s, although floats say a bit more."""


class DelayBeyondLimit(BadActuator):
    """A delay for which the line keeps too few commands."""

    def __init__(self, joint: str, delay: float, limit: float) -> None:
        self.joint, self.delay, self.limit = joint, delay, limit
        super().__init__(
            f"actuator of '{joint}': delay {delay:g} s is beyond its delay_limit of"
            f" {limit:g} s.",
            hint=f"Set delay_limit: {delay:g} or more (it sizes the command buffer),"
            " or a shorter delay.",
        )


@final
class DelayLine:
    """Delays rows of commands, each world by its own delay."""

    def __init__(
        self, *, limit: float, timestep: float, interpolation: Interpolation = "linear"
    ) -> None:
        self.limit = limit
        self.timestep = timestep
        self.interpolation: Interpolation = interpolation
        self.slot_count = max(math.ceil(limit / timestep - SLACK), 0) + 1

    def fill(self, command: Array) -> Array:
        """A history in which `command` (worlds, inputs) was always sent."""
        xp = api.array_namespace(command)
        return xp.tile(command, (1, self.slot_count))

    def step(self, command: Array, delay: Array, history: Array) -> tuple[Array, Array]:
        """The command of `delay` ago (worlds, inputs), and the history with this one.

        A delay that is negative or beyond the limit gives NaN, never a shorter delay.
        """
        xp = api.array_namespace(command)
        worlds, inputs = command.shape
        kept = xp.reshape(history, (worlds, self.slot_count, inputs))
        kept = shift_in(command, kept)
        steps = xp.reshape(delay, (-1, 1)) / self.timestep
        outside = (steps < -SLACK) | (steps > self.limit / self.timestep + SLACK)
        delayed = command
        if self.slot_count > 1:
            weights = self._weigh(steps, command)
            delayed = xp.sum(weights[:, :, None] * kept, axis=1)
        delayed = xp.where(outside, math.nan, delayed)
        return delayed, xp.reshape(kept, history.shape)

    def _weigh(self, steps: Array, like: Array) -> Array:
        """How much each kept command counts: (worlds or 1, slots), rows sum to one."""
        xp = api.array_namespace(like)
        slots = xp.arange(self.slot_count, dtype=like.dtype, device=api.device(like))
        steps = xp.clip(steps, min=0.0, max=self.slot_count - 1.0)
        if self.interpolation == "hold":
            steps = xp.ceil(steps - SLACK)
        weights = 1.0 - xp.abs(steps - slots)
        return xp.where(weights > 0.0, weights, 0.0)
