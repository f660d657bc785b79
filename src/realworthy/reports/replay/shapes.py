"""What of a robot is seen: triangles in the frames of its bodies."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.reports.replay.meshes import (
    Floats,
    Mesh,
    build_field,
    build_primitive,
    decimate,
)

_DRAWN_GROUPS = 3
"""Groups of shapes from this on are for collisions, not for the eye."""
TRIANGLE_COUNT = 12_000
"""Of one robot and what stands around it, at most."""


@dataclass(frozen=True, slots=True)
class BodyShape:
    """All that is seen of one body."""

    body: int
    mesh: Mesh
    """In the body's frame [m]."""
    name: str = ""
    """The body's; empty where it has none."""


def list_shapes(model: mujoco.MjModel, most: int = TRIANGLE_COUNT) -> list[BodyShape]:
    """One shape for each body that has something to see, planes apart.

    Groups 0 to 2, as viewers do; where these show no body that moves, all groups.
    Meshes are thinned out until all triangles together are no more than `most`.
    """
    drawn = [i for i in range(model.ngeom) if _is_drawn(model, i)]
    seen = [i for i in drawn if model.geom_group[i] < _DRAWN_GROUPS]
    if not any(is_moving(model, int(model.geom_bodyid[i])) for i in seen):
        seen = drawn
    plain = {i: _build_plain(model, i) for i in seen}
    meshes = [i for i in seen if plain[i] is None]
    left = most - sum(len(one.triangles) for one in plain.values() if one)
    thinned = decimate([_read_mesh(model, i) for i in meshes], max(left, most // 4))
    found = {i: one for i, one in plain.items() if one}
    found |= dict(zip(meshes, thinned, strict=True))
    bodies: dict[int, list[Mesh]] = {}
    for i in seen:
        body = int(model.geom_bodyid[i])
        bodies.setdefault(body, []).append(_place(model, i, found[i]))
    shapes = [
        BodyShape(body, _join(parts), model.body(body).name)
        for body, parts in sorted(bodies.items())
    ]
    return [shape for shape in shapes if len(shape.mesh.triangles)]


def is_moving(model: mujoco.MjModel, body: int) -> bool:
    return bool(model.body_weldid[body] != 0)


def list_floors(model: mujoco.MjModel) -> list[tuple[Floats, Floats]]:
    """Position (3,) and quaternion (4,) of every plane that is fixed in the world."""
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    fixed = (model.geom_type == plane) & (model.geom_bodyid == 0)
    return [
        (model.geom_pos[i].copy(), model.geom_quat[i].copy())
        for i in np.flatnonzero(fixed)
    ]


def _is_drawn(model: mujoco.MjModel, geom: int) -> bool:
    material = int(model.geom_matid[geom])
    rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    is_plane = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE
    return bool(rgba[3] > 0 and not is_plane)


def _build_plain(model: mujoco.MjModel, geom: int) -> Mesh | None:
    """None for a mesh."""
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_HFIELD:
        return build_field(model, int(model.geom_dataid[geom]))
    return build_primitive(int(model.geom_type[geom]), model.geom_size[geom])


def _read_mesh(model: mujoco.MjModel, geom: int) -> Mesh:
    mesh = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    start, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    return Mesh(
        model.mesh_vert[first : first + count].astype(np.float64),
        model.mesh_face[start : start + faces].astype(np.int64),
    )


def _place(model: mujoco.MjModel, geom: int, mesh: Mesh) -> Mesh:
    """From the geom's frame into its body's."""
    turned = rotate(mesh.vertices, model.geom_quat[geom])
    return Mesh(turned + model.geom_pos[geom], mesh.triangles)


def rotate(points: Floats, quaternion: NDArray[np.floating]) -> Floats:
    """(n, 3) points turned by a unit quaternion w-x-y-z."""
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, dtype=np.float64))
    return points @ matrix.reshape(3, 3).T


def _join(meshes: list[Mesh]) -> Mesh:
    counts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate(
            [mesh.triangles + n for mesh, n in zip(meshes, counts, strict=False)]
        ),
    )
