"""Acrobot: two links of which only the second joint is driven.

The twin is the DFKI double pendulum, whose shoulder hangs at 0: upright is (π, 0). Its
shoulder's dry friction, 0.25 N·m, would hold it up by itself within 0.07 rad, and no
elbow can balance against it beyond; so the shoulder's motor makes up for it here, all
but 0.01 N·m, and gives nothing else. Another twin that is given is taken as it is.

What is paid for is energy, height, and how little a regulator would still have to do:
height alone leads to a tip that is high and cannot be held.
"""

import math
from abc import ABC
from dataclasses import dataclass, replace
from types import MappingProxyType

import mujoco
import numpy as np
import torch
from torch import Tensor

from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear, SineCosine, Term
from realworthy.tasks.classic.regulator import build_regulator, compute_tolerance
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.mirrors import Reflection
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.curriculum import ease
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Controller, Start, Task
from realworthy.twins import Twin, bind, load_twin


@dataclass(frozen=True, slots=True)
class TwoLinks:
    """M(q) q̈ + h(q, q̇) = torque, without friction.

    The first angle is from hanging down, the second from the first link [rad].
    """

    first: float
    """[kg·m²] of both links about the first joint, but for the coupling."""
    second: float
    """[kg·m²] of the second link about its joint, without the rotor."""
    rotor: float
    """[kg·m²] of the second joint's rotor."""
    coupling: float
    """[kg·m²] mass · length of the first · centre of mass of the second."""
    lever: float
    """[N·m] of all that hangs on the first joint's link, held out sideways."""
    outer: float
    """[N·m] of the second link, held out sideways."""

    def compute_energy(self, q: Tensor, v: Tensor) -> Tensor:
        """(worlds,) [J], zero at rest upright."""
        (m11, m12, m22), turn = self._masses(q), q.sum(dim=1)
        motion = m11 * v[:, 0] ** 2 + 2 * m12 * v[:, 0] * v[:, 1] + m22 * v[:, 1] ** 2
        height = self.lever * (1 + torch.cos(q[:, 0]))
        return 0.5 * motion - height - self.outer * (1 + torch.cos(turn))

    def compute_elbow_torque(self, q: Tensor, v: Tensor, wanted: Tensor) -> Tensor:
        """(worlds,) [N·m] that gives the second joint an acceleration [rad/s²].

        The first joint is free: collocated partial feedback linearisation.
        """
        m11, m12, m22 = self._masses(q)
        turn = self.coupling * torch.sin(q[:, 1])
        pull = self.outer * torch.sin(q.sum(dim=1))
        h1 = -turn * (2 * v[:, 0] + v[:, 1]) * v[:, 1]
        h1 = h1 + self.lever * torch.sin(q[:, 0]) + pull
        h2 = turn * v[:, 0] ** 2 + pull
        return (m22 - m12**2 / m11) * wanted + h2 - m12 / m11 * h1

    def _masses(self, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        bent = self.coupling * torch.cos(q[:, 1])
        m22 = torch.full_like(bent, self.second + self.rotor)
        return self.first + 2 * bent, self.second + bent, m22


def read_links(model: mujoco.MjModel) -> TwoLinks:
    """The numbers of a model with two hinges about one axis, hanging at zero."""
    bent, straight = _compute(model, np.pi / 2), _compute(model, 0.0)
    second = bent[0][0, 1]
    return TwoLinks(
        first=bent[0][0, 0],
        second=second,
        rotor=bent[0][1, 1] - second,
        coupling=straight[0][0, 1] - second,
        lever=bent[1][0],
        outer=straight[1][0] - bent[1][0],
    )


def _compute(model: mujoco.MjModel, elbow: float) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and gravity torques, the first link held out sideways."""
    data = mujoco.MjData(model)
    data.qpos[:] = np.pi / 2, elbow
    mujoco.mj_forward(model, data)
    masses = np.zeros((2, 2))
    mujoco.mj_fullM(model, data, masses)
    return masses, data.qfrc_bias.copy()


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
_CATCH = 2500.0
"""Cost to come below which the reference catches."""
_COST_SCALE = 2000.0
"""Cost to come at which what is paid for being near has fallen to 1/e."""
_MAX_ENERGY_ERROR = 4.0
"""Of the energy that is lacking or too much, in units of the first link's lever."""
_STANDS, _FALLEN = 0.3, 0.6
"""[s] upright after which it stands; height below which it has then fallen."""
_BALANCE_START_SPREAD = 0.04
"""[rad], [rad/s] from upright within which balancing begins."""
_UNDER_WAY = 3
"""Actions that are seen."""
_NARROWER = 0.25
"""Of a belief's ranges: wider ones cannot be balanced without knowing e."""
_TWIN, _FRICTION = "double_pendulum", "shoulder.coulomb_friction"
_JOINTS = ("shoulder", "elbow")
_TIP = "tip"


class _Acrobot(Task, ABC):
    """What both tasks share. The twin has joints `shoulder`, `elbow`, a site `tip`."""

    period = 0.02
    seconds = 10.0
    noise = MappingProxyType({".position": 0.002, ".velocity": 0.05})
    weights = MappingProxyType({"height": 1.0, "energy": 1.0, "near": 3.0})
    reflection = Reflection(
        joints={joint: (joint, -1.0) for joint in _JOINTS},
        sideways=("centre_of_mass.x", "gravity_tilt.y", "push.x"),
    )

    def __init__(self, twin: Twin | None = None, *, torque: float = 6.0) -> None:
        """`torque` [N·m] is what the elbow's motor may give."""
        self.twin = _relieve(twin)
        self.torque = torque
        positions = tuple(f"{joint}.position" for joint in _JOINTS)
        velocities = tuple(f"{joint}.velocity" for joint in _JOINTS)
        self.terms: tuple[Term, ...] = (
            SineCosine(name="angles", signals=positions),
            Linear(name="speeds", signals=velocities, scale=(0.1,)),
            Linear(
                name="last_action",
                signals=("elbow.command.action",),
                history=_UNDER_WAY,
            ),
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
        self._stands = scene.zeros() > 0
        self._links = read_links(scene.simulator.bound.model)
        self._upright = torch.tensor([math.pi, 0.0], device=scene.device)
        self._wide = torch.tensor([[math.pi, 3.0], [5.0, 10.0]], device=scene.device)
        self._regulator = build_regulator(
            scene.simulator,
            qpos=(math.pi, 0.0),
            command="elbow.command",
            state_cost=(10.0, 10.0, 1.0, 1.0),
            command_cost=1.0,
            device=scene.device,
        )

    def advance(self, scene: Scene, chance: Chance) -> None:
        is_up = self.measure_height(scene) > _HIGH
        self._held = torch.where(is_up, self._held + self.period, 0.0)
        self._stands = self._stands | (self._held > _STANDS)

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        height, links = self.measure_height(scene), self._links
        energy = links.compute_energy(scene.qpos, scene.qvel) / links.lever
        cost = self._regulator.foresee(self._measure_deviation(scene)).clamp(min=0)
        return {
            "height": compute_tolerance(height, lower=_HIGH, upper=2.0, margin=1.0),
            "energy": -energy.abs().clamp(max=_MAX_ENERGY_ERROR),
            "near": torch.exp(-(cost / _COST_SCALE).sqrt()),
        }

    def find_failures(self, scene: Scene) -> Tensor:
        """Whoever stood and fell need not practise lying there."""
        fell = self._stands & (self.measure_height(scene) < _FALLEN)
        return torch.where(fell, int(Failure.FALL), int(Failure.NONE))

    def is_success(self, scene: Scene) -> Tensor:
        return self._held > _HOLD - self.period / 2

    def measure_height(self, scene: Scene) -> Tensor:
        """(worlds,) height of the tip over the shoulder, from −1 to 1 upright."""
        tip = scene.array("site_xpos")[:, self._tip, 2]
        return (tip - self._base) / self._reach

    def _measure_deviation(self, scene: Scene) -> Tensor:
        """(worlds, 4) angles [rad] from upright, and speeds [rad/s]."""
        return torch.cat([_wrap(scene.qpos - self._upright), scene.qvel], dim=1)

    def build_reference(self, scene: Scene) -> Controller:
        """Swings the elbow until the energy suffices, then catches.

        The elbow swings against the shoulder, by less the less energy is lacking, so
        that it is straight on top. The catch is a linear-quadratic regulator. The
        elbow's dry friction is made up for, the shoulder's cannot be.
        """
        links, regulator = self._links, self._regulator
        dry = float(scene.simulator.bound.model.dof_frictionloss[1])

        def swing(q: Tensor, v: Tensor) -> Tensor:
            """(worlds,) [N·m]"""
            lack = (_ENERGY - links.compute_energy(q, v)) / links.lever
            bend = -_BEND * torch.tanh(5 * v[:, 0]) * (2 * lack).clamp(-1, 1)
            wanted = _STIFFNESS * (bend - _wrap(q[:, 1])) - _DAMPING * v[:, 1]
            return links.compute_elbow_torque(q, v, wanted)

        def act(scene: Scene) -> Tensor:
            q, v, state = scene.qpos, scene.qvel, self._measure_deviation(scene)
            is_near = regulator.foresee(state) < _CATCH
            torque = torch.where(is_near, regulator.command(state), swing(q, v))
            torque = torque + dry * torch.tanh(20 * v[:, 1])
            return torque[:, None] / self.torque

        return act


class AcrobotBalance(_Acrobot):
    """Stay upright, from within 0.04 rad of it in either joint.

    Of starts within 0.05 rad one in twelve is beyond what linear feedback can hold.
    """

    name = "acrobot_balance"
    weights = MappingProxyType({**_Acrobot.weights, "alive": 1.0})

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 4, worlds) - 1
        self._held = torch.where(worlds, 0.0, self._held)
        self._stands = self._stands | worlds
        return Start(
            qpos=self._upright + _BALANCE_START_SPREAD * u[:, :2],
            qvel=_BALANCE_START_SPREAD * u[:, 2:],
        )

    def compute_rewards(self, scene: Scene) -> dict[str, Tensor]:
        alive = (self.find_failures(scene) == 0).to(torch.float32)
        return {**super().compute_rewards(scene), "alive": alive}


class AcrobotSwingUp(_Acrobot):
    """Swing up from hanging, then stay."""

    name = "acrobot_swing_up"

    def begin(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        u = 2 * chance.uniform("start", 4, worlds) - 1
        self._held = torch.where(worlds, 0.0, self._held)
        self._stands = self._stands & ~worlds
        return Start(qpos=0.1 * u[:, :2], qvel=0.1 * u[:, 2:])

    def begin_practice(self, scene: Scene, worlds: Tensor, chance: Chance) -> Start:
        """A third hangs, a third is nearly upright, a third is anywhere, at speed."""
        hanging = self.begin(scene, worlds, chance)
        u = 2 * chance.uniform("practice", 5, worlds) - 1
        places = torch.stack(
            [hanging.qpos, self._upright + 0.15 * u[:, :2], self._wide[0] * u[:, :2]]
        )
        speeds = torch.stack([hanging.qvel, 0.3 * u[:, 2:4], self._wide[1] * u[:, 2:4]])
        kind = (1.5 * (u[:, 4] + 1)).long().clamp(max=2)
        every = torch.arange(len(kind), device=scene.device)
        return Start(qpos=places[kind, every], qvel=speeds[kind, every])


def acrobot_randomization(twin: Twin) -> Randomization:
    """Worlds of a quarter of the twin's belief, and its own centres of mass.

    The wide ranges of a twin that nobody has calibrated hold acrobots that fall to
    either side under one and the same command.
    """
    belief = twin.belief
    names = [n for n in belief.space.names if ".centre_of_mass." not in n]
    wide = Randomization(belief=belief.marginal(names))
    return replace(ease(wide, _NARROWER), noise=1.0)


def _relieve(twin: Twin | None) -> Twin:
    """The built-in twin with its shoulder's friction made up for; others as they are.

    Policies name it as their twin, so it is relieved also where somebody gives it.
    """
    own = load_twin(_TWIN)
    given = twin or own
    if given.reference != own.reference:
        return given
    is_changed = given.space[_FRICTION].nominal != own.space[_FRICTION].nominal
    return given if is_changed else given.with_values({_FRICTION: _LEFT})


def _wrap(angle: Tensor) -> Tensor:
    """[rad] within ±π."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
