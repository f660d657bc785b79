"""A replay as JSON: whole numbers of 16 bits, packed, beside their scales."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

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
