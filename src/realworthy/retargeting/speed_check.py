"""Whether a robot's motors are quick enough for a figure's limbs, before any work.

A knee and an elbow bend by the same angle on both, so their speeds can be compared
without a robot's pose: bend = π − angle between the two bones. A leg without a knee in
the body map is compared by how fast it swings in the trunk's frame.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.retargeting.contacts import smooth
from realworthy.retargeting.figure import Figure, Points
from realworthy.retargeting.robot_figure import RobotFigure
from realworthy.retargeting.targets import find_frames

Floats = NDArray[np.float64]
_SHARE = 0.02
"""Of the rows that may be too fast: motors lag for a moment, and captures jump."""
_WIDTH = 0.025
"""[s] of the capture over which angles are smoothed: markers jump by some mm, which at
120 Hz is 16 rad/s of a knee in CMU 91_01; a leg swings for 0.2 s and more."""


def check_speed(
    time: Floats, points: Points, figure: Figure, robot: RobotFigure, slower: float
) -> None:
    """Raises where a limb turns faster than the robot's motor at no load.

    `slower` is by how much the clock differs from the capture's.
    """
    worst = (1.0, "", "", 0.0, 0.0)
    for part, joint, speed in _list_speeds(time, points, figure, robot, slower):
        limit = float(robot.speed_limits[robot.joints.index(joint)])
        fast = float(np.quantile(speed, 1 - _SHARE))
        if fast / limit > worst[0]:
            worst = (fast / limit, part, joint, fast, limit)
    ratio, part, joint, fast, limit = worst
    if part:
        raise RealworthyError(
            f"The motion is faster than the motors: the {figure.name}'s "
            f"{part.replace('_', ' ')} turns at {fast:.1f} rad/s, and '{joint}' of "
            f"{robot.twin.owner} at {limit:.1f} rad/s at most.",
            hint=f"Play it slower: --slower {np.ceil(10 * 1.1 * ratio) / 10:g}",
        )


def _list_speeds(
    time: Floats, points: Points, figure: Figure, robot: RobotFigure, slower: float
) -> list[tuple[str, str, Floats]]:
    """(part of the figure, joint of the robot, (rows,) [rad/s])"""
    found: list[tuple[str, str, Floats]] = []
    width = _WIDTH * slower
    rows = [(f.hip, f.knee, f.ankle) for f in figure.feet.values() if f.knee]
    rows += [(a, b, c) for a, b, c in figure.arms.values()]
    for above, part, below in rows:
        if part not in robot.points or not {above, part, below} <= points.keys():
            continue
        bend = _measure_angle(
            points[above] - points[part], points[below] - points[part]
        )
        joint = _find_joint(robot, robot.points[part].body)
        if joint:
            speed = np.abs(np.gradient(smooth(time, bend, width), time))
            found.append((part, joint, speed))
    if not figure.upper:
        trunk, _ = find_frames(points, figure)
        for name, foot in figure.feet.items():
            leg = points[foot.ankle] - points[foot.hip]
            local = (np.swapaxes(trunk, 1, 2) @ leg[..., None])[..., 0]
            swing = np.arctan2(local[:, 0], -local[:, 2])
            joint = _find_fastest(robot, robot.feet[name].body)
            if joint:
                speed = np.abs(np.gradient(smooth(time, np.unwrap(swing), width), time))
                found.append((foot.ankle, joint, speed))
    return found


def _measure_angle(a: Floats, b: Floats) -> Floats:
    """(rows,) [rad] between two directions."""
    cross = np.linalg.norm(np.cross(a, b), axis=1)
    return np.arctan2(cross, np.sum(a * b, axis=1))


def _find_joint(robot: RobotFigure, body: int) -> str:
    """The last joint of a body; empty where it has none of ours."""
    model = robot.model
    count, first = int(model.body_jntnum[body]), int(model.body_jntadr[body])
    name = model.joint(first + count - 1).name if count else ""
    return name if name in robot.joints else ""


def _find_fastest(robot: RobotFigure, body: int) -> str:
    """The joint with the highest speed among those from the trunk to a body."""
    names: list[str] = []
    while body not in (0, robot.trunk):
        name = _find_joint(robot, body)
        names += [name] if name else []
        body = int(robot.model.body_parentid[body])
    return max(
        names, key=lambda n: robot.speed_limits[robot.joints.index(n)], default=""
    )
