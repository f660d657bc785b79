"""What inverse kinematics minimises and what it keeps, as `mink` takes them.

Each error e(q) is linear in a small step Δq: e + J Δq. Positions are weighted by 1/m
and rotations by 1/rad, so that a weight of 1 holds 1 m to be as bad as 1 rad.
"""

import copy

import mink
import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.retargeting.robot_figure import Carried, RobotFigure, list_corners

Floats = NDArray[np.float64]
_NEAR_FLOOR = 0.15
"""[m] above the floor up to which corners of shapes are watched: no joint moves one
farther within one step of the solver."""
_MARGIN = 1e-4
"""[rad] that stays to a joint's limit: rounding must not cross it."""


class PlacesTask(mink.Task):
    """Carried points at their places; e = p(q) − p*."""

    def __init__(self, carried: list[Carried]) -> None:
        super().__init__(cost=np.zeros(3 * len(carried)))
        self._bodies = np.array([each.body for each in carried])
        self._local = np.array([each.local for each in carried])
        self._weight = np.zeros(len(carried))
        self._wanted = np.zeros((len(carried), 3))
        self._active = np.arange(0)

    def aim(self, wanted: Floats, weight: Floats) -> None:
        """(points, 3) [m] and (points,); those without weight are left out."""
        self._active = np.flatnonzero(weight)
        self._wanted, self.cost = wanted, np.repeat(weight[self._active], 3)

    def _locate(self, data: mujoco.MjData) -> Floats:
        bodies = self._bodies[self._active]
        turn = data.xmat[bodies].reshape(-1, 3, 3)
        local = self._local[self._active]
        return data.xpos[bodies] + np.einsum("nij,nj->ni", turn, local)

    def compute_error(self, configuration: mink.Configuration) -> Floats:
        return (self._locate(configuration.data) - self._wanted[self._active]).ravel()

    def compute_jacobian(self, configuration: mink.Configuration) -> Floats:
        model, data = configuration.model, configuration.data
        jacobian = np.empty((len(self._active), 3, model.nv))
        for row, point in enumerate(self._locate(data)):
            body = int(self._bodies[self._active[row]])
            mujoco.mj_jac(model, data, jacobian[row], None, point, body)
        return jacobian.reshape(-1, model.nv)


class TurnsTask(mink.Task):
    """Bodies turned as wanted; e = log(R(q) R*ᵀ) in the world."""

    def __init__(self, bodies: list[int]) -> None:
        super().__init__(cost=np.zeros(3 * len(bodies)))
        self._bodies = np.array(bodies)
        self._wanted = np.tile(np.eye(3), (len(bodies), 1, 1))
        self._active = np.arange(0)

    def aim(self, wanted: Floats, weight: Floats) -> None:
        """(bodies, 3, 3) and (bodies, 3) about the world's axes."""
        self._active = np.flatnonzero(weight.any(axis=1))
        self._wanted, self.cost = wanted, weight[self._active].ravel()

    def compute_error(self, configuration: mink.Configuration) -> Floats:
        bodies = self._bodies[self._active]
        turn = configuration.data.xmat[bodies].reshape(-1, 3, 3)
        off = turn @ np.swapaxes(self._wanted[self._active], 1, 2)
        return np.concatenate([_log(each) for each in off] or [np.zeros(0)])

    def compute_jacobian(self, configuration: mink.Configuration) -> Floats:
        model, data = configuration.model, configuration.data
        jacobian = np.empty((len(self._active), 3, model.nv))
        for row, which in enumerate(self._active):
            body = int(self._bodies[which])
            mujoco.mj_jacBody(model, data, None, jacobian[row], body)
        return jacobian.reshape(-1, model.nv)


def _log(turn: Floats) -> Floats:
    """(3,) [rad] rotation vector of a matrix."""
    quaternion, vector = np.empty(4), np.empty(3)
    mujoco.mju_mat2Quat(quaternion, turn.ravel())
    mujoco.mju_quat2Vel(vector, quaternion, 1.0)
    return vector


class JointsTask(mink.Task):
    """Joints near a pose; e = q − q*, one weight for each."""

    def __init__(self, robot: RobotFigure, weight: float) -> None:
        super().__init__(cost=np.full(len(robot.joints), weight))
        self._qpos, self.wanted = robot.qpos, robot.home[robot.qpos].copy()
        self._jacobian = np.zeros((len(robot.joints), robot.model.nv))
        self._jacobian[np.arange(len(robot.joints)), robot.dofs] = 1.0

    def compute_error(self, configuration: mink.Configuration) -> Floats:
        return configuration.data.qpos[self._qpos] - self.wanted

    def compute_jacobian(self, configuration: mink.Configuration) -> Floats:
        return self._jacobian


class JointBox(mink.Limit):
    """Joints within their range, and within what a motor reaches in one row.

    max(q_low, q_before − v T) ≤ q + Δq ≤ min(q_high, q_before + v T)
    """

    def __init__(self, robot: RobotFigure) -> None:
        self._robot = robot
        upper = np.zeros((len(robot.joints), robot.model.nv))
        upper[np.arange(len(robot.joints)), robot.dofs] = 1.0
        self._rows = np.vstack([upper, -upper])
        lower, upper = robot.bend_lower, robot.bend_upper
        margin = np.minimum(_MARGIN, (upper - lower) / 4)
        self._range = lower + margin, upper - margin
        self.lower, self.upper = self._range

    def hold(self, before: Floats | None, seconds: float) -> None:
        """Bounds for the next row; without a row before it, the range alone."""
        self.lower, self.upper = self._range
        if before is not None:
            reach = self._robot.speed_limits * seconds * (1 - 1e-6)
            self.lower = np.maximum(self.lower, before - reach)
            self.upper = np.minimum(self.upper, before + reach)

    def compute_qp_inequalities(
        self, configuration: mink.Configuration, dt: float
    ) -> mink.Constraint:
        q = configuration.data.qpos[self._robot.qpos]
        room = np.concatenate([self.upper - q, q - self.lower])
        known = np.isfinite(room)
        return mink.Constraint(self._rows[known], np.maximum(room[known], 0.0))


class FloorLimit(mink.Limit):
    """No corner of a shape below the floor: z + J_z Δq ≥ 0."""

    def __init__(self, robot: RobotFigure, floor: float = 0.0) -> None:
        model = robot.model
        bits = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        moving = model.body_weldid[model.geom_bodyid] != 0
        plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        local, radius, shape = [], [], []
        for i in np.flatnonzero(bits & moving & ~plane).tolist():
            points, size = list_corners(model, i)
            local.append(points)
            radius.append(np.full(len(points), size))
            shape.append(np.full(len(points), i))
        self._floor = floor
        self._local = np.concatenate([*local, np.empty((0, 3))])
        self._radius = np.concatenate([*radius, np.empty(0)])
        self._shape = np.concatenate([*shape, np.empty(0)]).astype(np.intp)
        self._body = model.geom_bodyid[self._shape]

    def measure(self, data: mujoco.MjData) -> Floats:
        """(corners,) [m] above the floor."""
        down = data.geom_xmat[self._shape][:, 6:9]
        height = data.geom_xpos[self._shape, 2] + np.sum(down * self._local, axis=1)
        return height - self._radius - self._floor

    def compute_qp_inequalities(
        self, configuration: mink.Configuration, dt: float
    ) -> mink.Constraint:
        model, data = configuration.model, configuration.data
        height = self.measure(data)
        near = np.flatnonzero(height < _NEAR_FLOOR)
        near = self._keep_lowest(near, height)
        if not len(near):
            return mink.Constraint()
        rows, jacobian = np.empty((len(near), model.nv)), np.empty((3, model.nv))
        for k, corner in enumerate(near):
            shape = self._shape[corner]
            turn = data.geom_xmat[shape].reshape(3, 3)
            point = data.geom_xpos[shape] + turn @ self._local[corner]
            body = int(self._body[corner])
            mujoco.mj_jac(model, data, jacobian, None, point, body)
            rows[k] = -jacobian[2]
        return mink.Constraint(rows, height[near])

    def _keep_lowest(self, near: NDArray[np.intp], height: Floats) -> NDArray[np.intp]:
        """The four lowest corners of every body: a sole rests on no more."""
        order = near[np.argsort(height[near])]
        kept: list[int] = []
        counts: dict[int, int] = {}
        for corner in order.tolist():
            body = int(self._body[corner])
            counts[body] = counts.get(body, 0) + 1
            if counts[body] <= 4:
                kept.append(corner)
        return np.array(kept, dtype=np.intp)


_WATCHED = 0.02
"""[m] between two shapes of the robot from which on they are kept apart."""
_SHARE_BACK = 0.5
"""Of a depth that a step takes back; all of it at once would be a jump."""


class SelfLimit(mink.Limit):
    """No part of the robot in another: d + n·(J₂ − J₁) Δq ≥ 0, as it is linear.

    Parts that overlap at home, as neighbours' shapes do, are left alone.
    """

    def __init__(self, robot: RobotFigure) -> None:
        self.model = model = copy.deepcopy(robot.model)
        model.geom_margin[:] = _WATCHED
        model.pair_margin[:] = _WATCHED
        self._data = mujoco.MjData(model)
        self._data.qpos[:] = robot.home
        pairs, depth = self._touch()
        self._left_alone = {pair for pair, d in zip(pairs, depth, strict=True) if d < 0}

    def _touch(self) -> tuple[list[tuple[int, int]], Floats]:
        """Pairs of the robot's bodies, and distances [m]; the world's left out."""
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_collision(self.model, self._data)
        contact = self._data.contact
        bodies = self.model.geom_bodyid[contact.geom]
        own = (self.model.body_weldid[bodies] != 0).all(axis=1)
        self._rows = np.flatnonzero(own)
        pairs = [(int(a), int(b)) for a, b in bodies[self._rows]]
        return pairs, contact.dist[self._rows].copy()

    def compute_qp_inequalities(
        self, configuration: mink.Configuration, dt: float
    ) -> mink.Constraint:
        model, data = configuration.model, configuration.data
        self._data.qpos[:] = data.qpos
        pairs, depth = self._touch()
        kept = [i for i, pair in enumerate(pairs) if pair not in self._left_alone]
        if not kept:
            return mink.Constraint()
        contact = self._data.contact
        rows, first = np.empty((len(kept), model.nv)), np.empty((3, model.nv))
        second = np.empty((3, model.nv))
        for k, i in enumerate(kept):
            at = contact.pos[self._rows[i]]
            normal = contact.frame[self._rows[i], :3]  # from the first to the second
            mujoco.mj_jac(model, data, first, None, at, pairs[i][0])
            mujoco.mj_jac(model, data, second, None, at, pairs[i][1])
            rows[k] = normal @ (first - second)
        depth = depth[kept]
        return mink.Constraint(rows, np.where(depth < 0, _SHARE_BACK * depth, depth))
