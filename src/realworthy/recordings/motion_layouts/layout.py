"""What the readers of motions share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadFile
from realworthy.recordings.motion import Motion
from realworthy.recordings.poses import Poses

Floats = NDArray[np.float64]
Y_UP = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
"""A quarter turn about x: from a world whose y is up into one whose z is."""
_UPRIGHT = 0.5
"""Cosine of the tilt, 60°, that the base of a robot keeps for half of a motion: where
only the other order of quaternions gives that, the order is wrong. The upright clips of
G1 and Laikago here have 0.93 and more, 2026-11-19."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a user says of a file that does not say it."""

    rate: float | None
    """[Hz]"""
    joints: tuple[str, ...]
    regressor: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionLayout:
    """Reads one foreign layout of motions."""

    summary: str
    """One line for `realworthy show importers`."""
    layout: str
    """What a file must look like, to end the sentence 'it expects'."""
    read: Callable[[Path, Request], Motion]
    suffixes: tuple[str, ...] = ()
    """Ends of names that no other layout has."""


def turn_up(points: Floats) -> Floats:
    """(…, 3) from y up to z up."""
    return points @ Y_UP.T


def count_clock(rows: int, rate: float) -> Floats:
    """(rows,) [s]"""
    return np.arange(rows) / rate


def build_figure(
    path: Path, rate: float, names: Sequence[str], points: Floats
) -> Motion:
    """A motion of points alone."""
    if points.shape[1] != len(names):
        raise BadFile(
            path, f"it has {points.shape[1]} points, and {len(names)} names for them."
        )
    clock = count_clock(len(points), rate)
    return Motion(
        clock, (), np.empty((len(clock), 0)), bodies=Poses(tuple(names), points)
    )


def build_base(
    path: Path,
    position: Floats,
    quaternion_xyzw: Floats,
    up: Sequence[float] = (0, 0, 1),
) -> Poses:
    """A robot's base from the order x-y-z-w, which is checked: half of a motion is
    upright. `up` is the axis of the base that points up when the robot stands."""
    other = np.asarray(quaternion_xyzw, dtype=np.float64)
    turned = np.roll(other, 1, axis=1)
    length = np.linalg.norm(other, axis=1)
    if (np.abs(length - 1) > 0.05).any():
        raise BadFile(
            path,
            "the columns of its base's orientation are no unit quaternions: lengths "
            f"{length.min():.3g} to {length.max():.3g}.",
        )
    if _measure_upright(turned, up) < _UPRIGHT <= _measure_upright(other, up):
        raise BadFile(
            path,
            "its quaternions are w-x-y-z: read as x-y-z-w, which this layout has, the "
            "robot lies or stands on its head.",
            hint="Move the column of w behind z.",
        )
    return Poses(("base",), position[:, None], turned[:, None])


def _measure_upright(wxyz: Floats, up: Sequence[float]) -> float:
    """Median cosine between an axis of the base and the world's z."""
    from realworthy.parameters.inertia import rotation

    return float(np.median(rotation(wxyz)[:, 2] @ np.asarray(up, dtype=np.float64)))


def get_array(path: Path, arrays: dict[str, NDArray], name: str, width: int) -> Floats:
    """One array of an archive with `width` axes, as float64."""
    if name not in arrays:
        raise BadFile(
            path, f"it has no array '{name}'.", hint=f"It has: {', '.join(arrays)}."
        )
    values = arrays[name].astype(np.float64)
    if values.ndim != width:
        raise BadFile(
            path, f"'{name}' has the shape {values.shape}; {width} axes are meant."
        )
    return values


def get_rate(path: Path, arrays: dict[str, NDArray], *names: str) -> float:
    """[Hz] under the first of these names."""
    for name in names:
        if name in arrays:
            rate = float(np.ravel(arrays[name])[0])
            if np.isfinite(rate) and rate > 0:
                return rate
            raise BadFile(path, f"'{name}' is {rate:g}, which is no rate in Hz.")
    raise BadFile(
        path, f"it has no '{names[0]}'.", hint="That array holds rows per second."
    )
