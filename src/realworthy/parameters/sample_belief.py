"""Weighted samples of e: what a simulation-based inference leaves behind."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadBelief
from realworthy.parameters.belief import Belief, check_unit_cube
from realworthy.parameters.gaussian_belief import GaussianBelief
from realworthy.parameters.space import ParameterSpace

Floats = NDArray[np.float64]


class SampleBelief(Belief):
    """Draws repeat the samples by weight; densities are kernel estimates in z."""

    def __init__(
        self,
        space: ParameterSpace,
        samples: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> None:
        self.space = space
        self.samples = np.array(samples, dtype=np.float64)
        if self.samples.ndim != 2 or self.samples.shape[1] != len(space):
            raise BadBelief(
                f"Samples of {len(space)} parameters need shape (n, {len(space)}); got "
                f"{self.samples.shape}."
            )
        count = len(self.samples)
        if count == 0:
            raise BadBelief("A belief of samples needs at least one sample.")
        if not space.contains(self.samples).all():
            row = int(np.flatnonzero(~space.contains(self.samples))[0])
            raise BadBelief(
                f"Sample {row} lies outside its parameters' bounds, or is NaN."
            )
        given = np.ones(count) if weights is None else np.array(weights, dtype=float)
        if given.shape != (count,) or (given < 0).any() or not given.sum() > 0:
            raise BadBelief(f"{count} samples need {count} non-negative weights.")
        self.weights = given / given.sum()

    @property
    def width(self) -> int:
        return 1

    @property
    def effective_count(self) -> float:
        """1 / Σw²: how many equally weighted samples these are worth."""
        return float(1 / (self.weights**2).sum())

    def quantile(self, u: Floats) -> Floats:
        u = check_unit_cube(u, self.width)
        index = np.searchsorted(np.cumsum(self.weights), u[:, 0], side="right")
        return self.samples[np.minimum(index, len(self.samples) - 1)]

    def log_density(self, e: ArrayLike) -> Floats:
        e = np.asarray(e, dtype=np.float64)
        flat = e.reshape(-1, len(self.space))
        z = self.space.to_z(flat)
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        density = np.full(len(flat), -np.inf)
        for row in np.flatnonzero(np.isfinite(z).all(1)):
            white = np.linalg.solve(self._bandwidth, (z[row] - self._z).T)
            density[row] = np.logaddexp.reduce(logs - 0.5 * (white**2).sum(0))
        density -= 0.5 * len(self.space) * np.log(2 * np.pi)
        density -= np.log(np.diag(self._bandwidth)).sum()
        return (density + self.space.log_slope(flat)).reshape(e.shape[:-1])

    def marginal(self, names: Sequence[str]) -> "SampleBelief":
        index = [self.space.index(name) for name in names]
        space = self.space.select(names)
        return SampleBelief(space, self.samples[:, index], self.weights)

    def condition(self, known: Mapping[str, float]) -> "SampleBelief":
        """The others, each sample weighted by its nearness to what is known."""
        names = tuple(known)
        near = self.marginal(names)
        z = near.space.to_z([known[name] for name in names])
        white = np.linalg.solve(near._bandwidth, (z - near._z).T)
        log_weight = -0.5 * (white**2).sum(0)
        weights = self.weights * np.exp(log_weight - log_weight.max())
        rest = self.space.without(names).names
        index = [self.space.index(name) for name in rest]
        return SampleBelief(self.space.select(rest), self.samples[:, index], weights)

    @property
    def mean(self) -> dict[str, float]:
        return dict(
            zip(self.space.names, (self.weights @ self.samples).tolist(), strict=True)
        )

    @property
    def sd(self) -> dict[str, float]:
        centred = self.samples - self.weights @ self.samples
        sd = np.sqrt(self.weights @ centred**2)
        return dict(zip(self.space.names, sd.tolist(), strict=True))

    def correlation(self) -> Floats:
        sd = np.sqrt(np.diag(self._covariance_z))
        return self._covariance_z / np.maximum(np.outer(sd, sd), 1e-300)

    def to_gaussian(self) -> GaussianBelief:
        """The Gaussian with the same mean and covariance of z."""
        return GaussianBelief(self.space, self.weights @ self._z, self._covariance_z)

    @cached_property
    def _z(self) -> Floats:
        return self.space.to_z(self.samples)

    @cached_property
    def _covariance_z(self) -> Floats:
        centred = self._z - self.weights @ self._z
        return (centred * self.weights[:, None]).T @ centred

    @cached_property
    def _bandwidth(self) -> Floats:
        """Factor of the kernel's covariance, by Silverman's rule on the whole cloud."""
        d, n = len(self.space), self.effective_count
        factor = (n * (d + 2) / 4) ** (-1 / (d + 4))
        spread = self._covariance_z + 1e-12 * np.eye(d)
        return factor * np.linalg.cholesky(spread)
