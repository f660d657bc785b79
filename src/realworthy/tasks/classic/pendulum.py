"""Pendulum swing-up: from hanging to upright, with a motor too weak to lift it at once.

Upright is π; the pendulum twin is the DFKI one, whose motor is held to 2 N·m here: its
weight and dry friction ask for 3.3 N·m held out sideways.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear, SineCosine, Term
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.mirrors import Reflection
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.task import Controller, Start, Task
from realworthy.twins import Twin, bind, load_twin
from realworthy.twins.commands import describe_commands

_UPRIGHT_TOLERANCE = 0.1
"""[rad] from upright that counts as balanced."""
_HOLD = 2.0
"""[s] at the end of an episode for which it must be balanced."""
_UNDER_WAY = 3
"""Actions that are seen: what is under way while a robot answers two periods late."""


class PendulumSwingUp(Task):
    """Swing up and balance, within ten seconds."""

    name = "pendulum"
    period = 0.04
    seconds = 10.0
    noise = MappingProxyType({".position": 0.002, ".velocity": 0.05})
    weights = MappingProxyType(
        {"upright": 1.0, "energy": 20.0, "slow": 0.1, "effort": 0.002}
    )

    def __init__(self, twin: Twin | None = None, *, torque: float = 2.0) -> None:
        """`torque` [N·m] is what the motor may give."""
        self.twin = twin or load_twin("pendulum")
        self.torque = torque
        lines = describe_commands(bind(self.twin))
        joint = lines[0].joint if len(lines) == 1 else None
        if joint is None:
            raise RealworthyError(
                f"Task 'pendulum' does not fit twin '{self.twin.name}': it is for one "
                f"command that moves a joint, and commands are {len(lines)}.",
                hint="It is for 'pendulum' and other twins of one driven joint.",
            )
        self.terms: tuple[Term, ...] = (
            SineCosine(name="angle", signals=(f"{joint}.position",)),
            Linear(name="speed", signals=(f"{joint}.velocity",), scale=(0.2,)),
            Linear(
                name="last_action",
                signals=(f"{joint}.command.action",),
                history=_UNDER_WAY,
            ),
        )
        self.action = ActionMap(
            commands=(f"{joint}.command",), offset=(0.0,), scale=(torque,)
        )
        self.reflection = Reflection(
            joints={joint: (joint, -1.0)},
            sideways=("centre_of_mass.x", "gravity_tilt.y", "push.x"),
        )

    def prepare(self, scene: Scene) -> None:
        self._held = scene.zeros()
        self._arm = _Arm.read(scene)

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 2, worlds) - 1
        self._held = torch.where(worlds, 0.0, self._held)
        return Start(qpos=0.5 * u[:, :1], qvel=0.5 * u[:, 1:])

    def advance(self, scene: Scene, chance: Chance) -> None:
        near = _from_upright(scene).abs() < _UPRIGHT_TOLERANCE
        self._held = torch.where(near, self._held + self.period, 0.0)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        return {
            "upright": -_from_upright(scene).square(),
            # leads out of leaning sideways as far as the motor lifts, where nothing
            # small is better
            "energy": -self._arm.measure_energy(scene).abs() / (2 * self._arm.lever),
            "slow": -scene.qvel[:, 0].square(),
            "effort": -(self.torque * scene.action[:, 0]).square(),
        }

    def is_success(self, scene: Scene) -> Tensor:
        return self._held > _HOLD - self.period / 2

    def build_reference(self, scene: Scene) -> Controller:
        """Pumps energy, then catches with a proportional–derivative law."""
        arm = self._arm
        lever, inertia = arm.lever, arm.inertia
        friction = float(scene.simulator.bound.model.dof_frictionloss[0])

        def act(scene: Scene) -> Tensor:
            angle, speed = _from_upright(scene), scene.qvel[:, 0]
            energy = arm.measure_energy(scene)
            pump = torch.where(energy < 0.02 * lever, 1.0, -0.3) * self.torque
            falling = speed + 0.1 * torch.sin(angle)  # where it rests, it is let go
            torque = pump * torch.where(falling >= 0, 1.0, -1.0)
            catch = -(4 * lever * angle + math.sqrt(8 * lever * inertia) * speed)
            catch = catch + friction * torch.tanh(20 * speed)
            is_near = (angle.abs() < 0.4) & (speed.abs() < 2.5)
            return torch.where(is_near, catch, torque)[:, None] / self.torque

        return act


@dataclass(frozen=True, slots=True)
class _Arm:
    """The twin's own pendulum."""

    lever: float
    """[N·m] of its weight, held out sideways."""
    inertia: float
    """[kg·m²] about the joint."""

    @classmethod
    def read(cls, scene: Scene) -> "_Arm":
        model = scene.simulator.bound.model
        mass, arm = float(model.body_mass[1]), float(-model.body_ipos[1, 2])
        lever = mass * arm * float(-model.opt.gravity[2])
        return cls(lever, float(model.dof_M0[0]))

    def measure_energy(self, scene: Scene) -> Tensor:
        """(worlds,) [J] beyond that of standing upright."""
        height = torch.cos(_from_upright(scene)) - 1
        return 0.5 * self.inertia * scene.qvel[:, 0] ** 2 + self.lever * height


def _from_upright(scene: Scene) -> Tensor:
    """(worlds,) [rad] within ±π."""
    return torch.remainder(scene.qpos[:, 0], 2 * math.pi) - math.pi
