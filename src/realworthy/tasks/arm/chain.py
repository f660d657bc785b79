"""The joints between a robot's fixed base and its tip: where it reaches, and how."""

from functools import cached_property
from itertools import islice

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.parameters import Draws
from realworthy.twins import BoundTwin
from realworthy.twins.commands import CommandLine, describe_commands

Floats = NDArray[np.float64]
_SITE, _BODY = mujoco.mjtObj.mjOBJ_SITE, mujoco.mjtObj.mjOBJ_BODY
_TRIES = 20
"""Poses that are drawn for every point that is wanted, at most."""
_IK_TOLERANCE = 1e-3
"""[m] of error at which inverse kinematics ends: a twentieth of what reach asks for."""
_ITERATIONS = 60
"""Steps of damped least squares from one pose, before another is tried."""
_DAMPING = 0.03
"""[m] of damped least squares: what a joint moves near a singular pose."""
_STRIDE = 0.2
"""[m] most that one iteration asks for."""


class Chain:
    """Kinematics of one arm on the host, at nominal numbers.

    Poses are (joints,) in the order of `lines`; points are in the frame of the base,
    which is the last body before the first joint, and does not move.
    """

    def __init__(self, bound: BoundTwin, tip: str) -> None:
        """`tip` is a site, or else a body."""
        self.bound, self.model = bound, bound.model
        self._data = mujoco.MjData(self.model)
        self.is_site, self.tip = _find_tip(bound, tip)
        body = int(self.model.site_bodyid[self.tip]) if self.is_site else self.tip
        joints = _find_joints(self.model, body)
        self.base = _find_base(self.model, body)
        self.lines = _find_lines(bound, joints)
        """Commands of its joints, from the base on."""
        ids = [self.model.joint(line.joint).id for line in self.lines]
        self._places = self.model.jnt_qposadr[ids]
        self._dofs = self.model.jnt_dofadr[ids]
        home = bound.compiled.own["own.initial_qpos"]
        self._data.qpos[:] = home
        self.home = home[self._places].copy()
        limited = self.model.jnt_limited[ids].astype(bool)
        ranges = np.where(limited[:, None], self.model.jnt_range[ids], (-np.pi, np.pi))
        self.lower, self.upper = ranges.T
        mujoco.mj_kinematics(self.model, self._data)
        self.origin = self._data.xpos[self.base].copy()
        self.turn = self._data.xmat[self.base].reshape(3, 3).copy()
        """Rotation from the base to the world."""

    def locate(self, pose: Floats) -> Floats:
        """(3,) [m] of the tip."""
        self._data.qpos[self._places] = pose
        mujoco.mj_kinematics(self.model, self._data)
        place = self._data.site_xpos if self.is_site else self._data.xpos
        return (place[self.tip] - self.origin) @ self.turn

    def is_free(self, pose: Floats) -> bool:
        """Whether nothing touches anything in a pose that it does not at home."""
        return self._touch(pose) <= self._home_contacts

    @cached_property
    def _home_contacts(self) -> int:
        return self._touch(self.home)

    def draw_poses(self, draws: Draws, count: int, share: float = 0.9) -> Floats:
        """(count, joints) within a share of the joints' ranges, about their middle."""
        u = draws.uniform(np.arange(count), len(self.home))
        middle, half = (self.upper + self.lower) / 2, (self.upper - self.lower) / 2
        return middle + share * half * (2 * u - 1)

    def draw_points(self, count: int, *, seed: int, share: float = 0.9) -> Floats:
        """(count, 3) [m] that the tip reaches without touching anything.

        Joints use a `share` of their ranges.
        """
        poses = self.draw_poses(Draws(seed, "reachable"), _TRIES * count, share)
        free = (pose for pose in poses if self.is_free(pose))
        points = [self.locate(pose) for pose in islice(free, count)]
        if len(points) < count:
            raise RealworthyError(
                f"Twin '{self.bound.twin.name}' touches something in most poses: "
                f"{len(points)} of {len(poses)} were free.",
                hint="Exclude contacts between neighbouring bodies in its model.",
            )
        return np.array(points)

    def solve(self, point: Floats, *, start_count: int = 8) -> Floats:
        """A free pose with the tip at a point: damped least squares, from several.

        The first start is the home pose; if none arrives, the nearest is returned.
        """
        others = self.draw_poses(Draws(0, "inverse kinematics"), start_count - 1)
        best, least = self.home, np.inf
        for start in (self.home, *others):
            pose, error = self._descend(point, start)
            if not self.is_free(pose):
                error += 1.0
            if error < least:
                best, least = pose, error
            if least < _IK_TOLERANCE:
                break
        return best

    def _descend(self, point: Floats, pose: Floats) -> tuple[Floats, float]:
        jacobian = np.zeros((3, self.model.nv))
        compute = mujoco.mj_jacSite if self.is_site else mujoco.mj_jacBody
        error = np.inf
        for _ in range(_ITERATIONS):
            miss = point - self.locate(pose)
            error = float(np.linalg.norm(miss))
            if error < _IK_TOLERANCE / 2:
                break
            mujoco.mj_comPos(self.model, self._data)
            compute(self.model, self._data, jacobian, None, self.tip)
            j = self.turn.T @ jacobian[:, self._dofs]
            miss = miss * min(1.0, _STRIDE / error)
            damped = j @ j.T + _DAMPING**2 * np.eye(3)
            pose = pose + j.T @ np.linalg.solve(damped, miss)
            pose = pose.clip(self.lower, self.upper)
        return pose, error

    def _touch(self, pose: Floats) -> int:
        """How many contacts there are."""
        self._data.qpos[self._places] = pose
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_collision(self.model, self._data)
        return int(self._data.ncon)


def _find_tip(bound: BoundTwin, name: str) -> tuple[bool, int]:
    model = bound.model
    for kind in (_SITE, _BODY):
        found = mujoco.mj_name2id(model, kind, name)
        if found >= 0:
            return kind == _SITE, found
    names = [model.site(i).name for i in range(model.nsite)]
    names += [model.body(i).name for i in range(1, model.nbody)]
    owner = f"twin '{bound.twin.name}'"
    raise UnknownName("site or body", name, names, owner=owner, hint="")


def _find_joints(model: mujoco.MjModel, body: int) -> list[str]:
    """Names of the joints that carry a body, from the base on."""
    names = []
    while body:
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        names += [model.joint(first + i).name for i in reversed(range(count))]
        body = int(model.body_parentid[body])
    return names[::-1]


def _find_base(model: mujoco.MjModel, body: int) -> int:
    """The nearest body before it that is fixed to the world."""
    while model.body_weldid[body]:
        body = int(model.body_parentid[body])
    return body


def _find_lines(bound: BoundTwin, joints: list[str]) -> tuple[CommandLine, ...]:
    lines = {
        line.joint: line
        for line in describe_commands(bound)
        if line.joint is not None and line.kind == "position"
    }
    missing = [joint for joint in joints if joint not in lines]
    if missing or not joints:
        what = f"joint '{missing[0]}' takes none" if missing else "no joint moves it"
        raise RealworthyError(
            f"The tip of twin '{bound.twin.name}' cannot be moved by position "
            f"commands: {what}.",
            hint="Name another tip, or give those joints position servos.",
        )
    return tuple(lines[joint] for joint in joints)
