"""A mechanism as bodies, joints and shapes of Drake's `MultibodyPlant`."""

import itertools
import logging
from typing import Any

import numpy as np
import pydrake.geometry as geometry
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import CoulombFriction
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    PdControllerGains,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    SpatialInertia,
    UnitInertia,
)

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
)

_CREEP = 1e-4
"""[rad/s, m/s] at which a joint creeps under a load just below its dry friction."""
_NO_FRICTION = 1e-9
_TIP = 1e-3
"""[m] radius of the spheres that stand for corners."""
_MAX_CONTACT_CORNERS = 64
"""Corners of a hull up to which each meets a plane on its own; beyond, one point does,
as between two shapes."""


def quieten() -> None:
    """Drops Drake's note that half spaces do not meet soft bodies; there are none."""
    logging.getLogger("drake").addFilter(_is_worth_saying)


def _is_worth_saying(record: logging.LogRecord) -> bool:
    return "half spaces are not currently supported" not in record.getMessage()


def add_links(plant: Any, mechanism: Mechanism) -> tuple[list[Any], dict[int, Any]]:
    """Drake's body of each link, and its joint at each degree of freedom.

    A link with several joints hangs on a chain of massless bodies.
    """
    bodies, joints = [plant.world_body()], {}
    for number, link in enumerate(mechanism.links):
        if number == WORLD:
            continue
        parent, pose = bodies[link.parent], link.pose
        for joint in link.joints:
            is_last = joint is link.joints[-1]
            inertia = _inertia(link) if is_last else SpatialInertia.Zero()
            body = plant.AddRigidBody(f"{number} at {joint.dof}", inertia)
            joints[joint.dof] = plant.AddJoint(_joint(plant, joint, parent, pose, body))
            parent, pose = body, Pose.shift(np.zeros(3))
        bodies.append(parent)
    return bodies, joints


def add_actuators(
    plant: Any, mechanism: Mechanism, joints: dict[int, Any]
) -> dict[int, Any]:
    """An actuator for each hinge and slide, which holds its armature and friction.

    Drake has no dry friction. A servo that wants no motion, with a limited force, is
    just that, and its solver treats it together with the contacts.
    """
    actuators = {}
    for joint in mechanism.joints:
        if joint.kind is JointKind.FREE:
            continue
        actuator = plant.AddJointActuator(f"at {joint.dof}", joints[joint.dof])
        actuator.set_default_gear_ratio(1.0)
        if mechanism.rubbing[joint.dof]:
            set_friction(actuator, 0.0)
        actuators[joint.dof] = actuator
    return actuators


def set_friction(actuator: Any, friction: float) -> None:
    """The largest force [N·m, N] with which a joint resists motion."""
    friction = max(friction, _NO_FRICTION)
    actuator.set_effort_limit(friction)
    actuator.set_controller_gains(PdControllerGains(p=0.0, d=friction / _CREEP))


def add_shapes(
    plant: Any,
    scene: Any,
    mechanism: Mechanism,
    bodies: list[Any],
    friction: Floats,
    *,
    stiffness: float,
    dissipation: float,
) -> None:
    """Shapes, each with a friction, and which of them may touch.

    Drake finds one point of contact between two shapes. Boxes and the like would rock
    on a plane, so their corners meet planes in their stead; four of them are together
    as stiff as one contact of two shapes with `stiffness` [N/m].
    """
    solids: list[Any] = []
    tips: dict[int, list[Any]] = {}
    for number, (shape, mu) in enumerate(
        zip(mechanism.shapes, friction.tolist(), strict=True)
    ):
        hard = _material(mu, stiffness, dissipation)
        soft = _material(mu, stiffness / 7, dissipation)  # with the plane: k/8
        body = bodies[shape.link]
        solids.append(_register(plant, body, shape.pose, _solid(shape), hard))
        tips[number] = [
            _register(plant, body, place, geometry.Sphere(_TIP), soft)
            for place in (shape.pose @ Pose.shift(tip) for tip in _find_tips(shape))
        ]
    _filter(scene, mechanism, solids, {i: found for i, found in tips.items() if found})


def _material(friction: float, stiffness: float, dissipation: float) -> Any:
    properties = geometry.ProximityProperties()
    geometry.AddContactMaterial(
        dissipation=dissipation,
        point_stiffness=stiffness,
        friction=CoulombFriction(friction, friction),
        properties=properties,
    )
    return properties


def _register(plant: Any, body: Any, pose: Pose, solid: Any, material: Any) -> Any:
    name = f"shape {plant.num_collision_geometries()}"
    return plant.RegisterCollisionGeometry(
        body, _transform(pose), solid, name, material
    )


def _inertia(link: MechanismLink) -> Any:
    if link.mass == 0:
        return SpatialInertia.Zero()
    arm = link.centre
    about = link.inertia + link.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    unit = about / link.mass
    products = unit[0, 1], unit[0, 2], unit[1, 2]
    turning = UnitInertia(*np.diag(unit), *products)
    return SpatialInertia(link.mass, arm, turning, skip_validity_check=True)


def _joint(plant: Any, joint: Joint, parent: Any, pose: Pose, body: Any) -> Any:
    """`pose` is that of the body in its parent while the joint is at zero."""
    name = f"at {joint.dof}"
    if joint.kind is JointKind.FREE:
        return QuaternionFloatingJoint(name, parent.body_frame(), body.body_frame())
    anchor = Pose.shift(joint.anchor)
    outer, inner = (
        plant.AddFrame(
            FixedOffsetFrame(f"{name} {side}", owner.body_frame(), _transform(place))
        )
        for side, owner, place in (
            ("outer", parent, pose @ anchor),
            ("inner", body, anchor),
        )
    )
    kind = RevoluteJoint if joint.kind is JointKind.HINGE else PrismaticJoint
    return kind(name, outer, inner, joint.axis, joint.lower, joint.upper)


def _transform(pose: Pose) -> Any:
    return RigidTransform(RotationMatrix(pose.rotation), pose.position)


def _solid(shape: MechanismShape) -> Any:
    radius, length, _ = shape.size
    match shape.kind:
        case ShapeKind.PLANE:
            return geometry.HalfSpace()
        case ShapeKind.SPHERE:
            return geometry.Sphere(radius)
        case ShapeKind.CAPSULE:
            return geometry.Capsule(radius, 2 * length)
        case ShapeKind.CYLINDER:
            return geometry.Cylinder(radius, 2 * length)
        case ShapeKind.BOX:
            return geometry.Box(*(2 * shape.size))
        case ShapeKind.ELLIPSOID:
            return geometry.Ellipsoid(*shape.size)
        case _:
            return geometry.Convex(points=shape.points.T, label=f"geom {shape.geom}")


def _find_tips(shape: MechanismShape) -> Floats:
    """(n, 3) centres of the spheres with which a shape stands on a plane."""
    size = shape.size
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    if shape.kind is ShapeKind.BOX:
        return signs * np.maximum(size - _TIP, 0)
    if shape.kind is ShapeKind.HULL and len(shape.points) <= _MAX_CONTACT_CORNERS:
        inwards = shape.points - shape.points.mean(0)
        far = np.linalg.norm(inwards, axis=1, keepdims=True)
        return shape.points - _TIP * inwards / np.maximum(far, _TIP)
    if shape.kind is ShapeKind.CYLINDER:
        angle = np.arange(8) * np.pi / 4
        rim = (size[0] - _TIP) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        ends = [
            np.column_stack([rim, np.full(8, s * (size[1] - _TIP))]) for s in (-1, 1)
        ]
        return np.concatenate(ends)
    return np.empty((0, 3))


def _filter(
    scene: Any, mechanism: Mechanism, solids: list[Any], tips: dict[int, list[Any]]
) -> None:
    """Forbids every contact that MuJoCo forbids; corners meet planes alone."""
    allowed = {tuple(sorted(pair)) for pair in mechanism.touching.pairs.tolist()}
    planes = {i for i, s in enumerate(mechanism.shapes) if s.kind is ShapeKind.PLANE}
    rules = geometry.CollisionFilterDeclaration()

    def forbid(some: list[Any], others: list[Any]) -> None:
        if some and others:
            rules.ExcludeBetween(
                geometry.GeometrySet(some), geometry.GeometrySet(others)
            )

    every_tip = [tip for several in tips.values() for tip in several]
    for i, solid in enumerate(solids):
        apart = [
            s for j, s in enumerate(solids) if j != i and _key(i, j) not in allowed
        ]
        if i in tips and mechanism.shapes[i].kind is not ShapeKind.CYLINDER:
            apart += [solids[j] for j in planes]
        forbid([solid], apart)
        if i not in planes:
            forbid([solid], every_tip)
    for i, several in tips.items():
        forbid(several, every_tip)
        forbid(several, [solids[j] for j in planes if _key(i, j) not in allowed])
    scene.collision_filter_manager().Apply(rules)


def _key(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)
