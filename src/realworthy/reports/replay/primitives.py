"""Balls, boxes and rods as a few triangles, in the frame of their geom."""

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_SIDES, _RINGS = 16, 8
"""Corners of a circle, and circles from pole to pole."""
_FIELD = 40
"""Points of a height field along each side, at most."""


class Mesh(NamedTuple):
    """Triangles that share corners."""

    vertices: Floats
    """(corners, 3) [m]"""
    triangles: Whole
    """(triangles, 3) places of corners, seen from outside against the clock."""


def build_primitive(kind: int, size: Floats) -> Mesh | None:
    """A geom of MuJoCo that needs no file; None for other kinds."""
    geom = mujoco.mjtGeom
    if kind == geom.mjGEOM_BOX:
        return _build_box(size)
    if kind == geom.mjGEOM_SPHERE:
        return _build_ball(np.full(3, size[0]))
    if kind == geom.mjGEOM_ELLIPSOID:
        return _build_ball(size)
    if kind == geom.mjGEOM_CAPSULE:
        return _build_ball(np.full(3, size[0]), apart=size[1])
    if kind == geom.mjGEOM_CYLINDER:
        return _build_cylinder(size[0], size[1])
    return None


def build_field(model: mujoco.MjModel, field: int) -> Mesh:
    """The surface of a height field, without its sides."""
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    first = int(model.hfield_adr[field])
    height = model.hfield_data[first : first + rows * columns].reshape(rows, columns)
    x, y, top, _ = model.hfield_size[field]
    i = np.unique(np.linspace(0, rows - 1, min(rows, _FIELD)).round().astype(int))
    k = np.unique(np.linspace(0, columns - 1, min(columns, _FIELD)).round().astype(int))
    across, along = np.meshgrid(
        x * (2 * k / (columns - 1) - 1), y * (2 * i / (rows - 1) - 1)
    )
    corners = np.stack([across, along, top * height[np.ix_(i, k)]], axis=-1)
    return Mesh(corners.reshape(-1, 3), _join_rings(len(i), len(k), closed=False))


def _build_box(half: Floats) -> Mesh:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = [
        (0, 1, 3, 2),
        (4, 6, 7, 5),
        (0, 4, 5, 1),
        (2, 3, 7, 6),
        (0, 2, 6, 4),
        (1, 5, 7, 3),
    ]
    triangles = [t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))]
    return Mesh(corners * half, np.array(triangles))


def _build_ball(radii: Floats, *, apart: float = 0.0) -> Mesh:
    """An ellipsoid; its halves may be moved apart along z, as a capsule's are."""
    polar = np.linspace(np.pi, 0, _RINGS + 1)
    if apart:
        polar = np.sort(np.append(polar, np.pi / 2))[::-1]
    shift = apart * np.where(np.arange(len(polar)) < len(polar) / 2, -1, 1)
    return _turn(np.sin(polar), np.cos(polar), shift, radii)


def _build_cylinder(radius: float, half: float) -> Mesh:
    profile, height = np.array([0.0, 1, 1, 0]), np.array([-1.0, -1, 1, 1])
    return _turn(profile, height, np.zeros(4), np.array([radius, radius, half]))


def _turn(profile: Floats, height: Floats, shift: Floats, radii: Floats) -> Mesh:
    """A profile turned about z, from below to above."""
    angle = np.arange(_SIDES) * 2 * np.pi / _SIDES
    circle = np.stack([np.cos(angle), np.sin(angle), np.ones(_SIDES)], axis=1)
    reach = np.stack([profile, profile, height], axis=1)
    rings = reach[:, None] * circle * radii
    rings[..., 2] += shift[:, None]
    return Mesh(rings.reshape(-1, 3), _join_rings(len(profile), _SIDES, closed=True))


def _join_rings(rings: int, length: int, *, closed: bool) -> Whole:
    """Two triangles between each pair of neighbours on neighbouring rings."""
    i, k = np.mgrid[: rings - 1, : length if closed else length - 1]
    after = (k + 1) % length
    a, b = i * length + k, i * length + after
    c, d = a + length, b + length
    pairs = np.stack([a, b, d, a, d, c], axis=-1)
    return pairs.reshape(-1, 3).astype(np.int64)
