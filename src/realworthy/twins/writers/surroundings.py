"""Gravity, pushes, table, terrain; light, camera and material."""

import mujoco
import numpy as np

from realworthy.parameters import Operation
from realworthy.twins.compiled_model import PUSH_COLUMNS, CompiledModel, object_names
from realworthy.twins.structure import TABLE
from realworthy.twins.writers.bodies import moving_bodies
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
)

_BODY = mujoco.mjtObj.mjOBJ_BODY
_GEOM = mujoco.mjtObj.mjOBJ_GEOM
_HFIELD = mujoco.mjtObj.mjOBJ_HFIELD
_LIGHT = mujoco.mjtObj.mjOBJ_LIGHT
_CAMERA = mujoco.mjtObj.mjOBJ_CAMERA
_MATERIAL = mujoco.mjtObj.mjOBJ_MATERIAL


class GravityEdit(ModelEdit):
    """The size of gravity, in the direction that it has."""

    fields = ("opt.gravity",)

    def __init__(self, compiled: CompiledModel, element: str) -> None:
        self._nominal = np.array([float(np.linalg.norm(compiled.model.opt.gravity))])

    def nominal(self) -> Floats:
        return self._nominal

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        gravity = fields["opt.gravity"]
        current = gravity[rows]
        size = np.linalg.norm(current, axis=1, keepdims=True)
        gravity[rows] = current / size * combine(size, values, operation)


class GravityTiltEdit(ModelEdit):
    """A floor that is not level: gravity turned about the world's x and y axes."""

    fields = ("opt.gravity",)

    def __init__(self, compiled: CompiledModel, element: str) -> None:
        pass

    def nominal(self) -> Floats:
        return np.zeros(2)

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        about_x, about_y = combine(np.zeros(2), values, operation).T
        x, y, z = fields["opt.gravity"][rows].T
        y, z = (
            np.cos(about_x) * y - np.sin(about_x) * z,
            np.sin(about_x) * y + np.cos(about_x) * z,
        )
        x, z = (
            np.cos(about_y) * x + np.sin(about_y) * z,
            -np.sin(about_y) * x + np.cos(about_y) * z,
        )
        fields["opt.gravity"][rows] = np.stack([x, y, z], axis=1)


class TerrainHeightEdit(ModelEdit):
    """The height of a height field's highest point [m]; its shape stays.

    MuJoCo shares the shape between worlds: other terrain means another place on it.
    """

    def __init__(self, compiled: CompiledModel, hfield: str) -> None:
        model = compiled.model
        self.hfield = compiled.id(_HFIELD, hfield)
        self.size = model.hfield_size[self.hfield].copy()
        is_hfield = model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD
        self.geoms = np.flatnonzero(is_hfield & (model.geom_dataid == self.hfield))
        self.fields = ("hfield_size", "geom_size", "geom_aabb", "geom_rbound")

    def nominal(self) -> Floats:
        return self.size[2:3]

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        height = combine(self.size[2:3], values, operation)[:, 0]
        x, y, base = self.size[0], self.size[1], self.size[3]
        fields["hfield_size"][rows, self.hfield, 2] = height
        for g in self.geoms:
            centre, half = (height - base) / 2, (height + base) / 2
            fields["geom_size"][rows, g, 2] = height
            fields["geom_aabb"][rows, g, 2] = centre
            fields["geom_aabb"][rows, g, 5] = half
            fields["geom_rbound"][rows, g] = np.sqrt(
                x**2 + y**2 + np.maximum(height, base) ** 2
            )


def _tables(compiled: CompiledModel) -> tuple[str, ...]:
    """The level surface of a twin, where it has one."""
    names = object_names(compiled.model, _GEOM)
    planes = compiled.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    return tuple(n for n in names if n == TABLE and planes[compiled.id(_GEOM, n)])


def _edit_table(compiled: CompiledModel, table: str) -> ModelEdit:
    return SlotEdit(compiled, [FieldSlot("geom_pos", (compiled.id(_GEOM, table), 2))])


def _edit_push(compiled: CompiledModel, body: str) -> ModelEdit:
    i = compiled.id(_BODY, body)
    columns = range(len(PUSH_COLUMNS))
    return SlotEdit(
        compiled, *([FieldSlot("own.push", (i, column))] for column in columns)
    )


def _named(kind: mujoco.mjtObj):
    return lambda compiled: object_names(compiled.model, kind)


def _slots(kind: mujoco.mjtObj, field: str, width: int):
    def edit(compiled: CompiledModel, name: str) -> ModelEdit:
        i = compiled.id(kind, name)
        places = [(i, k) for k in range(width)] if width else [(i,)]
        return SlotEdit(compiled, *([FieldSlot(field, place)] for place in places))

    return edit


GRAVITY = Writer(
    kind="gravity",
    unit="m/s²",
    group=Group.ENVIRONMENT,
    elements=lambda compiled: (
        ("world",) if np.linalg.norm(compiled.model.opt.gravity) > 0 else ()
    ),
    edit=GravityEdit,
    lower=0.0,
)
GRAVITY_TILT = Writer(
    kind="gravity_tilt",
    unit="rad",
    group=Group.ENVIRONMENT,
    elements=GRAVITY.elements,
    edit=GravityTiltEdit,
    components=("x", "y"),
    lower=-np.pi,
    upper=np.pi,
)
PUSH = Writer(
    kind="push",
    unit="N, or s for start and duration",
    group=Group.ENVIRONMENT,
    elements=moving_bodies,
    edit=_edit_push,
    components=PUSH_COLUMNS,
)
TABLE_HEIGHT = Writer(
    kind="height",
    unit="m",
    group=Group.ENVIRONMENT,
    elements=_tables,
    edit=_edit_table,
)
TERRAIN_HEIGHT = Writer(
    kind="terrain_height",
    unit="m",
    group=Group.ENVIRONMENT,
    elements=_named(_HFIELD),
    edit=TerrainHeightEdit,
    lower=0.0,
)
LIGHT_POSITION = Writer(
    kind="light_position",
    unit="m",
    group=Group.VISUAL,
    elements=_named(_LIGHT),
    edit=_slots(_LIGHT, "light_pos", 3),
    components=("x", "y", "z"),
)
LIGHT_COLOUR = Writer(
    kind="light_colour",
    unit="1",
    group=Group.VISUAL,
    elements=_named(_LIGHT),
    edit=_slots(_LIGHT, "light_diffuse", 3),
    components=("r", "g", "b"),
    lower=0.0,
)
CAMERA_POSITION = Writer(
    kind="camera_position",
    unit="m",
    group=Group.VISUAL,
    elements=_named(_CAMERA),
    edit=_slots(_CAMERA, "cam_pos", 3),
    components=("x", "y", "z"),
)
CAMERA_FIELD_OF_VIEW = Writer(
    kind="camera_field_of_view",
    unit="°",
    group=Group.VISUAL,
    elements=_named(_CAMERA),
    edit=_slots(_CAMERA, "cam_fovy", 0),
    lower=1.0,
    upper=179.0,
)
MATERIAL_COLOUR = Writer(
    kind="material_colour",
    unit="1",
    group=Group.VISUAL,
    elements=_named(_MATERIAL),
    edit=_slots(_MATERIAL, "mat_rgba", 3),
    components=("r", "g", "b"),
    lower=0.0,
    upper=1.0,
)
