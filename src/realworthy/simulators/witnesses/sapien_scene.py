"""A mechanism as articulations and shapes of a SAPIEN scene.

Built from components, without anything to see: visuals would need a Vulkan device.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

with warnings.catch_warnings():  # it says that there is no screen
    warnings.simplefilter("ignore", UserWarning)
    import sapien
    import sapien.physx as physx

import mujoco

from realworthy.simulators.witnesses.contact_pairs import group_shapes
from realworthy.simulators.witnesses.limitations import NotCarried
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
    cross,
    rotation_of,
)

_CREEP = 1e-4
"""[rad/s, m/s] at which a joint creeps under a load just below its dry friction."""
_UNLIMITED_SPEED = 1e6
"""[rad/s, m/s] set in place of PhysX' own limit, beyond every speed of a robot."""
_LIGHT = 1e-6
"""Share of a link's mass and inertia that links between two of its joints get."""
_GROUPS = 32
"""Bits of a collision mask."""
_Z_TO_X = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
"""Turns x, PhysX's axis of capsules, cylinders and planes, to z, MuJoCo's."""


def build_scene(mechanism: Mechanism, *, temporal: bool) -> tuple[Any, Any]:
    """An empty system and its scene."""
    config = physx.PhysxSceneConfig()
    config.gravity = mechanism.gravity
    config.enable_tgs = temporal
    config.enable_enhanced_determinism = True
    physx.set_scene_config(config)
    system = physx.PhysxCpuSystem()
    system.timestep = mechanism.timestep
    return system, sapien.Scene([system])


def build_shapes(mechanism: Mechanism, friction: Floats) -> list[Any]:
    """PhysX's shapes, each with a friction and a mask."""
    groups, meet = group_shapes(mechanism, _never_meet(mechanism))
    if len(meet) > _GROUPS:
        why = f"touches others in {len(meet)} different ways, and {_GROUPS} is the most"
        raise NotCarried("SAPIEN", "the robot", why)
    shapes = []
    for shape, mu, group in zip(mechanism.shapes, friction, groups, strict=True):
        solid = _solid(shape, physx.PhysxMaterial(float(mu), float(mu), 0.0))
        others = sum(1 << int(k) for k in np.flatnonzero(meet[group]))
        solid.set_collision_groups([1 << int(group), others, 0, 0])
        shapes.append(solid)
    return shapes


def build_trees(
    mechanism: Mechanism, scene: Any, shapes: list[Any]
) -> "list[SapienTree]":
    """Adds everything to the scene; returns what moves."""
    standing = physx.PhysxRigidStaticComponent()
    parts: list[Any] = [standing]
    trees: dict[int, SapienTree] = {}
    roots: list[int] = [WORLD]
    for number, link in enumerate(mechanism.links):
        if number == WORLD:
            continue
        root = number if link.parent == WORLD else roots[link.parent]
        roots.append(root)
        if link.is_free:
            part = physx.PhysxArticulationLinkComponent(None)
            part.joint.type = "undefined"
            trees[root] = SapienTree(part.articulation, link, {})
        else:
            if link.parent == WORLD:
                base = physx.PhysxArticulationLinkComponent(None)
                base.joint.type = "fixed"
                trees[root] = SapienTree(base.articulation, None, {})
                _add(scene, base)
            else:
                base = parts[link.parent]
            part = _add_joints(scene, base, link, trees[root].joints)
        parts.append(part)
        _attach(part, mechanism, shapes, number)
        _set_inertia(part, link, 1.0)
        _add(scene, part)
    _attach(standing, mechanism, shapes, WORLD)
    if standing.collision_shapes:
        _add(scene, standing)
    for tree in trees.values():
        tree.prepare()
    return list(trees.values())


@dataclass
class SapienTree:
    """One articulation, in MuJoCo's coordinates."""

    articulation: Any
    floating: MechanismLink | None
    """Its root, where that is free."""
    joints: dict[str, Joint]
    """Hinges and slides by the names that the articulation knows."""

    def prepare(self) -> None:
        """Learns the order of its joints, once it is complete."""
        self._active = list(self.articulation.active_joints)
        ordered = [self.joints[joint.name] for joint in self._active]
        self._places = np.array([j.place for j in ordered], dtype=np.intp)
        self._dofs = np.array([j.dof for j in ordered], dtype=np.intp)
        self._zero = np.array([j.reference for j in ordered])
        self._root = self.articulation.links[0]
        self.articulation.set_sleep_threshold(0.0)

    def place(self, qpos: Floats, qvel: Floats) -> None:
        if self.floating is not None:
            free = self.floating.joints[0]
            quat = qpos[free.place + 3 : free.place + 7]
            turn, arm = rotation_of(quat), self.floating.centre
            self.articulation.set_root_pose(
                sapien.Pose(qpos[free.place : free.place + 3], quat)
            )
            spin = turn @ qvel[free.dof + 3 : free.dof + 6]
            centre = qvel[free.dof : free.dof + 3] + cross(spin, turn @ arm)
            self.articulation.set_root_linear_velocity(centre)
            self.articulation.set_root_angular_velocity(spin)
        if len(self._active):
            self.articulation.set_qpos(qpos[self._places] - self._zero)
            self.articulation.set_qvel(qvel[self._dofs])

    def read(self, qpos: Floats, qvel: Floats) -> None:
        """Writes its own part of the state into whole vectors."""
        if self.floating is not None:
            free = self.floating.joints[0]
            pose = self.articulation.get_root_pose()
            quat = np.asarray(pose.q, dtype=np.float64)
            turn = rotation_of(quat)
            spin = np.asarray(self.articulation.get_root_angular_velocity(), float)
            centre = np.asarray(self.articulation.get_root_linear_velocity(), float)
            qpos[free.place : free.place + 3] = pose.p
            qpos[free.place + 3 : free.place + 7] = quat / np.linalg.norm(quat)
            arm = cross(spin, turn @ self.floating.centre)
            qvel[free.dof : free.dof + 3] = centre - arm
            qvel[free.dof + 3 : free.dof + 6] = turn.T @ spin
        if len(self._active):
            qpos[self._places] = self.articulation.get_qpos() + self._zero
            qvel[self._dofs] = self.articulation.get_qvel()

    def push(self, force: Floats) -> None:
        """Generalised forces for the next substep."""
        if self.floating is not None:
            free = self.floating.joints[0]
            turn = rotation_of(np.asarray(self.articulation.get_root_pose().q, float))
            push = force[free.dof : free.dof + 3]
            torque = turn @ force[free.dof + 3 : free.dof + 6]
            torque = torque - cross(turn @ self.floating.centre, push)
            if push.any() or torque.any():
                self._root.add_force_torque(push, torque)
        if len(self._active):
            self.articulation.set_qf(force[self._dofs])

    def set_inertia(self, inertia: Floats) -> None:
        """What is added to the inertia of joints."""
        for joint, dof in zip(self._active, self._dofs, strict=True):
            joint.set_armature([inertia[dof]])

    def set_friction(self, friction: Floats) -> None:
        """The largest force [N·m, N] with which joints resist motion.

        PhysX's own joint friction grows with the load. A drive that wants no motion,
        with a limited force, is dry friction, and is solved with the contacts.
        """
        for joint, dof in zip(self._active, self._dofs, strict=True):
            most = float(friction[dof])
            joint.set_drive_properties(0.0, most / _CREEP, most, "force")


def _add_joints(
    scene: Any, base: Any, link: MechanismLink, joints: dict[str, Joint]
) -> Any:
    """The link on its joints; between two of them stands one that is very light."""
    pose, part = link.pose, base
    for joint in link.joints:
        part = physx.PhysxArticulationLinkComponent(part)
        slot = part.joint
        slot.name = f"at {joint.dof}"
        is_hinge = joint.kind is JointKind.HINGE
        slot.type = "revolute_unwrapped" if is_hinge else "prismatic"
        turned = Pose(joint.anchor, _turn_to(joint.axis))
        slot.pose_in_parent, slot.pose_in_child = _pose(pose @ turned), _pose(turned)
        slot.limit = [[joint.lower, joint.upper]]
        slot.set_friction(0.0)
        slot.set_max_velocity(_UNLIMITED_SPEED)
        joints[slot.name] = joint
        pose = Pose.shift(np.zeros(3))
        if joint is not link.joints[-1]:
            _set_inertia(part, link, _LIGHT)
            _add(scene, part)
    return part


def _add(scene: Any, part: Any) -> None:
    entity = sapien.Entity()
    entity.add_component(part)
    scene.add_entity(entity)


def _attach(part: Any, mechanism: Mechanism, shapes: list[Any], link: int) -> None:
    for shape, solid in zip(mechanism.shapes, shapes, strict=True):
        if shape.link == link:
            part.attach(solid)


def _set_inertia(part: Any, link: MechanismLink, share: float) -> None:
    moments, axes = np.linalg.eigh(link.inertia)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    part.set_mass(max(share * link.mass, 1e-9))
    part.set_cmass_local_pose(_pose(Pose(link.centre, axes)))
    part.set_inertia(np.maximum(share * moments, 1e-12))
    part.set_linear_damping(0.0)
    part.set_angular_damping(0.0)
    part.set_max_angular_velocity(_UNLIMITED_SPEED)
    part.set_max_linear_velocity(_UNLIMITED_SPEED)


def _solid(shape: MechanismShape, material: Any) -> Any:
    radius, length, _ = shape.size
    turned = Pose(shape.pose.position, shape.pose.rotation @ _Z_TO_X)
    pose, ones = shape.pose, np.ones(3)
    match shape.kind:
        case ShapeKind.PLANE:
            solid, pose = physx.PhysxCollisionShapePlane(material), turned
        case ShapeKind.SPHERE:
            solid = physx.PhysxCollisionShapeSphere(radius, material)
        case ShapeKind.CAPSULE:
            solid = physx.PhysxCollisionShapeCapsule(radius, length, material)
            pose = turned
        case ShapeKind.CYLINDER:
            solid = physx.PhysxCollisionShapeCylinder(radius, length, material)
            pose = turned
        case ShapeKind.BOX:
            solid = physx.PhysxCollisionShapeBox(shape.size, material)
        case ShapeKind.SURFACE:
            solid = physx.PhysxCollisionShapeTriangleMesh(
                shape.points, shape.triangles, ones, material
            )
        case ShapeKind.ELLIPSOID:
            points = _sphere() * shape.size
            solid = physx.PhysxCollisionShapeConvexMesh(points, ones, material)
        case _:
            solid = physx.PhysxCollisionShapeConvexMesh(shape.points, ones, material)
    solid.set_local_pose(_pose(pose))
    return solid


def _sphere(count: int = 128) -> Floats:
    """(n, 3) points spread evenly over a unit sphere."""
    k = np.arange(count) + 0.5
    height, angle = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    ring = np.sqrt(1 - height**2)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)


def _never_meet(mechanism: Mechanism) -> NDArray[np.bool_]:
    """(shapes, shapes) on one link, or on links that one joint connects."""
    links = np.array([shape.link for shape in mechanism.shapes], dtype=np.intp)
    next_to = np.eye(len(mechanism.links), dtype=bool)
    for number, link in enumerate(mechanism.links):
        if len(link.joints) == 1 and link.parent != WORLD:
            next_to[number, link.parent] = next_to[link.parent, number] = True
    return next_to[np.ix_(links, links)]


def _turn_to(axis: Floats) -> Floats:
    """A rotation that turns x to an axis."""
    first = axis / np.linalg.norm(axis)
    helper = np.eye(3)[np.abs(first).argmin()]
    second = cross(first, helper)
    second /= np.linalg.norm(second)
    return np.column_stack([first, second, cross(first, second)])


def _pose(pose: Pose) -> Any:
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(pose.rotation).ravel())
    return sapien.Pose(pose.position, quat)
