"""Numbers of e that move while a robot runs: heat, a payload, a battery, a busy bus.

A process moves one parameter around the value that was sampled for the episode. All
chance comes from `Draws`, so that world and step alone decide what happens.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.parameters.draws import Draws
from realworthy.parameters.marginals import Marginal
from realworthy.parameters.space import ParameterSpace

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
Array: TypeAlias = NDArray[np.float64] | NDArray[np.int64]


class Process(ABC):
    """How one parameter moves; holds no state of any world."""

    name: str
    """The parameter that it moves."""

    @abstractmethod
    def move(
        self, base: Floats, last: Floats, time: Floats, dt: float, uniform: Floats
    ) -> Floats:
        """(worlds,) next value, from the episode's value, the last one and chance.

        `uniform` is (worlds, 2) numbers in (0, 1), fresh at every step.
        """


@dataclass(frozen=True, slots=True)
class Jitter(Process):
    """Fresh at every step: base + an exponential of given mean, as on a busy bus."""

    name: str
    mean: float

    def move(
        self, base: Floats, last: Floats, time: Floats, dt: float, uniform: Floats
    ) -> Floats:
        return base - self.mean * np.log(uniform[:, 0])


@dataclass(frozen=True, slots=True)
class Drift(Process):
    """Wanders around the base: Ornstein–Uhlenbeck of given spread and time constant."""

    name: str
    sd: float
    time_constant: float
    """[s]"""

    def move(
        self, base: Floats, last: Floats, time: Floats, dt: float, uniform: Floats
    ) -> Floats:
        from scipy.special import ndtri

        keep = np.exp(-dt / self.time_constant)
        kick = self.sd * np.sqrt(1 - keep**2) * ndtri(uniform[:, 0])
        return base + keep * (last - base) + kick


@dataclass(frozen=True, slots=True)
class Jump(Process):
    """Now and then a new value, as when a payload is put down or taken up."""

    name: str
    rate: float
    """[1/s] mean number of jumps."""
    to: Marginal
    """Where a jump lands."""

    def move(
        self, base: Floats, last: Floats, time: Floats, dt: float, uniform: Floats
    ) -> Floats:
        jumps = uniform[:, 0] < -np.expm1(-self.rate * dt)
        return np.where(jumps, self.to.quantile(uniform[:, 1]), last)


@dataclass(frozen=True, slots=True)
class Load(Process):
    """Now and then another load on top of the base; half of the times none."""

    name: str
    most: float
    """In the parameter's unit."""
    every: float
    """[s] between two changes on average."""

    def move(
        self, base: Floats, last: Floats, time: Floats, dt: float, uniform: Floats
    ) -> Floats:
        changes = uniform[:, 0] < -np.expm1(-dt / self.every)
        load = self.most * np.maximum(0.0, 2 * uniform[:, 1] - 1)
        return np.where(changes, base + load, last)


@dataclass(frozen=True, slots=True)
class Sag(Process):
    """Falls from the base by a share, as a battery or a warming motor does."""

    name: str
    loss: float
    """Share that is gone in the end."""
    time_constant: float
    """[s]"""

    def move(
        self, base: Floats, last: Floats, time: Floats, dt: float, uniform: Floats
    ) -> Floats:
        return base * (1 + self.loss * np.expm1(-time / self.time_constant))


class Course:
    """The course of e in every world under several processes."""

    def __init__(
        self,
        space: ParameterSpace,
        processes: Sequence[Process],
        world_count: int,
        *,
        seed: int,
    ) -> None:
        self.space, self.processes, self.seed = space, tuple(processes), seed
        self._columns = [space.index(process.name) for process in processes]
        if len(set(self._columns)) < len(self._columns):
            raise RealworthyError("Two processes move the same parameter.")
        self.base = np.tile(space.nominal, (world_count, 1))
        self.now = self.base.copy()
        """(worlds, d) e at this moment."""
        self.time = np.zeros(world_count)
        self.episode = np.zeros(world_count, dtype=np.int64)
        self._step = np.zeros(world_count, dtype=np.int64)

    def begin(self, samples: Floats, worlds: Ids) -> None:
        """Starts an episode of some worlds at their samples of e."""
        self.base[worlds] = samples
        self.restart(worlds)

    def restart(self, worlds: Ids) -> None:
        """Starts a new episode of some worlds at the samples that they have."""
        self.now[worlds] = self.base[worlds]
        self.time[worlds] = 0.0
        self._step[worlds] = 0
        self.episode[worlds] += 1

    def advance(self, dt: float) -> Ids:
        """One step of every process; returns the worlds whose e has changed."""
        before = self.now.copy()
        self.time += dt
        self._step += 1
        worlds = np.arange(len(self.base))
        for process, column in zip(self.processes, self._columns, strict=True):
            key = self.episode * 1_000_003 + self._step
            draws = Draws(self.seed, f"process {process.name}")
            uniform = draws.uniform(worlds, 2, episode=key)
            base, last = self.base[:, column], self.now[:, column]
            value = process.move(base, last, self.time, dt, uniform)
            parameter = self.space.parameters[column]
            self.now[:, column] = np.clip(value, parameter.lower, parameter.upper)
        return np.flatnonzero((self.now != before).any(1))

    def state_dict(self) -> dict[str, Array]:
        """Everything that an exact resumption needs, copied."""
        return {name: array.copy() for name, array in self._list_memory().items()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Goes on from `state_dict`."""
        for name, array in self._list_memory().items():
            array[:] = state[name]

    def _list_memory(self) -> dict[str, Array]:
        return {
            "base": self.base,
            "now": self.now,
            "time": self.time,
            "episode": self.episode,
            "step": self._step,
        }
