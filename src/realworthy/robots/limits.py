"""What the joints of a robot may do."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import UnknownName

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-6
"""Share of a limit by which rounding may exceed it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """What joints may do; arrays are (joints,), ±inf where nothing limits them."""

    joints: tuple[str, ...]
    lower: Floats
    upper: Floats
    """[rad or m]"""
    speed: Floats
    """[rad/s or m/s]"""
    acceleration: Floats
    """[rad/s² or m/s²]; no robot measures it, so no watchdog judges it."""
    torque: Floats
    """[N·m or N]"""

    def select(self, joints: Sequence[str]) -> "Limits":
        """The limits of some joints, in the order given."""
        for joint in joints:
            if joint not in self.joints:
                raise UnknownName("joint", joint, self.joints, owner="the limits")
        places = [self.joints.index(joint) for joint in joints]
        return Limits(
            joints=tuple(joints),
            lower=self.lower[places],
            upper=self.upper[places],
            speed=self.speed[places],
            acceleration=self.acceleration[places],
            torque=self.torque[places],
        )

    def find_excess(
        self,
        position: Floats,
        velocity: Floats,
        torque: Floats | None = None,
        acceleration: Floats | None = None,
    ) -> str:
        """What of (…, joints) values is furthest over a limit, in words; empty if none.

        Speeds, torques and accelerations may reach their limits.
        """
        range_ = np.maximum(self.upper - self.lower, 1e-9)
        scale = np.where(np.isfinite(range_), range_, 1.0)
        over = {
            "position": (
                np.maximum(self.lower - position, position - self.upper) / scale,
                position,
            ),
            "speed": (np.abs(velocity) / self.speed - 1, velocity),
        }
        if torque is not None:
            over["torque"] = (np.abs(torque) / self.torque - 1, torque)
        if acceleration is not None:
            over["acceleration"] = (
                np.abs(acceleration) / self.acceleration - 1,
                acceleration,
            )
        worst = max(over, key=lambda name: float(np.max(over[name][0])))
        excess, values = over[worst]
        if not float(np.max(excess)) > _NEGLIGIBLE:
            return ""
        place = np.unravel_index(int(np.argmax(excess)), excess.shape)
        return self._describe(worst, int(place[-1]), float(values[place]))

    def _describe(self, what: str, i: int, value: float) -> str:
        joint = self.joints[i]
        if what == "position":
            ends = f"{self.lower[i]:.3f} … {self.upper[i]:.3f} rad"
            return f"{joint} at {value:.3f} rad is outside {ends}"
        limit = float(getattr(self, what)[i])
        unit = {"speed": "rad/s", "torque": "N·m", "acceleration": "rad/s²"}[what]
        shown = _tell_apart(abs(value), limit)
        return f"{joint}: {what} {shown} {unit} exceeds {limit:.3g} {unit}"


def _tell_apart(value: float, limit: float) -> str:
    """The value with as many digits, three at least, as differ from the limit's."""
    digits = range(3, 9)
    shown = [f"{value:.{d}g}" for d in digits]
    limits = [f"{limit:.{d}g}" for d in digits]
    return next((a for a, b in zip(shown, limits, strict=True) if a != b), shown[-1])
