"""A correlated bell in transformed coordinates: what a calibration leaves behind."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadBelief
from realworthy.parameters.belief import Belief, check_same_space, check_unit_cube
from realworthy.parameters.draws import Draws
from realworthy.parameters.space import ParameterSpace

Floats = NDArray[np.float64]
_TRIES = 32
_MOMENT_DRAWS = 20_000
"""Draws that tell the moments of a Gaussian which is cut."""


class GaussianBelief(Belief):
    """z = T(e) is Gaussian with full covariance, cut where e would leave its bounds.

    A draw that falls outside is drawn again from further uniforms, `_TRIES` times at
    most, then clipped. With log and logit transforms nothing can fall outside a bound
    that the transform knows.
    """

    def __init__(
        self, space: ParameterSpace, mean_z: ArrayLike, covariance_z: ArrayLike
    ) -> None:
        self.space = space
        self.mean_z = np.array(mean_z, dtype=np.float64)
        self.covariance_z = np.array(covariance_z, dtype=np.float64)
        d = len(space)
        if self.mean_z.shape != (d,) or self.covariance_z.shape != (d, d):
            raise BadBelief(
                f"A Gaussian over {d} parameters needs a mean of {d} numbers and a "
                f"{d}×{d} covariance; got {self.mean_z.shape} and "
                f"{self.covariance_z.shape}."
            )
        self._factor = _check_factor(space, self.mean_z, self.covariance_z)

    @property
    def width(self) -> int:
        return len(self.space) * (_TRIES if self._may_leave_bounds else 1)

    def quantile(self, u: Floats) -> Floats:
        from scipy.special import ndtri

        d = len(self.space)
        u = check_unit_cube(u, self.width)
        e = self._from_normal(ndtri(u[:, :d]))
        outside = ~self.space.contains(e)
        for k in range(1, self.width // d if d else 1):
            if not outside.any():
                return e
            e[outside] = self._from_normal(ndtri(u[outside, k * d : (k + 1) * d]))
            outside = ~self.space.contains(e)
        return np.clip(e, self.space.lower, self.space.upper)

    def log_density(self, e: ArrayLike) -> Floats:
        e = np.asarray(e, dtype=np.float64)
        inside = self.space.contains(e)
        z = self.space.to_z(
            np.where(inside[..., None], e, self.space.from_z(self.mean_z))
        )
        white = np.linalg.solve(self._factor, (z - self.mean_z)[..., None])[..., 0]
        log_volume = np.log(np.diag(self._factor)).sum()
        bell = -0.5 * (white**2).sum(-1) - 0.5 * len(self.space) * np.log(2 * np.pi)
        density = bell - log_volume + self.space.log_slope(e) - self._log_mass
        return np.where(inside, density, -np.inf)

    def marginal(self, names: Sequence[str]) -> "GaussianBelief":
        index = [self.space.index(name) for name in names]
        covariance = self.covariance_z[np.ix_(index, index)]
        return GaussianBelief(self.space.select(names), self.mean_z[index], covariance)

    def condition(self, known: Mapping[str, float]) -> "GaussianBelief":
        given = [self.space.index(name) for name in known]
        rest_space = self.space.without(known)
        rest = [self.space.index(name) for name in rest_space.names]
        z = [self.space[name].to_z(value) for name, value in known.items()]
        cross = self.covariance_z[np.ix_(rest, given)]
        gain = np.linalg.solve(self.covariance_z[np.ix_(given, given)], cross.T).T
        mean = self.mean_z[rest] + gain @ (np.array(z) - self.mean_z[given])
        covariance = self.covariance_z[np.ix_(rest, rest)] - gain @ cross.T
        return GaussianBelief(rest_space, mean, 0.5 * (covariance + covariance.T))

    @property
    def mean(self) -> dict[str, float]:
        return dict(zip(self.space.names, self._moments[0].tolist(), strict=True))

    @property
    def sd(self) -> dict[str, float]:
        return dict(zip(self.space.names, self._moments[1].tolist(), strict=True))

    def correlation(self) -> Floats:
        sd = np.sqrt(np.diag(self.covariance_z))
        return self.covariance_z / np.outer(sd, sd)

    def kl(self, other: Belief, *, count: int = 20_000) -> float:
        """Closed form between two Gaussians of equal transforms, cuts disregarded."""
        check_same_space(self, other)
        if not isinstance(other, GaussianBelief) or not _same_coordinates(self, other):
            return super().kl(other, count=count)
        spread = np.linalg.solve(other._factor, self._factor)
        shift = np.linalg.solve(other._factor, other.mean_z - self.mean_z)
        log_ratio = np.log(np.diag(other._factor) / np.diag(self._factor)).sum()
        return float(
            0.5 * ((spread**2).sum() + shift @ shift - len(self.space)) + log_ratio
        )

    @cached_property
    def _may_leave_bounds(self) -> bool:
        bounds = np.stack([self.space.lower, self.space.upper])
        return bool(np.isfinite(self.space.to_z(bounds)).any())

    @cached_property
    def _log_mass(self) -> float:
        """log of the share of the uncut Gaussian that lies within the bounds."""
        if not self._may_leave_bounds:
            return 0.0
        normal = Draws(0, "gaussian mass").normal(
            np.arange(_MOMENT_DRAWS), len(self.space)
        )
        inside = self.space.contains(self._from_normal(normal)).mean()
        if inside < 1e-3:
            raise BadBelief(
                "This Gaussian lies almost wholly outside its parameters' bounds.",
                hint="Correct its mean, or widen the bounds.",
            )
        return float(np.log(inside))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        if self._may_leave_bounds:
            draws = np.random.Generator(np.random.Philox(0))  # of no world: numpy's do
            e = self.quantile(draws.random((_MOMENT_DRAWS, self.width)))
            return e.mean(0), e.std(0)
        nodes, weights = np.polynomial.hermite_e.hermegauss(48)
        weights = weights / weights.sum()
        sd_z = np.sqrt(np.diag(self.covariance_z))
        e = self.space.from_z(self.mean_z + nodes[:, None] * sd_z)
        mean = weights @ e
        return mean, np.sqrt(weights @ (e - mean) ** 2)

    def _from_normal(self, normal: Floats) -> Floats:
        z = np.tile(self.mean_z, (len(normal), 1))
        for j, column in enumerate(self._factor.T):
            z += normal[:, j : j + 1] * column  # a matrix product would round by batch
        return self.space.from_z(z)


def _check_factor(space: ParameterSpace, mean: Floats, covariance: Floats) -> Floats:
    """Cholesky factor; raises with the offending direction in words."""
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
        raise BadBelief("A Gaussian belief holds numbers that are not finite.")
    if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=1e-14):
        raise BadBelief("The covariance of a Gaussian belief is not symmetric.")
    try:
        return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        largest = np.argsort(-np.abs(vectors[:, 0]))[:3]
        names = ", ".join(space.names[i] for i in largest)
        raise BadBelief(
            "The covariance of this belief is not positive definite: its smallest "
            f"eigenvalue is {values[0]:.3g}, in a direction of {names}.",
            hint="Drop one of these parameters, or add to the covariance's diagonal.",
        ) from None


def _same_coordinates(first: GaussianBelief, second: GaussianBelief) -> bool:
    def coordinates(belief: GaussianBelief) -> list[tuple[object, ...]]:
        return [
            (p.transform, p.lower, p.upper)
            if p.transform == "logit"
            else (p.transform,)
            for p in belief.space
        ]

    return coordinates(first) == coordinates(second)
