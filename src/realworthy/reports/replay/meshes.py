"""Fewer triangles that look the same: corners in one cell of a grid become one.

Each cell keeps the point that is nearest to the planes of the triangles that meet in
it (least squares with the quadrics of Garland and Heckbert 1997, cell by cell as
Lindstrom 2000 does), so that edges stay edges.
"""

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


_PULL = 1e-3
"""Of the middle of a cell's corners, beside the planes."""
_MIN_CELLS_PER_MESH = 6
"""Cells along the longest side of a mesh, where there is room: small parts stay."""
_SIMPLE = 64
"""Triangles of a mesh that is left as it is, such as a box."""
_PLACES = np.array([1, 1 << 21, 1 << 42])
"""Three whole numbers below 2²¹ as one."""


def decimate(meshes: list[Mesh], most: int) -> list[Mesh]:
    """Meshes with no more than `most` triangles in all; parts may become nothing.

    Simple ones stay as they are where there is room for them.
    """
    counts = [len(mesh.triangles) for mesh in meshes]
    if sum(counts) <= most:
        return meshes
    simple = sum(count for count in counts if count <= _SIMPLE)
    limit = _SIMPLE if simple <= most / 2 else 0
    large = [mesh for mesh in meshes if len(mesh.triangles) > limit]
    thinned = iter(_thin_out(large, most - (simple if limit else 0)))
    return [
        next(thinned) if count > limit else m
        for m, count in zip(meshes, counts, strict=True)
    ]


def _thin_out(meshes: list[Mesh], most: int) -> list[Mesh]:
    area = sum(_compute_area(mesh) for mesh in meshes)
    cell, fewest = np.sqrt(area / most), float(_MIN_CELLS_PER_MESH)
    while True:
        cells = [_limit(mesh, cell, fewest) for mesh in meshes]
        found = [_cluster(*pair) for pair in zip(meshes, cells, strict=True)]
        count = sum(len(triangles) for _, triangles in found)
        if count <= most:
            break
        growth = 1.02 * np.sqrt(count / most)
        cell, fewest = cell * growth, fewest / growth
    return [
        _drop_unused(Mesh(_choose_points(mesh, place, size), triangles))
        for mesh, size, (place, triangles) in zip(meshes, cells, found, strict=True)
    ]


def _limit(mesh: Mesh, cell: float, fewest: float) -> float:
    extent = float(np.ptp(mesh.vertices, axis=0).max())
    return min(cell, max(extent / fewest, 1e-9))


def _compute_area(mesh: Mesh) -> float:
    return float(np.linalg.norm(_compute_normals(mesh), axis=1).sum() / 2)


def _compute_normals(mesh: Mesh) -> Floats:
    """(triangles, 3) whose length is twice the area."""
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def _cluster(mesh: Mesh, cell: float) -> tuple[NDArray[np.intp], Whole]:
    """Cell of each corner, and triangles between cells, each once."""
    low = mesh.vertices.min(axis=0) - cell / 2
    key = np.floor((mesh.vertices - low) / cell).astype(np.int64)
    _, place = np.unique(key @ _PLACES, return_inverse=True)
    triangles = place[mesh.triangles]
    a, b, c = triangles.T
    kept = np.flatnonzero((a != b) & (b != c) & (c != a))
    _, first = np.unique(np.sort(triangles[kept]) @ _PLACES, return_index=True)
    return place, triangles[kept[first]]


def _choose_points(mesh: Mesh, place: NDArray[np.intp], cell: float) -> Floats:
    """(cells, 3) the best corner for each cell, within half a cell of their mean."""
    count = int(place.max()) + 1
    sums = np.stack([np.bincount(place, v, count) for v in mesh.vertices.T], axis=1)
    middle = sums / np.bincount(place, minlength=count)[:, None]
    normals = _compute_normals(mesh)
    size = np.linalg.norm(normals, axis=1)
    units = normals / np.maximum(size, 1e-30)[:, None]
    at = mesh.vertices[mesh.triangles[:, 0]]
    matrix, vector = np.zeros((count, 3, 3)), np.zeros((count, 3))
    for corner in mesh.triangles.T:
        where = place[corner]
        distance = np.einsum("ij,ij->i", units, at - middle[where]) * size
        for i in range(3):
            vector[:, i] += np.bincount(where, distance * units[:, i], count)
            for k in range(i, 3):
                weights = size * units[:, i] * units[:, k]
                matrix[:, i, k] += np.bincount(where, weights, count)
    for i, k in ((0, 1), (0, 2), (1, 2)):
        matrix[:, k, i] = matrix[:, i, k]
    weight = np.trace(matrix, axis1=1, axis2=2)
    matrix += (_PULL * weight + 1e-30)[:, None, None] * np.eye(3)
    moved = np.linalg.solve(matrix, vector[..., None])[..., 0]
    return middle + np.clip(moved, -cell / 2, cell / 2)


def _drop_unused(mesh: Mesh) -> Mesh:
    """Without corners that no triangle has."""
    used, triangles = np.unique(mesh.triangles, return_inverse=True)
    return Mesh(mesh.vertices[used], triangles.reshape(-1, 3))
