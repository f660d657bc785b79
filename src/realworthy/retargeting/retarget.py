"""`retarget`: a person's or an animal's motion as a motion of a robot."""

import time as clock
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_free
from realworthy.errors import MissingExtra, RealworthyError, UnknownName
from realworthy.progress import Progress, ignore
from realworthy.recordings.motion import Motion, check_name, load_motion, save_motion
from realworthy.recordings.poses import Contacts, Poses
from realworthy.retargeting.body_map import BodyMap, check_map, find_map, load_map
from realworthy.retargeting.draft import draft_map
from realworthy.retargeting.figure import Figure, find_figure, read_points
from realworthy.retargeting.metrics import RetargetMetrics, measure_motion, name_ends
from realworthy.retargeting.robot_figure import RobotFigure, build_robot
from realworthy.retargeting.speed_check import check_speed
from realworthy.retargeting.targets import Targets, build_targets
from realworthy.twins import Twin, load_twin

if TYPE_CHECKING:
    from realworthy.retargeting.solve import SolveSettings

Floats = NDArray[np.float64]
_JUMP, _TIMES, _FIRST_ROWS = 0.05, 5.0, 4
"""[m] from one row to the next, and how many times a usual step, from which the rows
before are another pose; and how many such rows are looked for. The CMU clips begin with
a T-pose that was added, 07_12 with two rows of it."""
_LEVELLED = 0.005
"""Slope of a ground from which it is said that it was levelled."""


@dataclass(kw_only=True, slots=True)
class RetargetSettings:
    """What `retarget` can be asked for."""

    rate: float = 50.0
    """[Hz] of the robot's motion."""
    start: float = 0.0
    """[s] of the figure's motion to begin at."""
    end: float | None = None
    """[s] to stop at; None: its end."""
    slower: float = 1.0
    """Times as long as the figure took."""
    points: Mapping[str, str] = field(default_factory=dict)
    """Part of the figure → joint of the motion, where names do not say."""
    solve: "SolveSettings | None" = None
    """Weights; None: those that were chosen."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Retargeting:
    """A robot's motion, what it is worth, and the figure it follows."""

    motion: Motion
    """Of the robot: base, joints, and contacts of the ends of its feet."""
    metrics: RetargetMetrics
    figure: Figure
    robot: RobotFigure
    targets: Targets
    qpos: Floats
    """(rows, nq)"""
    body_map: BodyMap
    is_drafted: bool
    """Whether the body map was proposed by the robot's kinematics."""
    remarks: tuple[str, ...]
    frames_per_second: float
    """Rows that were solved in a second of one core."""

    def __repr__(self) -> str:
        found = self.metrics
        return (
            f"<retargeting of a {self.figure.name}, {found.rows} rows: key bodies "
            f"{100 * found.key_body_error:.1f} cm off, feet slide "
            f"{100 * found.foot_slide:.1f} cm/s>"
        )


def retarget(
    motion: Motion | Path | str,
    to: Twin | Path | str,
    *,
    output: Path | str | None = None,
    layout: str | None = None,
    unit: float | str | None = None,
    body_map: BodyMap | Path | str | None = None,
    settings: RetargetSettings | None = None,
    overwrite: bool = False,
    progress: Progress = ignore,
) -> Retargeting:
    """A figure's motion on a robot, with its metrics; saved to `output`, a .csv.

    Everything that cannot work is said before the first row is solved.
    """
    settings = settings or RetargetSettings()
    if output is not None:
        check_name(output)
        check_free(Path(output), overwrite=overwrite)
    _check_solver()
    from realworthy.retargeting.solve import SolveSettings, solve

    twin = to if isinstance(to, Twin) else load_twin(to)
    whole = load_motion(motion, layout, unit=unit)
    asked, remarks = _prepare(whole, settings)
    figure = find_figure(asked, settings.points)
    captured = read_points(asked, figure, settings.points)
    found, is_drafted = _choose_map(twin, figure, body_map)
    robot = build_robot(twin, found, figure)
    check_speed(asked.time, captured, figure, robot, settings.slower)
    shown = asked.resampled(settings.rate)
    points = read_points(shown, figure, settings.points)
    targets = build_targets(shown.time, points, figure, robot)
    if targets.slope > _LEVELLED:
        remarks.append(
            f"The capture's ground rises by {100 * targets.slope:.1f} cm in a metre; "
            "it was levelled."
        )
    if is_drafted:
        remarks.append(
            f"No body map was written for {twin.owner}: this one was drafted from its "
            "kinematics and names."
        )
    begin = clock.process_time()
    qpos = solve(robot, targets, figure, settings.solve or SolveSettings(), progress)
    seconds = clock.process_time() - begin
    result = Retargeting(
        motion=_to_motion(robot, targets, qpos),
        metrics=measure_motion(robot, figure, targets, qpos),
        figure=figure,
        robot=robot,
        targets=targets,
        qpos=qpos,
        body_map=found,
        is_drafted=is_drafted,
        remarks=tuple(remarks),
        frames_per_second=len(qpos) / max(seconds, 1e-9),
    )
    if output is not None:
        save_motion(result.motion, output, overwrite=overwrite)
    return result


def _check_solver() -> None:
    try:
        import mink as _  # noqa: F401
    except ImportError:
        raise MissingExtra("mink", "retarget", need="Retargeting") from None


def _prepare(motion: Motion, settings: RetargetSettings) -> tuple[Motion, list[str]]:
    """The part of a motion that is asked for, as slow as asked, on its own clock."""
    remarks: list[str] = []
    if not (np.isfinite(settings.slower) and settings.slower > 0):
        raise RealworthyError(
            f"A motion cannot take {settings.slower:g} times as long."
        )
    if rows := _count_apart(motion):
        motion = motion.cut(float(motion.time[rows]), float(motion.time[-1]))
        which = "The first row is" if rows == 1 else f"The first {rows} rows are"
        remarks.append(f"{which} another pose than the rest, and left out.")
    end = float(motion.time[-1]) if settings.end is None else settings.end
    if settings.start > 0 or settings.end is not None:
        motion = motion.cut(settings.start, end)
    motion = motion.slowed(settings.slower)
    if motion.duration * settings.rate < 3:
        raise RealworthyError(
            f"A motion of {motion.duration:.3g} s has fewer than four rows at "
            f"{settings.rate:g} Hz.",
        )
    return motion, remarks


def _count_apart(motion: Motion) -> int:
    """Rows at the beginning that are a pose of their own, such as an added T-pose."""
    if motion.bodies is None or len(motion.time) < 3 * _FIRST_ROWS:
        return 0
    moved = np.diff(motion.bodies.position[: 3 * _FIRST_ROWS], axis=0)
    steps = np.linalg.norm(moved, axis=2).max(axis=1)
    usual = float(steps[_FIRST_ROWS:].max())
    jumps = np.flatnonzero(steps[:_FIRST_ROWS] > max(_JUMP, _TIMES * usual))
    return int(jumps[-1]) + 1 if len(jumps) else 0


def _choose_map(
    twin: Twin, figure: Figure, chosen: BodyMap | Path | str | None
) -> tuple[BodyMap, bool]:
    """The body map, and whether it was drafted."""
    if isinstance(chosen, BodyMap):
        found, is_drafted = chosen, False
    elif chosen is not None:
        found, is_drafted = load_map(chosen), False
    else:
        written = find_map(twin, figure)
        found, is_drafted = written or draft_map(twin, figure), written is None
    check_map(found, twin, figure)
    return found, is_drafted


def _to_motion(robot: RobotFigure, targets: Targets, qpos: Floats) -> Motion:
    base = robot.twin.base
    assert base is not None  # build_robot refuses others
    first = int(robot.model.joint(base.joint).qposadr[0])
    place, turn = qpos[:, first : first + 3], qpos[:, first + 3 : first + 7]
    names: list[str] = []
    flags: list[NDArray[np.bool_]] = []
    for name, foot in robot.feet.items():
        stands = targets.stands[name]
        for k, label in enumerate(name_ends(name, len(foot.ends))):
            names.append(label)
            flags.append(stands[:, min(k, stands.shape[1] - 1)])
    return Motion(
        targets.time,
        robot.joints,
        qpos[:, robot.qpos],
        base=Poses(("base",), place[:, None], turn[:, None]),
        contacts=Contacts(tuple(names), np.stack(flags, axis=1)),
    )


def to_poses(robot: RobotFigure, motion: Motion) -> Floats:
    """(rows, nq) of a motion of the robot; joints that it lacks are at home."""
    if motion.base is None or motion.base.quaternion is None:
        raise RealworthyError(
            "The motion has no base, so where the robot is is unknown."
        )
    base = robot.twin.base
    assert base is not None
    found = np.tile(robot.home, (len(motion.time), 1))
    first = int(robot.model.joint(base.joint).qposadr[0])
    found[:, first : first + 3] = motion.base.position[:, 0]
    found[:, first + 3 : first + 7] = motion.base.quaternion[:, 0]
    for i, joint in enumerate(motion.joints):
        if joint not in robot.joints:
            raise UnknownName("joint", joint, robot.joints, owner=robot.twin.owner)
        found[:, robot.qpos[robot.joints.index(joint)]] = motion.position[:, i]
    return found
