"""Some points of a robot, followed through the frames of a motion."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.reports.replay.motion import Motion
from realworthy.reports.replay.shapes import Shape

Floats = NDArray[np.float64]
_POINTS = 48
"""Of each body, about."""


def place_points(shapes: Sequence[Shape], motion: Motion) -> Floats:
    """(frames, points, 3) some corners of all shapes in the world [m]."""
    parts = []
    for i, shape in enumerate(shapes):
        corners = thin_corners(shape)
        matrices = _to_matrices(motion.quaternion[:, i])
        turned = np.einsum("fij,pj->fpi", matrices, corners)
        parts.append(turned + motion.position[:, i, None])
    return np.concatenate(parts, axis=1)


def thin_corners(shape: Shape) -> Floats:
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
