"""From a compiled model to a mechanism that other engines can be built from.

Read from the compiled `MjModel`, never from the text: parsers of other engines drop
what they do not know, joint armature and inertias among it.
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.simulators.witnesses.contact_pairs import find_touching
from realworthy.simulators.witnesses.mechanism import (
    WORLD,
    Floats,
    Joint,
    JointKind,
    Mechanism,
    MechanismLink,
    MechanismShape,
    Pose,
    ShapeKind,
    Touching,
)

RIGID_FIELDS = (
    *("body_mass", "body_ipos", "body_iquat", "body_inertia", "body_pos", "body_quat"),
    *("jnt_pos", "jnt_axis", "jnt_range", "qpos0", "opt.gravity"),
    *("geom_pos", "geom_quat", "geom_size", "geom_friction", "pair_friction"),
)
"""Fields that a mechanism is made of; where one changes, an engine is built anew."""
_KINDS = {
    mujoco.mjtJoint.mjJNT_HINGE: JointKind.HINGE,
    mujoco.mjtJoint.mjJNT_SLIDE: JointKind.SLIDE,
    mujoco.mjtJoint.mjJNT_FREE: JointKind.FREE,
}
_SHAPES = {
    mujoco.mjtGeom.mjGEOM_PLANE: ShapeKind.PLANE,
    mujoco.mjtGeom.mjGEOM_HFIELD: ShapeKind.SURFACE,
    mujoco.mjtGeom.mjGEOM_SPHERE: ShapeKind.SPHERE,
    mujoco.mjtGeom.mjGEOM_CAPSULE: ShapeKind.CAPSULE,
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: ShapeKind.ELLIPSOID,
    mujoco.mjtGeom.mjGEOM_CYLINDER: ShapeKind.CYLINDER,
    mujoco.mjtGeom.mjGEOM_BOX: ShapeKind.BOX,
    mujoco.mjtGeom.mjGEOM_MESH: ShapeKind.HULL,
}


def export_mechanism(
    model: mujoco.MjModel, *, rubbing: NDArray[np.bool_] | None = None
) -> Mechanism:
    """The rigid bodies of a model that `check_carried` has passed.

    `rubbing` marks degrees of freedom that may get dry friction later; by default those
    that have some now.
    """
    links, places = _export_links(model)
    shapes, touching = _export_shapes(model, places)
    may_rub = model.dof_frictionloss > 0 if rubbing is None else rubbing
    off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    return Mechanism(
        links=links,
        shapes=shapes,
        touching=touching,
        gravity=np.zeros(3) if off else model.opt.gravity.copy(),
        timestep=float(model.opt.timestep),
        position_count=int(model.nq),
        dof_count=int(model.nv),
        rubbing=may_rub & ~_free_dofs(model),
    )


def shape_kind(model: mujoco.MjModel, geom: int) -> ShapeKind | None:
    """What a geom is; None for kinds that no engine here has."""
    return _SHAPES.get(mujoco.mjtGeom(model.geom_type[geom]))


def _free_dofs(model: mujoco.MjModel) -> NDArray[np.bool_]:
    kinds = model.jnt_type[model.dof_jntid]
    return kinds == mujoco.mjtJoint.mjJNT_FREE


def _export_links(
    model: mujoco.MjModel,
) -> tuple[tuple[MechanismLink, ...], list[tuple[int, Pose]]]:
    """Links, and for each body its link and its place in that."""
    links: list[MechanismLink] = []
    places: list[tuple[int, Pose]] = []
    members: list[list[int]] = []
    for body in range(model.nbody):
        pose = _pose(model.body_pos[body], model.body_quat[body])
        parent, in_parent = places[model.body_parentid[body]] if body else (0, pose)
        if body and model.body_jntnum[body] == 0:
            places.append((parent, in_parent @ pose))
            members[parent].append(body)
            continue
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body)
        joints = _export_joints(model, body)
        start = in_parent @ pose if body else Pose.shift(np.zeros(3))
        places.append((len(links), Pose.shift(np.zeros(3))))
        members.append([body])
        empty = np.zeros(3), np.zeros((3, 3))
        links.append(
            MechanismLink(name or f"body {body}", parent, start, joints, 0.0, *empty)
        )
    return tuple(
        _with_inertia(model, link, bodies, places)
        for link, bodies in zip(links, members, strict=True)
    ), places


def _export_joints(model: mujoco.MjModel, body: int) -> tuple[Joint, ...]:
    first = int(model.body_jntadr[body])
    unlimited = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_LIMIT
    joints = []
    for i in range(first, first + int(model.body_jntnum[body])):
        place, reference = int(model.jnt_qposadr[i]), 0.0
        kind = _KINDS[mujoco.mjtJoint(model.jnt_type[i])]
        if kind is not JointKind.FREE:
            reference = float(model.qpos0[place])
        lower, upper = -np.inf, np.inf
        if model.jnt_limited[i] and not unlimited and kind is not JointKind.FREE:
            lower, upper = model.jnt_range[i] - reference
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i)
        joints.append(
            Joint(
                name=name or f"joint {i}",
                kind=kind,
                axis=model.jnt_axis[i].copy(),
                anchor=model.jnt_pos[i].copy(),
                place=place,
                dof=int(model.jnt_dofadr[i]),
                reference=reference,
                lower=float(lower),
                upper=float(upper),
            )
        )
    return tuple(joints)


def _with_inertia(
    model: mujoco.MjModel,
    link: MechanismLink,
    bodies: list[int],
    places: list[tuple[int, Pose]],
) -> MechanismLink:
    """The link with the masses of all its bodies as one."""
    masses = model.body_mass[bodies]
    frames = [
        places[b][1] @ _pose(model.body_ipos[b], model.body_iquat[b]) for b in bodies
    ]
    mass = float(masses.sum())
    centres = np.array([frame.position for frame in frames])
    centre = masses @ centres / mass if mass > 0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for body, frame, m in zip(bodies, frames, masses, strict=True):
        arm = frame.position - centre
        own = frame.rotation @ np.diag(model.body_inertia[body]) @ frame.rotation.T
        inertia += own + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return MechanismLink(
        link.name, link.parent, link.pose, link.joints, mass, centre, inertia
    )


def _export_shapes(
    model: mujoco.MjModel, places: list[tuple[int, Pose]]
) -> tuple[tuple[MechanismShape, ...], Touching]:
    links = np.array([places[body][0] for body in model.geom_bodyid], dtype=np.intp)
    parents = np.array([_parent_link(model, places, b) for b in model.geom_bodyid])
    pairs, friction = find_touching(model, links, parents)
    used = np.unique(pairs)
    numbers = {int(geom): i for i, geom in enumerate(used)}
    shapes = tuple(_export_shape(model, int(geom), places) for geom in used)
    renumbered = np.array([[numbers[int(g)] for g in pair] for pair in pairs])
    return shapes, Touching(renumbered.reshape(-1, 2).astype(np.intp), friction)


def _parent_link(
    model: mujoco.MjModel, places: list[tuple[int, Pose]], body: int
) -> int:
    """The link that carries a body's link."""
    root = int(model.body_weldid[body])
    return places[int(model.body_parentid[root])][0]


def _export_shape(
    model: mujoco.MjModel, geom: int, places: list[tuple[int, Pose]]
) -> MechanismShape:
    link, frame = places[model.geom_bodyid[geom]]
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom)
    kind = shape_kind(model, geom)
    assert kind is not None, "check_carried has refused it"
    points, triangles = np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    if kind is ShapeKind.HULL:
        points = _mesh_points(model, int(model.geom_dataid[geom]))
    elif kind is ShapeKind.SURFACE:
        points, triangles = _field_surface(model, int(model.geom_dataid[geom]))
    return MechanismShape(
        name=name or f"geom {geom}",
        geom=geom,
        link=link,
        kind=kind,
        size=model.geom_size[geom].copy(),
        pose=frame @ _pose(model.geom_pos[geom], model.geom_quat[geom]),
        points=points,
        triangles=triangles,
    )


def _mesh_points(model: mujoco.MjModel, mesh: int) -> Floats:
    """Corners of a mesh's convex hull."""
    from scipy.spatial import ConvexHull

    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    points = model.mesh_vert[first : first + count].astype(np.float64)
    return points[ConvexHull(points).vertices]


def _field_surface(
    model: mujoco.MjModel, field: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Points and triangles of a height field, as MuJoCo splits its cells."""
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    first = int(model.hfield_adr[field])
    heights = model.hfield_data[first : first + rows * columns].reshape(rows, columns)
    half_x, half_y, top, _ = model.hfield_size[field]
    x, y = np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows)
    grid_x, grid_y = np.meshgrid(x, y)
    points = np.stack([grid_x, grid_y, heights * top], axis=-1).reshape(-1, 3)
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b = corner[:-1, :-1].ravel(), corner[:-1, 1:].ravel()
    c, d = corner[1:, :-1].ravel(), corner[1:, 1:].ravel()
    triangles = np.concatenate([np.stack([a, b, d], 1), np.stack([a, d, c], 1)])
    return points, triangles


def _pose(position: Floats, quat_wxyz: Floats) -> Pose:
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quat_wxyz)
    return Pose(position.copy(), matrix.reshape(3, 3))


__all__ = ["RIGID_FIELDS", "WORLD", "export_mechanism", "shape_kind"]
