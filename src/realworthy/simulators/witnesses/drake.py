"""Drake as witness: its own dynamics, and contacts by a convex solver."""

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from realworthy.errors import MissingExtra
from realworthy.simulators.witnesses.contact_pairs import layer_shapes
from realworthy.simulators.witnesses.mechanism import (
    Floats,
    JointKind,
    Mechanism,
    ShapeKind,
    rotation_of,
)
from realworthy.simulators.witnesses.witness import Witness, WitnessWorld
from realworthy.twins import BoundTwin, Twin


class Approximation(enum.Enum):
    """How Drake makes contact convex; `LAGGED` is its own default."""

    LAGGED = "lagged"
    SIMILAR = "similar"
    SAP = "sap"


@dataclass(kw_only=True, slots=True)
class DrakeSettings:
    """How Drake treats contact; at first as Drake does unless told.

    Its defaults are much stiffer than MuJoCo's, and a foot that strikes and slips wants
    steps of 0.25 ms for them; see `resolved_contacts`.

    MuJoCo's default `solref` of 0.02 s is soft: most of the difference between engines
    on a walking robot is this one number, so compare with MuJoCo at other `solref` too.
    """

    approximation: Approximation = Approximation.LAGGED
    stiffness: float = 1e6
    """[N/m] of each shape; two that touch are half as stiff."""
    dissipation: float = 50.0
    """[s/m] by which a contact's force grows with the speed of approach."""
    stiction_tolerance: float = 1e-4
    """[m/s] with which a contact that should stick may slide."""
    longest_step: float = 1e-3
    """[s] beyond which a substep is cut into several steps of the engine."""


def resolved_contacts() -> DrakeSettings:
    """Contacts that steps of 1 ms resolve: ten times softer, less damped."""
    settings = DrakeSettings()
    settings.stiffness = 1e5
    settings.dissipation = 10.0
    return settings


class DrakeWitness(Witness):
    """Worlds in Drake. A state is all that it remembers, so `restore` is exact."""

    engine = "Drake"
    lacks = frozenset({ShapeKind.SURFACE})

    def __init__(
        self,
        twin: BoundTwin | Twin,
        world_count: int,
        *,
        substeps: int = 4,
        settings: DrakeSettings | None = None,
    ) -> None:
        self._settings = settings or DrakeSettings()
        super().__init__(
            twin,
            world_count,
            substeps=substeps,
            longest_step=self._settings.longest_step,
        )

    def build_world(self, mechanism: Mechanism) -> "DrakeWorld":
        return DrakeWorld(mechanism, self._settings)


class DrakeWorld(WitnessWorld):
    """One `MultibodyPlant`, moved by its own discrete update."""

    def __init__(self, mechanism: Mechanism, settings: DrakeSettings) -> None:
        try:
            from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
            from pydrake.systems.framework import DiagramBuilder

            from realworthy.simulators.witnesses import drake_plant
        except ImportError:
            raise MissingExtra("drake", "sim2sim", need="The witness Drake") from None
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(
            time_step=mechanism.timestep,
            contact_model="point",
            discrete_contact_approximation=settings.approximation.value,
            stiction_tolerance=settings.stiction_tolerance,
            adjacent_bodies_collision_filters=False,
            use_sampled_output_ports=False,
        )
        self.plant, scene = AddMultibodyPlant(config, builder)
        self.plant.mutable_gravity_field().set_gravity_vector(mechanism.gravity)
        drake_plant.quieten()
        bodies, joints = drake_plant.add_links(self.plant, mechanism)
        self._set_friction = drake_plant.set_friction
        self._actuators = drake_plant.add_actuators(self.plant, mechanism, joints)
        layered, friction, self.missing = layer_shapes(mechanism)
        drake_plant.add_shapes(
            self.plant,
            scene,
            layered,
            bodies,
            friction,
            stiffness=settings.stiffness,
            dissipation=settings.dissipation,
        )
        self.plant.Finalize()
        self._diagram = builder.Build()
        self._root = self._diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self._root)
        self._coordinates = DrakeCoordinates(mechanism, joints)
        count = mechanism.dof_count
        self._inertia, self._friction = np.full(count, np.nan), np.full(count, np.nan)
        port = self.plant.get_applied_generalized_force_input_port()
        self._force = port.FixValue(self.context, np.zeros(count))
        if self._actuators:  # dry friction wants to hold every joint still
            goal = self.plant.get_desired_state_input_port(bodies[-1].model_instance())
            goal.FixValue(self.context, np.zeros(goal.size()))

    def place(self, qpos: Floats, qvel: Floats) -> None:
        state = self._coordinates.to_drake(qpos, qvel)
        self.plant.SetPositionsAndVelocities(self.context, state)

    def advance(
        self, force: Floats, inertia: Floats, friction: Floats
    ) -> tuple[Floats, Floats]:
        self._take_joints(inertia, friction)
        sent = self._coordinates.to_forces(force)
        self._force.GetMutableData().get_mutable_value().SetFromVector(sent)
        try:
            update = self.plant.EvalUniquePeriodicDiscreteUpdate(self.context)
        except RuntimeError:  # its solver did not converge, or met a NaN
            return np.full(1, np.nan), np.full(1, np.nan)
        qpos, qvel = self._coordinates.to_mujoco(update.value())
        self.place(qpos, qvel)  # rounded as a restored state would be
        return qpos, qvel

    def compute_inertia(self) -> Floats:
        """(dofs, dofs) of the bodies at the present state, without armature."""
        identity = np.eye(len(self._inertia))
        turn = np.array([self._coordinates.to_forces(row) for row in identity])
        plain = self.plant.CreateDefaultContext()
        plain.SetTimeStateAndParametersFrom(self.context)
        for actuator in self._actuators.values():
            actuator.SetRotorInertia(plain, 0.0)
        return turn @ self.plant.CalcMassMatrix(plain) @ turn.T

    def _take_joints(self, inertia: Floats, friction: Floats) -> None:
        """Armature and dry friction where they have changed."""
        if np.array_equal(inertia, self._inertia) and np.array_equal(
            friction, self._friction
        ):
            return
        for dof, actuator in self._actuators.items():
            if inertia[dof] != self._inertia[dof]:
                actuator.SetRotorInertia(self.context, inertia[dof])
            if friction[dof] != self._friction[dof] and actuator.has_controller():
                self._set_friction(actuator, float(friction[dof]))
        self._inertia, self._friction = inertia.copy(), friction.copy()


class DrakeCoordinates:
    """Between MuJoCo's positions, velocities and forces and Drake's.

    Drake writes a free body's orientation first and its rates in the world; MuJoCo its
    position first and its rotation rates in the body.
    """

    def __init__(self, mechanism: Mechanism, joints: dict[int, Any]) -> None:
        plain = [j for j in mechanism.joints if j.kind is not JointKind.FREE]
        self._places = np.array([j.place for j in plain], dtype=np.intp)
        self._dofs = np.array([j.dof for j in plain], dtype=np.intp)
        self._zero = np.array([j.reference for j in plain])
        self._q = np.array([joints[j.dof].position_start() for j in plain], dtype=int)
        self._v = np.array([joints[j.dof].velocity_start() for j in plain], dtype=int)
        self._free = [
            (j, joints[j.dof].position_start(), joints[j.dof].velocity_start())
            for j in mechanism.joints
            if j.kind is JointKind.FREE
        ]
        self._nq, self._nv = mechanism.position_count, mechanism.dof_count
        self._turned = [np.eye(3) for _ in self._free]

    def to_drake(self, qpos: Floats, qvel: Floats) -> Floats:
        """(nq + nv,) Drake's state."""
        q, v = np.zeros(self._nq), np.zeros(self._nv)
        q[self._q] = qpos[self._places] - self._zero
        v[self._v] = qvel[self._dofs]
        for k, (joint, at, rate) in enumerate(self._free):
            quat = qpos[joint.place + 3 : joint.place + 7]
            self._turned[k] = turn = rotation_of(quat)
            q[at : at + 4] = quat / np.linalg.norm(quat)
            q[at + 4 : at + 7] = qpos[joint.place : joint.place + 3]
            v[rate : rate + 3] = turn @ qvel[joint.dof + 3 : joint.dof + 6]
            v[rate + 3 : rate + 6] = qvel[joint.dof : joint.dof + 3]
        return np.concatenate([q, v])

    def to_mujoco(self, state: Floats) -> tuple[Floats, Floats]:
        """`qpos` and `qvel` of Drake's state."""
        q, v = state[: self._nq], state[self._nq : self._nq + self._nv]
        qpos, qvel = np.zeros(self._nq), np.zeros(self._nv)
        qpos[self._places] = q[self._q] + self._zero
        qvel[self._dofs] = v[self._v]
        for k, (joint, at, rate) in enumerate(self._free):
            quat = q[at : at + 4] / np.linalg.norm(q[at : at + 4])
            self._turned[k] = turn = rotation_of(quat)
            qpos[joint.place : joint.place + 3] = q[at + 4 : at + 7]
            qpos[joint.place + 3 : joint.place + 7] = quat
            qvel[joint.dof : joint.dof + 3] = v[rate + 3 : rate + 6]
            qvel[joint.dof + 3 : joint.dof + 6] = turn.T @ v[rate : rate + 3]
        return qpos, qvel

    def to_forces(self, force: Floats) -> Floats:
        """(nv,) generalised forces at the state that was converted last."""
        sent = np.zeros(self._nv)
        sent[self._v] = force[self._dofs]
        for (joint, _, rate), turn in zip(self._free, self._turned, strict=True):
            sent[rate : rate + 3] = turn @ force[joint.dof + 3 : joint.dof + 6]
            sent[rate + 3 : rate + 6] = force[joint.dof : joint.dof + 3]
        return sent
