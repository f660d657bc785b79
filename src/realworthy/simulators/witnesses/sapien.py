"""SAPIEN as witness: PhysX 5 on the CPU, the engine family of Isaac, in 32 bits."""

from dataclasses import dataclass

import numpy as np

from realworthy.errors import MissingExtra
from realworthy.simulators.witnesses.contact_pairs import layer_shapes
from realworthy.simulators.witnesses.mechanism import Floats, Mechanism
from realworthy.simulators.witnesses.witness import Witness, WitnessWorld
from realworthy.twins import BoundTwin, Twin


@dataclass(kw_only=True, slots=True)
class SapienSettings:
    """How PhysX solves. Its contacts are hard: it has no stiffness to choose.

    MuJoCo's default `solref` of 0.02 s is soft: most of the difference between engines
    on a walking robot is this one number, so compare with MuJoCo at other `solref` too.
    """

    temporal: bool = True
    """Whether to solve in small steps in time (TGS) or in sweeps (PGS)."""
    position_iterations: int = 16
    velocity_iterations: int = 1
    longest_step: float = 1e-3
    """[s] beyond which a substep is cut into several steps of the engine."""


class SapienWitness(Witness):
    """Worlds in PhysX. It remembers contacts, so `restore` is near but not exact."""

    engine = "SAPIEN"

    def __init__(
        self,
        twin: BoundTwin | Twin,
        world_count: int,
        *,
        substeps: int = 4,
        settings: SapienSettings | None = None,
    ) -> None:
        self._settings = settings or SapienSettings()
        super().__init__(
            twin,
            world_count,
            substeps=substeps,
            longest_step=self._settings.longest_step,
        )

    def build_world(self, mechanism: Mechanism) -> "SapienWorld":
        return SapienWorld(mechanism, self._settings)


class SapienWorld(WitnessWorld):
    """One PhysX scene, in which every tree of links is an articulation."""

    def __init__(self, mechanism: Mechanism, settings: SapienSettings) -> None:
        try:
            from realworthy.simulators.witnesses import sapien_scene
        except ImportError:
            raise MissingExtra("sapien", "sim2sim", need="The witness SAPIEN") from None
        self._system, self._scene = sapien_scene.build_scene(
            mechanism, temporal=settings.temporal
        )
        layered, friction, self.missing = layer_shapes(mechanism)
        shapes = sapien_scene.build_shapes(layered, friction)
        self._trees = sapien_scene.build_trees(layered, self._scene, shapes)
        for tree in self._trees:
            tree.articulation.set_solver_position_iterations(
                settings.position_iterations
            )
            tree.articulation.set_solver_velocity_iterations(
                settings.velocity_iterations
            )
        count = mechanism.dof_count
        self._qpos, self._qvel = np.zeros(mechanism.position_count), np.zeros(count)
        self._inertia, self._friction = np.full(count, np.nan), np.full(count, np.nan)

    def place(self, qpos: Floats, qvel: Floats) -> None:
        for tree in self._trees:
            tree.place(qpos, qvel)

    def advance(
        self, force: Floats, inertia: Floats, friction: Floats
    ) -> tuple[Floats, Floats]:
        if not np.array_equal(inertia, self._inertia):
            for tree in self._trees:
                tree.set_inertia(inertia)
            self._inertia = inertia.copy()
        if not np.array_equal(friction, self._friction):
            for tree in self._trees:
                tree.set_friction(friction)
            self._friction = friction.copy()
        for tree in self._trees:
            tree.push(force)
        self._system.step()
        qpos, qvel = self._qpos.copy(), self._qvel.copy()
        for tree in self._trees:
            tree.read(qpos, qvel)
        return qpos, qvel
