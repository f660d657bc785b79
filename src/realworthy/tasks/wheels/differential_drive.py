"""What every task of a differential drive shares: wheels, commands, measurements.

[v; ω] = D [v_L; v_R] with D = [[1/2, 1/2], [−1/d, 1/d]], v_L and v_R the speeds of the
wheels' rims [m/s], d the track [m].
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from types import MappingProxyType

import mujoco
import numpy as np
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear, Term
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.mirrors import Reflection
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.failures import Failure
from realworthy.tasks.task import Start, Task
from realworthy.twins import Twin, bind, load_twin
from realworthy.twins.commands import describe_commands


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheels:
    """What a differential drive's model says of its wheels; the left one first."""

    joints: tuple[str, str]
    commands: tuple[str, str]
    """Signals that carry the wheels' speeds [rad/s]."""
    radii: tuple[float, float]
    """[m]"""
    track: float
    """[m] between the points where the wheels touch the ground."""
    limit: float
    """[rad/s] that both wheels can be asked for, forwards and backwards."""

    @property
    def top_speed(self) -> float:
        """[m/s] straight ahead."""
        return self.limit * min(self.radii)

    def compute_motion(self, speeds: Tensor) -> Tensor:
        """(…, 2) wheel speeds [rad/s] → (…, 2) forward [m/s] and turn [rad/s]."""
        left, right = speeds[..., 0] * self.radii[0], speeds[..., 1] * self.radii[1]
        return torch.stack([(left + right) / 2, (right - left) / self.track], dim=-1)

    def compute_speeds(self, motion: Tensor) -> Tensor:
        """(…, 2) forward [m/s] and turn [rad/s] → (…, 2) wheel speeds [rad/s]."""
        forward, turn = motion.unbind(-1)
        half = turn * self.track / 2
        left, right = forward - half, forward + half
        return torch.stack([left / self.radii[0], right / self.radii[1]], dim=-1)

    def slow_down(self, speeds: Tensor) -> Tensor:
        """(…, 2) wheel speeds within `limit`, on a circle of the same radius."""
        largest = speeds.abs().amax(-1, keepdim=True)
        return speeds * (self.limit / largest.clamp(min=1e-9)).clamp(max=1.0)


def find_wheels(twin: Twin) -> Wheels:
    """Reads wheels, track and limits from a twin's model.

    The base looks along x; each wheel turns at a commanded speed and touches the ground
    with round shapes around its joint.
    """
    bound = bind(twin)
    model, lines = bound.model, describe_commands(bound)
    if len(lines) != 2 or any(line.kind != "velocity" for line in lines):
        kinds = ", ".join(f"{line.signal} ({line.kind})" for line in lines)
        raise RealworthyError(
            f"A differential drive has two inputs, the speeds of its wheels; twin"
            f" '{twin.name}' has {kinds or 'none'}.",
            hint="Try the built-in twin 'diffdrive'.",
        )
    if twin.base is None:
        raise RealworthyError(
            f"Twin '{twin.name}' stands still: its base has no free joint.",
            hint="A base that drives is a body with a free joint.",
        )
    limit = min(min(-line.lower, line.upper) for line in lines)
    if not 0 < limit < np.inf:
        raise RealworthyError(
            f"The wheel speeds of twin '{twin.name}' have no limits on both sides.",
            hint="Give its actuators a ctrlrange [rad/s] such as -6 6.",
        )
    joints = [str(line.joint) for line in lines]
    ids = [int(model.joint(joint).id) for joint in joints]
    sides = [_find_side(model, i) for i in ids]
    left, right = (0, 1) if sides[0] > sides[1] else (1, 0)
    return Wheels(
        joints=(joints[left], joints[right]),
        commands=(lines[left].signal, lines[right].signal),
        radii=(
            _find_radius(model, ids[left], twin),
            _find_radius(model, ids[right], twin),
        ),
        track=sides[left] - sides[right],
        limit=limit,
    )


def _find_side(model: mujoco.MjModel, joint: int) -> float:
    """How far a wheel is to the left in the base's frame [m]; it hangs on the base."""
    body = int(model.jnt_bodyid[joint])
    return float(model.body_pos[body, 1] + model.jnt_pos[joint, 1])


def _find_radius(model: mujoco.MjModel, joint: int, twin: Twin) -> float:
    """[m] of the largest shape of a wheel that can touch the ground."""
    round_shapes = (
        mujoco.mjtGeom.mjGEOM_SPHERE,
        mujoco.mjtGeom.mjGEOM_CAPSULE,
        mujoco.mjtGeom.mjGEOM_CYLINDER,
        mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    )
    touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    found = touches & (model.geom_bodyid == model.jnt_bodyid[joint])
    found &= np.isin(model.geom_type, [int(shape) for shape in round_shapes])
    if not found.any():
        raise RealworthyError(
            f"Wheel '{model.joint(joint).name}' of twin '{twin.name}' has no round"
            " shape that can touch the ground."
        )
    return float(model.geom_size[found, 0].max())


HISTORY = 5
"""Values of each term that a policy sees: from them it can tell slip and delay."""
POSE = (
    *("base.position.x", "base.position.y"),
    *(f"base.orientation.{axis}" for axis in "wxyz"),
)
_UPRIGHT = 0.7
"""Cosine of the tilt beyond which a robot has fallen."""


class Driving(Task):
    """A goal on the ground, two wheels, and for how long the goal has been kept."""

    period = 0.05
    noise = MappingProxyType(
        {
            "base.position": 0.003,
            "base.orientation": 0.003,
            ".velocity": 0.05,
            ".gyro": 0.01,
        }
    )
    unmeasured = ("base.velocity",)
    """Odometry stands for the base's position."""
    hold: float
    """[s] at the end of an episode for which the goal must be kept."""
    failure: Failure
    """What it is called when the goal has been left behind."""

    def __init__(self, twin: Twin | None = None) -> None:
        self.twin = twin or load_twin("diffdrive")
        self.wheels = wheels = find_wheels(self.twin)
        self.action = ActionMap(
            commands=wheels.commands, offset=(0.0, 0.0), scale=(wheels.limit,) * 2
        )
        left, right = wheels.joints
        self.reflection = Reflection(
            joints={left: (right, 1.0), right: (left, 1.0)},
            signals={
                name: (name, -1.0) for name in ("base.gyro.z", "goal.turn", "goal.y")
            },
            bodies={left: right, right: left},
        )
        self.terms = self.list_terms()

    def prepare(self, scene: Scene) -> None:
        base = scene.find_base()
        assert base is not None  # find_wheels has checked
        self._q, self._dof = base
        self.goal = scene.zeros(len(self.inputs))
        self.held = scene.zeros()

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        pose, goal = self.draw(2 * chance.uniform("start", 6, worlds) - 1)
        self.goal = torch.where(worlds[:, None], goal, self.goal)
        self.held = torch.where(worlds, 0.0, self.held)
        qpos = scene.initial_qpos.repeat(scene.world_count, 1)
        qpos[:, self._q : self._q + 2] = pose[:, :2]
        qpos[:, self._q + 3] = torch.cos(pose[:, 2] / 2)
        qpos[:, self._q + 4 : self._q + 6] = 0.0
        qpos[:, self._q + 6] = torch.sin(pose[:, 2] / 2)
        return Start(qpos=qpos, qvel=scene.zeros(scene.nv))

    def advance(self, scene: Scene, chance: Chance) -> None:
        self.held = torch.where(self.is_near(scene), self.held + self.period, 0.0)

    def find_failures(self, scene: Scene) -> Tensor:
        x, y = (scene.qpos[:, self._q + i] for i in (4, 5))
        has_fallen = 1 - 2 * (x * x + y * y) < _UPRIGHT
        lost = torch.where(self.is_lost(scene), int(self.failure), 0)
        return torch.where(has_fallen, int(Failure.FALL), lost)

    def is_success(self, scene: Scene) -> Tensor:
        return self.held > self.hold - self.period / 2

    def read_inputs(self, scene: Scene) -> Tensor:
        return self.goal

    def find_errors(self, scene: Scene) -> Tensor:
        """(worlds, 3) goal ahead, to the left [m], and turned [rad, within ±π]."""
        x, y, yaw = self.find_pose(scene)
        dx, dy = self.goal[:, 0] - x, self.goal[:, 1] - y
        c, s = torch.cos(yaw), torch.sin(yaw)
        left = wrap(self.goal[:, 2] - yaw)
        return torch.stack([c * dx + s * dy, c * dy - s * dx, left], dim=1)

    def find_motion(self, scene: Scene) -> Tensor:
        """(worlds, 2) of the base: forward [m/s] and turn [rad/s]."""
        yaw = self.find_pose(scene)[2]
        x, y = scene.qvel[:, self._dof], scene.qvel[:, self._dof + 1]
        forward = torch.cos(yaw) * x + torch.sin(yaw) * y
        return torch.stack([forward, scene.qvel[:, self._dof + 5]], dim=1)

    def find_pose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        """(worlds,) x, y [m] and yaw [rad] of the base."""
        q = scene.qpos[:, self._q : self._q + 7]
        w, x, y, z = (q[:, 3 + i] for i in range(4))
        yaw = torch.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)
        return q[:, 0], q[:, 1], yaw

    def reward_pose(self, scene: Scene) -> dict[str, Tensor]:
        """Reward terms of being at a pose: (worlds,) each, 0…1 but for `smooth`."""
        ahead, aside, turn = self.find_errors(scene).unbind(1)
        return {
            "position": torch.exp(-(ahead.square() + aside.square()) / 0.05),
            "heading": torch.exp(-turn.square() / 0.1),
            "smooth": -(scene.action - scene.last_action).square().sum(1),
        }

    def list_wheel_terms(self) -> tuple[Term, ...]:
        """What encoders say, as shares of the limit, and what was asked of them."""
        wheels = self.wheels
        speeds = tuple(f"{joint}.velocity" for joint in wheels.joints)
        scale = (1 / wheels.limit,)
        return (
            Linear(name="speeds", signals=speeds, scale=scale, history=HISTORY),
            Linear(name="last", signals=self.action.names, history=HISTORY),
        )

    def turn_wheels(self, motion: Tensor) -> Tensor:
        """(worlds, 2) actions that make the base move as wished."""
        speeds = self.wheels.compute_speeds(motion)
        return self.wheels.slow_down(speeds) / self.wheels.limit

    @abstractmethod
    def list_terms(self) -> tuple[Term, ...]:
        """What the policy observes."""

    @abstractmethod
    def draw(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """(worlds, 3) poses x, y, yaw and (worlds, inputs) goals, from −1…1."""

    @abstractmethod
    def is_near(self, scene: Scene) -> Tensor:
        """(worlds,) bool: as wished, now."""

    @abstractmethod
    def is_lost(self, scene: Scene) -> Tensor:
        """(worlds,) bool: too far from it to go on."""


def wrap(angle: Tensor) -> Tensor:
    """[rad] within ±π."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
