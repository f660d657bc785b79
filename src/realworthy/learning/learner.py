"""What every learner can do, whatever it learns."""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol, TypeAlias

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.learning.networks import Actor
from realworthy.learning.normaliser import Average
from realworthy.learning.recurrent import forget
from realworthy.learning.tally import RolloutMetrics
from realworthy.tasks.environment.environment import Environment, Observations

State: TypeAlias = dict[str, object]
"""Tensors, numbers and nests of them: `torch.load(…, weights_only=True)` reads it."""


class BadSettings(RealworthyError):
    """Settings that contradict each other, or the task."""


class BadWeights(RealworthyError):
    """Weights of another learner, or of other observations or actions."""


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

    @property
    def numbers(self) -> dict[str, float]:
        """The learner's own, by name, for plots; NaN where there is none."""
        ...

    @property
    def is_finite(self) -> bool:
        """Whether the weights are still numbers; a run ends where they are not."""
        ...


class LearnerSettings(ABC):
    """How a learner learns: a dataclass, each of whose fields has a docstring.

    Fields are options of `realworthy train` and rows of a run's settings.yaml.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def widest_layer(self) -> int:
        """Neurons; few are quicker on one thread."""

    @abstractmethod
    def build(
        self, environment: Environment, *, seed: int, average: Average | None = None
    ) -> "Learner":
        """The learner, for worlds like these; raises `BadSettings` where it misfits.

        With `average` it learns as one with those of other processes, which have worlds
        and seeds of their own and start from the weights of the first.
        """


class Learner(ABC):
    """Turns experience into a policy: `collect`, `update`, and again.

    `collect` plays as many steps as the learner wants before it learns; on-policy
    learners forget them in `update`, others keep what they like. Every learner is built
    from an environment, its settings and a seed, and takes every random number from a
    generator of its own.
    """

    Settings: ClassVar[type[LearnerSettings]]
    """Of which it is built; `Settings()` is good for something."""
    about: ClassVar[str]
    """What it does and what it is good for, in a line."""
    remedy: ClassVar[str]
    """What to set otherwise where learning breaks down."""
    generator: torch.Generator
    memory_plan: str = ""
    """What it will take of the memory, in words, before it does; empty: little."""

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
    def export(self) -> Actor:
        """The policy as it stands, a module that does what `act` does."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Signs in all updates so far that something is set wrong."""
        return ()

    @abstractmethod
    def copy_weights(self) -> State:
        """What was learned and nothing of the worlds: networks, their statistics."""

    @abstractmethod
    def load_weights(self, weights: State) -> tuple[str, ...]:
        """Takes what `copy_weights` gave; what could not be taken of it, in words.

        Raises `BadWeights` where the policy does not fit.
        """

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
