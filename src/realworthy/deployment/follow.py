"""A motion on a robot, guarded: led to its first row, played, kept.

What was sent is recorded, so that a fit replays exactly that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.decision import Decision, GuardVerdict
from realworthy.deployment.drives import Drives
from realworthy.deployment.guarded_robot import GuardedRobot
from realworthy.deployment.session import run_session
from realworthy.deployment.state_machine import Phase
from realworthy.deployment.trial_files import keep_recording, logging_to
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, Sidecar
from realworthy.recordings.motion import Reference
from realworthy.robots import Limits, Robot, RobotInfo, State
from realworthy.robots.plan import Plan

Floats = NDArray[np.float64]
_APPROACH_SPEED = 0.5
"""[rad/s] at most on the way to the first row."""
_SETTLE = 0.5
"""[s] of rest before the first row."""
_START_TOLERANCE = 1e-3
"""[rad] from the first row within which no approach is needed: an encoder of 4096 steps
resolves 1.5e-3."""
_ASTRAY_SERVO, _ASTRAY = 0.5, 1.5
"""[rad or m] that a joint may be away from its motion, of a position drive and of
others, which a spring as soft as the twin's inertia leads: far off, a joint is stuck,
or the twin is of another robot. Commands stay within limits all the while. Our
stand-ins lag by up to 0.3 rad on servos, and a pendulum of a third more mass, late by
0.1 s, by 1.3 rad (2026-11-18)."""
_ASTRAY_SHARE = 0.5
"""Of a joint's range that it may be away from its motion at most."""
_ASTRAY_FOR = 0.1
"""[s]"""


@dataclass(frozen=True, slots=True)
class Followed:
    """What a robot did with a plan."""

    recording: Recording
    reason: str
    """Why it was stopped; empty where it went through."""
    braked: int = 0
    """Steps in which the robot braked by itself; fits leave them out."""

    @property
    def is_clean(self) -> bool:
        return not self.reason and not self.braked


def follow(
    robot: Robot,
    plan: Plan,
    drives: Drives,
    limits: Limits,
    *,
    sidecar: Sidecar | None = None,
    output: Path | None = None,
    overwrite: bool = False,
) -> Followed:
    """Plays a plan, guarded; the recording begins at its first row.

    The robot is first led slowly to where the motion begins. Beyond a limit it brakes
    (`Robot.damp`), and what was recorded until then is kept. With `output` it is on the
    disk while it happens and in that file when this returns or raises.
    """
    info = robot.info
    columns = _check(info, plan)
    period = float(plan.reference.time[1] - plan.reference.time[0])
    sidecar = sidecar or describe_recording(info, 1 / period)
    with logging_to(output, info, sidecar=sidecar, overwrite=overwrite) as log:
        guarded = GuardedRobot(robot, drives, period, limits=limits, log=log)
        ended = run_session(guarded, lambda: _run(guarded, plan, columns))
        kept = keep_recording(guarded, ended, sidecar, output, Phase.RUN, overwrite)
    if ended.error is not None:
        raise ended.error
    if kept is None:
        raise RealworthyError(
            f"Robot '{info.name}' was stopped before the motion began: "
            f"{ended.reason or 'it ended at once'}.",
            hint="Bring it within its limits by hand, or near the motion's first row.",
        )
    return Followed(kept, ended.reason, guarded.braked)


def describe_recording(info: RobotInfo, rate: float) -> Sidecar:
    """What a recording of a robot says of itself where nobody says more."""
    return Sidecar(twin=info.name, rate=rate, command_kind=info.command_kind)


def _run(guarded: GuardedRobot, plan: Plan, columns: list[int]) -> Decision:
    decision = _approach(guarded, plan, columns)
    if decision.is_fault:
        return decision
    guarded.machine.change(Phase.HOLD, guarded.clock.now())
    guarded.machine.change(Phase.RUN, guarded.clock.now())
    astray = _Astray(guarded, plan, columns)
    for row in range(len(plan.reference.time)):
        decision = guarded.step(
            _choose(plan, row, columns), is_policy=True, expected=_expect(guarded)
        )
        if not decision.is_fault:
            decision = astray.judge(row)
        if decision.is_fault:
            return decision
    guarded.loop.wait()  # the last command, too, is held for a period
    return decision


def _approach(guarded: GuardedRobot, plan: Plan, columns: list[int]) -> Decision:
    """From where the robot is to the first row, slowly, then a moment of rest."""
    state = guarded.robot.read()
    decision = guarded.watchdogs.judge_rest(state)
    if decision.is_fault:
        return guarded.fault(decision)
    _begin(guarded, plan, state)
    guarded.machine.change(Phase.MOVE_TO_DEFAULT, guarded.clock.now())
    led = _plan_approach(plan, state.position[columns], guarded.period)
    for row in range(len(led.reference.time)):
        decision = guarded.step(_choose(led, row, columns), rest=state.position)
        if decision.is_fault:
            return decision
    return decision


def _begin(guarded: GuardedRobot, plan: Plan, state: State) -> None:
    """A drive whose joint nobody knows is taken to follow its resting command."""
    drives = guarded.drives
    at = drives.of_joints(state.position)
    rest = np.array([line.rest for line in plan.lines])
    at = np.where(drives.is_driven, at, rest)
    guarded.filter.reset(np.where(drives.is_position, at, 0.0))


def _plan_approach(plan: Plan, begin: Floats, period: float) -> Plan:
    """10 s³ − 15 s⁴ + 6 s⁵ of the way at each share s of the time: no jerk at its
    ends."""
    goal = plan.reference.position[0]
    far = float(np.abs(goal - begin).max())
    seconds = 2 * far / _APPROACH_SPEED if far >= _START_TOLERANCE else 0.0
    count = math.ceil(seconds / period)
    rest = math.ceil(_SETTLE / period) if count else 0
    share = np.minimum(np.arange(1, count + rest + 1) / max(count, 1), 1.0)
    blend = share**3 * (10 - 15 * share + 6 * share**2)
    way = begin + blend[:, None] * (goal - begin)
    slope = np.gradient(way, period, axis=0) if count else np.zeros_like(way)
    time = np.asarray(np.arange(len(way)) * period, dtype=np.float64)
    joints = plan.reference.joints
    return Plan(
        reference=Reference(time, joints, way, slope, np.zeros_like(way)),
        lines=plan.lines,
        torque=np.tile(plan.torque[0], (len(way), 1)),
        stiffness=plan.stiffness,
        damping=plan.damping,
    )


def _choose(plan: Plan, row: int, columns: list[int]) -> Callable[[State], Floats]:
    def target(state: State) -> Floats:
        return plan.command(row, state.position[columns], state.velocity[columns])

    return target


def _expect(guarded: GuardedRobot) -> tuple[str, ...]:
    """Stages that may act at any time: a soft servo lags by all that its torque allows,
    and how soft it is may be what the recording is made to find out."""
    soft = guarded.drives.is_position.any()
    return ("tracking", "torque") if soft else ()


class _Astray:
    """Whether joints go where the motion leads them."""

    def __init__(self, guarded: GuardedRobot, plan: Plan, columns: list[int]) -> None:
        self._guarded, self._plan, self._columns = guarded, plan, columns
        limits = guarded.watchdogs.limits.select(plan.reference.joints)
        room = _ASTRAY_SHARE * (limits.upper - limits.lower)
        servos = {line.joint for line in plan.lines if line.kind == "position"}
        most = [
            _ASTRAY_SERVO if joint in servos else _ASTRAY
            for joint in range(len(plan.reference.joints))
        ]
        self._most = np.minimum(most, np.where(np.isfinite(room), room, np.inf))
        self._patience = max(1, math.ceil(_ASTRAY_FOR / guarded.period))
        self._count = 0

    def judge(self, row: int) -> Decision:
        """Of the newest step, which sent what belongs to a row."""
        newest = self._guarded.log.last
        assert newest is not None
        reference = self._plan.reference
        off = np.abs(newest.state.position[self._columns] - reference.position[row])
        worst = int(np.argmax(off - self._most))
        self._count = self._count + 1 if off[worst] > self._most[worst] else 0
        if self._count < self._patience:
            return Decision()
        joint = reference.joints[worst]
        reason = f"{joint} is {off[worst]:.2g} rad away from its motion"
        return self._guarded.fault(Decision(GuardVerdict.DAMP, "following", reason))


def _check(info: RobotInfo, plan: Plan) -> list[int]:
    """Columns of the robot's joints in the order of the motion."""
    missing = [j for j in plan.reference.joints if j not in info.joints]
    if missing:
        raise RealworthyError(
            f"Robot '{info.name}' has no joint '{missing[0]}', which the motion moves.",
            hint=f"It has: {', '.join(info.joints)}.",
        )
    signals = tuple(line.signal for line in plan.lines)
    if signals != info.commands:
        raise RealworthyError(
            f"Robot '{info.name}' takes {', '.join(info.commands)}, and the twin "
            f"{', '.join(signals)}.",
            hint="Name the twin of this robot.",
        )
    return [info.joints.index(joint) for joint in plan.reference.joints]
