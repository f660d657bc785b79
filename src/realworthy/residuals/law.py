"""A residual at work: signals of the joints in, forces on them out."""

import math
from typing import NamedTuple, final

import array_api_compat as api

from realworthy.errors import RealworthyError
from realworthy.residuals.arrays import Array, constant
from realworthy.residuals.residual import Residual, weigh_signals

_WAYS = {"position": -1.0, "velocity": 0.0, "error": 1.0}
"""How a signal differed in the past, per distance that the joint has moved since."""


class BadResidual(RealworthyError, ValueError):
    """A residual that cannot run as it was asked to."""


class ResidualOutput(NamedTuple):
    """What one substep of a residual yields."""

    force: Array
    """(worlds, joints) [N·m or N] to add to the applied forces."""
    gate: Array
    """(worlds, joints) share of the learned force that was believed."""
    history: Array
    """(worlds, joints, slots, signals) to hand to the next step."""


@final
class ResidualLaw:
    """Runs a `Residual` at a fixed timestep; made by `build_law`."""

    def __init__(self, residual: Residual, *, timestep: float) -> None:
        self.residual = residual
        self.timestep = timestep
        period, slots = residual.description.period, residual.description.history
        self._stride = 1 if slots == 1 else _count_steps(period, timestep)
        self._weights = weigh_signals(residual.description)[:, None, :]

    def start(self, signals: Array) -> Array:
        """History of (worlds, joints, signals) that began from nothing.

        Joints are taken to have moved at today's velocity towards today's goal.
        """
        xp = api.array_namespace(signals)
        described = self.residual.description
        slots = (described.history - 1) * self._stride + 1
        history = xp.tile(signals[:, :, None, :], (1, 1, slots, 1))
        if "velocity" not in described.signals or slots == 1:
            return history
        age = constant([self.timestep * slot for slot in range(slots)], signals)
        velocity = signals[..., described.signals.index("velocity")]
        moved = velocity[:, :, None] * age
        way = constant([_WAYS[name] for name in described.signals], signals)
        return history + moved[..., None] * way

    def step(self, signals: Array, history: Array) -> ResidualOutput:
        """Force for the coming timestep.

        `signals` is (worlds, joints, signals) of now, in the order of the description.
        Nothing that is passed is changed.
        """
        xp = api.array_namespace(signals)
        described, ensemble = self.residual.description, self.residual.ensemble
        kept = xp.concat([signals[:, :, None, :], history[:, :, :-1, :]], axis=2)
        seen = kept[:, :, :: self._stride, :] * constant(self._weights, signals)
        worlds, joints = signals.shape[0], signals.shape[1]
        alone = described.scope == "joint"
        rows = worlds * joints if alone else worlds
        force, gate = ensemble.step(xp.reshape(seen, (rows, -1)))
        shape = (worlds, joints)
        force = xp.reshape(described.gain * force, shape)
        gate = xp.reshape(gate, shape if alone else (worlds, 1))
        return ResidualOutput(force, xp.broadcast_to(gate, shape), kept)


def build_law(residual: Residual, *, timestep: float) -> ResidualLaw:
    """The law of `residual` at a physics timestep [s] that divides its period."""
    return ResidualLaw(residual, timestep=timestep)


def _count_steps(period: float, timestep: float) -> int:
    steps = period / timestep if timestep > 0 else math.nan
    if not math.isfinite(steps) or steps < 0.5 or abs(steps - round(steps)) > 1e-3:
        raise BadResidual(
            f"The residual's period of {period:g} s is not a whole number of timesteps"
            f" of {timestep:g} s.",
            hint=f"Choose a timestep of {period:g} s divided by 1, 2, 3 …",
        )
    return round(steps)
