"""Rigid bodies, joints and shapes of a model, in words that every engine knows."""

import enum
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WORLD = 0
"""The link that stands still: the world, and all bodies without a joint to it."""


class JointKind(enum.Enum):
    """What a joint lets its link do."""

    HINGE = enum.auto()
    SLIDE = enum.auto()
    FREE = enum.auto()


class ShapeKind(enum.Enum):
    """Shapes that touch. Axes of cylinders and capsules, normals of planes: z."""

    PLANE = enum.auto()
    SPHERE = enum.auto()
    CAPSULE = enum.auto()
    CYLINDER = enum.auto()
    BOX = enum.auto()
    ELLIPSOID = enum.auto()
    HULL = enum.auto()
    """The convex hull of points."""
    SURFACE = enum.auto()
    """A surface of triangles, such as a height field; only in the world."""


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """A frame in another one."""

    position: Floats
    """(3,) [m]"""
    rotation: Floats
    """(3, 3)"""

    def __matmul__(self, other: "Pose") -> "Pose":
        return Pose(
            self.position + self.rotation @ other.position,
            self.rotation @ other.rotation,
        )

    @staticmethod
    def shift(position: Floats) -> "Pose":
        """Moved, not turned."""
        return Pose(np.asarray(position, dtype=np.float64), np.eye(3))


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """One joint of a link; its zero is where the link's frame lies at rest."""

    name: str
    kind: JointKind
    axis: Floats
    """(3,) unit vector in the link's frame."""
    anchor: Floats
    """(3,) [m] in the link's frame."""
    place: int
    """Where it begins in `qpos`."""
    dof: int
    """Where it begins in `qvel`."""
    reference: float
    """`qpos` at the joint's zero [rad, m]."""
    lower: float
    upper: float
    """Limits of `qpos` − `reference`; infinite where there are none."""


@dataclass(frozen=True, slots=True, eq=False)
class MechanismShape:
    """Something that touches others."""

    name: str
    geom: int
    """Its number in the model."""
    link: int
    kind: ShapeKind
    size: Floats
    """Radius; radius and half length; half lengths or radii along x, y, z [m]."""
    pose: Pose
    """In the link's frame."""
    points: Floats = field(default_factory=lambda: np.empty((0, 3)))
    """(n, 3) corners of hulls and surfaces, in the shape's frame [m]."""
    triangles: NDArray[np.int64] = field(
        default_factory=lambda: np.empty((0, 3), dtype=np.int64)
    )


@dataclass(frozen=True, slots=True, eq=False)
class MechanismLink:
    """A body with all bodies that are welded to it."""

    name: str
    parent: int
    pose: Pose
    """In the parent's frame where all joints are at zero."""
    joints: tuple[Joint, ...]
    """The outermost first; empty for the world."""
    mass: float
    """[kg]"""
    centre: Floats
    """(3,) of mass, in the link's frame [m]."""
    inertia: Floats
    """(3, 3) about the centre of mass, along the link's axes [kg·m²]."""

    @property
    def is_free(self) -> bool:
        return any(joint.kind is JointKind.FREE for joint in self.joints)


@dataclass(frozen=True, slots=True, eq=False)
class Touching:
    """Which shapes may touch, and how they rub."""

    pairs: NDArray[np.intp]
    """(n, 2) shapes."""
    friction: Floats
    """(n,) sliding friction of each pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Mechanism:
    """Everything of a model that a foreign engine takes over."""

    links: tuple[MechanismLink, ...]
    """A parent comes before its children; the first is the world."""
    shapes: tuple[MechanismShape, ...]
    """Only those that may touch another."""
    touching: Touching
    gravity: Floats
    """(3,) [m/s²]"""
    timestep: float
    """[s]"""
    position_count: int
    dof_count: int
    rubbing: NDArray[np.bool_]
    """(dofs,) joints that may have dry friction."""

    @property
    def joints(self) -> tuple[Joint, ...]:
        """All of them, link by link."""
        return tuple(joint for link in self.links for joint in link.joints)


def rotation_of(quat_wxyz: Floats) -> Floats:
    """(3, 3) of a quaternion of any length."""
    w, x, y, z = (quat_wxyz / np.linalg.norm(quat_wxyz)).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def cross(first: Floats, second: Floats) -> Floats:
    """(3,) the product of two vectors; numpy's costs ten times as much."""
    a, b = first.tolist(), second.tolist()
    return np.array(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    )
