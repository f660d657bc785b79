"""Follows a motion on a robot: what to send at every row, and when to stop.

A position drive is sent the motion itself. A velocity drive is sent its derivative and
a slow correction. A drive of torque or voltage is sent what the motion needs by the
twin's inverse dynamics, and a soft spring and damper towards it (PD with feed-forward).
What was sent is recorded, so that a fit replays exactly that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, Sidecar
from realworthy.recordings.motion import Reference
from realworthy.recordings.sidecar import CommandKind
from realworthy.robots.guard import Guard, Limits
from realworthy.robots.robot import Command, Robot, RobotInfo, State
from realworthy.robots.trial import _recording

Floats = NDArray[np.float64]
_CORRECTION = 2.0
"""[1/s] with which a velocity drive is led back to its motion."""
_APPROACH_SPEED = 0.5
"""[rad/s] at most on the way to the first row."""
_SETTLE = 0.5
"""[s] of rest before the first row."""
_CLOSE = 1e-3
"""[rad] from the first row that need no way to it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """How one number of a command follows from a motion."""

    signal: str
    """Such as `knee.command`."""
    kind: CommandKind
    joint: int
    """Column of the motion; −1: it rests."""
    rest: float
    lower: float
    upper: float
    per_torque: float = 1.0
    """Command per torque [N·m]; of a voltage, R / (gear · K_t)."""
    per_velocity: float = 0.0
    """Command per velocity [rad/s] that makes up for the back-EMF."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A motion with all that a robot or a simulated world needs to follow it."""

    reference: Reference
    lines: tuple[Line, ...]
    """In the order of the command."""
    torque: Floats
    """(rows, joints) that the motion needs in the twin."""
    stiffness: Floats
    """(joints,) [N·m/rad] of the spring towards the motion."""
    damping: Floats
    """(joints,) [N·m·s/rad]"""

    @property
    def is_open_loop(self) -> bool:
        """Whether commands do not depend on what is measured."""
        return all(line.kind == "position" or line.joint < 0 for line in self.lines)

    def command(self, row: int, position: Floats, velocity: Floats) -> Floats:
        """(…, inputs) to send at a row, given measured (…, joints) states."""
        goal = self.reference
        off = goal.position[row] - position
        off_velocity = goal.velocity[row] - velocity
        wanted = self.torque[row] + self.stiffness * off + self.damping * off_velocity
        out = np.empty((*position.shape[:-1], len(self.lines)))
        for i, line in enumerate(self.lines):
            j = line.joint
            if j < 0:
                value = line.rest
            elif line.kind == "position":
                value = goal.position[row][..., j]
            elif line.kind == "velocity":
                value = goal.velocity[row][..., j] + _CORRECTION * off[..., j]
            else:
                value = line.per_torque * wanted[..., j]
                value = value + line.per_velocity * velocity[..., j]
            out[..., i] = np.clip(value, line.lower, line.upper)
        return out


@dataclass(frozen=True, slots=True)
class Followed:
    """What a robot did with a plan."""

    recording: Recording
    reason: str
    """Why it was stopped; empty where it went through."""


def follow(
    robot: Robot, plan: Plan, limits: Limits, *, sidecar: Sidecar | None = None
) -> Followed:
    """Plays a plan, guarded; the recording begins at its first row.

    The robot is first led slowly to where the motion begins. Beyond a limit it brakes
    (`Robot.damp`) and what was recorded until then is kept.
    """
    info = robot.info
    columns = _check(info, plan)
    guard = Guard(limits, info.joints)
    period = float(plan.reference.time[1] - plan.reference.time[0])
    states: list[State] = []
    sent: list[Floats] = []
    reason = ""
    with robot:
        reason = _approach(robot, plan, guard, columns, period)
        for row in range(len(plan.reference.time)) if not reason else ():
            state = robot.read()
            reason = guard.judge(state)
            if reason:
                robot.damp()
                break
            value = plan.command(row, state.position[columns], state.velocity[columns])
            if not states or state.time > states[-1].time:
                states.append(state)
                sent.append(value)
            robot.write(Command(sequence=row, values=value))
            robot.wait(period)
    if len(states) < 2:
        raise RealworthyError(
            f"Robot '{info.name}' was stopped before the motion began: {reason}.",
            hint="Bring it within its limits by hand, or near the motion's first row.",
        )
    recording = _recording(info, states, np.array(sent), sidecar, 1 / period)
    return Followed(recording, reason)


def _approach(
    robot: Robot, plan: Plan, guard: Guard, columns: list[int], period: float
) -> str:
    """From where the robot is to the first row, slowly, then a moment of rest."""
    goal = plan.reference.position[0]
    begin = robot.read().position[columns]
    far = float(np.abs(goal - begin).max())
    if far < _CLOSE:
        return ""
    seconds = 2 * far / _APPROACH_SPEED
    count = int(np.ceil(seconds / period))
    rest = int(np.ceil(_SETTLE / period))
    share = np.minimum(np.arange(1, count + rest + 1) / count, 1.0)
    blend = share**3 * (10 - 15 * share + 6 * share**2)
    way = begin + blend[:, None] * (goal - begin)
    slope = np.gradient(way, period, axis=0)
    led = Plan(
        reference=Reference(
            np.asarray(np.arange(len(way)) * period, dtype=np.float64),
            plan.reference.joints,
            way,
            slope,
            np.zeros_like(way),
        ),
        lines=plan.lines,
        torque=np.tile(plan.torque[0], (len(way), 1)),
        stiffness=plan.stiffness,
        damping=plan.damping,
    )
    for row in range(len(way)):
        state = robot.read()
        reason = guard.judge(state)
        if reason:
            robot.damp()
            return reason
        value = led.command(row, state.position[columns], state.velocity[columns])
        robot.write(Command(sequence=row, values=value))
        robot.wait(period)
    return ""


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
