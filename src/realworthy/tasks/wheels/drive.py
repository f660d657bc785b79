"""Differential drive: to a pose, along a figure eight, at commanded speeds.

Rewards are exp(−e²/width) of position and heading or of the two speeds, less what the
wheels' commands jump; a pose that is far away needs more. Reference controllers know
the wheels from the twin's model.
"""

import math
from types import MappingProxyType

import torch
from torch import Tensor

from realworthy.policies.terms import Goal, Linear, Term
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.failures import Failure
from realworthy.tasks.task import Controller, Input, Start
from realworthy.tasks.wheels.differential_drive import HISTORY, POSE, Driving, wrap

_MAX_POSE_DISTANCE = 2.0
"""[m] from a pose beyond which it has been lost."""
_MIN_APPROACH_DISTANCE = 0.01
"""[m] by which the way to a pose is divided at least: nearer, it has no direction."""


class DriveGoal(Driving):
    """Drive to a pose up to a metre away, and stay.

    Coming nearer counts when it happens. The heading counts only as far as the place is
    right: else turning on the spot is worth more than a drive.
    """

    name = "drive_goal"
    seconds = 10.0
    hold = 0.5
    failure = Failure.OUT_OF_WORKSPACE
    weights = MappingProxyType(
        {
            "approach": 4.0,
            "position": 0.5,
            "heading": 0.5,
            "there": 0.5,
            "smooth": 0.01,
        }
    )
    inputs = (
        Input("goal.x", -1.0, 1.0, "m"),
        Input("goal.y", -1.0, 1.0, "m"),
        Input("goal.yaw", -math.pi, math.pi, "rad"),
    )

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        errors, found = self.find_errors(scene), self.reward_pose(scene)
        distance, turn = errors[:, :2].norm(dim=1), errors[:, 2]
        forward = self.find_motion(scene)[:, 0]
        return found | {
            "approach": forward
            * errors[:, 0]
            / distance.clamp(min=_MIN_APPROACH_DISTANCE),
            "heading": found["position"] * (1 + torch.cos(turn)) / 2,
            "there": self.is_near(scene).to(distance.dtype),
        }

    def build_reference(self, scene: Scene) -> Controller:
        """Polar law of Aicardi et al. 1995; turns on the spot at the end."""

        def act(scene: Scene) -> Tensor:
            ahead, aside, turn = self.find_errors(scene).unbind(1)
            distance = torch.hypot(ahead, aside)
            bearing = torch.atan2(aside, ahead)
            final = wrap(bearing - turn)
            c, s = torch.cos(bearing), torch.sin(bearing)
            ratio = torch.where(bearing.abs() < 1e-4, 1.0, s / bearing)
            forward = 1.5 * distance * c
            steer = 4.0 * bearing + 1.5 * c * ratio * (bearing + 2.0 * final)
            is_there = distance < 0.02
            forward = torch.where(is_there, 0.0, forward)
            steer = torch.where(is_there, 3.0 * turn, steer)
            return self.turn_wheels(torch.stack([forward, steer], dim=1))

        return act

    def list_terms(self) -> tuple[Term, ...]:
        signals = (*POSE, "goal.x", "goal.y", "goal.yaw")
        goal = Goal(name="goal", signals=signals, history=HISTORY)
        return (goal, *self.list_wheel_terms())

    def draw(self, u: Tensor) -> tuple[Tensor, Tensor]:
        pose = torch.zeros_like(u[:, :3])
        pose[:, 2] = math.pi * u[:, 0]
        distance, direction = 0.65 + 0.35 * u[:, 1], math.pi * u[:, 2]
        x, y = distance * torch.cos(direction), distance * torch.sin(direction)
        return pose, torch.stack([x, y, math.pi * u[:, 3]], dim=1)

    def is_near(self, scene: Scene) -> Tensor:
        ahead, aside, turn = self.find_errors(scene).unbind(1)
        return (torch.hypot(ahead, aside) < 0.05) & (turn.abs() < 0.15)

    def is_lost(self, scene: Scene) -> Tensor:
        return self.find_errors(scene)[:, :2].norm(dim=1) > _MAX_POSE_DISTANCE


class DrivePath(Driving):
    """Follow a point that runs along a figure eight, from near a random point of it.

    x = a sin φ, y = a sin φ cos φ: 1.5 m long, at up to 0.19 m/s. The point's speeds
    are told, as a planner would.
    """

    name = "drive_path"
    seconds = 10.0
    hold = 2.0
    size = 0.25
    """[m] a: half of the eight's length."""
    lap = 12.0
    """[s]"""
    failure = Failure.TRACKING_LOST
    weights = MappingProxyType({"position": 1.0, "heading": 0.5, "smooth": 0.01})
    inputs = (
        Input("goal.x", -0.25, 0.25, "m"),
        Input("goal.y", -0.125, 0.125, "m"),
        Input("goal.yaw", -math.pi, math.pi, "rad"),
        Input("goal.forward", 0.0, 0.2, "m/s"),
        Input("goal.turn", -3.0, 3.0, "rad/s"),
    )

    def prepare(self, scene: Scene) -> None:
        super().prepare(scene)
        self._phase = scene.zeros()

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = chance.uniform("phase", 1, worlds)[:, 0]
        self._phase = torch.where(worlds, 2 * math.pi * u, self._phase)
        return super().begin(scene, worlds, chance)

    def advance(self, scene: Scene, chance: Chance) -> None:
        self._phase = self._phase + 2 * math.pi * self.period / self.lap
        self.goal = self.find_point(self._phase)
        super().advance(scene, chance)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        return self.reward_pose(scene)

    def find_point(self, phase: Tensor) -> Tensor:
        """(worlds, 5) x, y [m], yaw [rad], forward [m/s], turn [rad/s] at a phase."""
        a, rate = self.size, 2 * math.pi / self.lap
        dx, dy = rate * a * torch.cos(phase), rate * a * torch.cos(2 * phase)
        ddx, ddy = (
            -(rate**2) * a * torch.sin(phase),
            -2 * rate**2 * a * torch.sin(2 * phase),
        )
        forward = torch.hypot(dx, dy)
        return torch.stack(
            [
                a * torch.sin(phase),
                a / 2 * torch.sin(2 * phase),
                torch.atan2(dy, dx),
                forward,
                (dx * ddy - dy * ddx) / forward.square(),
            ],
            dim=1,
        )

    def build_reference(self, scene: Scene) -> Controller:
        """Tracking law after Kanayama et al. 1990, which also turns where it stands."""

        def act(scene: Scene) -> Tensor:
            ahead, aside, turn = self.find_errors(scene).unbind(1)
            v, w = self.goal[:, 3], self.goal[:, 4]
            forward = v * torch.cos(turn) + 2.0 * ahead
            steer = w + v * 60.0 * aside + 4.0 * torch.sin(turn)
            return self.turn_wheels(torch.stack([forward, steer], dim=1))

        return act

    def list_terms(self) -> tuple[Term, ...]:
        signals = (*POSE, "goal.x", "goal.y", "goal.yaw")
        return (
            Goal(name="goal", signals=signals, scale=4.0, history=HISTORY),
            *_list_speeds(self.wheels.top_speed),
            *self.list_wheel_terms(),
        )

    def draw(self, u: Tensor) -> tuple[Tensor, Tensor]:
        goal = self.find_point(self._phase)
        place, yaw = goal[:, :2] + 0.1 * u[:, :2], goal[:, 2:3] + 0.5 * u[:, 2:3]
        return torch.cat([place, yaw], dim=1), goal

    def is_near(self, scene: Scene) -> Tensor:
        return self.find_errors(scene)[:, :2].norm(dim=1) < 0.03

    def is_lost(self, scene: Scene) -> Tensor:
        return self.find_errors(scene)[:, :2].norm(dim=1) > 0.5


class DriveVelocity(Driving):
    """Move forward and turn at commanded speeds, which change once on the way.

    The two kernels are exp(−e²/0.005) of the forward speed [m/s] and exp(−e²/0.1) of
    the turn [rad/s]. The policy sees wheels and gyroscope, no position.
    """

    name = "drive_velocity"
    unmeasured = ("base.position", "base.velocity")
    seconds = 8.0
    hold = 2.0
    failure = Failure.TRACKING_LOST
    weights = MappingProxyType({"forward": 1.0, "turn": 0.5, "smooth": 0.01})
    inputs = (
        Input("goal.forward", -0.1, 0.15, "m/s"),
        Input("goal.turn", -0.8, 0.8, "rad/s"),
    )

    def advance(self, scene: Scene, chance: Chance) -> None:
        halfway = round(self.seconds / self.period / 2)
        is_due = scene.step_count == halfway
        u = 2 * chance.uniform("change", 2, is_due) - 1
        self.goal = torch.where(is_due[:, None], self._draw_goal(u), self.goal)
        super().advance(scene, chance)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        forward, turn = (self.goal - self.find_motion(scene)).unbind(1)
        return {
            "forward": torch.exp(-forward.square() / 0.005),
            "turn": torch.exp(-turn.square() / 0.1),
            "smooth": -(scene.action - scene.last_action).square().sum(1),
        }

    def build_reference(self, scene: Scene) -> Controller:
        """The commanded motion through D⁻¹."""
        return lambda scene: self.turn_wheels(self.goal)

    def list_terms(self) -> tuple[Term, ...]:
        gyro = Linear(
            name="gyro", signals=("base.gyro.z",), scale=(0.5,), history=HISTORY
        )
        return (*_list_speeds(self.wheels.top_speed), gyro, *self.list_wheel_terms())

    def draw(self, u: Tensor) -> tuple[Tensor, Tensor]:
        pose = torch.zeros_like(u[:, :3])
        pose[:, 2] = math.pi * u[:, 0]
        return pose, self._draw_goal(u[:, 1:3])

    def _draw_goal(self, u: Tensor) -> Tensor:
        columns = zip(self.inputs, u.unbind(1), strict=True)
        drawn = [
            (one.lower + one.upper + x * (one.upper - one.lower)) / 2
            for one, x in columns
        ]
        return torch.stack(drawn, dim=1)

    def is_near(self, scene: Scene) -> Tensor:
        forward, turn = (self.goal - self.find_motion(scene)).abs().unbind(1)
        return (forward < 0.02) & (turn < 0.1)

    def is_lost(self, scene: Scene) -> Tensor:
        return torch.zeros_like(self.held, dtype=torch.bool)


def _list_speeds(top: float) -> tuple[Term, ...]:
    """What is asked for: forward as a share of the top speed [m/s], and turn."""
    return (
        Linear(name="forward", signals=("goal.forward",), scale=(1 / top,)),
        Linear(name="turn", signals=("goal.turn",), scale=(0.5,)),
    )
