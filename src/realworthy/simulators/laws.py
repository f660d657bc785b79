"""Explicit actuator laws inside the loop of a simulator, once per substep."""

from collections.abc import Callable

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from realworthy.actuators import State
from realworthy.twins import BoundTwin
from realworthy.twins.drives import ExplicitDrive

Floats = NDArray[np.float64]


class ExplicitLaws:
    """All explicit drives of a bound twin over the worlds of a CPU batch."""

    def __init__(
        self,
        bound: BoundTwin,
        world_count: int,
        own: Callable[[str], Floats],
        batch: Batch,
    ) -> None:
        self._runs = [_Run(bound, drive, world_count, own) for drive in bound.drives]
        self._native = _native_controls(bound)
        if not self._runs:
            return
        self._qpos, self._qvel = batch.bind("qpos"), batch.bind("qvel")
        self._bias = batch.bind("qfrc_bias")
        with_friction = any(run.has_friction for run in self._runs)
        self._friction = batch.expand("dof_frictionloss") if with_friction else None

    def __bool__(self) -> bool:
        return bool(self._runs)

    def write_torques(self, command: Floats, ctrl: Floats) -> None:
        """Puts this substep's torques into `ctrl` and friction budgets into the model."""
        ctrl[:, self._native] = command[..., self._native]
        for run in self._runs:
            position, velocity = self._qpos[:, run.qpos], self._qvel[:, run.dof]
            load = -self._bias[
                :, run.dof
            ]  # gravity and Coriolis, as a torque on the joint
            sent = np.broadcast_to(command, ctrl.shape)[:, run.controls]
            torque, friction = run.step(sent, position, velocity, load)
            ctrl[:, run.controls] = torque[:, None]
            if run.has_friction and self._friction is not None:
                self._friction[:, run.dof] = friction

    def reset(self, ids: NDArray[np.intp], command: Floats) -> None:
        """State as after `command` had been sent for long."""
        for run in self._runs:
            run.reset(
                ids,
                command[:, run.controls],
                self._qpos[:, run.qpos],
                self._qvel[:, run.dof],
            )

    def state(self, ids: NDArray[np.intp]) -> Floats:
        """(n, …) what the laws remember."""
        parts = [
            value[ids].reshape(len(ids), -1)
            for run in self._runs
            for value in run.state.values()
        ]
        return np.concatenate(parts, axis=1) if parts else np.empty((len(ids), 0))

    def restore(self, state: Floats, ids: NDArray[np.intp]) -> None:
        """Puts back what `state` gave."""
        first = 0
        for run in self._runs:
            for name, value in run.state.items():
                width = int(np.prod(value.shape[1:]))
                updated = np.array(value)
                part = state[:, first : first + width]
                updated[ids] = part.reshape(len(ids), *value.shape[1:])
                run.state[name] = updated
                first += width


class _Run:
    """One drive with its state in every world."""

    def __init__(
        self,
        bound: BoundTwin,
        drive: ExplicitDrive,
        world_count: int,
        own: Callable[[str], Floats],
    ) -> None:
        model = bound.model
        joint = bound.compiled.id(mujoco.mjtObj.mjOBJ_JOINT, drive.joint)
        actuator = bound.compiled.id(mujoco.mjtObj.mjOBJ_ACTUATOR, drive.name)
        self.qpos, self.dof = (
            int(model.jnt_qposadr[joint]),
            int(model.jnt_dofadr[joint]),
        )
        self.controls = [int(model.actuator_ctrladr[actuator])]
        self.has_friction = drive.law.actuator.friction is not None
        self.law = drive.law
        self.parameters = {
            kind: own(name)
            for kind in drive.law.parameters
            if (name := f"own.law.{drive.name}.{kind}") in bound.fields
        }
        self.state: State = drive.law.initial_state(world_count, np.zeros(world_count))

    def step(
        self, command: Floats, position: Floats, velocity: Floats, load: Floats
    ) -> tuple[Floats, Floats]:
        out = self.law.step(
            command, position, velocity, load, self.parameters, self.state
        )
        self.state = out.state
        return np.asarray(out.torque), np.asarray(out.friction)

    def reset(
        self, ids: NDArray[np.intp], command: Floats, position: Floats, velocity: Floats
    ) -> None:
        chosen = np.zeros(len(position), dtype=bool)
        chosen[ids] = True
        self.state = self.law.prime(
            self.state, command, position=position, velocity=velocity, worlds=chosen
        )


def _native_controls(bound: BoundTwin) -> NDArray[np.intp]:
    """Columns of a command that MuJoCo's own actuators take."""
    model = bound.model
    explicit = {drive.name for drive in bound.drives}
    columns = []
    for i in range(model.nactuator):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i)
        if name not in explicit:
            first = int(model.actuator_ctrladr[i])
            columns += range(first, first + int(model.actuator_ctrlnum[i]))
    return np.array(columns, dtype=np.intp)
