"""Augmented random search (Mania et al. 2018): a linear policy follows what helped.

Directions are drawn, each is tried forwards and backwards, and the weights follow the
best of them in proportion to what they brought.
"""

import math
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from realworthy.learning.candidates import (
    FlatPolicy,
    Normalisation,
    PairPlayer,
    PairScores,
    check_shares,
)
from realworthy.learning.learner import (
    BadSettings,
    Learner,
    LearnerSettings,
    Memory,
    NothingCollected,
    State,
    build_generator,
)
from realworthy.learning.network_input import find_policy_input
from realworthy.learning.networks import Actor
from realworthy.learning.normaliser import Average
from realworthy.learning.tally import RolloutMetrics
from realworthy.tasks.environment.environment import Environment, Observations


@dataclass(kw_only=True, slots=True)
class ArsSettings(LearnerSettings):
    """For tasks that a linear policy can do."""

    directions: int = 16
    """Tried in each update, forwards and backwards; divides the number of worlds."""
    kept: int = 8
    """The best of them, which are followed."""
    noise: float = 0.03
    """Standard deviation of directions, per weight."""
    step_size: float = 0.02
    """Of the weights, per standard deviation of returns."""
    normalisation: Normalisation = Normalisation.SCALE
    """Of observations, by statistics of random policies."""
    warm_up: int = 100
    """Control steps of random policies from which those statistics come."""

    @property
    def widest_layer(self) -> int:
        return 1

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Ars":
        return Ars(environment, self, seed=seed, average=average)


def raw() -> ArsSettings:
    """Observations as they are, large steps: small tasks with unit-sized states."""
    s = ArsSettings()
    s.noise = s.step_size = 0.5
    s.normalisation = Normalisation.NONE
    return s


@dataclass(frozen=True, kw_only=True, slots=True)
class ArsMetrics:
    """What one update did."""

    rollout: RolloutMetrics
    """What the worlds brought."""
    mean: float
    """Return of an episode, over all valid directions; NaN if there are none."""
    best: float
    """Return of the best valid direction; NaN if there are none."""
    invalid_direction_count: int
    """Directions in which the physics diverged on a side; they are not followed."""
    spread: float
    """Standard deviation of the returns that were followed."""
    step: float
    """Norm of the change of the weights."""

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "mean": self.mean,
            "best": self.best,
            "spread": self.spread,
            "step": self.step,
            "invalid_directions": self.invalid_direction_count,
        }

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.step)


class Ars(Learner):
    """One matrix of weights; processes average their steps."""

    Settings = ArsSettings
    about = "a linear policy, tried in many directions; for small tasks"
    remedy = "learn in smaller steps: a smaller step_size"

    def __init__(
        self,
        environment: Environment,
        settings: ArsSettings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
    ) -> None:
        self.settings = s = settings or ArsSettings()
        if not 1 <= s.kept <= s.directions:
            raise BadSettings(
                f"{s.kept} of {s.directions} directions cannot be kept.",
                hint="Choose 1 ≤ kept ≤ directions.",
            )
        check_shares(environment, s.directions)
        self.average = average
        self.generator = build_generator(seed, environment.device)
        widths = (find_policy_input(environment).width, environment.action_width)
        policy = FlatPolicy(widths, has_bias=False)
        self.player = PairPlayer(environment, policy, s.normalisation, average=average)
        self.weights = torch.zeros(policy.weight_count, device=environment.device)
        """(weights,) of the linear policy, action by action."""
        self._directions = self.weights[None]
        self._scores: PairScores | None = None

    def begin(self, environment: Environment) -> None:
        self.player.warm_up(environment, self.settings.warm_up, self.generator)

    def collect(self, environment: Environment) -> None:
        s = self.settings
        self.begin(environment)
        shape, device = (s.directions, len(self.weights)), self.weights.device
        draws = torch.randn(shape, generator=self.generator, device=device)
        self._directions = draws
        self._scores = self.player.play(environment, self.weights, s.noise * draws)

    def update(self) -> ArsMetrics:
        scores = self._scores
        if scores is None:
            raise NothingCollected
        self._scores = None
        step, spread = compute_ars_step(
            self._directions, scores, kept=self.settings.kept
        )
        step = self.settings.step_size * step
        if self.average is not None:
            self.average([step])
        self.weights = self.weights + step
        invalid = (~scores.valid).sum()
        seen = [scores.mean, scores.best, spread, step.norm(), invalid]
        numbers = torch.stack(seen).tolist()
        return ArsMetrics(
            rollout=self.player.tally.read(),
            mean=numbers[0],
            best=numbers[1],
            invalid_direction_count=int(numbers[4]),
            spread=numbers[2],
            step=numbers[3],
        )

    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        return self.player.act(self.weights, observations)

    def remember(self, world_count: int) -> Memory:
        return Memory(torch.zeros(0, world_count, 0, device=self.weights.device))

    def export(self) -> Actor:
        return self.player.export(self.weights)

    def copy_weights(self) -> State:
        return {"weights": self.weights.clone(), "player": self.player.state_dict()}

    def load_weights(self, weights: State) -> tuple[str, ...]:
        self.weights.copy_(self.player.check_weights(weights.get("weights")))
        self.player.load_state_dict(cast(State, weights["player"]))
        return ()

    def state_dict(self) -> State:
        return {
            **self.copy_weights(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: State) -> None:
        s = cast(dict[str, Any], state)
        self.weights = s["weights"].to(self.weights.device, copy=True)
        self.player.load_state_dict(s["player"])
        self.generator.set_state(s["generator"].cpu())


def compute_ars_step(
    directions: Tensor, scores: PairScores, *, kept: int
) -> tuple[Tensor, Tensor]:
    """(weights,) step of unit size along the best directions; spread of their returns.

    Directions in which the physics diverged are never among them.
    """
    low = torch.full_like(scores.forward, -torch.inf)
    best = torch.maximum(scores.forward, scores.backward)
    order = torch.where(scores.valid, best, low).topk(kept).indices
    forward, backward = scores.forward[order], scores.backward[order]
    good = scores.valid[order]
    gain = torch.where(good, forward - backward, 0.0)
    count = good.sum().clamp(min=1)
    returns = torch.stack([forward, backward])
    mean = torch.where(good, returns, 0.0).sum() / (2 * count)
    square = torch.where(good, (returns - mean).square(), 0.0).sum() / (2 * count)
    spread = square.sqrt()
    step = gain @ directions[order] / (count * spread.clamp(min=1e-8))
    return step, spread
