"""Commands, or whatever answers what is measured, on a robot, guarded, as a recording.

Nobody has planned such commands within limits, so they are sent as they are, cut to the
range that the robot states; what is watched is the robot: where `limits` are given,
those of its joints and its tilt, and in any case that its measurements are fresh,
numbers and its own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.deployment.decision import Decision
from realworthy.deployment.drives import assign_drives, find_joint
from realworthy.deployment.filter import FilterSettings
from realworthy.deployment.follow import describe_recording
from realworthy.deployment.guarded_robot import GuardedRobot, GuardSettings
from realworthy.deployment.motions import move_to
from realworthy.deployment.session import run_session
from realworthy.deployment.state_machine import Phase
from realworthy.deployment.trial_files import keep_recording, logging_to
from realworthy.deployment.trial_log import TrialLog
from realworthy.deployment.watchdogs import WatchdogSettings
from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings import Recording, Sidecar
from realworthy.robots import Limits, Robot, RobotInfo, State

Floats = NDArray[np.float64]


class GuardStop(RealworthyError):
    """A guard braked the robot before its commands were over."""

    def __init__(self, robot: str, reason: str, recording: Recording | None) -> None:
        self.reason, self.recording = reason, recording
        """Why; and what was recorded until then, if two rows were."""
        super().__init__(
            f"Robot '{robot}' was stopped by a guard: {reason}.",
            hint="What was recorded until then is the error's `recording`.",
        )


def lenient() -> GuardSettings:
    """Guards for a robot that is known to repeat, lose or delay measurements, such as a
    stand-in with a faulty interface whose log is wanted as it is."""
    return GuardSettings(
        filter=FilterSettings(tracking=np.inf, soft_range=1.0),
        watchdogs=WatchdogSettings(
            age_trip=math.inf,
            frozen_travel=math.inf,
            frozen_for=math.inf,
            tilt_warn=math.inf,
            tilt_trip=math.inf,
        ),
    )


def play(
    robot: Robot,
    commands: ArrayLike | Mapping[str, ArrayLike],
    *,
    rate: float | None = None,
    sidecar: Sidecar | None = None,
    limits: Limits | None = None,
    settings: GuardSettings | None = None,
    leads: bool = False,
    output: Path | None = None,
    overwrite: bool = False,
) -> Recording:
    """Sends (steps, inputs) commands, or signal name → (steps,), at `rate` [Hz].

    Row k of the recording holds what was measured just before command k was sent. Rows
    that the robot did not send, or sent twice, are left out, and what was commanded
    then with them. The robot brakes at the end, whatever happens. A guard that ends it
    raises `GuardStop` with what was recorded; `settings` make guards tighter or more
    patient. With `leads` a robot of position drives
    is led slowly to the first command, unrecorded. With `output` everything is on the
    disk while it happens and in that file when this returns or raises.
    """
    values = _check_commands(robot.info, commands)
    return _run(
        robot,
        lambda k, _: values[k],
        len(values),
        settings=settings,
        first=values[0] if leads else None,
        rate=rate,
        sidecar=sidecar,
        limits=limits,
        output=output,
        overwrite=overwrite,
    )


def drive(
    robot: Robot,
    policy: Callable[[State], ArrayLike],
    *,
    seconds: float,
    rate: float | None = None,
    sidecar: Sidecar | None = None,
    limits: Limits | None = None,
    settings: GuardSettings | None = None,
) -> Recording:
    """Lets a policy answer what the robot measures, in closed loop at `rate` [Hz].

    Row k of the recording holds what the policy saw and the command that it sent. The
    robot brakes at the end, whatever happens; guards raise `GuardStop`.
    """

    def answer(_: int, state: State) -> Floats:
        return np.atleast_1d(np.asarray(policy(state), dtype=np.float64))

    count = max(2, round(seconds * (robot.info.rate if rate is None else rate)))
    return _run(
        robot,
        answer,
        count,
        rate=rate,
        sidecar=sidecar,
        limits=limits,
        settings=settings,
    )


def _run(
    robot: Robot,
    answer: Callable[[int, State], Floats],
    count: int,
    *,
    rate: float | None,
    sidecar: Sidecar | None,
    limits: Limits | None,
    settings: GuardSettings | None,
    first: Floats | None = None,
    output: Path | None = None,
    overwrite: bool = False,
) -> Recording:
    info = robot.info
    rate = info.rate if rate is None else rate
    if not 0.1 < rate < math.inf:
        raise RealworthyError(f"Commands cannot be sent at {rate:g} Hz.")
    sidecar = sidecar or describe_recording(info, rate)
    with logging_to(output, info, sidecar=sidecar, overwrite=overwrite) as log:
        guarded = _guard(robot, 1 / rate, limits, settings, log)
        ended = run_session(guarded, lambda: _send(guarded, answer, count, first))
        kept = keep_recording(guarded, ended, sidecar, output, Phase.RUN, overwrite)
    if ended.error is not None:
        raise ended.error
    if ended.reason or kept is None:
        raise GuardStop(info.name, ended.reason or "too few rows came", kept)
    return kept


def _send(
    guarded: GuardedRobot,
    answer: Callable[[int, State], Floats],
    count: int,
    first: Floats | None,
) -> Decision:
    decision = Decision()
    if first is not None:
        decision = move_to(guarded, first, least=0.0)
        if decision.is_fault:
            return decision
    guarded.machine.change(Phase.HOLD, guarded.clock.now())
    guarded.machine.change(Phase.RUN, guarded.clock.now())
    for k in range(count):
        decision = guarded.step(lambda state, k=k: answer(k, state))
        if decision.is_fault:
            return decision
    guarded.loop.wait()  # the last command, too, is held for a period
    return decision


def _guard(
    robot: Robot,
    period: float,
    limits: Limits | None,
    settings: GuardSettings | None,
    log: TrialLog,
) -> GuardedRobot:
    """Bounds efforts by the limits, and goals by nothing but the robot's own range: a
    step of a goal is what some experiments are made of."""
    info = robot.info
    joints = [find_joint(signal, info.joints) for signal in info.commands]
    kind = info.command_kind or "torque"  # of several kinds: the robot's range bounds
    bounds = limits if info.command_kind in ("torque", "voltage") else None
    drives = assign_drives(info, joints, (kind,) * len(joints), bounds, kp={}, kd={})
    if robot.steps_time:
        endless = np.full(drives.width, np.inf)
        drives = replace(drives, command_lower=-endless, command_upper=endless)
    if settings is None:
        untilted = WatchdogSettings(tilt_warn=math.inf, tilt_trip=math.inf)
        settings = GuardSettings(
            filter=FilterSettings(tracking=np.inf, soft_range=1.0),
            watchdogs=untilted if limits is None else WatchdogSettings(),
        )
    watched = limits or drives.limits(info)
    return GuardedRobot(
        robot, drives, period, settings=settings, limits=watched, log=log
    )


def _check_commands(
    info: RobotInfo, commands: ArrayLike | Mapping[str, ArrayLike]
) -> Floats:
    if isinstance(commands, Mapping):
        commands = _stack(info, commands)
    values = np.asarray(commands, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(info.commands):
        raise RealworthyError(
            f"Robot '{info.name}' takes (steps, {len(info.commands)}) commands, not "
            f"{values.shape}.",
            hint=f"In order: {', '.join(info.commands)}.",
        )
    if len(values) < 2:
        raise RealworthyError(
            f"A recording needs two commands or more, not {len(values)}."
        )
    if not np.isfinite(values).all():
        step, place = np.argwhere(~np.isfinite(values))[0]
        raise RealworthyError(
            f"'{info.commands[place]}' is not a finite number at step {step}."
        )
    return values


def _stack(info: RobotInfo, commands: Mapping[str, ArrayLike]) -> Floats:
    """(steps, inputs) in the robot's order; nothing is made up for a missing one."""
    owner = f"robot '{info.name}'"
    for name in commands:
        if name not in info.commands:
            raise UnknownName("command", name, info.commands, owner=owner, hint="")
    missing = [name for name in info.commands if name not in commands]
    if missing:
        raise RealworthyError(
            f"Robot '{info.name}' needs all of its commands; missing: "
            f"{', '.join(missing)}.",
            hint="Say what it shall do there: its measured position, say, or zeros.",
        )
    columns = [np.asarray(commands[name], dtype=np.float64) for name in info.commands]
    lengths = {column.shape for column in columns}
    if len(lengths) > 1 or columns[0].ndim != 1:
        found = ", ".join(
            f"{name} {column.shape}"
            for name, column in zip(info.commands, columns, strict=True)
        )
        raise RealworthyError(
            f"Commands of robot '{info.name}' must be equally many: {found}."
        )
    return np.stack(columns, axis=-1)
