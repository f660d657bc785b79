"""Row by row from targets to joints: differential inverse kinematics on `mink`.

Each row begins where the one before it ended. A step solves

    min ‖W (e + J Δq)‖² + λ ‖Δq‖²

for all tasks together within joint ranges and motor speeds, above the floor and with
its parts out of each other; steps go on until they are small.
"""

from dataclasses import dataclass

import mink
import numpy as np
from numpy.typing import NDArray

from realworthy.progress import Progress, ignore
from realworthy.retargeting.figure import Figure
from realworthy.retargeting.robot_figure import Carried, RobotFigure
from realworthy.retargeting.targets import Targets
from realworthy.retargeting.tasks import (
    FloorLimit,
    JointBox,
    JointsTask,
    PlacesTask,
    SelfLimit,
    TurnsTask,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class SolveSettings:
    """Weights of what is wanted [1/m, 1/rad]; chosen on the CMU walks with G1 and H1,
    2026-11-19."""

    standing: float = 60.0
    """The ends of feet that stand: they give way to nothing but limits."""
    swinging: float = 12.0
    """Feet in the air."""
    centre: float = 12.0
    """The middle of the hips."""
    knees: float = 1.0
    elbows: float = 0.7
    wrists: float = 1.0
    trunk: float = 4.0
    chest: float = 2.0
    feet: float = 2.0
    """How feet are turned."""
    posture: float = 0.05
    """Joints, towards home: what nothing else decides."""
    smooth: float = 0.15
    """Joints, towards the row before."""
    damping: float = 1e-4
    """λ"""
    max_steps: int = 6
    """Of the solver in one row; the first row has ten times as many."""
    small: float = 1e-4
    """[rad or m] of a step after which a row is done."""


_BENT = 0.2
"""Of its range by which a knee is bent at the start: some 30°."""


@dataclass(frozen=True, slots=True)
class Aim:
    """One point that is wanted somewhere, over all rows."""

    carried: Carried
    wanted: Floats
    """(rows, 3) [m]"""
    weight: Floats
    """(rows,)"""


def solve(
    robot: RobotFigure,
    targets: Targets,
    figure: Figure,
    settings: SolveSettings,
    progress: Progress = ignore,
) -> Floats:
    """(rows, nq) poses of the robot."""
    aims = list_aims(robot, targets, figure, settings)
    wanted = np.stack([aim.wanted for aim in aims], axis=1)
    weight = np.stack([aim.weight for aim in aims], axis=1)
    bodies, turns, turn_weight = _list_turns(robot, targets, settings)
    places, turning = PlacesTask([aim.carried for aim in aims]), TurnsTask(bodies)
    posture = JointsTask(robot, settings.posture)
    before = JointsTask(robot, settings.smooth)
    box, floor, apart = JointBox(robot), FloorLimit(robot), SelfLimit(robot)
    configuration = mink.Configuration(robot.model, _start(robot, targets))
    found = np.empty((len(targets.time), robot.model.nq))
    period = float(np.median(np.diff(targets.time)))
    for row in range(len(found)):
        places.aim(wanted[row], weight[row])
        turning.aim(turns[row], turn_weight[row])
        joints = configuration.data.qpos[robot.qpos].copy()
        box.hold(joints if row else None, period)
        before.wanted = joints
        tasks = [places, turning, posture, *([before] if row else [])]
        for _ in range(settings.max_steps * (1 if row else 10)):
            velocity = _step(configuration, tasks, settings, [box, floor, apart])
            configuration.integrate_inplace(velocity, 1.0)
            if np.abs(velocity).max() < settings.small:
                break
        qpos = configuration.data.qpos
        qpos[robot.qpos] = np.clip(qpos[robot.qpos], box.lower, box.upper)
        found[row] = qpos
        progress((row + 1) / len(found), "poses")
    return found


def _step(
    configuration: mink.Configuration,
    tasks: list[mink.Task],
    settings: SolveSettings,
    limits: list[mink.Limit],
) -> Floats:
    """(nv,) Δq; limits that cannot hold all at once give way from the last on."""
    for count in range(len(limits), 0, -1):
        try:
            return mink.solve_ik(
                configuration,
                tasks,
                1.0,
                "daqp",
                damping=settings.damping,
                limits=limits[:count],
            )
        except mink.NoSolutionFound:
            continue
    return np.zeros(configuration.nv)


def list_aims(
    robot: RobotFigure, targets: Targets, figure: Figure, settings: SolveSettings
) -> list[Aim]:
    """Every point that is wanted somewhere."""
    rows = len(targets.time)
    found = [
        Aim(
            Carried(robot.trunk, robot.centre),
            targets.centre,
            np.full(rows, settings.centre),
        )
    ]
    for name, foot in robot.feet.items():
        place, turn = targets.points[figure.feet[name].ankle], targets.feet[name]
        stands = targets.stands[name]
        weight = np.where(stands.any(axis=1), 0.0, settings.swinging)
        if len(foot.ends) == 1:
            weight = np.where(stands.any(axis=1), settings.standing, settings.swinging)
        found.append(Aim(Carried(foot.body, foot.centre), place, weight))
        if len(foot.ends) == 1:
            continue
        flags = stands if stands.shape[1] == 2 else np.repeat(stands, 2, axis=1)
        for k, end in enumerate(foot.ends):
            at = place + turn @ (end - foot.centre)
            found.append(
                Aim(
                    Carried(foot.body, end),
                    at,
                    settings.standing * flags[:, k].astype(np.float64),
                )
            )
    kinds = {"knee": settings.knees, "elbow": settings.elbows, "wrist": settings.wrists}
    ankles = {foot.ankle for foot in figure.feet.values()}
    for part, place in targets.points.items():
        if part not in ankles:
            weight = np.full(rows, kinds[part.rpartition("_")[2]])
            found.append(Aim(robot.points[part], place, weight))
    return found


def _list_turns(
    robot: RobotFigure, targets: Targets, settings: SolveSettings
) -> tuple[list[int], Floats, Floats]:
    """Bodies, (rows, bodies, 3, 3) how they shall be turned, and the weights of it."""
    bodies, turns, weights = [robot.trunk], [targets.trunk], [settings.trunk]
    if targets.chest is not None:
        bodies.append(robot.chest)
        turns.append(targets.chest)
        weights.append(settings.chest)
    for name, foot in robot.feet.items():
        if len(foot.ends) > 1:
            bodies.append(foot.body)
            turns.append(targets.feet[name])
            weights.append(settings.feet)
    shape = (len(targets.time), len(bodies), 3)
    weight = np.broadcast_to(np.array(weights)[None, :, None], shape)
    return bodies, np.stack(turns, axis=1), weight


def _start(robot: RobotFigure, targets: Targets) -> Floats:
    """(nq,) home with bent knees, moved and turned to the first row.

    From a straight leg the solver would find the wrong side.
    """
    base = robot.twin.base
    assert base is not None  # build_robot refuses others
    from realworthy.parameters.inertia import quaternion

    qpos = robot.home.copy()
    first = int(robot.model.joint(base.joint).qposadr[0])
    turn = targets.trunk[0]
    bends = (robot.bend_lower != robot.lower) | (robot.bend_upper != robot.upper)
    range_bent = robot.bend_lower + _BENT * (robot.bend_upper - robot.bend_lower)
    low_side = robot.bend_lower > robot.lower
    from_high = robot.bend_upper - _BENT * (robot.bend_upper - robot.bend_lower)
    bent = np.where(low_side, range_bent, from_high)
    qpos[robot.qpos] = np.where(bends, bent, qpos[robot.qpos])
    qpos[first : first + 3] = targets.centre[0] - turn @ robot.centre
    qpos[first + 3 : first + 7] = quaternion(turn)
    return qpos
