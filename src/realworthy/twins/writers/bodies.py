"""Mass, centre of mass, inertia and size of bodies."""

import math
from collections.abc import Callable

import mujoco
import numpy as np

from realworthy.errors import BadModel
from realworthy.parameters import Operation
from realworthy.parameters.inertia import (
    COMPONENTS,
    RigidBody,
    from_theta,
    principal,
    rotation,
    stretch,
    to_theta,
)
from realworthy.twins.compiled_model import CompiledModel, object_names
from realworthy.twins.writers.writer import (
    Fields,
    FieldSlot,
    Floats,
    Group,
    ModelEdit,
    Rows,
    SlotEdit,
    Writer,
    combine,
    offset,
    ratio,
)

_BODY = mujoco.mjtObj.mjOBJ_BODY
_INERTIAL = ("body_mass", "body_ipos", "body_iquat", "body_inertia")


def moving_bodies(compiled: CompiledModel) -> tuple[str, ...]:
    """Bodies with mass that can move."""
    model = compiled.model
    names = object_names(model, _BODY)
    ids = [compiled.id(_BODY, name) for name in names]
    return tuple(
        name
        for name, i in zip(names, ids, strict=True)
        if model.body_weldid[i] != 0 and model.body_mass[i] > 0
    )


def rigid_body(compiled: CompiledModel, body: int) -> RigidBody:
    """The inertial numbers of a body as compiled."""
    model = compiled.model
    axes = rotation(model.body_iquat[body])
    inertia = axes @ np.diag(model.body_inertia[body]) @ axes.T
    return RigidBody(np.array(model.body_mass[body]), model.body_ipos[body], inertia)


def keep_general(
    spec: mujoco.MjSpec, compiled: CompiledModel, element: str, _: float
) -> None:
    """Stops MuJoCo from compiling a body as one whose centre of mass is its origin.

    Such bodies get a diagonal mass matrix that has no room for another centre. The
    centre is moved by a millimetre here; `bind` puts it back after compiling.
    """
    body = spec.body(element)
    i = compiled.id(_BODY, element)
    model = compiled.model
    body.explicitinertial = True
    body.mass = float(model.body_mass[i])
    body.ipos = model.body_ipos[i] + 1e-3
    body.iquat = model.body_iquat[i].copy()
    body.inertia = model.body_inertia[i].copy()
    body.fullinertia = np.array([math.nan, 0, 0, 0, 0, 0])


class MassEdit(ModelEdit):
    """Mass at constant shape: the inertia follows in proportion."""

    fields = ("body_mass", "body_inertia")

    def __init__(self, compiled: CompiledModel, element: str) -> None:
        self.body = compiled.id(_BODY, element)
        self._nominal = np.array([compiled.model.body_mass[self.body]])

    def nominal(self) -> Floats:
        return self._nominal

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        current = fields["body_mass"][rows, self.body]
        mass = combine(current[:, None], values, operation)[:, 0]
        fields["body_inertia"][rows, self.body] *= (mass / current)[:, None]
        fields["body_mass"][rows, self.body] = mass


class InertiaEdit(ModelEdit):
    """All ten inertial numbers as one log-Cholesky block."""

    fields = _INERTIAL

    def __init__(self, compiled: CompiledModel, element: str) -> None:
        self.body = compiled.id(_BODY, element)
        self._nominal = to_theta(rigid_body(compiled, self.body))

    def nominal(self) -> Floats:
        return self._nominal

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        body = from_theta(combine(self._nominal, values, operation))
        _write_rigid_body(fields, rows, self.body, body)


def _write_rigid_body(fields: Fields, rows: Rows, body: int, to: RigidBody) -> None:
    moments, axes = principal(to.inertia)
    fields["body_mass"][rows, body] = to.mass
    fields["body_ipos"][rows, body] = to.centre
    fields["body_iquat"][rows, body] = axes
    fields["body_inertia"][rows, body] = moments


class StretchEdit(ModelEdit):
    """Matter, shapes, children and sites of a body stretched by A(s) = 1 + (s − 1) P.

    P projects on the stretched directions; mass stays. Only boxes, spheres, capsules,
    cylinders and ellipsoids whose axes agree with P can follow.
    """

    def __init__(
        self, compiled: CompiledModel, element: str, projector: Floats
    ) -> None:
        model = compiled.model
        self.body = compiled.id(_BODY, element)
        self.projector = projector
        self.rigid = rigid_body(compiled, self.body)
        first = model.body_geomadr[self.body]
        self.geoms = range(first, first + model.body_geomnum[self.body])
        self.growth = {
            g: _size_growth(model, g, projector, element) for g in self.geoms
        }
        self.sites = np.flatnonzero(model.site_bodyid == self.body)
        self.children = np.flatnonzero(model.body_parentid == self.body)
        self.places = {  # field → indices of positions that move with the matter
            "geom_pos": list(self.geoms),
            "site_pos": self.sites.tolist(),
            "body_pos": [c for c in self.children.tolist() if c != self.body],
        }
        self.places = {name: ids for name, ids in self.places.items() if ids}
        self.base = {name: compiled.nominal(name).copy() for name in self.places}
        self.size = model.geom_size.copy()
        grown = ("geom_size", "geom_rbound", "geom_aabb") if self.geoms else ()
        self.fields = (*_INERTIAL, *self.places, *grown)
        self.types = model.geom_type.tolist()

    def nominal(self) -> Floats:
        return np.ones(1)

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        scale = combine(np.ones((len(values), 1)), values, operation)[:, 0]
        matrix = np.eye(3) + (scale - 1)[:, None, None] * self.projector
        rigid = RigidBody(
            *(np.broadcast_to(x, (len(scale), *x.shape)) for x in self.rigid)
        )
        _write_rigid_body(fields, rows, self.body, stretch(rigid, matrix))
        for name, ids in self.places.items():
            for i in ids:
                fields[name][rows, i] = matrix @ self.base[name][i]
        for g in self.geoms:
            size = self.size[g] * (1 + (scale - 1)[:, None] * self.growth[g])
            fields["geom_size"][rows, g] = size
            fields["geom_rbound"][rows, g] = _bounding_radius(self.types[g], size)
            fields["geom_aabb"][rows, g, 3:] = _half_extent(self.types[g], size)


_SPHERE, _CAPSULE, _CYLINDER, _BOX, _ELLIPSOID, _MESH = (
    int(mujoco.mjtGeom.mjGEOM_SPHERE),
    int(mujoco.mjtGeom.mjGEOM_CAPSULE),
    int(mujoco.mjtGeom.mjGEOM_CYLINDER),
    int(mujoco.mjtGeom.mjGEOM_BOX),
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID),
    int(mujoco.mjtGeom.mjGEOM_MESH),
)


def _size_growth(model: mujoco.MjModel, geom: int, p: Floats, element: str) -> Floats:
    """(3,) share of the stretch that each size number takes."""
    axes = rotation(model.geom_quat[geom])
    along = np.einsum("ji,jk,ki->i", axes, p, axes)  # diagonal of P in the geom's axes
    off = axes.T @ p @ axes - np.diag(along)
    kind = int(model.geom_type[geom])
    whole = np.allclose(p, np.eye(3))
    if kind in (_BOX, _ELLIPSOID) and np.abs(off).max() < 1e-6:
        return along
    if kind in (_SPHERE, _CAPSULE, _CYLINDER) and whole:
        return np.ones(3)
    if kind in (_CAPSULE, _CYLINDER) and np.allclose(along, (0, 0, 1), atol=1e-6):
        return np.array([0.0, 1.0, 0.0])  # size is radius, half length
    if kind == _SPHERE or (kind != _MESH and not whole):
        return np.zeros(3)  # moves with the matter, keeps its size
    if not model.geom_contype[geom] and not model.geom_conaffinity[geom]:
        return np.zeros(3)  # only seen
    raise BadModel(
        f"Body '{element}' cannot be stretched: it collides with a mesh.",
        hint="Use primitive shapes for collision, or leave this parameter out.",
    )


def _bounding_radius(kind: int, size: Floats) -> Floats:
    if kind == _SPHERE:
        return size[:, 0]
    if kind == _CAPSULE:
        return size[:, 0] + size[:, 1]
    if kind == _CYLINDER:
        return np.hypot(size[:, 0], size[:, 1])
    if kind == _BOX:
        return np.linalg.norm(size, axis=1)
    return size.max(1)


def _half_extent(kind: int, size: Floats) -> Floats:
    if kind == _SPHERE:
        return np.repeat(size[:, :1], 3, axis=1)
    if kind == _CAPSULE:
        return np.stack([size[:, 0], size[:, 0], size[:, 0] + size[:, 1]], 1)
    if kind == _CYLINDER:
        return np.stack([size[:, 0], size[:, 0], size[:, 1]], 1)
    return size


def _link_axis(compiled: CompiledModel, element: str) -> Floats | None:
    """Unit vector to the only child of a body, or None where there is no one child."""
    body = compiled.id(_BODY, element)
    children = np.flatnonzero(compiled.model.body_parentid == body)
    children = children[children != body]
    if len(children) != 1:
        return None
    to_child = compiled.model.body_pos[children[0]]
    length = float(np.linalg.norm(to_child))
    return to_child / length if length > 1e-6 else None


def _stretchable(
    compiled: CompiledModel, element: str, projector: Floats | None
) -> bool:
    if projector is None:
        return False
    try:
        StretchEdit(compiled, element, projector)
    except BadModel:
        return False
    return True


def _links(compiled: CompiledModel) -> tuple[str, ...]:
    return tuple(
        name
        for name in moving_bodies(compiled)
        if (axis := _link_axis(compiled, name)) is not None
        and _stretchable(compiled, name, np.outer(axis, axis))
    )


def _stretch_link(compiled: CompiledModel, element: str) -> ModelEdit:
    axis = _link_axis(compiled, element)
    if axis is None:
        raise BadModel(
            f"Body '{element}' has no length: it does not end in exactly one child.",
            hint="realworthy show parameters lists the bodies that have one.",
        )
    return StretchEdit(compiled, element, np.outer(axis, axis))


def _objects(compiled: CompiledModel) -> tuple[str, ...]:
    """Objects that carry nothing else."""
    carriers = set(compiled.model.body_parentid.tolist())
    return tuple(
        name
        for name in compiled.objects
        if compiled.id(_BODY, name) not in carriers
        and _stretchable(compiled, name, np.eye(3))
    )


def _edit_centre(compiled: CompiledModel, element: str) -> ModelEdit:
    body = compiled.id(_BODY, element)
    axes = range(3)
    return SlotEdit(
        compiled, *([FieldSlot("body_ipos", (body, axis))] for axis in axes)
    )


def _edit_stretch(projector: Floats) -> Callable[[CompiledModel, str], ModelEdit]:
    return lambda compiled, element: StretchEdit(compiled, element, projector)


MASS = Writer(
    kind="mass",
    unit="kg",
    group=Group.INERTIAL,
    elements=moving_bodies,
    edit=MassEdit,
    lower=0.0,
    spread=ratio(0.8, 1.2),
)
CENTRE_OF_MASS = Writer(
    kind="centre_of_mass",
    unit="m",
    group=Group.INERTIAL,
    elements=moving_bodies,
    edit=_edit_centre,
    components=("x", "y", "z"),
    prepare=keep_general,
    spread=offset(0.005),
)
INERTIA = Writer(
    kind="inertia",
    unit="log-Cholesky",
    group=Group.INERTIAL,
    elements=moving_bodies,
    edit=InertiaEdit,
    components=COMPONENTS,
    prepare=keep_general,
)
LINK_LENGTH = Writer(
    kind="link_length",
    unit="1",
    group=Group.INERTIAL,
    elements=_links,
    edit=_stretch_link,
    lower=0.5,
    upper=2.0,
    prepare=keep_general,
)
OBJECT_SIZE = Writer(
    kind="object_size",
    unit="1",
    group=Group.OBJECT,
    elements=_objects,
    edit=_edit_stretch(np.eye(3)),
    lower=0.2,
    upper=5.0,
    prepare=keep_general,
)
