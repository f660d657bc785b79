"""Evolution strategies (Salimans et al. 2017): gradients from returns alone."""

import math
from collections.abc import Callable
from copy import deepcopy
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


def es_gradient(
    f: Callable[[Tensor], Tensor],
    theta: Tensor,
    *,
    pairs: int,
    sigma: float,
    generator: torch.Generator,
) -> Tensor:
    """(width,) gradient at `theta` of `f` smoothed by a normal of deviation `sigma`.

    `f` takes (candidates, width) and gives (candidates,), from one call: the first half
    lies opposite the second. `1/(2σn) Σ (f(θ+σε) − f(θ−σε)) ε`.
    """
    shape = (pairs, len(theta))
    draws = torch.randn(shape, generator=generator, device=theta.device)
    draws = draws.to(theta.dtype)
    values = f(torch.cat([theta + sigma * draws, theta - sigma * draws]))
    return (values[:pairs] - values[pairs:]) @ draws / (2 * sigma * pairs)


def centre_ranks(values: Tensor) -> Tensor:
    """Ranks of all values, spread evenly over −0.5…0.5: outliers count no more.

    Equal values share a rank: equal returns are not distinguished.
    """
    flat = values.flatten()
    below = (flat < flat[:, None]).sum(1)
    others = (flat == flat[:, None]).sum(1) - 1
    ranks = below + 0.5 * others
    return (ranks / max(1, len(flat) - 1) - 0.5).view_as(values)


@dataclass(kw_only=True, slots=True)
class EsSettings(LearnerSettings):
    """For small networks and returns without gradients."""

    pairs: int = 32
    """Directions tried in each update, both ways; divides the number of worlds."""
    sigma: float = 0.05
    """Standard deviation of directions, per weight."""
    learning_rate: float = 1e-2
    """Of Adam."""
    weight_decay: float = 0.005
    """Pull of the weights towards zero, per step and unit of the learning rate."""
    widths: tuple[int, ...] = (32,)
    """Hidden layers of the policy; none: a linear one."""
    normalisation: Normalisation = Normalisation.SCALE
    """Of observations, by statistics of random policies."""
    warm_up: int = 100
    """Control steps of random policies from which those statistics come."""

    @property
    def widest_layer(self) -> int:
        return max((*self.widths, 1))

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Es":
        return Es(environment, self, seed=seed, average=average)


@dataclass(frozen=True, kw_only=True, slots=True)
class EsMetrics:
    """What one update did."""

    rollout: RolloutMetrics
    """What the worlds brought."""
    mean: float
    """Return of an episode, over all valid directions; NaN if there are none."""
    best: float
    """Return of the best valid direction; NaN if there are none."""
    invalid_direction_count: int
    """Directions in which the physics diverged on a side; nothing is learned there."""
    gradient: float
    """Norm of the estimate, of ranks."""

    @property
    def numbers(self) -> dict[str, float]:
        return {
            "mean": self.mean,
            "best": self.best,
            "gradient": self.gradient,
            "invalid_directions": self.invalid_direction_count,
        }

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.gradient)


class Es(Learner):
    """One vector of weights and Adam; processes average their gradients."""

    Settings = EsSettings
    about = "a small network, tried in many directions; needs no gradients"
    remedy = "learn in smaller steps: a smaller learning_rate"

    def __init__(
        self,
        environment: Environment,
        settings: EsSettings | None = None,
        *,
        seed: int = 0,
        average: Average | None = None,
    ) -> None:
        self.settings = s = settings or EsSettings()
        check_shares(environment, s.pairs)
        self.average = average
        self.generator = build_generator(seed, environment.device)
        seen = find_policy_input(environment).width
        widths = (seen, *s.widths, environment.action_width)
        policy = FlatPolicy(widths, has_bias=True)
        self.player = PairPlayer(environment, policy, s.normalisation, average=average)
        self.weights = policy.draw(self.generator)
        self.optimiser = torch.optim.AdamW(
            [self.weights], lr=s.learning_rate, weight_decay=s.weight_decay
        )
        self._draws = self.weights[None]
        self._scores: PairScores | None = None

    def begin(self, environment: Environment) -> None:
        self.player.warm_up(environment, self.settings.warm_up, self.generator)

    def collect(self, environment: Environment) -> None:
        s = self.settings
        self.begin(environment)
        shape, device = (s.pairs, len(self.weights)), self.weights.device
        self._draws = torch.randn(shape, generator=self.generator, device=device)
        moved = s.sigma * self._draws
        self._scores = self.player.play(environment, self.weights, moved)

    def update(self) -> EsMetrics:
        s, scores = self.settings, self._scores
        if scores is None:
            raise NothingCollected
        self._scores = None
        valid = scores.valid
        ranks = centre_ranks(torch.stack([scores.forward, scores.backward])[:, valid])
        count = ranks.shape[1]
        gain = ranks[0] - ranks[1]
        gradient = gain @ self._draws[valid] / (2 * s.sigma * max(1, count))
        is_told = torch.tensor(float(count), device=gradient.device)
        if self.average is not None:
            self.average([gradient, is_told])
        if is_told > 0:
            self.weights.grad = -gradient
            self.optimiser.step()
        numbers = torch.stack([scores.mean, scores.best, gradient.norm()]).tolist()
        return EsMetrics(
            rollout=self.player.tally.read(),
            mean=numbers[0],
            best=numbers[1],
            invalid_direction_count=len(valid) - count,
            gradient=numbers[2],
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
            "optimiser": deepcopy(self.optimiser.state_dict()),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: State) -> None:
        s = cast(dict[str, Any], state)
        self.weights.copy_(s["weights"])
        self.optimiser.load_state_dict(deepcopy(s["optimiser"]))
        self.player.load_state_dict(s["player"])
        self.generator.set_state(s["generator"].cpu())
