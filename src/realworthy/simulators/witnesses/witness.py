"""Worlds whose bodies and contacts belong to another engine.

A witness says whether a policy or a gap depends on MuJoCo's way of doing physics. It
takes rigid bodies, joint limits and contacts from another engine and nothing else:
actuators, their delays and laws, springs, damping, pushes and all sensors stay ours,
so that every difference comes from the engine.
"""

import math
from abc import ABC, abstractmethod

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.simulators.mujoco_cpu import MujocoCpu
from realworthy.simulators.simulator import Array, Outcome, Simulator, Worlds
from realworthy.simulators.witnesses.export import RIGID_FIELDS, export_mechanism
from realworthy.simulators.witnesses.limitations import check_carried, list_missing
from realworthy.simulators.witnesses.mechanism import Floats, Mechanism, ShapeKind
from realworthy.twins import BoundTwin, Twin, bind

_IMPLICIT = (
    mujoco.mjtIntegrator.mjINT_IMPLICIT,
    mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
)


class WitnessWorld(ABC):
    """One world in an engine. Positions and velocities are MuJoCo's throughout."""

    missing: tuple[str, ...] = ()
    """Sentences on what this engine does otherwise, beyond what none takes over."""

    @abstractmethod
    def place(self, qpos: Floats, qvel: Floats) -> None:
        """Puts the world into a state."""

    @abstractmethod
    def advance(
        self, force: Floats, inertia: Floats, friction: Floats
    ) -> tuple[Floats, Floats]:
        """One step of the mechanism's `timestep`; returns the new `qpos` and `qvel`.

        (dofs,) generalised `force` is held; `inertia` is added to each joint's own, as
        armature; `friction` is the largest force with which a joint resists motion.
        """


class Witness(Simulator):
    """A simulator with the bodies and contacts of another engine.

    Each substep MuJoCo computes every force that it does not owe to a constraint at the
    engine's state; the engine moves; MuJoCo follows and measures. Forces of drives and
    dampers that fall with velocity act implicitly, as in MuJoCo's integrator: their
    slope times the time step is added to the joint's armature, which is the same.

    Joint limits, contacts and dry friction are solved by the engine. What sensors say
    of contact forces and accelerations is MuJoCo's reckoning at the engine's state.

    A world is built anew when a sample changes its bodies or its contact friction;
    numbers of actuators and joints cost nothing.
    """

    engine: str
    """The engine's name in messages."""
    lacks: frozenset[ShapeKind] = frozenset()
    """Kinds of shapes that the engine does not have."""

    def __init__(
        self,
        twin: BoundTwin | Twin,
        world_count: int,
        *,
        substeps: int = 4,
        longest_step: float = math.inf,
    ) -> None:
        """Substeps longer than `longest_step` [s] are several steps of the engine."""
        self.bound = twin if isinstance(twin, BoundTwin) else bind(twin)
        self.world_count, self.substeps = world_count, substeps
        model = self.bound.model
        self._inner_steps = math.ceil(self.timestep / longest_step - 1e-9) or 1
        check_carried(model, self.engine, without=self.lacks)
        self._mirror = MujocoCpu(self.bound, world_count, substeps=1, persistent=True)
        self._rubbing = _may_rub(self.bound)
        self._rigid = [name for name in self.bound.fields if name in RIGID_FIELDS]
        self._is_implicit = model.opt.integrator in _IMPLICIT
        self._slopes = model.D_rowadr + model.D_diag
        free = model.jnt_type[model.dof_jntid] == mujoco.mjtJoint.mjJNT_FREE
        self._hinged = ~free
        self._qpos, self._qvel = self._mirror.array("qpos"), self._mirror.array("qvel")
        self._bias = self._mirror.array("qfrc_bias")
        self._smooth = self._mirror.array("qfrc_smooth")
        self._slope = self._mirror.array("qDeriv")
        self._outcomes = self._mirror.outcomes()
        self._worlds = {0: self._build(0)}  # what cannot work fails here
        self._is_stale = np.arange(world_count) > 0
        self._seen = self._qpos.copy(), self._qvel.copy()
        self._place([0])

    @abstractmethod
    def build_world(self, mechanism: Mechanism) -> WitnessWorld:
        """A world of the engine with these bodies."""

    @property
    def not_transferred(self) -> tuple[str, ...]:
        """Sentences on what the engine does not have from the model."""
        return (*list_missing(self.bound.model), *self._worlds[0].missing)

    def write(self, samples: ArrayLike, worlds: Worlds = None) -> None:
        ids = self.check_worlds(worlds)
        before = [self._mirror.field(name)[ids].copy() for name in self._rigid]
        self._mirror.write(samples, ids)
        for name, old in zip(self._rigid, before, strict=True):
            changed = self._mirror.field(name)[ids] != old
            self._is_stale[ids] |= changed.reshape(len(ids), -1).any(1)

    def reset(
        self,
        worlds: Worlds = None,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        ids = self.check_worlds(worlds)
        self._mirror.reset(ids, qpos=qpos, qvel=qvel, command=command)
        self._begin(ids)

    def step(self, command: ArrayLike | Array) -> None:
        stale = np.flatnonzero(self._is_stale).tolist()
        for world in stale:
            self._worlds[world] = self._build(world)
        self._is_stale[:] = False
        self._take_hand(stale)
        command = np.asarray(command, dtype=np.float64)
        for _ in range(self.substeps):
            self._substep(command)

    def array(self, name: str) -> Array:
        return self._outcomes if name == "outcome" else self._mirror.array(name)

    def field(self, name: str) -> NDArray[np.float64]:
        return self._mirror.field(name)

    def state(self, worlds: Worlds = None) -> NDArray[np.float64]:
        """All but what an engine remembers of its contacts; Drake remembers nothing."""
        return self._mirror.state(worlds)

    def restore(self, state: ArrayLike, worlds: Worlds = None) -> None:
        ids = self.check_worlds(worlds)
        self._mirror.restore(state, ids)
        self._begin(ids)

    def refresh(self) -> None:
        self._mirror.refresh()

    def outcomes(self) -> NDArray[np.int64]:
        return self._outcomes.copy()

    def _begin(self, ids: NDArray[np.intp]) -> None:
        self._outcomes[ids] = Outcome.OK
        self._place(ids.tolist())

    def _build(self, world: int) -> WitnessWorld:
        model = self._mirror.model(world)
        model.opt.timestep = self.timestep / self._inner_steps
        return self.build_world(export_mechanism(model, rubbing=self._rubbing))

    def _place(self, worlds: list[int]) -> None:
        """Puts the engine where MuJoCo is; a stale world follows when it is built."""
        for world in worlds:
            for seen, now in zip(self._seen, (self._qpos, self._qvel), strict=True):
                seen[world] = now[world]
            if not self._is_stale[world]:
                self._worlds[world].place(self._qpos[world], self._qvel[world])

    def _take_hand(self, built: list[int]) -> None:
        """Follows what was done between two steps: worlds built anew, states set."""
        qpos, qvel = self._seen
        moved = (self._qpos != qpos).any(1) | (self._qvel != qvel).any(1)
        moved[built] = True
        if moved.any():
            self._place(np.flatnonzero(moved).tolist())
            self._mirror.move(qpos, qvel)  # forces of inertia and gravity

    def _substep(self, command: Floats) -> None:
        qpos, qvel = self._seen
        bias = self._bias.copy()
        self._mirror.step(command)
        self._outcomes[:] = np.maximum(self._outcomes, self._mirror.array("outcome"))
        force, drag = self._smooth + bias, self._read_drag()
        for world in np.flatnonzero(self._outcomes != Outcome.DIVERGED).tolist():
            found = self._advance(world, force[world], drag[world])
            if all(np.isfinite(part).all() for part in found):
                qpos[world], qvel[world] = found
            else:
                self._outcomes[world] = Outcome.DIVERGED
        self._mirror.move(qpos, qvel)

    def _advance(
        self, world: int, force: Floats, drag: Floats
    ) -> tuple[Floats, Floats]:
        """Moves one world by a substep, in as many steps as its engine wants.

        Within them, force falls by drag times the velocity gained; so it does within
        the last one, by the inertia added.
        """
        armature = self._mirror.field("dof_armature")[world]
        friction = self._mirror.field("dof_frictionloss")[world]
        inertia = np.where(self._hinged, armature, 0.0)
        inertia = inertia + drag * self.timestep / self._inner_steps
        qpos, before = self._seen[0][world], self._seen[1][world]
        qvel = before
        for _ in range(self._inner_steps):
            acting = force - drag * (qvel - before)
            qpos, qvel = self._worlds[world].advance(acting, inertia, friction)
            if not np.isfinite(qvel).all():
                break
        return qpos, qvel

    def _read_drag(self) -> Floats:
        """(worlds, dofs) by how much force falls as velocity grows, on joints."""
        if self._is_implicit:
            drag = -self._slope[:, self._slopes]
        else:
            drag = self._mirror.field("dof_damping")
        return np.where(self._hinged, np.maximum(drag, 0.0), 0.0)


def _may_rub(bound: BoundTwin) -> NDArray[np.bool_]:
    """(dofs,) joints that have dry friction in some world at some time."""
    model = bound.model
    if "dof_frictionloss" in bound.fields:
        return np.ones(model.nv, dtype=bool)
    rubbing = model.dof_frictionloss > 0
    for drive in bound.drives:
        if drive.law.actuator.friction is not None:
            rubbing[model.joint(drive.joint).dofadr[0]] = True
    return rubbing
