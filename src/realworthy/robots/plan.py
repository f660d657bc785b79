"""A motion with what a robot must be sent to follow it, row by row.

A position drive is sent the motion itself. A velocity drive is sent its derivative and
a slow correction. A drive of torque or voltage is sent what the motion needs by the
twin's inverse dynamics, and a soft spring and damper towards it (PD with feed-forward).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings.motion import Reference
from realworthy.recordings.sidecar import CommandKind

Floats = NDArray[np.float64]
_CORRECTION = 2.0
"""[1/s] with which a velocity drive is led back to its motion."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """How one number of a command follows from a motion."""

    signal: str
    """Such as `knee.command`."""
    kind: CommandKind
    joint: int
    """Column of the motion; −1: it rests."""
    rest: float
    lower: float
    upper: float
    per_torque: float = 1.0
    """Command per torque [N·m]; of a voltage, R / (gear · K_t)."""
    per_velocity: float = 0.0
    """Command per velocity [rad/s] that makes up for the back-EMF."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A motion with all that a robot or a simulated world needs to follow it."""

    reference: Reference
    lines: tuple[Line, ...]
    """In the order of the command."""
    torque: Floats
    """(rows, joints) that the motion needs in the twin."""
    stiffness: Floats
    """(joints,) [N·m/rad] of the spring towards the motion."""
    damping: Floats
    """(joints,) [N·m·s/rad]"""

    @property
    def is_open_loop(self) -> bool:
        """Whether commands do not depend on what is measured."""
        return all(line.kind == "position" or line.joint < 0 for line in self.lines)

    def command(self, row: int, position: Floats, velocity: Floats) -> Floats:
        """(…, inputs) to send at a row, given measured (…, joints) states."""
        goal = self.reference
        off = goal.position[row] - position
        off_velocity = goal.velocity[row] - velocity
        wanted = self.torque[row] + self.stiffness * off + self.damping * off_velocity
        out = np.empty((*position.shape[:-1], len(self.lines)))
        for i, line in enumerate(self.lines):
            j = line.joint
            if j < 0:
                value = line.rest
            elif line.kind == "position":
                value = goal.position[row][..., j]
            elif line.kind == "velocity":
                value = goal.velocity[row][..., j] + _CORRECTION * off[..., j]
            else:
                value = line.per_torque * wanted[..., j]
                value = value + line.per_velocity * velocity[..., j]
            out[..., i] = np.clip(value, line.lower, line.upper)
        return out
