"""What every learner can do, whatever it learns."""

from abc import ABC, abstractmethod
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.learning.recurrent import forget
from realworthy.learning.tally import RolloutMetrics
from realworthy.tasks.environment import Environment, Observations

State: TypeAlias = dict[str, object]
"""Tensors, numbers and nests of them: `torch.load(…, weights_only=True)` reads it."""


class BadSettings(RealworthyError):
    """Settings that contradict each other, or the task."""


class NothingCollected(RealworthyError):
    """An update without anything to learn from."""

    def __init__(self) -> None:
        super().__init__(
            "There is nothing to learn from: nothing was collected since the last"
            " update, or since the state was loaded.",
            hint="Call collect(environment) before each update().",
        )


class Memory:
    """What a policy remembers of the worlds that it acts in; empty for most."""

    def __init__(self, hidden: Tensor) -> None:
        self.hidden = hidden

    def forget(self, done: Tensor) -> None:
        """Nothing is remembered of worlds that are `done`, (worlds,) bool."""
        self.hidden = forget(self.hidden, done)


class Metrics(Protocol):
    """What an update tells: each learner adds its own numbers."""

    @property
    def rollout(self) -> RolloutMetrics:
        """What the worlds brought since the update before."""
        ...


class Learner(ABC):
    """Turns experience into a policy: `collect`, `update`, and again.

    `collect` plays as many steps as the learner wants before it learns; on-policy
    learners forget them in `update`, others keep what they like. Every learner is built
    from an environment, its settings and a seed, and takes every random number from a
    generator of its own.
    """

    @abstractmethod
    def begin(self, environment: Environment) -> None:
        """Resets all worlds; the next `collect` goes on from there.

        `collect` does this by itself the first time. Call it after somebody else played
        in the same environment.
        """

    @abstractmethod
    def collect(self, environment: Environment) -> None:
        """Plays steps, exploring, and keeps what the next update needs."""

    @abstractmethod
    def update(self) -> Metrics:
        """Learns from what was collected."""

    @abstractmethod
    def act(self, observations: Observations, memory: Memory | None = None) -> Tensor:
        """(worlds, action_width) deterministic actions of the policy as it stands.

        `memory` comes from `remember` and is brought up to date; its owner calls
        `forget` where episodes end. Without it, policies with memory act as at the
        start of an episode.
        """

    @abstractmethod
    def remember(self, world_count: int) -> Memory:
        """Memory of worlds of which nothing is known yet."""

    @abstractmethod
    def state_dict(self) -> State:
        """Everything that an exact resumption needs, after an update."""

    @abstractmethod
    def load_state_dict(self, state: State) -> None:
        """Goes on from `state_dict`; the environment is resumed by its own."""


def build_generator(seed: int, device: torch.device) -> torch.Generator:
    """A generator on the device, at the beginning of its stream."""
    generator = torch.Generator(device)
    generator.manual_seed(seed)
    return generator
