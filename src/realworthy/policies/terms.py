"""Parts of a policy's observation: computed alike in training, tests and on the robot.

A term takes named signals, as in a recording, and gives numbers to a network. Beside
measured signals there are two kinds: `<input>` of the task, such as `goal.x`, and
`<command>.action`, the last action. Arrays are numpy's or torch's, (…, signals) in,
(…, width) out.
"""

from typing import Annotated, TypeAlias

import array_api_compat as api
import msgspec
from msgspec import Meta

from realworthy.actuators.arrays import Array
from realworthy.errors import RealworthyError
from realworthy.policies.constants import remember

_Count = Annotated[int, Meta(ge=1)]


class _Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    """Its place in the observation is known by it."""
    signals: tuple[str, ...]
    """What it is computed from."""
    clip: float | None = None
    """Numbers beyond ± this are cut."""
    history: _Count = 1
    """How many of the last values are stacked, the oldest first."""

    def _check(self, **counts: tuple[int, tuple[int, ...]]) -> None:
        """Raises where there are not as many of something as there may be."""
        if self.clip is not None and not self.clip > 0:
            raise RealworthyError(f"Term '{self.name}': clip should be above zero.")
        for what, (found, allowed) in counts.items():
            if found not in allowed:
                wanted = " or ".join(map(str, sorted(set(allowed))))
                raise RealworthyError(
                    f"Term '{self.name}': {what} has {found} entries, not {wanted}."
                )

    def cut(self, values: Array) -> Array:
        """`values` within `clip`."""
        if self.clip is None:
            return values
        return values.clip(-self.clip, self.clip)


class Linear(_Term, frozen=True, tag="linear"):
    """(signal − offset) · scale, such as a joint's angle from its default."""

    offset: tuple[float, ...] = ()
    """In the signals' units; none: zeros."""
    scale: tuple[float, ...] = ()
    """One for each signal, or one for all; none: ones."""

    def __post_init__(self) -> None:
        count = len(self.signals)
        self._check(
            offset=(len(self.offset), (0, count)),
            scale=(len(self.scale), (0, 1, count)),
        )

    @property
    def width(self) -> int:
        return len(self.signals)

    def compute(self, values: Array) -> Array:
        if self.offset:
            values = values - remember(self.offset, values)
        if self.scale:
            values = values * remember(self.scale, values)
        return self.cut(values)


class SineCosine(_Term, frozen=True, tag="turn"):
    """Sine and cosine of angles [rad] that may turn all round."""

    def __post_init__(self) -> None:
        self._check()

    @property
    def width(self) -> int:
        return 2 * len(self.signals)

    def compute(self, values: Array) -> Array:
        xp = api.array_namespace(values)
        return self.cut(xp.concat([xp.sin(values), xp.cos(values)], axis=-1))


class Gravity(_Term, frozen=True, tag="gravity"):
    """Direction of gravity in the base's frame: (0, 0, −1) when upright.

    Signals: the base's orientation w-x-y-z in the world, of any length.
    """

    def __post_init__(self) -> None:
        self._check(signals=(len(self.signals), (4,)))

    @property
    def width(self) -> int:
        return 3

    def compute(self, values: Array) -> Array:
        xp = api.array_namespace(values)
        w, x, y, z = (values[..., i] for i in range(4))
        size = w * w + x * x + y * y + z * z
        down = [
            2 * (w * y - x * z),
            -2 * (w * x + y * z),
            x * x + y * y - w * w - z * z,
        ]
        return self.cut(xp.stack([part / size for part in down], axis=-1))


class Goal(_Term, frozen=True, tag="goal"):
    """A goal on the ground as seen from the base: ahead and to the left [m], turn.

    Signals: base x, y; its orientation w-x-y-z; goal x, y and, if it has one, yaw
    [rad], which adds the sine and cosine of the turn that is left.
    """

    scale: float = 1.0
    """[1/m] of the two distances."""

    def __post_init__(self) -> None:
        self._check(signals=(len(self.signals), (8, 9)))

    @property
    def width(self) -> int:
        return 2 if len(self.signals) == 8 else 4

    def compute(self, values: Array) -> Array:
        xp = api.array_namespace(values)
        w, x, y, z = (values[..., i] for i in range(2, 6))
        yaw = xp.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)
        c, s = xp.cos(yaw), xp.sin(yaw)
        dx, dy = values[..., 6] - values[..., 0], values[..., 7] - values[..., 1]
        parts = [self.scale * (c * dx + s * dy), self.scale * (c * dy - s * dx)]
        if self.width == 4:
            left = values[..., 8] - yaw
            parts += [xp.sin(left), xp.cos(left)]
        return self.cut(xp.stack(parts, axis=-1))


Term: TypeAlias = Linear | SineCosine | Gravity | Goal
"""Every kind of term that a policy's contract can hold."""


def list_signals(terms: tuple[Term, ...]) -> tuple[str, ...]:
    """Every signal that some terms need, each once, in the order of first use."""
    return tuple(dict.fromkeys(name for term in terms for name in term.signals))
