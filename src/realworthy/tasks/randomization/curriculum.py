"""Curricula: worlds differ little at first, and more as a policy makes progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError
from realworthy.parameters import Belief
from realworthy.tasks.randomization.randomization import Randomization

Floats = NDArray[np.float64]


@dataclass(kw_only=True, slots=True)
class CurriculumSettings:
    """How a factor grows with success."""

    start: float = 0.1
    """Factor to begin with, above 0 and at most 1."""
    step: float = 0.05
    """By how much the factor moves."""
    grow_at: float = 0.8
    """Share of successes from which the factor grows."""
    shrink_at: float = 0.4
    """Share of successes up to which it shrinks, never below `start`."""
    episode_count: int = 200
    """Episodes before it is judged."""

    def __post_init__(self) -> None:
        if not (0 < self.start <= 1 and self.step > 0 and self.episode_count >= 1):
            raise RealworthyError(
                "A curriculum starts above 0 and at most at 1, moves by steps above 0,"
                " and is judged by at least one episode."
            )
        if not self.shrink_at < self.grow_at:
            raise RealworthyError(
                f"shrink_at ({self.shrink_at:g}) is not below grow_at"
                f" ({self.grow_at:g})."
            )


class Curriculum:
    """A factor between `start` and 1 that follows how well a policy does."""

    def __init__(self, settings: CurriculumSettings | None = None) -> None:
        self.settings = settings or CurriculumSettings()
        self.factor = self.settings.start
        self._successes, self._episodes = 0.0, 0

    def record(self, success: ArrayLike) -> bool:
        """Takes note of episodes that ended (n,); whether the factor has changed."""
        values = np.atleast_1d(np.asarray(success, dtype=np.float64))
        self._successes += float(values.sum())
        self._episodes += len(values)
        if self._episodes < self.settings.episode_count:
            return False
        share = self._successes / self._episodes
        self._successes, self._episodes = 0.0, 0
        before, step = self.factor, self.settings.step
        if share >= self.settings.grow_at:
            self.factor = min(before + step, 1.0)
        elif share <= self.settings.shrink_at:
            self.factor = max(before - step, self.settings.start)
        return self.factor != before

    def state_dict(self) -> dict[str, object]:
        """Where it stands, as plain data."""
        return {
            "factor": self.factor,
            "successes": self._successes,
            "episodes": self._episodes,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Goes on from `state_dict`."""
        self.factor = float(state["factor"])  # pyright: ignore
        self._successes = float(state["successes"])  # pyright: ignore
        self._episodes = int(state["episodes"])  # pyright: ignore


def ramp(progress: float, *, start: float = 0.1, end: float = 0.5) -> float:
    """A factor that grows linearly with the share of training that is over.

    From `start` to 1, which it reaches when `progress` is `end`.
    """
    if not (0 < start <= 1 and end > 0):
        raise RealworthyError("A ramp starts above 0 and at most at 1, and has an end.")
    return float(np.clip(start + (1 - start) * progress / end, start, 1.0))


def ease(randomization: Randomization, factor: float) -> Randomization:
    """The same, `factor` times as hard: spread of e, noise, and speed of pushes.

    Latency and processes stay: `TaskWorlds.randomize` takes the result at any time.
    """
    belief, pushes = randomization.belief, randomization.pushes
    return replace(
        randomization,
        belief=None if belief is None else NarrowedBelief(belief, factor),
        noise=factor * randomization.noise,
        pushes=pushes and replace(pushes, speed=factor * pushes.speed),
    )


class NarrowedBelief(Belief):
    """A belief drawn towards the nominals: e = nominal + factor · (draw − nominal)."""

    def __init__(self, belief: Belief, factor: float) -> None:
        if not 0 < factor <= 1:
            raise RealworthyError(
                f"A belief is narrowed by a factor above 0 and at most 1, not"
                f" {factor:g}."
            )
        self.belief, self.space, self.factor = belief, belief.space, factor

    @property
    def width(self) -> int:
        return self.belief.width

    def quantile(self, u: Floats) -> Floats:
        return self._narrow(self.belief.quantile(u))

    def log_density(self, e: ArrayLike) -> Floats:
        nominal = self.space.nominal
        wide = nominal + (np.asarray(e, dtype=np.float64) - nominal) / self.factor
        return self.belief.log_density(wide) - len(self.space) * np.log(self.factor)

    def marginal(self, names: Sequence[str]) -> "NarrowedBelief":
        return NarrowedBelief(self.belief.marginal(names), self.factor)

    def condition(self, known: Mapping[str, float]) -> "NarrowedBelief":
        wide = {}
        for name, value in known.items():
            nominal = self.space[name].nominal
            wide[name] = nominal + (value - nominal) / self.factor
        return NarrowedBelief(self.belief.condition(wide), self.factor)

    @property
    def mean(self) -> dict[str, float]:
        mean = self.belief.mean
        e = self._narrow(np.array([mean[name] for name in self.space.names]))
        return self.space.values(e)

    @property
    def sd(self) -> dict[str, float]:
        return {name: self.factor * sd for name, sd in self.belief.sd.items()}

    def correlation(self) -> Floats:
        """Of the wide belief: the same but for the curvature of the transforms."""
        return self.belief.correlation()

    def _narrow(self, e: Floats) -> Floats:
        nominal = self.space.nominal
        return nominal + self.factor * (e - nominal)
