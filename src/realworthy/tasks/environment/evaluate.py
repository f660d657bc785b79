"""How well a policy does a task: one whole episode in each of many worlds."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.gap.intervals import (
    Interval,
    compute_mean_bootstrap,
    compute_wilson_interval,
)
from realworthy.tasks.environment.devices import spare_threads
from realworthy.tasks.environment.environment import Environment, Observations
from realworthy.tasks.failures import Failure

Act: TypeAlias = Callable[[Observations], Tensor]
"""Observations of all worlds → (worlds, action_width) actions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """One episode of each world; worlds whose physics diverged are counted apart."""

    returns: NDArray[np.float64]
    """(episodes,) undiscounted; of valid episodes."""
    successes: NDArray[np.bool_]
    """(episodes,) of valid episodes."""
    seconds: NDArray[np.float64]
    """(episodes,) that they lasted [s]."""
    failures: dict[Failure, int]
    """How many episodes ended so; successes are not among them."""
    invalid_count: int
    """Worlds whose physics diverged: no evidence about the policy."""

    @property
    def episode_count(self) -> int:
        return len(self.returns)

    @property
    def success(self) -> float:
        """Share of the valid episodes; NaN where there is none."""
        return float(np.mean(self.successes)) if len(self.successes) else float("nan")

    @property
    def least_success(self) -> float:
        """Share of all episodes, those whose physics diverged counted as failed."""
        count = len(self.successes) + self.invalid_count
        return float(self.successes.sum() / count) if count else 0.0

    @property
    def success_interval(self) -> Interval:
        """95 % of the share, by Wilson's score."""
        if not len(self.successes):
            return Interval(0.0, 1.0)
        return compute_wilson_interval(int(self.successes.sum()), self.episode_count)

    @property
    def mean_return(self) -> float:
        return float(np.mean(self.returns)) if len(self.returns) else float("nan")

    @property
    def return_interval(self) -> Interval:
        """95 % of the mean, by bootstrap."""
        if len(self.returns) < 2:
            return Interval(float("-inf"), float("inf"))
        return compute_mean_bootstrap(self.returns, seed=0)


@torch.no_grad()
def evaluate(environment: Environment, act: Act) -> Evaluation:
    """Plays one episode in every world, from a fresh beginning.

    A world that has ended goes on by itself and is not looked at again, so that short
    episodes do not count more often than long ones.
    """
    with spare_threads(environment.world_count):
        return _play(environment, act)


def _play(environment: Environment, act: Act) -> Evaluation:
    count, device = environment.world_count, environment.device
    observations = environment.reset()
    total = torch.zeros(count, device=device)
    steps = torch.zeros(count, dtype=torch.int64, device=device)
    failure, success = torch.zeros_like(steps), torch.zeros_like(steps).bool()
    invalid, playing = torch.zeros_like(success), torch.ones_like(success)
    for _ in range(environment.step_limit):
        step = environment.step(act(observations))
        total += torch.where(playing, step.reward, 0.0)
        steps += playing
        ended = playing & step.done
        failure = torch.where(ended, step.failure, failure)
        success |= ended & step.success
        invalid |= ended & step.invalid
        playing &= ~step.done
        observations = step.observations
    valid = ~invalid.cpu().numpy()
    failed = failure.cpu().numpy()[valid & ~success.cpu().numpy()]
    return Evaluation(
        returns=total.cpu().numpy().astype(np.float64)[valid],
        successes=success.cpu().numpy()[valid],
        seconds=steps.cpu().numpy()[valid] * environment.period,
        failures={Failure(k): n for k, n in sorted(Counter(failed.tolist()).items())},
        invalid_count=int(invalid.sum()),
    )
