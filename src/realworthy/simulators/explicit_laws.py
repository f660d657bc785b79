"""Explicit actuator laws inside the loop of a simulator, once per substep.

Drives whose laws have equal structure run as rows of one call, so that twelve joints of
1,024 worlds cost about as much as one. Works on whatever arrays a simulator binds:
numpy on the CPU, torch tensors on a GPU.
"""

from collections.abc import Callable, Sequence

import array_api_compat as api
import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import Array, State
from realworthy.actuators.arrays import constant
from realworthy.errors import RealworthyError
from realworthy.simulators.simulator import to_numpy
from realworthy.twins import BoundTwin
from realworthy.twins.drives.install import ExplicitDrive

Floats = NDArray[np.float64]
OFF = np.inf
"""A command that switches a drive off: no torque, and friction remains."""
Binder = Callable[[str], Array]
"""Name → live (worlds, …) array."""


class ExplicitLaws:
    """All explicit drives of a bound twin over the worlds of a simulator.

    `bind` gives live state arrays, `expand` live per-world model fields, and `own` our
    own fields; they are asked only for what the laws need.
    """

    def __init__(
        self, bound: BoundTwin, *, bind: Binder, expand: Binder, own: Binder
    ) -> None:
        self._native = _native_controls(bound)
        self._groups = [
            _Group(bound, drives, bind("qpos"), own) for drives in _alike(bound.drives)
        ]
        if not self._groups:
            return
        self._qpos, self._qvel = bind("qpos"), bind("qvel")
        self._bias = bind("qfrc_bias")
        with_friction = any(group.has_friction for group in self._groups)
        self._friction = expand("dof_frictionloss") if with_friction else None

    def __bool__(self) -> bool:
        return bool(self._groups)

    @property
    def has_friction(self) -> bool:
        """Whether a law writes `dof_frictionloss` at every substep."""
        return any(group.has_friction for group in self._groups)

    def write_torques(self, command: Array, ctrl: Array) -> None:
        """Puts this substep's torques into `ctrl` and friction budgets into the model.

        `command` is (worlds, inputs), or (inputs,) for all worlds.
        """
        if self._native:
            ctrl[:, self._native] = command[..., self._native]
        for group in self._groups:
            load = -self._bias[:, group.dofs]  # gravity and Coriolis, on the joint
            torque, friction = group.step(
                command, self._qpos[:, group.places], self._qvel[:, group.dofs], load
            )
            ctrl[:, group.controls] = torque
            if group.has_friction and self._friction is not None:
                self._friction[:, group.dofs] = friction

    def reset(self, worlds: Array, command: Array, ctrl: Array) -> None:
        """State as after `command` had been sent for long, where `worlds` is true.

        `ctrl` of those worlds becomes the torque with which they begin.
        """
        for group in self._groups:
            position = self._qpos[:, group.places]
            xp = api.array_namespace(position)
            velocity = self._qvel[:, group.dofs]
            group.prime(worlds, command, position, velocity)
            torque = group.preview(command, position, velocity)
            old = ctrl[:, group.controls]
            ctrl[:, group.controls] = xp.where(worlds[:, None], torque, old)

    def take_parameters(self) -> None:
        """Reads the numbers of every world anew, after a sample was written."""
        for group in self._groups:
            group.take_parameters()

    def state(self, ids: NDArray[np.intp]) -> Floats:
        """(n, …) what the laws remember."""
        parts = [part for group in self._groups for part in group.rows()]
        if not parts:
            return np.empty((len(ids), 0))
        return np.concatenate([part[ids] for part in parts], axis=1)

    def restore(self, state: Floats, ids: NDArray[np.intp]) -> Floats:
        """Takes its columns of `state`, which `state` gave, and returns the others."""
        for group in self._groups:
            state = group.restore(state, ids)
        return state


class _Group:
    """Drives of equal structure: rows are worlds × joints, worlds first."""

    def __init__(
        self,
        bound: BoundTwin,
        drives: Sequence[ExplicitDrive],
        like: Array,
        own: Binder,
    ) -> None:
        model, compiled = bound.model, bound.compiled
        joints = [compiled.id(mujoco.mjtObj.mjOBJ_JOINT, d.joint) for d in drives]
        ids = [compiled.id(mujoco.mjtObj.mjOBJ_ACTUATOR, d.name) for d in drives]
        self.law = drives[0].law
        if len(self.law.inputs) != 1:
            raise RealworthyError(
                f"Actuator '{drives[0].name}' takes {len(self.law.inputs)} commands "
                f"({', '.join(self.law.inputs)}); a simulated drive takes one.",
                hint="Use a position, velocity, torque, duty or voltage controller.",
            )
        self.places = [int(model.jnt_qposadr[j]) for j in joints]
        self.dofs = [int(model.jnt_dofadr[j]) for j in joints]
        self.controls = [int(model.actuator_ctrladr[i]) for i in ids]
        self.has_friction = self.law.actuator.friction is not None
        self._shape = (len(like), len(drives))
        self._like = like
        self._sources = {
            kind: [own(f"own.law.{drive.name}.{kind}") for drive in drives]
            for kind in self.law.parameters
            if _differs(bound, drives, kind)
        }
        self.parameters: dict[str, Array] = {}
        self.take_parameters()
        rows = len(like) * len(drives)
        self._state: State = self.law.initial_state(rows, like)

    def take_parameters(self) -> None:
        xp = api.array_namespace(self._like)
        for kind, columns in self._sources.items():
            stacked = xp.stack([constant(c, self._like) for c in columns], axis=1)
            self.parameters[kind] = xp.reshape(stacked, (-1,))

    def step(
        self, command: Array, position: Array, velocity: Array, load: Array
    ) -> tuple[Array, Array]:
        """(worlds, joints) torque and friction budget."""
        out = self._compute(command, position, velocity, load)
        self._state = out.state
        return out.torque.reshape(self._shape), out.friction.reshape(self._shape)

    def preview(self, command: Array, position: Array, velocity: Array) -> Array:
        """(worlds, joints) torque that the next step would begin with."""
        out = self._compute(command, position, velocity, 0.0 * velocity)
        return out.torque.reshape(self._shape)

    def prime(
        self, worlds: Array, command: Array, position: Array, velocity: Array
    ) -> None:
        xp = api.array_namespace(self._like)
        chosen = xp.broadcast_to(worlds[:, None], self._shape)
        sent = self._sent(command)
        sent = xp.where(sent == OFF, position.reshape(-1, 1), sent)
        self._state = self.law.prime(
            self._state,
            sent,
            position=position.reshape(-1),
            velocity=velocity.reshape(-1),
            worlds=xp.reshape(chosen, (-1,)),
        )

    def rows(self) -> list[Floats]:
        """Each remembered quantity as (worlds, …)."""
        worlds = self._shape[0]
        return [to_numpy(value).reshape(worlds, -1) for value in self._state.values()]

    def restore(self, state: Floats, ids: NDArray[np.intp]) -> Floats:
        """Takes its columns of `state` and returns the others."""
        for name, value in self._state.items():
            updated = to_numpy(value).reshape(self._shape[0], -1).copy()
            width = updated.shape[1]
            updated[ids], state = state[:, :width], state[:, width:]
            self._state[name] = constant(updated.reshape(value.shape), value)
        return state

    def _compute(self, command: Array, position: Array, velocity: Array, load: Array):
        xp = api.array_namespace(self._like)
        sent = self._sent(command)
        is_off = sent[:, 0] == OFF
        powered = None
        if bool(xp.any(is_off)):
            powered = ~is_off
            sent = xp.where(is_off[:, None], position.reshape(-1, 1), sent)
        return self.law.step(
            sent,
            position.reshape(-1),
            velocity.reshape(-1),
            load.reshape(-1),
            self.parameters,
            self._state,
            powered=powered,
        )

    def _sent(self, command: Array) -> Array:
        xp = api.array_namespace(self._like)
        sent = xp.broadcast_to(command[..., self.controls], self._shape)
        return xp.reshape(sent, (-1, 1))


def _alike(drives: Sequence[ExplicitDrive]) -> list[list[ExplicitDrive]]:
    groups: dict[tuple[object, ...], list[ExplicitDrive]] = {}
    for drive in drives:
        groups.setdefault(drive.law.structure, []).append(drive)
    return list(groups.values())


def _differs(bound: BoundTwin, drives: Sequence[ExplicitDrive], kind: str) -> bool:
    """Whether a number differs between rows: from drive to drive or world to world."""
    names = [f"own.law.{drive.name}.{kind}" for drive in drives]
    values = {float(bound.compiled.nominal(name)) for name in names}
    nominal = drives[0].law.parameters[kind]
    return values != {nominal} or any(name in bound.fields for name in names)


def _native_controls(bound: BoundTwin) -> list[int]:
    """Columns of a command that MuJoCo's own actuators take."""
    model = bound.model
    explicit = {drive.name for drive in bound.drives}
    columns: list[int] = []
    for i in range(model.nactuator):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i)
        if name not in explicit:
            first = int(model.actuator_ctrladr[i])
            columns += range(first, first + int(model.actuator_ctrlnum[i]))
    return columns
