"""Named things in space over the rows of a motion: where they are, whether they touch.

As columns of a table: `<stem>.position.x`, `<stem>.orientation.w`, `contact.<name>`,
where the stem is `base`, `body.<name>` or `object.<name>`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.recordings.resample import slerp

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
BASE = "base"
_UNIT_TOLERANCE = 1e-2
"""By which a quaternion's norm may miss 1: files are rounded to three digits or more.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Poses:
    """Where named things are in the world; z is up."""

    names: tuple[str, ...]
    position: Floats
    """(rows, names, 3) [m]."""
    quaternion: Floats | None = None
    """(rows, names, 4) w-x-y-z, of unit length; None: they are points."""

    def __post_init__(self) -> None:
        position = np.asarray(self.position, dtype=np.float64)
        object.__setattr__(self, "position", position)
        _check_shape(position, self.names, 3, "positions")
        if self.quaternion is None:
            return
        quaternion = np.asarray(self.quaternion, dtype=np.float64)
        _check_shape(quaternion, self.names, 4, "quaternions")
        length = np.linalg.norm(quaternion, axis=2, keepdims=True)
        if (np.abs(length - 1) > _UNIT_TOLERANCE).any():
            worst = np.unravel_index(np.argmax(np.abs(length - 1)), length.shape)
            raise RealworthyError(
                f"The quaternion of '{self.names[worst[1]]}' in row {worst[0] + 1} has "
                f"the length {length[worst]:.3g}; orientations have length 1.",
                hint="Its columns may be other numbers, such as Euler angles.",
            )
        object.__setattr__(self, "quaternion", quaternion / length)

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, name: str) -> Floats:
        """(rows, 3) [m] of one of them."""
        return self.position[:, self.names.index(name)]

    def at(self, time: Floats, times: Floats) -> "Poses":
        """At other times: along the line between rows, turning at constant speed."""
        shape = (len(times), len(self.names))
        flat = self.position.reshape(len(time), -1).T
        moved = np.stack([np.interp(times, time, column) for column in flat], axis=1)
        turned = None
        if self.quaternion is not None:
            every = range(len(self.names))
            turned = [slerp(time, self.quaternion[:, i], times) for i in every]
            turned = np.stack(turned, axis=1).reshape(*shape, 4)
        return Poses(self.names, moved.reshape(*shape, 3), turned)

    def velocity(self, time: Floats) -> Floats:
        """(rows, names, 3) [m/s] by central differences."""
        return np.gradient(self.position, time, axis=0)

    def angular_velocity(self, time: Floats) -> Floats:
        """(rows, names, 3) [rad/s] in the world, by central differences."""
        if self.quaternion is None:
            raise RealworthyError("Points have no angular velocity.")
        q, rows = self.quaternion, np.arange(len(time))
        after, before = np.minimum(rows + 1, len(time) - 1), np.maximum(rows - 1, 0)
        turn = _log(_multiply(q[after], q[before] * [1, -1, -1, -1]))
        return turn / (time[after] - time[before])[:, None, None]

    def take(self, names: Iterable[str]) -> "Poses":
        """Some of them, in the order asked for."""
        names = tuple(names)
        which = [self.names.index(name) for name in names]
        q = self.quaternion
        return Poses(names, self.position[:, which], None if q is None else q[:, which])

    def to_columns(self, kind: str) -> dict[str, Floats]:
        """`kind` is `base`, `body` or `object`; a base has no name of its own."""
        found: dict[str, Floats] = {}
        for i, name in enumerate(self.names):
            stem = kind if kind == BASE else f"{kind}.{name}"
            for k, axis in enumerate("xyz"):
                found[f"{stem}.position.{axis}"] = self.position[:, i, k]
            if self.quaternion is not None:
                for k, axis in enumerate("wxyz"):
                    found[f"{stem}.orientation.{axis}"] = self.quaternion[:, i, k]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """Which parts touch the ground or an object, row by row."""

    names: tuple[str, ...]
    touching: Flags
    """(rows, names)"""

    def at(self, time: Floats, times: Floats) -> "Contacts":
        """As in the nearest row."""
        middle = (time[1:] + time[:-1]) / 2
        return Contacts(self.names, self.touching[np.searchsorted(middle, times)])

    def to_columns(self) -> dict[str, Floats]:
        names = enumerate(self.names)
        return {
            f"contact.{n}": self.touching[:, i].astype(np.float64) for i, n in names
        }


def read_poses(table: Mapping[str, Floats], kind: str) -> Poses | None:
    """Poses of one kind among the columns of a table; None where it has none."""
    stem = kind if kind == BASE else rf"{kind}\.(.+)"
    pattern = re.compile(rf"{stem}\.position\.x")
    stems = [n.removesuffix(".position.x") for n in table if pattern.fullmatch(n)]
    stems = [s for s in stems if all(f"{s}.position.{axis}" in table for axis in "yz")]
    names = tuple(s.removeprefix(f"{kind}.") for s in stems)
    if not stems:
        return None
    position = [[table[f"{s}.position.{axis}"] for axis in "xyz"] for s in stems]
    turns = [[table.get(f"{s}.orientation.{axis}") for axis in "wxyz"] for s in stems]
    quaternion = None
    if all(column is not None for turn in turns for column in turn):
        quaternion = np.moveaxis(np.array(turns, dtype=np.float64), -1, 0)
    return Poses(names, np.moveaxis(np.array(position), -1, 0), quaternion)


def read_contacts(table: Mapping[str, Floats]) -> Contacts | None:
    """Columns `contact.<name>`, 1 where it touches."""
    names = tuple(n.removeprefix("contact.") for n in table if n.startswith("contact."))
    if not names:
        return None
    flags = np.stack([table[f"contact.{name}"] for name in names], axis=1)
    return Contacts(names, flags > 0.5)


def _check_shape(values: Floats, names: tuple[str, ...], width: int, what: str) -> None:
    if values.ndim != 3 or values.shape[1:] != (len(names), width):
        raise RealworthyError(
            f"{what.capitalize()} of {len(names)} things cannot have the shape "
            f"{values.shape}: (rows, {len(names)}, {width}) is meant."
        )
    if not np.isfinite(values).all():
        raise RealworthyError(f"A motion holds {what} that are not numbers.")


def _multiply(a: Floats, b: Floats) -> Floats:
    """Products of quaternions w-x-y-z."""
    (w, x, y, z), (s, i, j, k) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    parts = [
        w * s - x * i - y * j - z * k,
        w * i + x * s + y * k - z * j,
        w * j - x * k + y * s + z * i,
        w * k + x * j - y * i + z * s,
    ]
    return np.stack(parts, axis=-1)


def _log(q: Floats) -> Floats:
    """(…, 3) rotation vectors [rad] of unit quaternions, the shorter way round."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., :1])
    return q[..., 1:] * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0)
