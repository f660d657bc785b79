"""How well a robot's motion follows a figure, and whether the robot could do it.

The same figures for a motion of any origin: what is measured is the robot's poses, with
MuJoCo's own collisions, not what the solver believes of them.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.retargeting.figure import Figure
from realworthy.retargeting.robot_figure import Carried, RobotFigure
from realworthy.retargeting.targets import Targets

Floats = NDArray[np.float64]
MAX_SLIDE, MAX_PENETRATION = 0.05, 0.01
"""[m/s], the mean while feet stand, and [m] that a motion may have to be called good:
what trackers of motions make up for (the methods' bar of 2026-11)."""
_KEPT = 0.01
"""[m] above the floor up to which a foot that should stand does."""
_TOLERANCE = 1e-6
"""[rad] beyond a limit that is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetargetMetrics:
    """What a motion of a robot is worth, over all its rows."""

    rows: int
    limit_violations: int
    """Rows with a joint out of its range."""
    penetration_max: float
    """[m] of the robot into the floor."""
    penetration_mean: float
    self_penetration_max: float
    """[m] of its parts into each other, those that overlap at home left out."""
    foot_slide: float
    """[m/s] along the floor, the mean over feet while the figure's stand."""
    foot_slide_max: float
    contacts_kept: float
    """Share of the feet's standing rows in which the robot's touches the floor."""
    speed_ratio: float | None
    """Largest speed over the motor's; None where no motor's speed is known."""
    fastest: str
    """The joint that has it."""
    key_body_error: float
    """[m] from the figure in the robot's size: knees, feet, elbows, wrists, hips."""
    key_body_errors: dict[str, float]
    base_jerk: float
    """[m/s³] root mean square."""
    foot_height_error: float
    """[m] of standing feet above or below the floor, the mean."""

    @property
    def is_good(self) -> bool:
        return (
            self.limit_violations == 0
            and max(self.penetration_max, self.self_penetration_max) <= MAX_PENETRATION
            and self.foot_slide <= MAX_SLIDE
            and (self.speed_ratio is None or self.speed_ratio <= 1)
        )


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric as people read it."""

    name: str
    value: float | None
    bar: float | None
    """At most; None: no bar, or at least as the name says."""
    unit: str


def list_figures(metrics: RetargetMetrics) -> tuple[MetricLine, ...]:
    """The metrics in the order of a table, with their bars."""
    who = f", {metrics.fastest}" if metrics.fastest else ""
    return (
        MetricLine("rows out of a joint's range", metrics.limit_violations, 0, ""),
        MetricLine("into the floor", 1e3 * metrics.penetration_max, _CM, "mm"),
        MetricLine("into itself", 1e3 * metrics.self_penetration_max, _CM, "mm"),
        MetricLine(
            "slide of standing feet", 1e2 * metrics.foot_slide, 1e2 * MAX_SLIDE, "cm/s"
        ),
        MetricLine("contacts kept", 1e2 * metrics.contacts_kept, None, "%"),
        MetricLine(
            f"speed over the motor's{who}",
            metrics.speed_ratio,
            1.0,
            "",
        ),
        MetricLine("key bodies off", 1e2 * metrics.key_body_error, None, "cm"),
        MetricLine("jerk of the hips", metrics.base_jerk, None, "m/s³"),
    )


_CM = 1e3 * MAX_PENETRATION


def measure_motion(
    robot: RobotFigure, figure: Figure, targets: Targets, qpos: Floats
) -> RetargetMetrics:
    """Of poses (rows, nq) on the clock of the targets."""
    aims = _list_key_points(robot, figure, targets)
    ends = _list_ends(robot, targets)
    points = {
        **{n: c for n, (c, _) in aims.items()},
        **{n: c for n, (c, _) in ends.items()},
    }
    places, floor, apart = _follow(robot, points, qpos)
    time = targets.time
    joints = qpos[:, robot.qpos]
    out = (joints < robot.lower - _TOLERANCE) | (joints > robot.upper + _TOLERANCE)
    slides, heights = [], []
    for name, (_, stands) in ends.items():
        speed = np.linalg.norm(np.gradient(places[name][:, :2], time, axis=0), axis=1)
        inside = stands & np.roll(stands, 1) & np.roll(stands, -1)
        inside[[0, -1]] = stands[[0, -1]]
        slides.append(speed[inside])
        heights.append(places[name][stands, 2])
    slide = np.concatenate([*slides, np.zeros(0)])
    height = np.concatenate([*heights, np.zeros(0)])
    speeds = np.abs(np.diff(joints, axis=0)) / np.diff(time)[:, None]
    ratio = (speeds / robot.speed_limits).max(axis=0)
    known = np.isfinite(robot.speed_limits)
    errors = {
        name: float(np.linalg.norm(places[name] - wanted, axis=1).mean())
        for name, (_, wanted) in aims.items()
    }
    base = places[_CENTRE]
    jerk = np.diff(base, n=3, axis=0) / np.median(np.diff(time)) ** 3
    return RetargetMetrics(
        rows=len(qpos),
        limit_violations=int(out.any(axis=1).sum()),
        penetration_max=float(floor.max(initial=0.0)),
        penetration_mean=float(floor.mean()),
        self_penetration_max=float(apart.max(initial=0.0)),
        foot_slide=float(slide.mean()) if len(slide) else 0.0,
        foot_slide_max=float(slide.max(initial=0.0)),
        contacts_kept=float((height <= _KEPT).mean()) if len(height) else 1.0,
        speed_ratio=float(ratio[known].max()) if known.any() else None,
        fastest=robot.joints[int(np.argmax(np.where(known, ratio, -1)))]
        if known.any()
        else "",
        key_body_error=float(np.mean(list(errors.values()))),
        key_body_errors=errors,
        base_jerk=float(np.sqrt(np.mean(np.sum(jerk**2, axis=1))))
        if len(jerk)
        else 0.0,
        foot_height_error=float(np.abs(height).mean()) if len(height) else 0.0,
    )


_CENTRE = "hips"


def _list_key_points(
    robot: RobotFigure, figure: Figure, targets: Targets
) -> dict[str, tuple[Carried, Floats]]:
    found = {_CENTRE: (Carried(robot.trunk, robot.centre), targets.centre)}
    ankles = {figure.feet[name].ankle: foot for name, foot in robot.feet.items()}
    for part, wanted in targets.points.items():
        foot = ankles.get(part)
        carried = (
            robot.points.get(part) if foot is None else Carried(foot.body, foot.centre)
        )
        if carried is not None:
            found[part] = (carried, wanted)
    return found


def _list_ends(
    robot: RobotFigure, targets: Targets
) -> dict[str, tuple[Carried, NDArray[np.bool_]]]:
    """The ends of feet, on the sole, and when they should stand."""
    found: dict[str, tuple[Carried, NDArray[np.bool_]]] = {}
    for name, foot in robot.feet.items():
        stands = targets.stands[name]
        labels = name_ends(name, len(foot.ends))
        for k, (label, end) in enumerate(zip(labels, foot.ends, strict=True)):
            column = stands[:, min(k, stands.shape[1] - 1)]
            found[f"end {label}"] = (Carried(foot.body, end), column)
    return found


def name_ends(foot: str, count: int) -> tuple[str, ...]:
    """Names of the ends of a foot, as in the contacts of a motion."""
    return (foot,) if count == 1 else (f"{foot}_heel", f"{foot}_toe")


def _follow(
    robot: RobotFigure, points: dict[str, Carried], qpos: Floats
) -> tuple[dict[str, Floats], Floats, Floats]:
    """Places of points (rows, 3), depth into the floor and into itself (rows,) [m].

    The one point of a ball foot is its lowest.
    """
    model, data = robot.model, mujoco.MjData(robot.model)
    places = {name: np.empty((len(qpos), 3)) for name in points}
    floor, apart = np.zeros(len(qpos)), np.zeros(len(qpos))
    radius = {f.body: f.radius for f in robot.feet.values()}
    data.qpos[:] = robot.home
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    overlap = {tuple(pair) for pair in model.geom_bodyid[data.contact.geom].tolist()}
    for row, pose in enumerate(qpos):
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        contact = data.contact
        bodies = model.geom_bodyid[contact.geom]
        fixed = (model.body_weldid[bodies] == 0).any(axis=1)
        depth = -contact.dist
        floor[row] = max(depth[fixed].max(initial=0.0), 0.0)
        new = [tuple(pair) not in overlap for pair in bodies.tolist()]
        apart[row] = max(
            depth[~fixed & np.array(new, dtype=bool)].max(initial=0.0), 0.0
        )
        for name, point in points.items():
            turn = data.xmat[point.body].reshape(3, 3)
            place = data.xpos[point.body] + turn @ point.local
            if name.startswith("end "):
                place = place - [0, 0, radius.get(point.body, 0.0)]
            places[name][row] = place
    return places, floor, apart
