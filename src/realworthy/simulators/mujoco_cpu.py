"""Worlds on all cores of the CPU, through MuJoCo's own batch."""

import os
from collections.abc import Mapping, Sequence
from copy import copy

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError
from realworthy.simulators.explicit_laws import ExplicitLaws
from realworthy.simulators.residual_force import ResidualForce
from realworthy.simulators.simulator import (
    Array,
    Outcome,
    Simulator,
    Worlds,
    rows_of,
)
from realworthy.simulators.substep_effect import SubstepEffect
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.compiled_model import OWN_PREFIX

_VELOCITY_STAGE = mujoco.mjtStage.mjSTAGE_VEL
_ALL_STAGES = mujoco.mjtStage.mjSTAGE_ACC  # also what only a step would compute
_NO_STAGE = mujoco.mjtStage.mjSTAGE_NONE
_DIVERGED = (
    int(mujoco.mjtWarning.mjWARN_BADQPOS),
    int(mujoco.mjtWarning.mjWARN_BADQVEL),
    int(mujoco.mjtWarning.mjWARN_BADQACC),
    int(mujoco.mjtWarning.mjWARN_BADCTRL),
    int(mujoco.mjtWarning.mjWARN_INERTIA),
)
_OVERFLOW = (
    int(mujoco.mjtWarning.mjWARN_CONTACTFULL),
    int(mujoco.mjtWarning.mjWARN_CNSTRFULL),
)
FEW_WORLDS = 256
"""Fewer are stepped by one thread where laws want a call for every substep: waking
others each time costs more than they do, and much more on a busy machine."""
THREADS = "REALWORTHY_THREADS"
"""The variable that says how many threads step worlds where nobody else does."""
_COUNT = 1  # a warning is (what it was about, how often)
_FEW_SHAPES = 8
"""Of a body, up to which trying all is quicker than a tree of boxes around them."""
Floats = NDArray[np.float64]


def read_thread_count() -> int:
    """What `REALWORTHY_THREADS` says; 0, all cores, where it is not set."""
    text = os.environ.get(THREADS) or "0"
    if not text.isdecimal():
        raise RealworthyError(
            f"{THREADS} is '{text}'.", hint="Give a number of threads, or unset it."
        )
    return int(text)


class MujocoCpu(Simulator):
    """`world_count` worlds of a twin; results are the same at any thread count.

    Arrays are float64 numpy views; `torch.from_dlpack` shares them.
    """

    def __init__(
        self,
        twin: BoundTwin | Twin,
        world_count: int,
        *,
        substeps: int = 4,
        thread_count: int = 0,
        effects: Sequence[SubstepEffect] = (),
        persistent: bool = False,
    ) -> None:
        """`persistent` keeps all of MuJoCo's data per world, which `move` needs.

        Without a thread count, the environment's `REALWORTHY_THREADS` is taken, or else
        all cores.
        """
        self.bound = twin if isinstance(twin, BoundTwin) else bind(twin)
        self.world_count, self.substeps = world_count, substeps
        self._all = np.arange(world_count)
        if self.bound.drives and world_count < FEW_WORLDS:
            thread_count = thread_count or 1
        threads = thread_count or read_thread_count()
        model = _spare_searches(self.bound.model)
        self._batch = Batch(model, world_count, threads, persistent)
        # outputs read zero until a call unless they are bound before it
        self._arrays = {"sensordata": self._batch.bind("sensordata")}
        self._fields = {name: self._expand(name) for name in self.bound.fields}
        self._initial_qpos = self._own("own.initial_qpos")
        self._initial_qvel = self._own("own.initial_qvel")
        self._push = self._own("own.push")
        self._has_pushes = "own.push" in self.bound.fields
        self._ctrl = self._batch.bind("ctrl")
        self._histories = _history_places(self.bound.model)
        self._laws = ExplicitLaws(
            self.bound, bind=self._batch.bind, expand=self.expand, own=self._own
        )
        self._outcomes = np.zeros(world_count, dtype=np.int64)
        self._arrays["outcome"] = self._outcomes
        self._seen = self._batch.warning[..., _COUNT].copy()
        residual = self.bound.twin.residual
        self._residual = residual and ResidualForce(residual, self.bound)
        built_in = (self._residual,) if self._residual else ()
        self._effects = (*effects, *built_in)
        if self._effects:
            self._applied = self.array("qfrc_applied")
        for effect in self._effects:
            effect.start(self)
        self.reset()

    @property
    def thread_count(self) -> int:
        return self._batch.nthread

    def write(self, samples: ArrayLike, worlds: Worlds = None) -> None:
        ids = self.check_worlds(worlds)
        samples = self.bound.check_samples(samples)
        samples = np.broadcast_to(samples, (len(ids), samples.shape[1]))
        self.bound.write(self._fields, ids, samples)
        self._laws.take_parameters()
        if self.bound.needs_constants and len(ids):
            self._batch.set_const(np.unique(ids))

    def tell(self, fields: Mapping[str, ArrayLike]) -> None:
        """Sets (worlds,) values of fields that the twin was bound with room for."""
        for name, values in fields.items():
            self._fields[name][:] = values
        self._laws.take_parameters()

    def reset(
        self,
        worlds: Worlds = None,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        ids = self.check_worlds(worlds)
        if not len(ids):
            return
        self._batch.reset(np.unique(ids), stage=_NO_STAGE)
        for name, initial, wanted in (
            ("qpos", self._initial_qpos, qpos),
            ("qvel", self._initial_qvel, qvel),
            ("ctrl", self._own("own.initial_ctrl"), command),
        ):
            rows = initial[ids] if wanted is None else wanted
            self._batch.bind(name)[ids] = rows_of(rows, ids, self.world_count)
        self._outcomes[ids] = Outcome.OK
        self._batch.warning[ids] = 0
        self._seen[ids] = 0
        self._fill_command_histories(ids)
        self._laws.reset(np.isin(self._all, ids), self._ctrl, self._ctrl)
        self._batch.forward(np.unique(ids), _ALL_STAGES)
        self._fill_sensor_histories(ids)
        for effect in self._effects:
            effect.reset(ids)

    def step(self, command: ArrayLike | Array) -> None:
        if self._has_pushes:
            self._apply_pushes()
        alive = None if not self._outcomes.any() else self._alive()
        if self._laws or self._effects:
            self._step_by_substeps(np.asarray(command), alive)
        else:
            self._ctrl[:] = command
            self._advance(alive, self.substeps)
        self._note_outcomes()

    def refresh(self) -> None:
        self._batch.forward(stage=_ALL_STAGES)

    def move(self, qpos: ArrayLike, qvel: ArrayLike) -> None:
        """Puts all worlds elsewhere after a step, as a witness moved them.

        What follows from position and velocity becomes current; forces, accelerations
        and histories stay those of the last substep. Only where `persistent`.
        """
        self.array("qpos")[:], self.array("qvel")[:] = qpos, qvel
        self._batch.forward(stage=_VELOCITY_STAGE)

    def array(self, name: str) -> Floats:
        if name not in self._arrays:
            self._arrays[name] = self._bind(name)
        return self._arrays[name]

    def field(self, name: str) -> Floats:
        if name in self._fields:
            values = self._fields[name].view()
        elif name.startswith(OWN_PREFIX):
            values = self._own(name)
        else:
            expanded = self._batch.expanded(name)
            shared = np.asarray(self.bound.compiled.nominal(name))
            values = np.broadcast_to(shared, (self.world_count, *shared.shape))
            values = values if expanded is None else expanded
        values = values.view()
        values.flags.writeable = False
        return values

    def expand(self, name: str) -> Floats:
        """Live (worlds, …) values of a model field, for effects that keep moving it."""
        return self._fields[name] if name in self._fields else self._batch.expand(name)

    def model(self, world: int) -> mujoco.MjModel:
        """A copy of one world's model, to render it or to compute with it."""
        return self._batch.get_model(world)

    def data(self, world: int) -> mujoco.MjData:
        """A copy of one world's state, with everything derived from it."""
        data = self._batch.get_data(world)
        mujoco.mj_forward(self.model(world), data)
        return data

    def state(self, worlds: Worlds = None) -> Floats:
        ids = self.check_worlds(worlds)
        parts = [self._batch.state[ids], self._laws.state(ids)]
        if self._residual:
            parts.append(self._residual.state(ids))
        return np.concatenate(parts, axis=1)

    def restore(self, state: ArrayLike, worlds: Worlds = None) -> None:
        ids = self.check_worlds(worlds)
        state = np.asarray(state, dtype=np.float64)
        width = self._batch.nstate
        self._batch.state[ids] = state[:, :width]
        rest = self._laws.restore(state[:, width:], ids)
        if self._residual:
            self._residual.restore(rest, ids)
        self._outcomes[ids] = Outcome.OK
        self._batch.forward(np.unique(ids), _ALL_STAGES)

    def outcomes(self) -> NDArray[np.int64]:
        return self._outcomes.copy()

    def prime(self, sent: ArrayLike, worlds: Worlds = None) -> None:
        """Fills command histories with what was sent: (n, k, inputs), newest last.

        One row per substep; where a history reaches further back, the oldest holds. An
        explicit law remembers the newest alone.
        """
        ids = self.check_worlds(worlds)
        sent = np.asarray(sent, dtype=np.float64)
        history = self._batch.bind("history")
        for places, control in self._histories:
            wanted = np.arange(-len(places), 0) + sent.shape[1]
            history[np.ix_(ids, places)] = sent[:, np.maximum(wanted, 0), control]
        newest = np.array(self._ctrl)
        newest[ids] = sent[:, -1]
        self._laws.reset(np.isin(self._all, ids), newest, self._ctrl)

    def rollout(self, control: ArrayLike) -> tuple[Floats, Floats]:
        """Positions and velocities after each substep of (worlds, substeps, inputs).

        In one call, without a Python step between, unless laws or effects need one. A
        world that diverges repeats its last state; see `outcomes`.
        """
        control = np.asarray(control, dtype=np.float64)
        acting = any(not effect.is_idle for effect in self._effects)
        if self._laws or acting or self._has_pushes:
            return self._rollout_by_substeps(control)
        count = control.shape[1]
        out = {
            name: np.full(
                (self.world_count, count, self._batch.bind(name).shape[1]), np.nan
            )
            for name in ("qpos", "qvel")
        }
        try:
            self._batch.rollout(count, control, record=tuple(out), out=out)
        except SimulationError as error:
            self._outcomes[error.ids] = Outcome.DIVERGED
        self._note_outcomes()
        return out["qpos"], out["qvel"]

    def _rollout_by_substeps(self, control: Floats) -> tuple[Floats, Floats]:
        qpos, qvel = self.array("qpos"), self.array("qvel")
        count = control.shape[1]
        positions = np.empty((self.world_count, count, qpos.shape[1]))
        velocities = np.empty((self.world_count, count, qvel.shape[1]))
        kept, self.substeps = self.substeps, 1
        for k in range(count):
            self.step(control[:, k])
            positions[:, k], velocities[:, k] = qpos, qvel
        self.substeps = kept
        return positions, velocities

    def _expand(self, name: str) -> Floats:
        if name.startswith(OWN_PREFIX):
            nominal = self.bound.compiled.nominal(name)
            return np.repeat(nominal[None], self.world_count, axis=0)
        return self._batch.expand(name)

    def _bind(self, name: str) -> Floats:
        """Binds an array between steps; what the last call computed of it is gone.

        It is computed again at the present state, and other arrays keep what they had.
        """
        outputs = [a for a in self._arrays.values() if not a.flags.writeable]
        bound_values = self._batch.bind(name)
        if bound_values.flags.writeable:  # part of the state
            return bound_values
        before = [array.copy() for array in outputs]
        self._batch.forward(stage=_ALL_STAGES)
        for array, values in zip(outputs, before, strict=True):
            array.flags.writeable = True
            array[:] = values
            array.flags.writeable = False
        return bound_values

    def _own(self, name: str) -> Floats:
        """A field of ours: per world where the bound space moves it, else shared."""
        if name in self._fields:
            return self._fields[name]
        nominal = self.bound.compiled.nominal(name)
        return np.broadcast_to(nominal, (self.world_count, *nominal.shape))

    def _alive(self) -> NDArray[np.intp]:
        return np.flatnonzero(self._outcomes != Outcome.DIVERGED)

    def _advance(self, alive: NDArray[np.intp] | None, substeps: int) -> None:
        try:
            self._batch.step(alive, substeps, _VELOCITY_STAGE)
        except SimulationError as error:
            self._outcomes[error.ids] = Outcome.DIVERGED

    def _step_by_substeps(
        self, command: Floats, alive: NDArray[np.intp] | None
    ) -> None:
        for _ in range(self.substeps):
            if self._laws:
                self._laws.write_torques(command, self._ctrl)
            else:
                self._ctrl[:] = command
            if self._effects:
                self._applied[:] = 0.0
            for effect in self._effects:
                effect.act()
            self._advance(alive, 1)

    def _apply_pushes(self) -> None:
        time = self._batch.bind("time")[:, None]
        start, duration = self._push[..., 3], self._push[..., 4]
        acting = (time >= start) & (time < start + duration)
        forces = self._batch.bind("xfrc_applied")
        forces[..., :3] = np.where(acting[..., None], self._push[..., :3], 0.0)

    def _note_outcomes(self) -> None:
        counts = self._batch.warning[..., _COUNT]
        if np.array_equal(counts, self._seen):
            return
        risen = counts > self._seen
        overflow = risen[:, _OVERFLOW].any(1) & (self._outcomes == Outcome.OK)
        self._outcomes[overflow] = Outcome.CONTACT_OVERFLOW
        self._outcomes[risen[:, _DIVERGED].any(1)] = Outcome.DIVERGED
        self._seen[:] = counts

    def _fill_command_histories(self, ids: NDArray[np.intp]) -> None:
        history = self._batch.bind("history")
        for places, control in self._histories:
            history[np.ix_(ids, places)] = self._ctrl[ids, control][:, None]

    def _fill_sensor_histories(self, ids: NDArray[np.intp]) -> None:
        fill_sensor_histories(self._batch, self.bound.model, ids)


def _spare_searches(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy that does not search at every substep for what the model cannot have.

    One tree is one island of constraints, and a body of few shapes needs no tree of
    boxes around them. Motion is the same to the last bit.
    """
    model, bits = copy(model), mujoco.mjtDisableBit
    sleeps = model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP
    if model.ntree == 1 and not sleeps:
        model.opt.disableflags |= bits.mjDSBL_ISLAND
    if model.body_geomnum.max() <= _FEW_SHAPES:
        model.opt.disableflags |= bits.mjDSBL_MIDPHASE
    return model


def _history_places(
    model: mujoco.MjModel,
) -> list[tuple[NDArray[np.intp], int]]:
    """For each control of each actuator with a history: where its values are kept.

    Found by asking MuJoCo to fill a history and looking what changed, so that nothing
    here depends on how it lays the buffer out.
    """
    places = []
    data = mujoco.MjData(model)
    for actuator in range(model.nactuator):
        samples = int(model.actuator_history[actuator, 0])
        width = int(model.actuator_ctrlnum[actuator])
        first = int(model.actuator_ctrladr[actuator])
        if samples == 0:
            continue
        for k in range(width):
            values = np.zeros((samples, width))
            values[:, k] = 1.0
            mujoco.mj_resetData(model, data)
            before = data.history.copy()
            mujoco.mj_initCtrlHistory(model, data, actuator, None, values.ravel())
            places.append((np.flatnonzero(data.history != before), first + k))
    return places


def fill_sensor_histories(
    batch: Batch, model: mujoco.MjModel, ids: NDArray[np.intp]
) -> None:
    """Fills delayed sensors of some worlds with what they would measure now."""
    delayed = np.flatnonzero(model.sensor_history[:, 0] > 0)
    if not len(delayed):
        return
    history = batch.bind("history")
    data = mujoco.MjData(model)
    for world in ids.tolist():
        batch.get_data(world, data)
        world_model = batch.get_model(world)
        world_model.sensor_delay[:] = 0.0
        mujoco.mj_forward(world_model, data)
        for sensor in delayed.tolist():
            first, width = (
                int(world_model.sensor_adr[sensor]),
                int(world_model.sensor_dim[sensor]),
            )
            now = data.sensordata[first : first + width]
            values = np.tile(now, int(world_model.sensor_history[sensor, 0]))
            mujoco.mj_initSensorHistory(world_model, data, sensor, None, values, 0.0)
        history[world] = data.history
    batch.forward(np.unique(ids), _ALL_STAGES)
