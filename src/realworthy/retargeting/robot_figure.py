"""A robot as a figure: where its points are carried, its bones, its soles."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.retargeting.body_map import BodyMap, PointOnBody
from realworthy.retargeting.figure import Figure
from realworthy.twins import Twin
from realworthy.twins.roles.tree import KinematicTree

Floats = NDArray[np.float64]
_GEOM = mujoco.mjtGeom
_SOLE = 0.01
"""[m] above the lowest point of a foot at home, up to which its sole's corners are."""
_SHORTEST_SOLE = 0.05
"""[m] from heel to toe; shorter feet are points: those of quadrupeds are balls."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A point that moves with a body."""

    body: int
    local: Floats
    """(3,) [m]"""


@dataclass(frozen=True, slots=True)
class RobotFoot:
    """One foot: its end points on the sole, and how it lies when it is level."""

    body: int
    level: Floats
    """(3, 3) from the foot's frame, as it is level and points ahead, to the world."""
    centre: Floats
    """(3,) [m] of the point that follows the figure's ankle, in the body's frame."""
    ends: tuple[Floats, ...]
    """Heel and toe, or the only point, on the sole in the body's frame [m]."""
    height: float
    """[m] of the centre above the sole."""
    radius: float
    """[m] by which the only point is inside the sole; 0 of a foot with a heel."""


@dataclass(frozen=True, kw_only=True)
class RobotFigure:
    """What retargeting needs to know of a robot, in its home pose."""

    twin: Twin
    body_map: BodyMap
    model: mujoco.MjModel
    home: Floats
    """(nq,)"""
    trunk: int
    chest: int
    centre: Floats
    """(3,) [m] of the middle of all hips in the trunk's frame."""
    waist: Floats
    """(3,) [m] about which the chest turns, in the trunk's frame."""
    trunk_level: Floats
    """(3, 3) from the trunk's frame to one that is level, x ahead, at home."""
    chest_level: Floats
    points: dict[str, Carried]
    feet: dict[str, RobotFoot]
    stance: dict[str, Floats]
    """Foot → (2,) [m] of its centre, ahead and left of the hips' middle at home."""
    height: float
    """[m] of the hips' middle above the soles at home."""
    joints: tuple[str, ...]
    qpos: NDArray[np.intp]
    dofs: NDArray[np.intp]
    lower: Floats
    upper: Floats
    bend_lower: Floats
    """(joints,) the same where a knee is kept from bending backwards."""
    bend_upper: Floats
    speed_limits: Floats
    """(joints,) [rad/s]; infinite where none is known."""

    def measure(self, first: str, second: str) -> float:
        """[m] between two points at home."""
        return float(np.linalg.norm(self.place(first) - self.place(second)))

    def place(self, point: str) -> Floats:
        """(3,) [m] of a point at home."""
        carried, data = self.points[point], self._home
        return data.xpos[carried.body] + data.xmat[carried.body].reshape(3, 3) @ (
            carried.local
        )

    @property
    def _home(self) -> mujoco.MjData:
        data = mujoco.MjData(self.model)
        data.qpos[:] = self.home
        mujoco.mj_kinematics(self.model, data)
        return data


def build_robot(twin: Twin, body_map: BodyMap, figure: Figure) -> RobotFigure:
    """Reads a robot's bones and soles off its model."""
    tree = KinematicTree(twin)
    if twin.base is None:
        raise RealworthyError(
            f"{twin.owner} is fixed to the world: a figure that goes about needs a "
            "base that floats.",
            hint="A URDF's robot is let go with --base free.",
        )
    model, data, level = tree.model, tree.data, tree.frame
    trunk = int(model.body(body_map.trunk).id)
    chest = int(model.body(body_map.chest or body_map.trunk).id)
    points = {name: _carry(model, point) for name, point in body_map.points.items()}
    places = {name: _place(data, point) for name, point in points.items()}
    hips = [places[hip] for pair in figure.hips for hip in pair]
    middle = np.mean(hips, axis=0)
    feet = {
        name: _build_foot(tree, figure.feet[name].ankle, body_map.feet[name], points)
        for name in figure.feet
    }
    soles = {name: _place(data, Carried(f.body, f.centre)) for name, f in feet.items()}
    low = min(soles[name][2] - foot.height for name, foot in feet.items())
    stance = {n: (level.T @ (place - middle))[:2] for n, place in soles.items()}
    joints, qpos, dofs, limits, speeds = _list_joints(tree, twin, body_map)
    bends = _keep_knees(model, figure, points, joints, limits)
    return RobotFigure(
        twin=twin,
        body_map=body_map,
        model=model,
        home=tree.home.copy(),
        trunk=trunk,
        chest=chest,
        centre=_turn_in(data, trunk, middle),
        waist=_find_waist(tree, trunk, chest),
        trunk_level=level.T @ data.xmat[trunk].reshape(3, 3),
        chest_level=level.T @ data.xmat[chest].reshape(3, 3),
        points=points,
        feet=feet,
        stance=stance,
        height=float(middle[2] - low),
        joints=joints,
        qpos=qpos,
        dofs=dofs,
        lower=limits[:, 0],
        upper=limits[:, 1],
        bend_lower=bends[:, 0],
        bend_upper=bends[:, 1],
        speed_limits=speeds,
    )


def _carry(model: mujoco.MjModel, point: PointOnBody) -> Carried:
    return Carried(int(model.body(point.body).id), np.array(point.at, dtype=np.float64))


def _place(data: mujoco.MjData, point: Carried) -> Floats:
    return data.xpos[point.body] + data.xmat[point.body].reshape(3, 3) @ point.local


def _turn_in(data: mujoco.MjData, body: int, point: Floats) -> Floats:
    return data.xmat[body].reshape(3, 3).T @ (point - data.xpos[body])


def _find_waist(tree: KinematicTree, trunk: int, chest: int) -> Floats:
    """Where the chest's own last joint turns, in the trunk's frame."""
    joints = tree.list_joints(chest)
    anchor = tree.find_anchor(joints[-1]) if joints else tree.data.xpos[chest]
    return _turn_in(
        tree.data, trunk, anchor if chest != trunk else tree.data.xpos[trunk]
    )


def _build_foot(
    tree: KinematicTree, ankle: str, body: str, points: dict[str, Carried]
) -> RobotFoot:
    link = int(tree.model.body(body).id)
    data, turn = tree.data, tree.data.xmat[link].reshape(3, 3)
    corners = list_supports(tree.model, data, tree.list_shapes(link, touching=True))
    bottom = np.array([c[0] - [0, 0, c[1]] for c in corners])
    floor = float(bottom[:, 2].min())
    sole = bottom[bottom[:, 2] <= floor + _SOLE]
    ahead = (sole - data.xpos[link]) @ tree.frame[:, 0]
    level = tree.frame.T @ turn
    if np.ptp(ahead) < _SHORTEST_SOLE:
        lowest = int(np.argmin(bottom[:, 2]))
        centre, radius = corners[lowest]
        local = turn.T @ (centre - data.xpos[link])
        return RobotFoot(link, level, local, (local,), float(radius), float(radius))
    side = tree.frame[:, 1]
    across = ((sole - data.xpos[link]) @ side).mean()
    ends = []
    for x in (ahead.min(), ahead.max()):
        point = data.xpos[link] + x * tree.frame[:, 0] + across * side
        point[2] = floor
        ends.append(turn.T @ (point - data.xpos[link]))
    centre = points[ankle].local if ankle in points else (ends[0] + ends[1]) / 2
    height = float(_place(data, Carried(link, centre))[2] - floor)
    return RobotFoot(link, level, np.asarray(centre), tuple(ends), height, 0.0)


_STRAIGHT = 0.03
"""[rad] that a knee stays bent: at none it can go on to either side, and beyond it the
solver would keep it there."""


def _keep_knees(
    model: mujoco.MjModel,
    figure: Figure,
    points: dict[str, Carried],
    joints: tuple[str, ...],
    limits: Floats,
) -> Floats:
    """(joints, 2) ranges in which knees that reach beyond straight do not."""
    found = limits.copy()
    for foot in figure.feet.values():
        if foot.knee not in points:
            continue
        body = points[foot.knee].body
        last = int(model.body_jntadr[body]) + int(model.body_jntnum[body]) - 1
        name = model.joint(last).name
        if name in joints:
            low, high = limits[joints.index(name)]
            if low < 0 < high:
                bent = (_STRAIGHT, high) if high > -low else (low, -_STRAIGHT)
                found[joints.index(name)] = bent
    return found


def list_supports(
    model: mujoco.MjModel, data: mujoco.MjData, shapes: list[int]
) -> list[tuple[Floats, float]]:
    """Balls (centre [m] in the world, radius) whose hull is that of the shapes.

    Exact for balls, capsules and boxes; others are as their boxes.
    """
    found: list[tuple[Floats, float]] = []
    for shape in shapes:
        local, radius = list_corners(model, shape)
        turn = data.geom_xmat[shape].reshape(3, 3)
        found += [(data.geom_xpos[shape] + turn @ point, radius) for point in local]
    return found


def list_corners(model: mujoco.MjModel, shape: int) -> tuple[Floats, float]:
    """(n, 3) [m] in the shape's frame, and the radius of the balls around them."""
    kind, size = int(model.geom_type[shape]), model.geom_size[shape]
    if kind == _GEOM.mjGEOM_SPHERE:
        return np.zeros((1, 3)), float(size[0])
    if kind == _GEOM.mjGEOM_CAPSULE:
        return np.array([[0, 0, size[1]], [0, 0, -size[1]]]), float(size[0])
    box = model.geom_aabb[shape]
    signs = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
    return box[:3] + signs * box[3:], 0.0


def _list_joints(
    tree: KinematicTree, twin: Twin, body_map: BodyMap
) -> tuple[tuple[str, ...], NDArray[np.intp], NDArray[np.intp], Floats, Floats]:
    """The robot's hinges and slides: names, places, ranges, speeds at no load."""
    model = tree.model
    every = [joint for link in tree.links for joint in tree.list_joints(link)]
    names = tuple(model.joint(joint).name for joint in every)
    limited = model.jnt_limited[every].astype(bool)[:, None]
    ranges = np.where(limited, model.jnt_range[every], [-np.inf, np.inf])
    speeds = []
    for name in names:
        sheet = twin.datasheet.get(name)
        known = body_map.speed_limits.get(name) if sheet is None else sheet.speed_limit
        speeds.append(np.inf if known is None else known)
    return (
        names,
        model.jnt_qposadr[every].astype(np.intp),
        model.jnt_dofadr[every].astype(np.intp),
        ranges,
        np.array(speeds),
    )
