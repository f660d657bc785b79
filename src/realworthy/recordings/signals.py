"""What the name of a signal says: whose it is, its unit, how it moves between rows.

<joint>.position  .velocity  .torque  .current      measured at the row's time
<joint or actuator>.command[.<input>]               sent then, held until the next row
base.position.x   base.orientation.w   base.gyro.x  <sensor>.x
"""

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
"""One signal, or the time: one number per row."""

Table = dict[str, Values]
"""Columns as a file holds them, `time` among them, before they are a Recording."""

BRAKING = "robot.braking"
"""1 in rows in which the robot braked by itself though it was commanded, else 0."""

HELD = frozenset({"command", "torque_enable", "braking"})
"""Parts of a name that mark a signal as held between rows, not moving linearly."""

AXES = "wxyz"

UNITS = {
    "position": "rad",
    "velocity": "rad/s",
    "acceleration": "rad/s²",
    "torque": "N·m",
    "torque_magnitude": "N·m",
    "current": "A",
    "voltage": "V",
    "gyro": "rad/s",
    "accelerometer": "m/s²",
    "temperature": "°C",
    "roll": "rad",
    "pitch": "rad",
    "yaw": "rad",
}
_LINEAR = {"position": "m", "velocity": "m/s", "acceleration": "m/s²"}
_SLIDING = {"position": "m", "velocity": "m/s", "torque": "N"}
_NAME = re.compile(r"[^.\s]([^.\n\r]*[^.\s])?(\.[^.\s]([^.\n\r]*[^.\s])?)*")


def is_signal_name(name: str) -> bool:
    """Whether `name` can name a signal: parts joined by dots, and not `time`."""
    if name == "time" or not name.isprintable():
        return False
    return _NAME.fullmatch(name) is not None


def is_held(name: str) -> bool:
    """Whether the signal keeps its value until the next row, as a command does."""
    return not HELD.isdisjoint(name.split("."))


def unit_of(name: str, command_kind: str | None = None) -> str:
    """SI unit that the name promises; empty where the name does not say.

    A sliding joint's position is in metres although this answers rad: only its twin
    knows. A `.command` has the unit of `command_kind`.
    """
    *owner, last = name.split(".")
    if last in AXES and owner:
        return _LINEAR.get(owner[-1]) or UNITS.get(owner[-1], "")
    if last == "command":
        return UNITS.get(command_kind or "", "")
    if "command" in owner and last not in ("position", "velocity", "torque"):
        return ""
    return UNITS.get(last, "")


def unit_of_command(kind: str, *, slides: bool | None) -> str:
    """SI unit of a command of this kind to a joint that slides, or turns.

    None: it drives no joint, or one that is not known; both units where they differ.
    """
    turning = UNITS[kind]
    sliding = _SLIDING.get(kind, turning)
    if slides is None and sliding != turning:
        return f"{turning} or {sliding}"
    return sliding if slides else turning


def quaternions(names: Iterable[str]) -> list[str]:
    """Stems of the orientations whose w, x, y and z are all there."""
    names = set(names)
    stems = sorted(name[:-2] for name in names if name.endswith("orientation.w"))
    return [s for s in stems if all(f"{s}.{axis}" in names for axis in AXES)]
