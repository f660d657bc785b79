"""Motions tried in worlds of the twin before any robot plays them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import ParameterSpace
from realworthy.recordings import Recording, Sidecar, SignalNoise
from realworthy.recordings.motion import Reference
from realworthy.recordings.sidecar import CommandKind
from realworthy.robots.plan import Plan
from realworthy.simulators import MujocoCpu, Outcome
from realworthy.simulators.motion_plan import plan_motion
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Peaks:
    """Extremes of motions, (worlds, joints) each."""

    lowest: Floats
    highest: Floats
    """[rad or m]"""
    speed: Floats
    acceleration: Floats
    torque: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """What worlds did: (rows, worlds, …) arrays, each row before its command."""

    time: Floats
    signals: tuple[str, ...]
    commands: tuple[str, ...]
    measured: Floats
    sent: Floats
    peaks: Peaks
    position: Floats
    """(rows, worlds, joints) of the joints that move."""
    sound: NDArray[np.bool_]
    """(worlds,) whether a world did not diverge."""
    sidecar: Sidecar

    def to_recording(
        self, world: int, noise: float, rng: np.random.Generator
    ) -> Recording:
        """As a robot would: noise [rad] on positions, ten times that on speeds."""
        data = self.measured[:, world].copy()
        for column, name in enumerate(self.signals):
            sd = {"position": noise, "velocity": 10 * noise}.get(name.split(".")[-1], 0)
            if sd and name.count(".") == 1:
                data[:, column] += sd * rng.standard_normal(len(data))
        columns = (*data.T, *self.sent[:, world].T)
        names = (*self.signals, *self.commands)
        return Recording(
            self.time, dict(zip(names, columns, strict=True)), self.sidecar
        )


class RehearsalStage:
    """Worlds of a twin in which motions are rehearsed, each with an e of its own."""

    def __init__(
        self, twin: Twin, space: ParameterSpace, joints: Sequence[str], *, rate: float
    ) -> None:
        """`rate` [Hz] is that of commands; a period is a whole number of time steps."""
        self.twin, self.space, self.joints = twin, space, tuple(joints)
        self.bound = bind(twin, space)
        self.rate = rate
        self.substeps = max(1, round(1 / (rate * self.bound.model.opt.timestep)))
        layout = Layout(self.bound)
        self.all_joints = layout.joints
        """Also those that do not move by a drive of their own."""
        places = [layout.joint(joint) for joint in joints]
        self._qpos, self._dofs = [q for q, _ in places], [v for _, v in places]
        self._simulators: dict[int, MujocoCpu] = {}

    def rehearse(
        self, references: Sequence[Reference], e: Floats, *, fine: bool = False
    ) -> Rehearsal:
        """Plays one motion per world, or one for all, with (worlds, d) e.

        Peaks are those of rows, or of every time step where `fine`.
        """
        worlds = len(e)
        simulator = self._get(worlds)
        simulator.write(e)
        plan = self._plan(references)
        first = plan.reference.position[0]
        qpos = np.array(simulator.field("own.initial_qpos"))
        qpos[:, self._qpos] = first
        start = plan.command(
            0, qpos[:, self._qpos], np.zeros(qpos[:, self._qpos].shape)
        )
        simulator.reset(qpos=qpos, command=start)
        return self._play(simulator, plan, fine=fine)

    def _get(self, worlds: int) -> MujocoCpu:
        if worlds not in self._simulators:
            # few worlds, many short calls: threads would wait for each other
            self._simulators[worlds] = MujocoCpu(self.bound, worlds, thread_count=1)
        return self._simulators[worlds]

    def _plan(self, references: Sequence[Reference]) -> Plan:
        """One plan for all worlds, arrays (rows, worlds, joints)."""
        plans: dict[int, Plan] = {}
        for reference in references:  # the same motion in several worlds: planned once
            if id(reference) not in plans:
                plans[id(reference)] = plan_motion(self.bound, reference)
        each = [plans[id(reference)] for reference in references]

        def stack(parts: list[Floats]) -> Floats:
            return np.stack(parts, axis=1)

        motions = [plan.reference for plan in each]
        return Plan(
            reference=Reference(
                motions[0].time,
                self.joints,
                stack([m.position for m in motions]),
                stack([m.velocity for m in motions]),
                stack([m.acceleration for m in motions]),
            ),
            lines=each[0].lines,
            torque=stack([plan.torque for plan in each]),
            stiffness=each[0].stiffness,
            damping=each[0].damping,
        )

    def _play(self, simulator: MujocoCpu, plan: Plan, *, fine: bool) -> Rehearsal:
        q, v = simulator.array("qpos"), simulator.array("qvel")
        data = simulator.array("sensordata")
        places = {name: i for i, name in enumerate(simulator.signals)}
        torques = [places[f"{joint}.torque"] for joint in self.joints]
        rows, worlds = len(plan.reference.time), simulator.world_count
        measured = np.empty((rows, *data.shape))
        sent = np.empty((rows, worlds, len(simulator.commands)))
        position = np.empty((rows, worlds, len(self.joints)))
        simulator.substeps = 1 if fine else self.substeps
        watch = _Watch(q[:, self._qpos], v[:, self._dofs], simulator.period)
        for row in range(rows):
            measured[row], position[row] = data, q[:, self._qpos]
            sent[row] = plan.command(row, position[row], v[:, self._dofs])
            for _ in range(self.substeps if fine else 1):
                simulator.step(sent[row])
                watch.look(q[:, self._qpos], v[:, self._dofs], data[:, torques])
        lines = describe_commands(self.bound)
        kinds: set[CommandKind] = {line.kind for line in lines}
        return Rehearsal(
            time=plan.reference.time,
            signals=tuple(simulator.signals),
            commands=tuple(simulator.commands),
            measured=measured,
            sent=sent,
            peaks=watch.peaks(),
            position=position,
            sound=simulator.outcomes() != Outcome.DIVERGED,
            sidecar=Sidecar(
                twin=self.twin.reference or self.twin.name,
                command_kind=kinds.pop() if len(kinds) == 1 else None,
                rate=self.rate,
                noise=SignalNoise(),
            ),
        )


class _Watch:
    """Extremes so far."""

    def __init__(self, position: Floats, velocity: Floats, period: float) -> None:
        self._low, self._high = position.copy(), position.copy()
        self._before, self._period = velocity.copy(), period
        self._speed = np.abs(velocity)
        self._acceleration = np.zeros_like(velocity)
        self._torque = np.zeros_like(velocity)

    def look(self, position: Floats, velocity: Floats, torque: Floats) -> None:
        np.minimum(self._low, position, out=self._low)
        np.maximum(self._high, position, out=self._high)
        np.maximum(self._speed, np.abs(velocity), out=self._speed)
        change = np.abs(velocity - self._before) / self._period
        np.maximum(self._acceleration, change, out=self._acceleration)
        np.maximum(self._torque, np.abs(torque), out=self._torque)
        self._before = velocity.copy()

    def peaks(self) -> Peaks:
        return Peaks(
            self._low, self._high, self._speed, self._acceleration, self._torque
        )
