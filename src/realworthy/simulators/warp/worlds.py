"""Worlds as MuJoCo Warp holds them: model, data, and the work that is done on them."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import mujoco_warp as mjw
import numpy as np
import warp as wp
from numpy.typing import NDArray

from realworthy.errors import BadModel, UnknownName
from realworthy.simulators.warp import kernels
from realworthy.simulators.warp.arrays import TorchStream, WarpArray, alias
from realworthy.simulators.warp.fields import WorldFields
from realworthy.simulators.warp.loop import (
    Routine,
    build_substep,
    estimate_constraints,
    estimate_contacts,
    measure,
)
from realworthy.twins import BoundTwin

_OVERFLOWS = int(
    mjw.OverflowType.ALL
    & ~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)
)


class WarpWorlds:
    """Everything on the device, and each piece of work on it as a routine."""

    def __init__(
        self,
        bound: BoundTwin,
        world_count: int,
        device: wp.Device,
        *,
        substeps: int,
        contacts_per_world: int | None,
        constraints_per_world: int | None,
        deterministic: bool,
    ) -> None:
        self.bound, self.world_count, self.device = bound, world_count, device
        self._torch = TorchStream(device)
        rubs = any(drive.law.actuator.friction is not None for drive in bound.drives)
        friction_moves = rubs or "dof_frictionloss" in bound.fields
        contacts = contacts_per_world or estimate_contacts(bound.model)
        rows = constraints_per_world or estimate_constraints(
            bound.model, contacts, friction_moves=friction_moves
        )
        also = ("dof_frictionloss",) if rubs else ()
        self.fields = WorldFields(bound, world_count, also=also)
        try:
            self.model = self.fields.build_model()
            self.data: Any = mjw.make_data(
                bound.model, nworld=world_count, nconmax=contacts, njmax=rows
            )
        except (NotImplementedError, ValueError) as error:
            raise BadModel(
                f"MuJoCo Warp cannot run twin '{bound.twin.name}': {error}",
                hint="MujocoCpu runs everything that MuJoCo does.",
            ) from None
        self.model.opt.warn_overflow = 0  # counted instead, in outcomes
        self.model.opt.deterministic = deterministic
        self._allocate()
        self._build_routines(substeps, rubs)

    def find(self, name: str) -> WarpArray:
        """A (worlds, …) array of MuJoCo's data, or `outcome`."""
        if name == "outcome":
            return self.outcome
        names = [
            field.name
            for field in dataclasses.fields(mjw.Data)
            if getattr(field.type, "shape", ())[:1] == ("nworld",)
        ]
        if name not in names or getattr(self.data, name) is None:
            raise UnknownName("array", name, names, owner="MuJoCo Warp", hint="")
        return getattr(self.data, name)

    @contextlib.contextmanager
    def working(self) -> Iterator[wp.Stream | None]:
        """Work goes to this device, on the stream that PyTorch is using."""
        stream = self._torch.current()
        with wp.ScopedDevice(self.device):
            if stream is None:
                yield None
                return
            with wp.ScopedStream(stream, sync_enter=False):
                yield stream

    @contextlib.contextmanager
    def keeping_others(self, names: set[str]) -> Iterator[None]:
        """Puts named arrays of worlds that are not marked back after the block."""
        kept = []
        for name in names:
            array = self.find(name)
            if array.size and wp.types.type_size_in_bytes(array.dtype) % 4 == 0:
                width = array.size * wp.types.type_size_in_bytes(array.dtype) // 4
                shape = (self.world_count, width // self.world_count)
                plain = alias(array, wp.int32, shape)
                kept.append((wp.clone(plain), plain))
        yield
        for before, array in kept:
            wp.launch(
                kernels.keep_rows,
                dim=array.shape,
                inputs=[self.marked, before],
                outputs=[array],
            )

    def _allocate(self) -> None:
        host, count = self.bound.model, self.world_count
        self.marked = wp.zeros(count, dtype=wp.bool)
        self.outcome = wp.zeros(count, dtype=wp.int32)
        self._still_since = wp.zeros(count, dtype=wp.float32)
        self.initial_qpos = self.fields.own("own.initial_qpos", host.nq)
        self.initial_qvel = self.fields.own("own.initial_qvel", host.nv)
        self.initial_ctrl = self.fields.own("own.initial_ctrl", host.nu)
        self.start_qpos = wp.clone(self.initial_qpos)
        self.start_qvel = wp.clone(self.initial_qvel)
        self.start_ctrl = wp.clone(self.initial_ctrl)
        self._command_layout = _place_integers(
            host.actuator_ctrladr,
            host.actuator_ctrlnum,
            host.actuator_history[:, 0],
            host.actuator_historyadr,
        )
        self._sensor_layout = _place_integers(
            host.sensor_adr,
            host.sensor_dim,
            host.sensor_history[:, 0],
            host.sensor_historyadr,
        )

    def _build_routines(self, substeps: int, constraints_moved: bool) -> None:
        host, model, data = self.bound.model, self.model, self.data
        substep = build_substep(
            host,
            model,
            data,
            before=self._check_commands,
            after=self._quarantine,
            constraints_moved=constraints_moved,
        )
        acts_between = self.bound.drives or self.bound.twin.residual
        count = 1 if acts_between else substeps

        def advance() -> None:
            for _ in range(count):
                substep()

        def follow() -> None:  # all that a substep expects of the present state
            mjw.fwd_position(model, data, factorize=False)
            mjw.fwd_velocity(model, data)

        has_pushes = "own.push" in self.bound.fields
        is_delayed = bool((host.sensor_history[:, 0] > 0).any())
        self.forward = self._routine(lambda: mjw.forward(model, data))
        self.follow = self._routine(follow)
        self.measure = self._routine(lambda: measure(model, data))
        self.advance = self._routine(advance)
        self.clear = self._routine(self._clear)
        self.push = self._routine(self._apply_pushes) if has_pushes else None
        self.fill_histories = (
            self._routine(self._fill_sensor_histories) if is_delayed else None
        )
        self.derive = (
            self._routine(lambda: mjw.set_const(model, data, restore=False))
            if self.bound.needs_constants
            else None
        )

    def _routine(self, work: Callable[[], None]) -> Routine:
        return Routine(work, self.device)

    def _clear(self) -> None:
        """Marked worlds at time zero in their start pose, with primed commands."""
        data, host = self.data, self.bound.model
        mjw.reset_data(self.model, data, reset=self.marked)
        wp.launch(
            kernels.start_worlds,
            dim=self.world_count,
            inputs=[self.marked, self.start_qpos, self.start_qvel, self.start_ctrl],
            outputs=[data.qpos, data.qvel, data.ctrl, self.outcome],
        )
        if host.nhistory:
            wp.launch(
                kernels.fill_command_histories,
                dim=(self.world_count, host.nactuator),
                inputs=[self.marked, *self._command_layout, data.ctrl],
                outputs=[data.history],
            )

    def _fill_sensor_histories(self) -> None:
        """What marked worlds would measure now, as if it had been so for ever."""
        undelayed = dataclasses.replace(self.model, nhistory=0)
        mjw.forward(undelayed, self.data)
        wp.launch(
            kernels.fill_sensor_histories,
            dim=(self.world_count, self.bound.model.nsensor),
            inputs=[self.marked, *self._sensor_layout, self.data.sensordata],
            outputs=[self.data.history],
        )

    def _apply_pushes(self) -> None:
        body_count = self.bound.model.nbody
        push = self.fields.own("own.push", body_count, 5)
        force = alias(
            self.data.xfrc_applied, wp.float32, (self.world_count, body_count, 6)
        )
        wp.launch(
            kernels.apply_pushes,
            dim=(self.world_count, body_count),
            inputs=[push, self.data.time],
            outputs=[force],
        )

    def _check_commands(self) -> None:
        wp.launch(
            kernels.check_commands,
            dim=self.world_count,
            outputs=[self.data.ctrl, self.outcome],
        )

    def _quarantine(self) -> None:
        data = self.data
        wp.launch(
            kernels.quarantine,
            dim=self.world_count,
            inputs=[_OVERFLOWS, self.initial_qpos, data.qacc, data.overflow],
            outputs=[
                *(data.qpos, data.qvel, data.act, data.qacc_warmstart, data.time),
                *(self._still_since, self.outcome),
            ],
        )


def _place_integers(*columns: NDArray[np.int32]) -> list[WarpArray]:
    return [wp.array(np.ascontiguousarray(c), dtype=wp.int32) for c in columns]
