"""Several small functions fitted to different parts of the data: mean and spread.

Each member is linear in its inputs and in its own random features tanh(P x + b), whose
widths span two decades: some are nearly linear, some as steep as dry friction.
"""

from dataclasses import dataclass, fields, replace

import array_api_compat as api

from realworthy.residuals.arrays import Array, Floats, constant
from realworthy.residuals.envelope import Envelope, close


@dataclass(frozen=True, kw_only=True, eq=False)
class Ensemble:
    """Weights of all members, and where they may be believed."""

    centre: Floats
    """(inputs,) taken from the inputs first."""
    scale: Floats
    """(inputs,) which then divides them."""
    projection: Floats
    """(members, features, inputs)"""
    offset: Floats
    """(members, features)"""
    heads: Floats
    """(members, 1 + inputs + features, outputs) [N·m] per feature."""
    spread_limit: Floats
    """(outputs,) [N·m] disagreement of the members at the edge of belief."""
    force_limit: Floats
    """(outputs,) [N·m] largest force that is ever given."""
    envelope: Envelope

    def to(self, like: Array) -> "Ensemble":
        """The same in the library, dtype and device of `like`: copied there once."""
        names = (each.name for each in fields(self) if each.name != "envelope")
        placed = {name: constant(getattr(self, name), like) for name in names}
        return replace(self, **placed, envelope=self.envelope.to(like))

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """(rows, outputs) force [N·m] before the gate, and the members' spread."""
        xp = api.array_namespace(inputs)
        stacked = xp.stack(
            [
                self.features(inputs, member) @ constant(head, inputs)
                for member, head in enumerate(self.heads)
            ]
        )
        return xp.mean(stacked, axis=0), xp.std(stacked, axis=0)

    def step(self, inputs: Array) -> tuple[Array, Array]:
        """(rows, outputs) force after gate and limit [N·m], and the gate (rows,)."""
        xp = api.array_namespace(inputs)
        force, spread = self.predict(inputs)
        disagreement = xp.max(spread / constant(self.spread_limit, inputs), axis=1)
        distance = xp.maximum(self.envelope.distance(inputs), disagreement)
        gate = close(distance)
        limit = constant(self.force_limit, inputs)
        return gate[:, None] * xp.clip(force, min=-limit, max=limit), gate

    def features(self, inputs: Array, member: int) -> Array:
        """(rows, 1 + inputs + features) that one member is linear in."""
        xp = api.array_namespace(inputs)
        x = (inputs - constant(self.centre, inputs)) / constant(self.scale, inputs)
        bent = xp.tanh(
            x @ constant(self.projection[member].T, inputs)
            + constant(self.offset[member], inputs)
        )
        return xp.concat([xp.ones_like(x[:, :1]), x, bent], axis=1)
