"""From a policy's action to the commands of a robot."""

from typing import Annotated

import msgspec
from msgspec import Meta

from realworthy.actuators.arrays import Array
from realworthy.policies.constants import remember


class Bound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a command of positions stays, in its own unit.

    A drive gives all its torque at τ_max/kp from where its joint is; to ask for more
    moves nothing faster, and guards cut it.
    """

    signal: str
    """Where its joint is measured, such as `knee.position`."""
    lead: Annotated[float, Meta(gt=0)]
    """Most that it may be away from there."""
    lower: float
    upper: float
    """Its range, which counts for more."""


class ActionMap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """command = offset + scale · action, the action cut to ±clip and smoothed first."""

    commands: tuple[str, ...]
    """Signals such as `knee.command`, in the order of the action."""
    offset: tuple[float, ...]
    """Commands of a zero action, in the commands' units: the default pose, say."""
    scale: tuple[float, ...]
    """Commands' units per unit of action."""
    clip: Annotated[float, Meta(gt=0)] = 1.0
    """Actions are cut to ± this before anything else."""
    smoothing: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """α of y ← α·action + (1 − α)·y, in action units; 1: none."""
    bounds: tuple[Bound, ...] = ()
    """One for each command, which is cut to it last; none: they go where they like."""

    @property
    def width(self) -> int:
        return len(self.commands)

    @property
    def names(self) -> tuple[str, ...]:
        """Signals that stand for the last action in observations."""
        return tuple(f"{name}.action" for name in self.commands)

    def smooth(self, action: Array, last: Array) -> Array:
        """(…, width) the action as it is used, from the raw one and the last used."""
        action = action.clip(-self.clip, self.clip)
        if self.smoothing == 1:
            return action
        return self.smoothing * action + (1 - self.smoothing) * last

    def compute(self, action: Array, measured: Array | None = None) -> Array:
        """(…, width) commands of used actions, in the commands' units.

        `measured` (…, width) are the signals of `bounds`, where there are any.
        """
        asked = remember(self.offset, action) + remember(self.scale, action) * action
        if not self.bounds:
            return asked
        assert measured is not None
        lead, lower, upper = (
            remember(tuple(getattr(bound, name) for bound in self.bounds), action)
            for name in ("lead", "lower", "upper")
        )
        return asked.clip(measured - lead, measured + lead).clip(lower, upper)
