"""Model predictive path integral control (Williams et al. 2017), on a twin's physics.

From the state that was measured, K noisy plans u_k = u + σ ε_k are played in worlds of
the twin, scored by the task's own reward, and averaged:

    w_k ∝ exp(−(S_k − min S) / λ),  u ← Σ_k w_k u_k

λ is found anew in every plan so that a given share of the K counts. Plans are straight
lines between a few knots, which keeps them smooth and the search small. With several
draws of e each plan is played in all of them, and its mean cost counts: it is then good
for what is not known, and not for one guess.

What a plan costs in time is part of the loop: it is made from the state that is
predicted for the moment when it will be ready, by the commands already decided.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.simulators import MujocoCpu
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.task import Task
from realworthy.twins import bind
from realworthy.twins.variants import Variant, apply_variant

Floats = NDArray[np.float64]
_BISECTIONS = 20
_FAILURE_COST = 1.0
"""Of every step after a failure, in the reward's best of a step: a plan that fails is
worth less than one that does nothing until the end."""


@dataclass(kw_only=True, frozen=True, slots=True)
class MppiSettings:
    """How plans are searched."""

    plans: int = 96
    """K, in each world."""
    horizon: float = 1.0
    """[s] that a plan looks ahead."""
    knots: int = 8
    sigma: float = 0.5
    """Of the noise, in actions."""
    effective_share: float = 0.15
    """Of the plans that count: fewer follow luck, more average good ones with bad."""
    every: int = 2
    """Control steps between two plans; between them the last one goes on."""
    latency: int = 1
    """Control steps from a measurement until the plan made from it is followed."""
    timestep: float = 5.0
    """Of the planner's physics, as a multiple of the twin's where the period allows."""


@dataclass(slots=True)
class PlanTiming:
    """How long plans took [s], beside what they may."""

    allowed: float
    plans: int = 0
    total: float = 0.0
    late: int = 0
    """Plans that took longer than the latency that the loop takes into account."""

    def add(self, seconds: float) -> None:
        self.plans += 1
        self.total += seconds
        self.late += seconds > self.allowed

    @property
    def mean(self) -> float:
        return self.total / max(1, self.plans)


class Mppi:
    """Plans for some worlds side by side, each for its own state."""

    def __init__(
        self,
        task: Task,
        world_count: int,
        settings: MppiSettings,
        *,
        names: tuple[str, ...] = (),
        e: Floats | None = None,
        seed: int = 0,
    ) -> None:
        """`e` are draws of the parameters `names`: (draws, d) for all worlds, or
        (worlds, draws, d); None: the twin as it is."""
        self.settings, self.task, self.world_count = settings, task, world_count
        draws = 1 if e is None else e.shape[-2]
        count = world_count * settings.plans * draws
        twin = apply_variant(task.twin, Variant(timestep=_choose_step(task, settings)))
        bound = bind(twin, twin.space.select(names) if names else None)
        if bound.model.nq != bound.model.njnt:
            raise RealworthyError(
                f"Plans for task '{task.name}' begin with measured joints, and its"
                " robot's base is not measured.",
                hint="Train a policy: realworthy train, or realworthy adapt rma.",
            )
        if task.inputs:
            raise RealworthyError(
                f"Task '{task.name}' is told {task.inputs[0].name}; a planner is not.",
                hint="Train a policy: realworthy train, or realworthy adapt rma.",
            )
        substeps = round(task.period / float(bound.model.opt.timestep))
        self._shape = (world_count, settings.plans, draws)
        self._rollouts = MujocoCpu(bound, count, substeps=substeps)
        self._ahead = MujocoCpu(bound, world_count, substeps=substeps)
        if e is not None:
            each = np.broadcast_to(e, (world_count, draws, len(names)))
            rows = np.repeat(each[:, None], settings.plans, axis=1)
            self._rollouts.write(rows.reshape(count, len(names)))
            self._ahead.write(each.mean(1))
        self._scene = Scene(self._rollouts, torch.device("cpu"))
        task.prepare(self._scene)
        self._places = [
            self._rollouts.commands.index(name) for name in task.action.commands
        ]
        self._home = self._scene.initial_command.double().numpy()
        self._steps = max(settings.knots, round(settings.horizon / task.period))
        self._width = task.action.width
        self._basis = _interpolate(settings.knots, self._steps)
        self._seed = seed
        self.timing = PlanTiming(allowed=settings.latency * task.period)
        self.forget(np.ones(world_count, bool))

    def forget(self, worlds: NDArray[np.bool_]) -> None:
        """Episodes of some worlds begin: no plan, and nothing decided."""
        if worlds.all():
            self._knots = np.zeros((self.world_count, self.settings.knots, self._width))
            decided = self.settings.latency
            self._decided = np.zeros((decided, self.world_count, self._width))
            self._plan = np.zeros((self._steps, self.world_count, self._width))
            self._age, self._rng = 0, np.random.default_rng(self._seed)
        else:
            self._knots[worlds] = 0.0
            self._decided[:, worlds] = 0.0
            self._plan[:, worlds] = 0.0

    def act(self, qpos: Floats, qvel: Floats) -> Floats:
        """(worlds, actions) for now; the plan from this state is followed later."""
        if self._age % self.settings.every == 0:
            began = time.perf_counter()
            if self._age:
                self._knots = _shift(self._knots, self._basis, self.settings.every)
            self._improve(*self._predict(qpos, qvel))
            self._plan = np.einsum("tk,wka->twa", self._basis, self._knots)
            self.timing.add(time.perf_counter() - began)
        then = self._plan[self._age % self.settings.every]
        self._age += 1
        queue = np.concatenate([self._decided, then[None]])
        self._decided = queue[1:]
        return queue[0]

    def _predict(self, qpos: Floats, qvel: Floats) -> tuple[Floats, Floats]:
        """State when the plan will be ready, by what is decided until then."""
        if not len(self._decided):
            return qpos, qvel
        self._ahead.reset(qpos=qpos, qvel=qvel)
        for action in self._decided:
            self._ahead.step(self._command(action))
        return (self._ahead.array(x).copy() for x in ("qpos", "qvel"))  # pyright: ignore

    def _improve(self, qpos: Floats, qvel: Floats) -> None:
        """One update of the knots."""
        s = self.settings
        noise = self._rng.normal(size=(s.plans, *self._knots.shape[1:]))
        noise[0] = 0.0  # the plan as it is takes part; worlds share the noise
        knots = (self._knots[:, None] + s.sigma * noise).clip(-1.0, 1.0)
        cost = self._play(knots, qpos, qvel)
        weights = weigh_plans(cost, s.effective_share)
        self._knots = np.einsum("wk,wkna->wna", weights, knots)

    def _play(self, knots: Floats, qpos: Floats, qvel: Floats) -> Floats:
        """(worlds, plans) mean cost of (worlds, plans, knots, actions)."""
        worlds, plans, draws = self._shape
        each = np.repeat(np.einsum("tn,wkna->twka", self._basis, knots), draws, axis=2)
        actions = each.reshape(self._steps, worlds * plans * draws, self._width)
        times = plans * draws
        self._rollouts.reset(qpos=qpos.repeat(times, 0), qvel=qvel.repeat(times, 0))
        scene, task = self._scene, self.task
        scene.renew()
        scene.action = torch.from_numpy(np.float32(actions[0]))
        cost = torch.zeros(len(actions[0]))
        alive = torch.ones(len(actions[0]), dtype=torch.bool)
        for action in actions:
            scene.last_action = scene.action
            scene.action = torch.from_numpy(np.float32(action))
            self._rollouts.step(self._command(action))
            scene.renew()
            failure = task.find_failures(scene)
            if failure is not None:
                alive &= failure == 0
            cost -= torch.where(alive, self._reward(), -_FAILURE_COST)
        bad = self._rollouts.outcomes() != 0
        cost[torch.from_numpy(bad)] = float("inf")
        found = cost.double().numpy().reshape(worlds, plans, draws).mean(-1)
        return np.where(np.isfinite(found), found, np.nan_to_num(found, posinf=1e6))

    def _reward(self) -> Tensor:
        terms = self.task.compute_rewards(self._scene)
        found = sum(self.task.weights[name] * value for name, value in terms.items())
        assert isinstance(found, Tensor)
        return found

    def _command(self, action: Floats) -> Floats:
        """(rows, inputs) of (rows, actions)."""
        command = np.tile(self._home, (len(action), 1))
        scale = np.array(self.task.action.scale)
        command[:, self._places] = np.array(self.task.action.offset) + scale * action
        return command


def weigh_plans(cost: Floats, share: float) -> Floats:
    """(worlds, plans) softmax of −cost, as sharp as leaves `share` of them effective.

    The effective number is 1 / Σ w²; it grows with the temperature λ, which is found by
    bisection of its logarithm.
    """
    excess = cost - cost.min(1, keepdims=True)
    wanted = max(1.0, share * cost.shape[1])
    spread = excess.std(1, keepdims=True) + 1e-12
    low, high = np.log(1e-4 * spread), np.log(1e4 * spread)
    weights = excess
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        weights = np.exp(-excess / np.exp(middle))
        weights /= weights.sum(1, keepdims=True)
        is_sharp = 1 / np.square(weights).sum(1, keepdims=True) < wanted
        low, high = np.where(is_sharp, middle, low), np.where(is_sharp, high, middle)
    return weights


def _interpolate(knots: int, steps: int) -> Floats:
    """(steps, knots) straight lines between knots that are evenly spaced."""
    at = np.linspace(0, knots - 1, steps)
    return np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(knots)))


def _shift(knots: Floats, basis: Floats, steps: int) -> Floats:
    """The same plan `steps` control steps later; its end is held."""
    count = knots.shape[1]
    at = np.linspace(0, len(basis) - 1, count) + steps
    lower = np.minimum(np.floor(at).astype(int), len(basis) - 1)
    return np.einsum("nk,wka->wna", basis[lower], knots)


def _choose_step(task: Task, settings: MppiSettings) -> float:
    """A multiple of the twin's time step that fits into the control period."""
    own = float(task.twin.compiled.model.opt.timestep)
    count = round(task.period / own)
    largest = max(1, math.floor(settings.timestep))
    return float(max(k for k in range(1, largest + 1) if count % k == 0))
