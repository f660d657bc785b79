"""Plays a policy: one whole episode in each of many worlds, and what it recorded."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from realworthy.certification.rollouts.disturbed_link import DisturbedLink
from realworthy.certification.rollouts.trace import Trace
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.errors import RealworthyError
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollouts:
    """One episode of each world."""

    success: NDArray[np.bool_]
    """(worlds,) false where the physics diverged."""
    invalid: NDArray[np.bool_]
    """(worlds,) the physics diverged: not the policy's doing."""
    failure: NDArray[np.int64]
    """(worlds,) `Failure` that ended it; zero for a success."""
    score: Floats
    """(worlds,) undiscounted return."""
    seconds: Floats
    """(worlds,) [s] that it lasted."""
    trace: Trace | None
    observed: Floats | None
    """(n, width) some of what the policy saw, raw."""
    signals: NDArray[np.float32] | None
    """(worlds, steps, signals) true measurements, where they were asked for."""
    commands: NDArray[np.float32] | None = None
    """(worlds, steps, commands) that they were answered with."""

    @property
    def valid_count(self) -> int:
        return int((~self.invalid).sum())

    @property
    def success_count(self) -> int:
        return int(self.success.sum())


@torch.no_grad()
def play(
    worlds: TaskWorlds,
    wire: DisturbedLink,
    *,
    with_trace: bool = False,
    with_signals: bool = False,
) -> Rollouts:
    """One episode everywhere, from a fresh beginning."""
    recorder = _Recorder(worlds) if with_trace else None
    count = worlds.world_count
    _check_shown(worlds, wire)
    worlds.rewind()
    observations = worlds.reset()
    wire.begin()
    score, steps = np.zeros(count), np.zeros(count, dtype=np.int64)
    failure, failed_at = np.zeros(count, dtype=np.int64), np.full(count, -1)
    success, invalid = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    playing = np.ones(count, np.bool_)
    seen: list[Floats] = []
    rows: list[NDArray[np.float32]] = []
    told: list[NDArray[np.float32]] = []
    for k in range(worlds.step_limit):
        actor = observations["policy"].numpy()
        if k % 10 == 0:
            seen.append(actor[:16].astype(np.float64))
        if with_signals:
            rows.append(worlds.scene.signals.numpy().copy())
        others = {name: observations[name].numpy() for name in wire.others}
        action = wire.act(actor, others)
        step = worlds.step(torch.from_numpy(action.astype(np.float32)))
        if with_signals:
            told.append(worlds.scene.command.numpy().copy())
        if recorder is not None:
            recorder.keep()
        done = step.done.numpy()
        ended = playing & (done | ~wire.is_number)
        score += np.where(playing, step.reward.numpy(), 0.0)
        steps += playing
        code = np.where(wire.is_number, step.failure.numpy(), int(Failure.WATCHDOG))
        reached = step.success.numpy() & wire.is_number
        failure[ended] = code[ended]
        success |= ended & reached
        invalid |= ended & step.invalid.numpy()
        failed_at[ended & ~reached] = k
        playing &= ~ended
        observations = step.observations
        if not playing.any():
            break
    failure[success] = 0
    trace = None
    if recorder is not None:
        trace = recorder.finish(steps, failure, failed_at, success)
    return Rollouts(
        success=success,
        invalid=invalid,
        failure=failure,
        score=score,
        seconds=np.asarray(steps * worlds.period, dtype=np.float64),
        trace=trace,
        observed=np.concatenate(seen),
        signals=np.stack(rows, axis=1) if rows else None,
        commands=np.stack(told, axis=1) if told else None,
    )


def _check_shown(worlds: TaskWorlds, wire: DisturbedLink) -> None:
    """Raises where a policy sees what the task does not show."""
    if missing := [name for name in wire.others if name not in worlds.groups]:
        raise RealworthyError(
            f"The policy sees '{missing[0]}', and task '{worlds.task.name}' shows"
            f" {', '.join(worlds.groups)}.",
            hint="Judge it on the task that it learned: its `groups` give inputs.",
        )


class _Recorder:
    """Joints, torques and actions of every step."""

    def __init__(self, worlds: TaskWorlds) -> None:
        self._worlds = worlds
        layout = worlds.scene.layout
        joints = [j for j in layout.joints if j in layout.driven_joints]
        places = [layout.joint(joint) for joint in joints]
        self._qpos, self._qvel = [q for q, _ in places], [v for _, v in places]
        ranges, sheet = layout.joint_ranges(), worlds.task.twin.datasheet
        self._lower = np.array(
            [ranges[j][0] if j in ranges else -np.inf for j in joints]
        )
        self._upper = np.array(
            [ranges[j][1] if j in ranges else np.inf for j in joints]
        )
        self._effort = np.array(
            [float(layout.torque_limits[layout.actuator(j)]) for j in joints]
        )
        speeds = [sheet[j].speed_limit if j in sheet else None for j in joints]
        self._speed = np.array([np.inf if s is None else s for s in speeds])
        self._rows: list[tuple[NDArray[np.float32], ...]] = []

    def keep(self) -> None:
        """As of the step that was just made. A world that ended has started again."""
        scene = self._worlds.scene
        self._rows.append(
            (
                scene.action.numpy().copy(),
                scene.qpos.numpy()[:, self._qpos],
                scene.qvel.numpy()[:, self._qvel],
                scene.array("qfrc_actuator").numpy()[:, self._qvel],
            )
        )

    def finish(
        self,
        length: NDArray[np.int64],
        failure: NDArray[np.int64],
        failed_at: NDArray[np.int64],
        success: NDArray[np.bool_],
    ) -> Trace:
        columns = [np.stack(column, axis=1) for column in zip(*self._rows, strict=True)]
        action, position, velocity, torque = (c.astype(np.float64) for c in columns)
        clip = self._worlds.task.action.clip
        return Trace(
            period_s=self._worlds.period,
            length=np.maximum(length - 1, 0),  # the last row is of the next episode
            action=action / clip,
            position=position,
            velocity=velocity,
            torque=torque,
            lower=self._lower,
            upper=self._upper,
            velocity_limit=self._speed,
            torque_limit=self._effort,
            failure=failure,
            failure_step=failed_at,
            success=success,
        )


def play_condition(
    subject: Subject,
    condition: Condition,
    count: int,
    *,
    seed: int,
    rows: Floats | None = None,
    names: tuple[str, ...] = (),
    numbers: NDArray[np.intp] | None = None,
    with_trace: bool = False,
    with_signals: bool = False,
) -> Rollouts:
    """One episode in each of `count` worlds under a condition."""
    worlds = subject.build_worlds(
        condition, count, seed=seed, rows=rows, names=names, numbers=numbers
    )
    policy = subject.load(count)
    wire = DisturbedLink(policy, condition, period=worlds.period, seed=seed)
    return play(worlds, wire, with_trace=with_trace, with_signals=with_signals)
