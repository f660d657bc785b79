"""Worlds on a GPU, through MuJoCo Warp; also on Warp's CPU device, to test."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import MissingExtra, RealworthyError
from realworthy.simulators.explicit_laws import ExplicitLaws
from realworthy.simulators.residual_force import ResidualForce
from realworthy.simulators.simulator import Array, Simulator, Worlds
from realworthy.twins import BoundTwin, Twin, bind

try:
    import mujoco_warp  # noqa: F401
    import warp as wp
except ImportError:
    raise MissingExtra("mujoco-warp", "gpu", need="MujocoGpu") from None

from realworthy.simulators.warp.arrays import HAS_TORCH, fill, is_mask_on, share
from realworthy.simulators.warp.worlds import WarpWorlds

Floats = NDArray[np.float64]
_STATE = (
    *("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "ctrl"),
    *("qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat"),
    "userdata",
)
"""Everything that the future of a world depends on."""
wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)  # not each kernel loaded


class MujocoGpu(Simulator):
    """`world_count` worlds of a twin in 32-bit floats, stepped as one CUDA graph.

    Arrays are live torch tensors on `device` where torch is installed. With commands
    that are tensors there, `step` and a `reset` by a mask never wait for the GPU;
    `write`, `state`, `restore`, `field` and `outcomes` do. `array("outcome")` holds the
    outcomes on the device.

    Room for contacts is shared by all worlds, room for constraints is each world's own;
    both are estimated from the model unless told. `deterministic` makes every run on
    CUDA equal to the last bit, and slower; the CPU device always is.
    """

    def __init__(
        self,
        twin: BoundTwin | Twin,
        world_count: int,
        *,
        substeps: int = 4,
        device: str | None = None,
        contacts_per_world: int | None = None,
        constraints_per_world: int | None = None,
        deterministic: bool = False,
    ) -> None:
        self.bound = twin if isinstance(twin, BoundTwin) else bind(twin)
        self.world_count, self.substeps = world_count, substeps
        residual, drives = self.bound.twin.residual, self.bound.drives
        if (residual or drives) and not HAS_TORCH:
            law = f"law of actuator '{drives[0].name}'" if drives else "twin's residual"
            raise MissingExtra("torch", "gpu", need=f"The {law} on MujocoGpu")
        wanted = "cuda" if device is None and wp.is_cuda_available() else device
        self.device = _find_device(wanted or "cpu")
        with wp.ScopedDevice(self.device):
            self._worlds = WarpWorlds(
                self.bound,
                world_count,
                self.device,
                substeps=substeps,
                contacts_per_world=contacts_per_world,
                constraints_per_world=constraints_per_world,
                deterministic=deterministic,
            )
            self._shared: dict[str, Array] = {}
            self._laws = ExplicitLaws(
                self.bound, bind=self.array, expand=self._expand, own=self._own
            )
            self._residual = residual and ResidualForce(residual, self.bound)
            if self._residual:
                self._applied = self.array("qfrc_applied")
                self._residual.start(self)
            wp.synchronize_device()
        self.reset()

    def write(self, samples: ArrayLike, worlds: Worlds = None) -> None:
        ids = self.check_worlds(worlds)
        samples = self.bound.check_samples(samples)
        samples = np.broadcast_to(samples, (len(ids), samples.shape[1]))
        if not len(ids):
            return
        with self._worlds.working() as stream:
            self._worlds.fields.write(ids, samples)
            self._laws.take_parameters()
            if self._worlds.derive is not None:
                self._worlds.derive(stream)
            self._worlds.follow(stream)

    def reset(
        self,
        worlds: Worlds = None,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        on = self._worlds
        with on.working() as stream:
            ids = self._mark(worlds)
            if ids is not None and not len(ids):
                return
            with on.keeping_others(self._seen_by_others(ids)):
                self._start(ids, stream, qpos=qpos, qvel=qvel, command=command)
                on.forward(stream)

    def begin(self, worlds: Worlds, *, qpos: ArrayLike, qvel: ArrayLike) -> None:
        """Like `reset`, at half its cost: positions, velocities and their sensors.

        Forces, accelerations and sensors of them read zero there until the next step.
        Everything of other worlds stays as it is.
        """
        on = self._worlds
        with on.working() as stream:
            ids = self._mark(worlds)
            if ids is not None and not len(ids):
                return
            self._start(ids, stream, qpos=qpos, qvel=qvel, command=None)
            on.measure(stream)

    def _start(
        self,
        ids: NDArray[np.intp] | None,
        stream: wp.Stream | None,
        *,
        qpos: ArrayLike | None,
        qvel: ArrayLike | None,
        command: ArrayLike | None,
    ) -> None:
        """Puts the marked worlds at time zero, with all that they remember."""
        on = self._worlds
        for place, initial, wanted in (
            (on.start_qpos, on.initial_qpos, qpos),
            (on.start_qvel, on.initial_qvel, qvel),
            (on.start_ctrl, on.initial_ctrl, command),
        ):
            if wanted is None:
                wp.copy(place, initial)
            else:
                fill(place, wanted, ids)
        on.clear(stream)
        if self._laws:
            started = share(on.marked), share(on.start_ctrl)
            self._laws.reset(*started, self.array("ctrl"))
        if self._residual:
            self._residual.reset(share(on.marked))
        if on.fill_histories is not None:
            on.fill_histories(stream)

    def step(self, command: ArrayLike | Array) -> None:
        on = self._worlds
        with on.working() as stream:
            if on.push is not None:
                on.push(stream)
            if not self._laws and not self._residual:
                fill(on.data.ctrl, command)
                on.advance(stream)
                return
            fill(on.start_ctrl, command)
            held, ctrl = share(on.start_ctrl), self.array("ctrl")
            ctrl[:] = held
            for _ in range(self.substeps):
                if self._laws:
                    self._laws.write_torques(held, ctrl)
                if self._residual:
                    self._applied[:] = 0.0
                    self._residual.act()
                on.advance(stream)

    def refresh(self) -> None:
        with self._worlds.working() as stream:
            self._worlds.forward(stream)

    def array(self, name: str) -> Array:
        if name not in self._shared:
            self._shared[name] = share(self._worlds.find(name))
        return self._shared[name]

    def field(self, name: str) -> Floats:
        with self._worlds.working():
            values = self._worlds.fields.read(name)
        values.flags.writeable = False
        return values

    def state(self, worlds: Worlds = None) -> Floats:
        ids = self.check_worlds(worlds)
        with self._worlds.working():
            found = [self._worlds.find(name).numpy()[ids] for name in _STATE]
            rows = [values.reshape(len(ids), -1) for values in found]
            rows.append(self._laws.state(ids))
            if self._residual:
                rows.append(self._residual.state(ids))
            return np.concatenate(rows, axis=1, dtype=float)

    def restore(self, state: ArrayLike, worlds: Worlds = None) -> None:
        rest = np.asarray(state, dtype=np.float64)
        ids = self.check_worlds(worlds)
        on = self._worlds
        with on.working() as stream:
            self._mark(ids)
            for name in _STATE:
                array = on.find(name)
                values = array.numpy().copy()
                width = values[0].size
                part, rest = rest[:, :width], rest[:, width:]
                values[ids] = part.reshape(len(ids), *values.shape[1:])
                array.assign(values)
            for array in (on.outcome, on.data.overflow):
                values = array.numpy().copy()
                values[ids] = 0
                array.assign(values)
            rest = self._laws.restore(rest, ids)
            if self._residual:
                self._residual.restore(rest, ids)
            with on.keeping_others(self._seen_by_others(ids)):
                on.forward(stream)

    def outcomes(self) -> NDArray[np.int64]:
        with self._worlds.working():
            return self._worlds.outcome.numpy().astype(np.int64)

    def _mark(self, worlds: Worlds) -> NDArray[np.intp] | None:
        """Marks worlds on the device; their numbers, unless only the device knows."""
        marked = self._worlds.marked
        if is_mask_on(worlds, self.device):
            fill(marked, worlds)
            return None
        ids = self.check_worlds(worlds)
        mask = np.zeros(self.world_count, dtype=bool)
        mask[ids] = True
        marked.assign(mask)
        return ids

    def _seen_by_others(self, ids: NDArray[np.intp] | None) -> set[str]:
        """Arrays that worlds outside `ids` must find as they were."""
        if ids is not None and len(ids) == self.world_count:
            return set()
        return {"sensordata", "history", *self._shared} - {"outcome", "eq_active"}

    def _expand(self, name: str) -> Array:
        return share(getattr(self._worlds.model, name))

    def _own(self, name: str) -> Array:
        return share(self._worlds.fields.own(name))


def _find_device(name: str) -> wp.Device:
    try:
        return wp.get_device(name)
    except (RuntimeError, ValueError):  # no GPU, or no such name
        there = ", ".join(device.alias for device in wp.get_devices())
        raise RealworthyError(
            f"There is no device '{name}'.", hint=f"There are: {there}."
        ) from None
