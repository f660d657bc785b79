"""Cart-pole: a pole on a cart that a force drives along a rail; upright is 0."""

import math
from abc import ABC
from types import MappingProxyType

import torch
from torch import Tensor

from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear, SineCosine, Term
from realworthy.tasks.classic.regulator import build_regulator, compute_tolerance
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.mirrors import Reflection
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.failures import Failure
from realworthy.tasks.task import Controller, Start, Task
from realworthy.twins import Twin, bind, load_twin

_UPRIGHT_TOLERANCE = 0.2
"""[rad] from upright that counts as balanced."""
_CENTRED = 0.5
"""[m] from the middle of the rail that counts as centred."""
_HOLD = 2.0
"""[s] at the end of an episode for which it must be both."""
_STOP = 0.01
"""[m] before the end of the rail at which the cart has run into it."""


class _Cartpole(Task, ABC):
    """What both tasks share. The twin has two joints, `cart` and `pole`."""

    period = 0.02
    noise = MappingProxyType(
        {
            "cart.position": 0.001,
            "cart.velocity": 0.01,
            "pole.position": 0.002,
            "pole.velocity": 0.05,
        }
    )
    weights = MappingProxyType({"balance": 1.0})
    reflection = Reflection(
        joints={"cart": ("cart", -1.0), "pole": ("pole", -1.0)},
        sideways=("centre_of_mass.x", "gravity_tilt.y", "push.x"),
    )

    def __init__(self, twin: Twin | None = None, *, force: float = 10.0) -> None:
        """`force` [N] is what the drive of the cart may give."""
        self.twin = twin or load_twin("cartpole")
        self.force = force
        self._rail = float(bind(self.twin).model.joint("cart").range[1])
        self.terms: tuple[Term, ...] = (
            Linear(name="place", signals=("cart.position",)),
            SineCosine(name="angle", signals=("pole.position",)),
            Linear(name="cart_speed", signals=("cart.velocity",), scale=(0.5,)),
            Linear(name="pole_speed", signals=("pole.velocity",), scale=(0.1,)),
            Linear(name="last_action", signals=("cart.command.action",)),
        )
        self.action = ActionMap(
            commands=("cart.command",), offset=(0.0,), scale=(force,)
        )

    def prepare(self, scene: Scene) -> None:
        self._held = scene.zeros()

    def advance(self, scene: Scene, chance: Chance) -> None:
        is_good = (_from_upright(scene).abs() < _UPRIGHT_TOLERANCE) & (
            scene.qpos[:, 0].abs() < _CENTRED
        )
        self._held = torch.where(is_good, self._held + self.period, 0.0)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        """One product of four factors: upright, centred, slow, and of little effort."""
        place, speed = scene.qpos[:, 0], scene.qvel[:, 1]
        upright = (1 + torch.cos(scene.qpos[:, 1])) / 2
        centred = (1 + compute_tolerance(place, margin=self._rail)) / 2
        slow = (1 + compute_tolerance(speed, margin=5.0)) / 2
        gentle = (5 - scene.action[:, 0].square()) / 5
        return {"balance": upright * centred * slow * gentle}

    def find_failures(self, scene: Scene) -> Tensor:
        at_end = scene.qpos[:, 0].abs() > self._rail - _STOP
        return torch.where(at_end, int(Failure.JOINT_LIMIT), 0)

    def is_success(self, scene: Scene) -> Tensor:
        return self._held > _HOLD - self.period / 2

    def build_reference(self, scene: Scene) -> Controller:
        """Shapes the pole's energy, then catches with a linear-quadratic regulator."""
        model = scene.simulator.bound.model
        pole = model.body("pole").id
        mass, arm = float(model.body_mass[pole]), float(model.body_ipos[pole, 2])
        first = mass * arm  # [kg·m]
        inertia = float(model.dof_M0[1])
        lever = first * float(-model.opt.gravity[2])  # [N·m] held out sideways
        total = float(model.dof_M0[0])
        drag, dry = float(model.dof_damping[0]), float(model.dof_frictionloss[0])
        regulator = build_regulator(
            scene.simulator,
            qpos=(0.0, 0.0),
            command="cart.command",
            state_cost=(2.0, 10.0, 0.2, 0.2),
            command_cost=0.05,
            device=scene.device,
        )

        def swing(scene: Scene) -> Tensor:
            """(worlds,) [N] that moves the cart so that the pole gains energy."""
            (x, angle), (speed, turn) = scene.qpos.unbind(1), scene.qvel.unbind(1)
            sin, cos = torch.sin(angle), torch.cos(angle)
            energy = 0.5 * inertia * turn**2 + lever * (cos - 1)
            wanted = 8 * (energy / lever) * torch.where(turn * cos >= 0, 1.0, -1.0)
            wanted = wanted.clamp(-4, 4) - 1.5 * x - 1.0 * speed  # [m/s²] of the cart
            gain = (lever * sin - first * cos * wanted) / inertia  # [rad/s²]
            force = total * wanted + first * (cos * gain - sin * turn**2)
            return force + drag * speed

        def act(scene: Scene) -> Tensor:
            angle = _from_upright(scene)
            state = torch.stack([scene.qpos[:, 0], angle, *scene.qvel.unbind(1)], dim=1)
            turn = scene.qvel[:, 1]
            is_near = (angle.abs() < 0.35) & ((angle * 5 + turn).abs() < 2.5)
            force = torch.where(is_near, regulator.command(state), swing(scene))
            force = force + dry * torch.tanh(20 * scene.qvel[:, 0])
            return force[:, None] / self.force

        return act


class CartpoleBalance(_Cartpole):
    """Stay upright near the middle of the rail, from nearly upright, for 10 s."""

    name = "cartpole_balance"
    seconds = 10.0

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 4, worlds) - 1
        self._held = torch.where(worlds, 0.0, self._held)
        qpos = torch.stack([0.5 * u[:, 0], 0.15 * u[:, 1]], dim=1)
        return Start(qpos=qpos, qvel=0.1 * u[:, 2:])


class CartpoleSwingUp(_Cartpole):
    """Swing up from hanging, then stay, within ten seconds."""

    name = "cartpole_swing_up"
    seconds = 10.0

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 4, worlds) - 1
        self._held = torch.where(worlds, 0.0, self._held)
        qpos = torch.stack([0.5 * u[:, 0], math.pi + 0.3 * u[:, 1]], dim=1)
        return Start(qpos=qpos, qvel=0.1 * u[:, 2:])


def _from_upright(scene: Scene) -> Tensor:
    """(worlds,) [rad] of the pole within ±π."""
    return torch.remainder(scene.qpos[:, 1] + math.pi, 2 * math.pi) - math.pi
