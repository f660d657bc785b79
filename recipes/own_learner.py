"""A learner of one's own in one file: the cross-entropy method.

Draw candidates from a normal distribution over the weights of a linear policy, play
each in worlds of its own, keep the best few, and fit the distribution to them: mean and
standard deviation of the elite (Rubinstein 1999; the noise that is added to the
deviation, and fades, is of Szita and Lőrincz 2006, Learning Tetris Using the Noisy
Cross-Entropy Method). It needs no gradients, and nothing in Realworthy knows of it.

A learner is two classes. `CemSettings` says how it learns: its fields are options of
the command. `Cem` collects, updates, acts, and gives what it has learned to others;
checkpoints, resumption, judgement and export talk to these methods alone. The same by
commands, beside this file:

    realworthy show learners own_learner.py:Cem
    realworthy train cartpole_balance --learner own_learner.py:Cem --worlds 64 \\
        --elite 0.2 --output runs/cem

Expect 95 % of the held-out episodes or more to succeed within a minute on two cores:

    python recipes/own_learner.py
"""

import argparse
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

import realworthy as rw
from realworthy.learning.candidates import FlatPolicy
from realworthy.learning.learner import (
    BadSettings,
    BadWeights,
    Learner,
    LearnerSettings,
    Memory,
    NothingCollected,
    State,
    build_generator,
)
from realworthy.learning.network_input import check_vectors, find_policy_input
from realworthy.learning.networks import Actor
from realworthy.learning.normaliser import Average, Normaliser
from realworthy.learning.tally import RolloutMetrics, Tally
from realworthy.tasks.environment.environment import Environment, Observations


@dataclass(kw_only=True, slots=True)
class CemSettings(LearnerSettings):
    """For linear policies of few observations."""

    candidates: int = 32
    """Policies tried in each update; divides the number of worlds."""
    elite: float = 0.25
    """Share of them to which the distribution is fitted."""
    deviation: float = 0.5
    """Standard deviation of every weight at the start."""
    noise: float = 0.2
    """Added to the deviation at the start, and less from update to update."""
    fade: float = 5.0
    """Updates until that noise is 1/e of it."""
    warm_up: int = 5
    """Control steps of random policies that say how large observations are."""

    @property
    def widest_layer(self) -> int:
        return 1

    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Cem":
        if average is not None:
            raise BadSettings("The cross-entropy method learns in one process.")
        return Cem(environment, self, seed=seed)


@dataclass(frozen=True, kw_only=True, slots=True)
class CemMetrics:
    """What one update did."""

    rollout: RolloutMetrics
    best: float
    """Return of the best candidate."""
    deviation: float
    """Mean standard deviation of the weights."""

    @property
    def numbers(self) -> dict[str, float]:
        return {"best": self.best, "deviation": self.deviation}

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.deviation)


class Cem(Learner):
    """A normal distribution over the weights of a linear policy."""

    Settings = CemSettings
    about = "the cross-entropy method: a linear policy, fitted to the best of many"
    remedy = "begin with a smaller deviation"

    def __init__(
        self, environment: Environment, settings: CemSettings, *, seed: int = 0
    ) -> None:
        self.settings = s = settings
        if environment.world_count % s.candidates:
            raise BadSettings(
                f"{environment.world_count} worlds cannot be shared by {s.candidates}"
                " candidates.",
                hint="Choose a multiple of --candidates worlds.",
            )
        self.generator = build_generator(seed, environment.device)
        seen = find_policy_input(environment)
        check_vectors(seen)
        self.see = seen.join
        widths = (seen.width, environment.action_width)
        self.policy = FlatPolicy(widths, has_bias=False)
        self.mean = torch.zeros(self.policy.weight_count, device=environment.device)
        self.deviation = torch.full_like(self.mean, s.deviation)
        self.normaliser = Normaliser(seen.width).to(environment.device)
        self.update_count = 0
        self.tally = Tally(environment.world_count, environment.device)
        self._tried: tuple[Tensor, Tensor] | None = None

    def begin(self, environment: Environment) -> None:
        """Every `collect` plays whole episodes: there is nothing to go on from."""
        if self.update_count:
            return
        observations = environment.reset()
        weights = self._draw()
        for _ in range(self.settings.warm_up):
            self.normaliser.observe(self.see(observations))
            step = environment.step(self._try(weights, observations))
            observations = step.observations

    @torch.no_grad()
    def collect(self, environment: Environment) -> None:
        """One episode in each world."""
        self.begin(environment)
        weights = self._draw()
        observations = environment.reset()
        self.tally.restart()
        total = torch.zeros(environment.world_count, device=self.mean.device)
        alive = torch.ones_like(total, dtype=torch.bool)
        for _ in range(environment.step_limit):
            step = environment.step(self._try(weights, observations))
            self.tally.add(step)
            total += torch.where(alive & ~step.invalid, step.reward, 0.0)
            alive &= ~step.done
            observations = step.observations
            if not alive.any():
                break
        self._tried = weights, total.unflatten(0, (len(weights), -1)).mean(1)

    def _draw(self) -> Tensor:
        """(candidates, weights)"""
        shape, device = (self.settings.candidates, len(self.mean)), self.mean.device
        draws = torch.randn(shape, generator=self.generator, device=device)
        return self.mean + self.deviation * draws

    def _try(self, weights: Tensor, observations: Observations) -> Tensor:
        """Actions of (candidates, weights): world i plays i // (worlds of each)."""
        x = self.normaliser(self.see(observations)).unflatten(0, (len(weights), -1))
        return self.policy.act(weights, x).flatten(0, 1)

    def update(self) -> CemMetrics:
        if self._tried is None:
            raise NothingCollected
        s, (weights, returns) = self.settings, self._tried
        self._tried = None
        elite_count = max(2, round(s.elite * s.candidates))
        elite = weights[returns.topk(elite_count).indices]
        noise = s.noise * math.exp(-self.update_count / s.fade)
        # μ ← mean of the elite; σ² ← their variance + noise² (Szita, Lőrincz 2006)
        self.mean = elite.mean(0)
        self.deviation = (elite.var(0) + noise**2).sqrt()
        self.update_count += 1
        return CemMetrics(
            rollout=self.tally.read(),
            best=float(returns.max()),
            deviation=float(self.deviation.mean()),
        )

    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        return self._try(self.mean[None], observations)

    def remember(self, world_count: int) -> Memory:
        return Memory(torch.zeros(0, world_count, 0, device=self.mean.device))

    def export(self) -> Actor:
        width_in, width_out = self.policy.widths
        actor = Actor(self.policy.build(self.mean), width_in, width_out, std=1.0)
        actor.normaliser.fix(self.normaliser.mean.cpu(), self.normaliser.scale.cpu())
        return actor

    def copy_weights(self) -> State:
        seen = {name: x.clone() for name, x in self.normaliser.state_dict().items()}
        mean, deviation = self.mean.clone(), self.deviation.clone()
        return {"mean": mean, "deviation": deviation, "normaliser": seen}

    def load_weights(self, weights: State) -> tuple[str, ...]:
        w = cast(dict[str, Any], weights)
        if "mean" not in w or w["mean"].shape != self.mean.shape:
            raise BadWeights("Weights of another policy.")
        self.mean, self.deviation = w["mean"].clone(), w["deviation"].clone()
        self.normaliser.load_state_dict(w["normaliser"])
        return ()

    def state_dict(self) -> State:
        """All that an exact resumption needs: after a kill the weights end the same."""
        return {
            **self.copy_weights(),
            "update_count": self.update_count,
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: State) -> None:
        s = cast(dict[str, Any], state)
        self.load_weights(s)
        self.update_count = s["update_count"]
        self.generator.set_state(s["generator"].cpu())


def main(folder: Path, *, glance: bool) -> None:
    training = rw.train(
        "cartpole_balance",
        learner=Cem,
        world_count=32 if glance else 64,
        steps=32 * 500 if glance else None,
        evaluation_episodes=16 if glance else 256,
        output=folder / "run",
    )
    print(training)
    low, high = training.evaluation.success_interval
    print(f"In unseen worlds {low:.0%} to {high:.0%} of the episodes succeed.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--glance", action="store_true", help="every step, and hardly any learning"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        main(Path(name), glance=arguments.glance)
