"""Acrobot: two links of which only the second joint is driven.

The twin is the DFKI double pendulum, whose shoulder hangs at 0: upright is (π, 0). Its
shoulder's dry friction, 0.25 N·m, would hold it up by itself within 0.07 rad, and no
elbow can balance against it beyond; so the shoulder's motor makes up for it here, all
but 0.01 N·m, and gives nothing else. A twin that is given is taken as it is.
"""

import math
from abc import ABC
from types import MappingProxyType

import mujoco
import torch
from torch import Tensor

from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear, Term, Turn
from realworthy.tasks.chance import Chance
from realworthy.tasks.mirrors import Reflection
from realworthy.tasks.regulator import build_regulator
from realworthy.tasks.scene import Scene
from realworthy.tasks.task import Controller, Start, Task
from realworthy.tasks.tolerance import compute_tolerance
from realworthy.tasks.two_links import read_links
from realworthy.twins import Twin, bind, load_twin

_HIGH = 0.95
"""Height of the tip, as a share of the greatest, that counts as upright."""
_HOLD = 2.0
"""[s] at the end of an episode for which it must be upright."""
_LEFT = 0.01
"""[N·m] of the shoulder's dry friction that its motor does not make up for."""
_BEND, _STIFFNESS, _DAMPING = 3.1, 100.0, 8.0
"""[rad] by which the reference bends the elbow; [1/s²], [1/s] of its motion there."""
_ENERGY = 0.25
"""[J] above rest upright that the reference swings up to."""
_CATCH = 5000.0
"""Cost to come below which the reference catches."""
_JOINTS = ("shoulder", "elbow")
_TIP = "tip"


class _Acrobot(Task, ABC):
    """What both tasks share. The twin has joints `shoulder`, `elbow`, a site `tip`."""

    period = 0.01
    seconds = 10.0
    noise = MappingProxyType({".position": 0.002, ".velocity": 0.05})
    weights = MappingProxyType({"height": 1.0})
    reflection = Reflection(
        joints={joint: (joint, -1.0) for joint in _JOINTS},
        sideways=("centre_of_mass.x", "gravity_tilt.y", "push.x"),
    )

    def __init__(self, twin: Twin | None = None, *, torque: float = 6.0) -> None:
        """`torque` [N·m] is what the elbow's motor may give."""
        self.twin = twin or load_twin("double_pendulum").with_values(
            {"shoulder.coulomb_friction": _LEFT}
        )
        self.torque = torque
        positions = tuple(f"{joint}.position" for joint in _JOINTS)
        velocities = tuple(f"{joint}.velocity" for joint in _JOINTS)
        self.terms: tuple[Term, ...] = (
            Turn(name="angles", signals=positions),
            Linear(name="speeds", signals=velocities, scale=(0.1,)),
            Linear(name="last_action", signals=("elbow.command.action",)),
        )
        self.action = ActionMap(
            commands=("elbow.command",), offset=(0.0,), scale=(torque,)
        )
        model = bind(self.twin).model
        data = mujoco.MjData(model)
        for joint, angle in zip(_JOINTS, (math.pi, 0.0), strict=True):
            data.qpos[model.joint(joint).qposadr] = angle
        mujoco.mj_kinematics(model, data)
        self._tip = model.site(_TIP).id
        self._base = float(data.xanchor[model.joint("shoulder").id, 2])
        self._reach = float(data.site_xpos[self._tip, 2]) - self._base

    def prepare(self, scene: Scene) -> None:
        self._held = scene.zeros()

    def advance(self, scene: Scene, chance: Chance) -> None:
        is_up = self.measure_height(scene) > _HIGH
        self._held = torch.where(is_up, self._held + self.period, 0.0)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        height = self.measure_height(scene)
        return {"height": compute_tolerance(height, lower=_HIGH, upper=2.0, margin=1.0)}

    def is_success(self, scene: Scene) -> Tensor:
        return self._held > _HOLD - self.period / 2

    def measure_height(self, scene: Scene) -> Tensor:
        """(worlds,) height of the tip over the shoulder, from −1 to 1 upright."""
        tip = scene.array("site_xpos")[:, self._tip, 2]
        return (tip - self._base) / self._reach

    def build_reference(self, scene: Scene) -> Controller:
        """Swings the elbow until the energy suffices, then catches.

        The elbow swings against the shoulder, by less the less energy is lacking, so
        that it is straight on top. The catch is a linear-quadratic regulator. The
        elbow's dry friction is made up for, the shoulder's cannot be.
        """
        model = scene.simulator.bound.model
        links, dry = read_links(model), float(model.dof_frictionloss[1])
        upright = torch.tensor([math.pi, 0.0], device=scene.device)
        regulator = build_regulator(
            scene.simulator,
            qpos=(math.pi, 0.0),
            command="elbow.command",
            state_cost=(10.0, 10.0, 1.0, 1.0),
            command_cost=1.0,
            device=scene.device,
        )

        def swing(q: Tensor, v: Tensor) -> Tensor:
            """(worlds,) [N·m]"""
            lack = (_ENERGY - links.compute_energy(q, v)) / links.lever
            bend = -_BEND * torch.tanh(5 * v[:, 0]) * (2 * lack).clamp(-1, 1)
            wanted = _STIFFNESS * (bend - _wrap(q[:, 1])) - _DAMPING * v[:, 1]
            return links.compute_elbow_torque(q, v, wanted)

        def act(scene: Scene) -> Tensor:
            q, v = scene.qpos, scene.qvel
            state = torch.cat([_wrap(q - upright), v], dim=1)
            is_near = regulator.foresee(state) < _CATCH
            torque = torch.where(is_near, regulator.command(state), swing(q, v))
            torque = torque + dry * torch.tanh(20 * v[:, 1])
            return torque[:, None] / self.torque

        return act


class AcrobotBalance(_Acrobot):
    """Stay upright, from within 0.05 rad of it in either joint."""

    name = "acrobot_balance"

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 4, worlds) - 1
        self._held = torch.where(worlds, 0.0, self._held)
        upright = torch.tensor([math.pi, 0.0], device=scene.device)
        return Start(qpos=upright + 0.05 * u[:, :2], qvel=0.05 * u[:, 2:])


class AcrobotSwingUp(_Acrobot):
    """Swing up from hanging, then stay."""

    name = "acrobot_swing_up"

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 4, worlds) - 1
        self._held = torch.where(worlds, 0.0, self._held)
        return Start(qpos=0.1 * u[:, :2], qvel=0.1 * u[:, 2:])


def _wrap(angle: Tensor) -> Tensor:
    """[rad] within ±π."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
