"""Searches for the best of a few numbers by noisy returns, tried a batch at a time.

Coordinates are 0 … 1 in every direction. A search proposes (`ask`) and learns what its
proposals were worth (`tell`); none of them believes the largest value it has seen,
which is that of a lucky trial as much as that of a good candidate.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class StrategySearch(ABC):
    """Proposes candidates."""

    def __init__(self, start: Floats, *, seed: int) -> None:
        self.start = np.clip(start, 0.0, 1.0)
        self.width = len(start)
        self.rng = np.random.default_rng(seed)

    @abstractmethod
    def ask(self) -> Floats:
        """(n, d) candidates of the next batch."""

    @abstractmethod
    def tell(self, x: Floats, values: Floats) -> None:
        """(n, d) candidates that were tried, and their (n,) returns."""

    @property
    @abstractmethod
    def best(self) -> Floats:
        """(d,) what it would try if only one trial was left."""


class EvolutionSearch(StrategySearch):
    """CMA-ES (Hansen 2016); SO-CMA of Yu et al. 2019 where the slot is e's."""

    _SIGMA = 0.3
    """Of the first generation: a third of what strategies span."""

    def __init__(self, start: Floats, *, seed: int) -> None:
        super().__init__(start, seed=seed)
        from cmaes import CMA

        bounds = np.tile([0.0, 1.0], (self.width, 1))
        self._cma = CMA(self.start, self._SIGMA, bounds=bounds, seed=seed)

    def ask(self) -> Floats:
        return np.stack([self._cma.ask() for _ in range(self._cma.population_size)])

    def tell(self, x: Floats, values: Floats) -> None:
        if len(x) == self._cma.population_size:  # a batch cut short says nothing to it
            self._cma.tell([(a, -float(v)) for a, v in zip(x, values, strict=True)])

    @property
    def best(self) -> Floats:
        return np.clip(self._cma.mean, 0.0, 1.0)


class WeightedSearch(StrategySearch):
    """A Gaussian refitted with weights exp((R − R̄) / α) (Peng et al. 2020, §VI).

    All candidates so far count, those of older batches through their own weights; α is
    the spread of returns, so that the best few of ten carry the mean.
    """

    _BATCH, _FLOOR = 6, 0.05
    _START_SD = 0.25

    def __init__(self, start: Floats, *, seed: int) -> None:
        super().__init__(start, seed=seed)
        self._mean, self._sd = self.start, np.full(self.width, self._START_SD)
        self._x, self._values = np.zeros((0, self.width)), np.zeros(0)

    def ask(self) -> Floats:
        z = self.rng.normal(size=(self._BATCH, self.width))
        return np.clip(self._mean + self._sd * z, 0.0, 1.0)

    def tell(self, x: Floats, values: Floats) -> None:
        self._x, self._values = np.vstack([self._x, x]), np.append(self._values, values)
        spread = self._values.std()
        if spread == 0:
            return
        advantage = (self._values - self._values.max()) / (0.5 * spread)
        weights = np.exp(advantage) / np.exp(advantage).sum()
        self._mean = weights @ self._x
        variance = weights @ np.square(self._x - self._mean)
        self._sd = np.maximum(np.sqrt(variance), self._FLOOR)

    @property
    def best(self) -> Floats:
        return self._mean


class BayesianSearch(StrategySearch):
    """A Gaussian process of the return, and expected improvement on its own mean.

    For few numbers and dear trials. The kernel is squared-exponential, its length and
    the share of noise the likeliest of a few.
    """

    _BATCH, _CANDIDATES, _FIRST = 1, 2000, 5
    _LENGTHS = (0.15, 0.3, 0.6, 1.2)
    _NOISES = (0.05, 0.2, 0.5)

    def __init__(self, start: Floats, *, seed: int) -> None:
        super().__init__(start, seed=seed)
        self._x, self._values = np.zeros((0, self.width)), np.zeros(0)

    def ask(self) -> Floats:
        if not len(self._x):
            first = self.rng.uniform(size=(self._FIRST, self.width))
            first[0] = self.start
            return first
        from scipy.stats import norm

        x = self._propose()
        mean, sd = self._predict(x)
        incumbent = self._predict(self._x)[0].max()  # smoothed: not the luckiest trial
        z = (mean - incumbent) / sd
        improvement = sd * (z * norm.cdf(z) + norm.pdf(z))
        return x[[int(improvement.argmax())]]

    def tell(self, x: Floats, values: Floats) -> None:
        self._x, self._values = np.vstack([self._x, x]), np.append(self._values, values)

    @property
    def best(self) -> Floats:
        if not len(self._x):
            return self.start
        return self._x[int(self._predict(self._x)[0].argmax())]

    def _propose(self) -> Floats:
        """Anywhere, and near what is good."""
        anywhere = self.rng.uniform(size=(self._CANDIDATES, self.width))
        near = self.best + 0.1 * self.rng.normal(size=anywhere.shape)
        return np.clip(np.vstack([anywhere, near]), 0.0, 1.0)

    def _predict(self, x: Floats) -> tuple[Floats, Floats]:
        """(n,) mean and sd of the return itself, without the noise of a trial."""
        y = (self._values - self._values.mean()) / max(self._values.std(), 1e-9)
        fits = [
            (self._weigh(length, noise, y), length, noise)
            for length in self._LENGTHS
            for noise in self._NOISES
        ]
        _, length, noise = max(fits)
        factor = np.linalg.cholesky(
            self._kernel(self._x, self._x, length) + noise * np.eye(len(y))
        )
        cross = np.linalg.solve(factor, self._kernel(self._x, x, length))
        mean = cross.T @ np.linalg.solve(factor, y)
        sd = np.sqrt(np.maximum(1.0 - np.square(cross).sum(0), 1e-9))
        scale = max(self._values.std(), 1e-9)
        return self._values.mean() + scale * mean, scale * sd

    def _weigh(self, length: float, noise: float, y: Floats) -> float:
        """Log likelihood, up to a constant."""
        kernel = self._kernel(self._x, self._x, length) + noise * np.eye(len(y))
        factor = np.linalg.cholesky(kernel)
        half = np.linalg.solve(factor, y)
        return float(-0.5 * half @ half - np.log(np.diag(factor)).sum())

    @staticmethod
    def _kernel(a: Floats, b: Floats, length: float) -> Floats:
        square = np.square(a[:, None] - b[None]).sum(-1)
        return np.exp(-0.5 * square / length**2)


class HillSearch(StrategySearch):
    """Batch hill climbing (Song et al. 2020), its incumbent tried again in every batch.

    Kept as the largest value ever seen, an incumbent's value drifts upward with every
    lucky trial until nothing beats it; tried again and averaged, it does not.
    """

    _BATCH, _SIGMA = 5, 0.15

    def __init__(self, start: Floats, *, seed: int) -> None:
        super().__init__(start, seed=seed)
        self._incumbent, self._seen = self.start, np.zeros(0)

    def ask(self) -> Floats:
        z = self.rng.normal(size=(self._BATCH, self.width))
        others = np.clip(self._incumbent + self._SIGMA * z, 0.0, 1.0)
        return np.vstack([self._incumbent, others])

    def tell(self, x: Floats, values: Floats) -> None:
        self._seen = np.append(self._seen, values[0])
        if len(values) > 1 and values[1:].max() > self._seen.mean():
            best = 1 + int(values[1:].argmax())
            self._incumbent, self._seen = x[best], values[[best]]

    @property
    def best(self) -> Floats:
        return self._incumbent


SEARCHES: dict[str, type[StrategySearch]] = {
    "cma": EvolutionSearch,
    "awr": WeightedSearch,
    "bayes": BayesianSearch,
    "hill": HillSearch,
}
"""Name → search."""
