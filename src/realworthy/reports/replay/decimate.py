"""Fewer triangles that look the same: corners in one cell of a grid become one.

Each cell keeps the point that is nearest to the planes of the triangles that meet in
it (least squares with the quadrics of Garland and Heckbert 1997, cell by cell as
Lindstrom 2000 does), so that edges stay edges.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.reports.replay.primitives import Floats, Mesh, Whole

_PULL = 1e-3
"""Of the middle of a cell's corners, beside the planes."""
_FEWEST = 6
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
    cell, fewest = np.sqrt(area / most), float(_FEWEST)
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
