"""What is believed of one number alone; also how it is written in a file.

Every marginal turns a uniform number into a draw (`quantile`), so that a belief is
sampled by inverse transform from repeatable draws.
"""

import math
from functools import cache, reduce

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadBelief

Floats = NDArray[np.float64]


class Uniform(msgspec.Struct, frozen=True, tag="uniform", forbid_unknown_fields=True):
    """Anywhere between two bounds, equally likely."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        _check(self.lower < self.upper and _finite(self.lower, self.upper), self)

    def quantile(self, u: Floats) -> Floats:
        return self.lower + (self.upper - self.lower) * u

    def log_density(self, e: Floats) -> Floats:
        inside = (e >= self.lower) & (e <= self.upper)
        return np.where(inside, -math.log(self.upper - self.lower), -np.inf)


class LogUniform(
    msgspec.Struct, frozen=True, tag="log_uniform", forbid_unknown_fields=True
):
    """Every ratio equally likely: right for scales that span more than a factor two."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        _check(0 < self.lower < self.upper and math.isfinite(self.upper), self)

    def quantile(self, u: Floats) -> Floats:
        return self.lower * (self.upper / self.lower) ** u

    def log_density(self, e: Floats) -> Floats:
        inside = (e >= self.lower) & (e <= self.upper)
        width = math.log(math.log(self.upper / self.lower))
        return np.where(inside, -np.log(np.where(inside, e, 1.0)) - width, -np.inf)


class TruncatedNormal(
    msgspec.Struct, frozen=True, tag="truncated_normal", forbid_unknown_fields=True
):
    """A bell of given centre and width before cutting it at the bounds."""

    mean: float
    sd: float
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        sound = self.sd > 0 and self.lower < self.upper and _finite(self.mean, self.sd)
        _check(sound, self)
        if math.isinf(self._log_mass()):
            _check(False, self, "no mass within its bounds")

    def quantile(self, u: Floats) -> Floats:
        from scipy.special import log_ndtr, ndtri_exp

        a, b = self._standard_bounds()
        if a > 0:  # work in the tail where digits are left: mirror
            mirrored = TruncatedNormal(-self.mean, self.sd, -self.upper, -self.lower)
            return -mirrored.quantile(1 - u)
        log_u = _log_add(np.log1p(-u) + log_ndtr(a), np.log(u) + log_ndtr(b))
        return np.clip(self.mean + self.sd * ndtri_exp(log_u), self.lower, self.upper)

    def log_density(self, e: Floats) -> Floats:
        x = (e - self.mean) / self.sd
        inside = (e >= self.lower) & (e <= self.upper)
        bell = -0.5 * x**2 - math.log(self.sd) - 0.5 * math.log(2 * math.pi)
        return np.where(inside, bell - self._log_mass(), -np.inf)

    def _standard_bounds(self) -> tuple[float, float]:
        return (self.lower - self.mean) / self.sd, (self.upper - self.mean) / self.sd

    def _log_mass(self) -> float:
        from scipy.special import log_ndtr

        a, b = self._standard_bounds()
        if a > 0:
            a, b = -b, -a
        low, high = float(log_ndtr(a)), float(log_ndtr(b))
        if high == -math.inf:
            return -math.inf
        return high + math.log1p(-math.exp(low - high)) if low < high else -math.inf


class Categorical(
    msgspec.Struct, frozen=True, tag="categorical", forbid_unknown_fields=True
):
    """One of several values; its density is a probability."""

    values: tuple[float, ...]
    probabilities: tuple[float, ...] = ()
    """Equal where left out."""

    def __post_init__(self) -> None:
        _check(len(self.values) > 0 and _finite(*self.values), self)
        _check(len(set(self.values)) == len(self.values), self, "a value stands twice")
        if self.probabilities:
            sound = len(self.probabilities) == len(self.values) and all(
                p >= 0 for p in self.probabilities
            )
            _check(sound and abs(sum(self.probabilities) - 1) < 1e-6, self)

    @property
    def weights(self) -> Floats:
        count = len(self.values)
        return np.array(self.probabilities or (1 / count,) * count)

    def quantile(self, u: Floats) -> Floats:
        index = np.searchsorted(np.cumsum(self.weights), u, side="right")
        return np.array(self.values)[np.minimum(index, len(self.values) - 1)]

    def log_density(self, e: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        choices = [
            np.where(e == v, w, -np.inf) for v, w in zip(self.values, logs, strict=True)
        ]
        return reduce(np.maximum, choices)


class Fixed(msgspec.Struct, frozen=True, tag="fixed", forbid_unknown_fields=True):
    """Known for certain; its density is a probability."""

    value: float

    def __post_init__(self) -> None:
        _check(_finite(self.value), self)

    def quantile(self, u: Floats) -> Floats:
        return np.full_like(u, self.value)

    def log_density(self, e: Floats) -> Floats:
        return np.where(e == self.value, 0.0, -np.inf)


Marginal = Uniform | LogUniform | TruncatedNormal | Categorical | Fixed


def is_discrete(marginal: Marginal) -> bool:
    """Whether a density of this marginal is a probability."""
    return isinstance(marginal, Categorical | Fixed)


def compute_moments(marginal: Marginal) -> tuple[float, float]:
    """Mean and standard deviation."""
    if isinstance(marginal, Fixed):
        return marginal.value, 0.0
    if isinstance(marginal, Categorical):
        values, weights = np.array(marginal.values), marginal.weights
        mean = float(weights @ values)
        return mean, float(np.sqrt(weights @ (values - mean) ** 2))
    u, weights = _quadrature()
    values = marginal.quantile(u)
    mean = float(weights @ values)
    return mean, float(np.sqrt(weights @ (values - mean) ** 2))


def compute_kl(p: Marginal, q: Marginal) -> float:
    """KL(p ‖ q) in nats: the mean over p's quantiles of log p − log q.

    Infinite where p has mass that q lacks, and between a discrete and a continuous one.
    """
    if is_discrete(p) != is_discrete(q):
        return math.inf
    if isinstance(p, Fixed):
        return float(-q.log_density(np.array(p.value)))
    if isinstance(p, Categorical):
        values, weights = np.array(p.values)[p.weights > 0], p.weights[p.weights > 0]
    else:
        u, weights = _quadrature()
        values = p.quantile(u)
    return float(weights @ (p.log_density(values) - q.log_density(values)))


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Nodes in (0, 1) and weights, dense at both ends where bells have their tails."""
    x, w = np.polynomial.legendre.leggauss(400)
    # u = smooth step of x, so that nodes crowd at 0 and 1
    t = 0.5 * (x + 1)
    u = t**3 * (10 - 15 * t + 6 * t**2)
    slope = 30 * t**2 * (1 - t) ** 2
    u = np.clip(u, 1e-300, 1 - 1e-16)
    return u, 0.5 * w * slope


def _log_add(a: Floats, b: Floats) -> Floats:
    return np.logaddexp(a, b)


def _finite(*numbers: float) -> bool:
    return all(math.isfinite(number) for number in numbers)


def _check(sound: bool, marginal: msgspec.Struct, why: str = "") -> None:
    if not sound:
        raise BadBelief(
            f"Not a distribution: {marginal}" + (f" ({why})." if why else "."),
            hint="Bounds must be finite and in order (log_uniform: positive), sd "
            "positive, probabilities non-negative with sum 1.",
        )
