"""p(e): what is believed of the unknowns, together."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadBelief
from realworthy.parameters.draws import Draws
from realworthy.parameters.space import ParameterSpace

Floats = NDArray[np.float64]


class Belief(ABC):
    """A distribution over a `ParameterSpace`; every draw of it can be repeated."""

    space: ParameterSpace

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {self.space!r}>"

    @property
    @abstractmethod
    def width(self) -> int:
        """Uniform numbers that one draw consumes."""

    @abstractmethod
    def quantile(self, u: Floats) -> Floats:
        """(n, width) uniform numbers in (0, 1) → (n, d) samples of e."""

    @abstractmethod
    def log_density(self, e: ArrayLike) -> Floats:
        """log p(e) per unit of e, shape (…); −inf outside the support."""

    @abstractmethod
    def marginal(self, names: Sequence[str]) -> "Belief":
        """What is believed of some parameters, whatever the others are."""

    @abstractmethod
    def condition(self, known: Mapping[str, float]) -> "Belief":
        """What is believed of the others once some are known."""

    @property
    @abstractmethod
    def mean(self) -> dict[str, float]:
        """Name → expected value, in the parameter's unit."""

    @property
    @abstractmethod
    def sd(self) -> dict[str, float]:
        """Name → standard deviation, in the parameter's unit."""

    @abstractmethod
    def correlation(self) -> Floats:
        """(d, d) correlations of the transformed coordinates; zero where sd is zero."""

    def sample(
        self, count: int, *, seed: int, episode: int = 0, first_world: int = 0
    ) -> Floats:
        """(count, d) draws; row i depends on seed, episode and first_world + i."""
        worlds = np.arange(first_world, first_world + count)
        return self.sample_worlds(worlds, seed=seed, episode=episode)

    def sample_worlds(
        self, worlds: ArrayLike, *, seed: int, episode: ArrayLike = 0
    ) -> Floats:
        """One draw for each of the numbered worlds, each in its own episode."""
        draws = Draws(seed, "belief")
        return self.quantile(draws.uniform(worlds, self.width, episode=episode))

    def kl(self, other: "Belief", *, count: int = 20_000) -> float:
        """KL(self ‖ other) in nats, by `count` draws unless a closed form is known."""
        check_same_space(self, other)
        e = self.sample(count, seed=0)
        return float(np.mean(self.log_density(e) - other.log_density(e)))


def check_same_space(first: Belief, second: Belief) -> None:
    """Raises unless both beliefs have the same parameters in the same order."""
    if first.space.names != second.space.names:
        missing = set(first.space.names) ^ set(second.space.names)
        raise BadBelief(
            "These beliefs are about different parameters "
            f"({', '.join(sorted(missing)) or 'in another order'}).",
            hint="Compare belief.marginal(names) of the parameters that both have.",
        )


def check_unit_cube(u: ArrayLike, width: int) -> Floats:
    """`u` as (n, width) float64."""
    u = np.atleast_2d(np.asarray(u, dtype=np.float64))
    if u.shape[1] != width:
        raise BadBelief(
            f"A draw of this belief takes {width} uniforms, not {u.shape[1]}."
        )
    return u
