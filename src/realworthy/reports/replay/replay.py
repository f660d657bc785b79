"""A replay in three dimensions, and what it shows in words.

A page gets it as JSON: whole numbers of 16 bits, packed, beside their scales.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from realworthy.reports.elements.numbers import Amount
from realworthy.reports.replay.motion import DrawnMotion
from realworthy.reports.replay.shapes import BodyShape

Floats = NDArray[np.float64]
_FULL = 32767
_MAX_DISTANCE_IN_RADII = 30.0
"""Radii of the scene beyond which positions are clipped: a simulation that diverged
would otherwise take all resolution of the encoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayScene:
    """All that a page needs to draw."""

    time: Floats
    shapes: Sequence[BodyShape]
    fixed: Sequence[BodyShape]
    floors: Sequence[tuple[Floats, Floats]]
    motions: Sequence[DrawnMotion]
    base: int | None
    centre: Floats
    radius: float
    moment: int


def encode(scene: ReplayScene) -> Markup:
    """Positions to 1/32767 of the farthest one; quaternions to 1/32767."""
    every = np.concatenate([m.position.reshape(-1, 3) for m in scene.motions])
    reach = float(np.abs(every - scene.centre).max())
    start = scene.motions[0].position - scene.centre
    far = max(_MAX_DISTANCE_IN_RADII * scene.radius, float(np.abs(start).max()))
    unit = max(min(reach, far), 1e-6) / _FULL
    tree = {
        "time": np.round(scene.time, 3).tolist(),
        "centre": _round(scene.centre),
        "radius": round(scene.radius, 4),
        "unit": unit,
        "base": scene.base,
        "moment": scene.moment,
        "shapes": [_encode_shape(shape) for shape in scene.shapes],
        "fixed": [_encode_shape(shape) for shape in scene.fixed],
        "floors": [[_round(p), _round(q)] for p, q in scene.floors],
        "robots": [
            {
                "role": motion.role.value,
                "position": _pack((motion.position - scene.centre) / unit),
                "quaternion": _pack(motion.quaternion * _FULL),
            }
            for motion in scene.motions
        ],
    }
    text = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def _encode_shape(shape: BodyShape) -> dict[str, float | str]:
    vertices, triangles = shape.mesh
    unit = max(float(np.abs(vertices).max()), 1e-6) / _FULL
    wide = "<u2" if len(vertices) <= 1 << 16 else "<u4"
    return {
        "unit": unit,
        "vertices": _pack(vertices / unit),
        "triangles": base64.b64encode(triangles.astype(wide).tobytes()).decode(),
        "bits": 16 if wide == "<u2" else 32,
    }


def _pack(values: Floats) -> str:
    """Base64 of whole numbers of 16 bits, the lower byte first."""
    whole = np.clip(np.round(values), -_FULL, _FULL).astype("<i2")
    return base64.b64encode(whole.tobytes()).decode()


def _round(values: Floats) -> list[float]:
    return [round(float(value), 5) for value in values]


_POINTS = 48
"""Of each body, about."""


def place_points(shapes: Sequence[BodyShape], motion: DrawnMotion) -> Floats:
    """(frames, points, 3) some corners of all shapes in the world [m]."""
    parts = []
    for i, shape in enumerate(shapes):
        corners = thin_corners(shape)
        matrices = _to_matrices(motion.quaternion[:, i])
        turned = np.einsum("fij,pj->fpi", matrices, corners)
        parts.append(turned + motion.position[:, i, None])
    return np.concatenate(parts, axis=1)


def thin_corners(shape: BodyShape) -> Floats:
    """(points, 3) at most a few, spread over the shape; its outermost among them."""
    corners = shape.mesh.vertices
    outer = {int(k) for axis in corners.T for k in (axis.argmin(), axis.argmax())}
    spread = range(0, len(corners), max(1, len(corners) // _POINTS))
    return corners[sorted(outer | set(spread))]


def _to_matrices(quaternions: Floats) -> Floats:
    """(n, 3, 3) of unit quaternions w-x-y-z."""
    w, x, y, z = quaternions.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


Floats = NDArray[np.float64]
_AROUND, _ROOM_AROUND = 2.0, 1.25
"""Radii of what moves within which fixed shapes are in the picture, and the radius of
the picture over that of a robot that goes about."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Robots that move side by side; the last is drawn solid, others as ghosts."""

    title: str
    time: Floats
    """(frames,) [s] since the recording began."""
    shapes: tuple[BodyShape, ...]
    """Of bodies that move, in the order of the poses."""
    fixed: tuple[BodyShape, ...]
    """In the world's frame."""
    floors: tuple[tuple[Floats, Floats], ...]
    motions: tuple[DrawnMotion, ...]
    """The robot first, where there is one."""
    base: int | None
    """Place among the shapes of a base that goes about; None: none does."""
    remarks: tuple[str, ...] = ()

    @cached_property
    def farthest(self) -> tuple["Farthest", ...]:
        """For each replay, when and where it is farthest from the robot."""
        real, *others = self.motions
        return tuple(_find_farthest(self, real, other) for other in others)

    @cached_property
    def moment(self) -> int:
        """Frame to look at: the last replay is farthest from the robot, or the end."""
        return self.farthest[-1].frame if self.farthest else len(self.time) - 1

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What is seen, for those who do not see it."""
        farthest = (one.to_words() for one in self.farthest)
        lost = (
            f"The simulation ({motion.label}) diverged at "
            f"{Amount(motion.diverged_at, 's')} and is shown as it was before."
            for motion in self.motions
            if motion.diverged_at is not None
        )
        return (*farthest, *lost, *self.remarks)

    @cached_property
    def caption(self) -> str:
        """One sentence."""
        told = ", ".join(motion.label for motion in self.motions)
        start, end = (
            Amount(self.time[0], "s"),
            Amount(self.time[-1], "s"),
        )
        return f"{self.title} in three dimensions, {start} to {end}: {told}."

    @cached_property
    def data(self) -> Markup:
        """JSON for the page's own script, fit to stand in a <script>."""
        centre, radius = self._find_view()
        return encode(
            ReplayScene(
                time=self.time,
                shapes=self.shapes,
                fixed=self.fixed,
                floors=self.floors,
                motions=self.motions,
                base=self.base,
                centre=centre,
                radius=radius,
                moment=self.moment,
            )
        )

    def _find_view(self) -> tuple[Floats, float]:
        """Middle (3,) and radius [m] of what the first robot's motion fills."""
        motion = self.motions[0]
        points = place_points(self.shapes, motion)
        if self.base is not None:
            moved = motion.position[:, self.base] - motion.position[0, self.base]
            points = points - (moved * [1, 1, 0])[:, None]
        points = points.reshape(-1, 3)
        low, high = points.min(axis=0), points.max(axis=0)
        reach = _AROUND * float(np.linalg.norm(high - low)) / 2
        middle = (low + high) / 2
        for shape in self.fixed:
            corners = shape.mesh.vertices
            if np.linalg.norm(corners - middle, axis=1).max() < reach:
                low = np.minimum(low, corners.min(axis=0))
                high = np.maximum(high, corners.max(axis=0))
        room = 1.0 if self.base is None else _ROOM_AROUND
        return (low + high) / 2, room * float(np.linalg.norm(high - low)) / 2


@dataclass(frozen=True, slots=True)
class Farthest:
    """The moment and body at which a replay is farthest from the robot."""

    label: str
    frame: int
    seconds: float
    body: str
    distance: float
    """[m] between the same point of both."""

    def to_words(self) -> str:
        part = f"a point of {self.body}" if self.body else "a point"
        return (
            f"The {self.label} is farthest from the robot at "
            f"{Amount(self.seconds, 's')}: {part} is {Amount(self.distance, 'm')} away."
        )


def _find_farthest(replay: Replay, real: DrawnMotion, other: DrawnMotion) -> Farthest:
    apart = place_points(replay.shapes, real) - place_points(replay.shapes, other)
    distance = np.linalg.norm(apart, axis=2)
    frame, point = np.unravel_index(int(np.argmax(distance)), distance.shape)
    counts = np.cumsum([len(thin_corners(shape)) for shape in replay.shapes])
    shape = replay.shapes[int(np.searchsorted(counts, point, side="right"))]
    return Farthest(
        label=other.label,
        frame=int(frame),
        seconds=float(replay.time[frame]),
        body=shape.name,
        distance=float(distance[frame, point]),
    )
