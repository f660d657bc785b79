"""What holds of realities never tried, from those that were: a tolerance bound.

It is one of realities, not of episodes, and valid whatever the realities' true shares
of success look like.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError

Floats = NDArray[np.float64]
_GRID = 800
"""True shares of success among which the least favourable realities are sought."""
_STEEPEST = 4.0
"""Logarithm of the largest slope that is tried, and of the inverse of the smallest."""
_SECTIONS = 16
"""Ternary sections of the slope: (2/3)^16 leaves 0.15 % of its range."""
_OUTLIERS = 0.03
"""Share of hopeless realities that a test of realities shall bear. Its choice moves the
power, never the validity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """What nearly all realities drawn like the tried ones will show."""

    lower: float
    """At least `content` of them show this share of successes in `fresh_episodes` new
    episodes; zero where too few were tried to say anything."""
    content: float
    confidence: float
    fresh_episodes: int
    reality_count: int
    realities_needed: int
    """Fewest realities from which any bound above zero can be had."""

    def __str__(self) -> str:
        if self.reality_count < self.realities_needed:
            return (
                f"insufficient evidence: {self.reality_count} realities; "
                f"{self.realities_needed} are the fewest that prove anything of "
                f"{100 * self.content:g} %"
            )
        return (
            f"{100 * self.content:g} % of realities succeed in at least "
            f"{100 * self.lower:.0f} % of {self.fresh_episodes} episodes "
            f"({100 * self.confidence:g} % confidence, {self.reality_count} tried)"
        )


def bound_realities(
    successes: ArrayLike,
    episodes: ArrayLike,
    *,
    content: float = 0.9,
    confidence: float = 0.95,
    fresh_episodes: int = 100,
) -> Tolerance:
    """Share of success that at least `content` of all realities will show.

    successes, episodes: (realities,) of independent realities. Holds for any
    distribution of the true shares, point masses and outliers included: each candidate
    share is tested against the least favourable distribution under which it would be
    wrong, from low to high, up to the first that cannot be refuted.
    """
    hits, counts = np.asarray(successes, np.int64), np.asarray(episodes, np.int64)
    if hits.shape != counts.shape or hits.ndim != 1 or not len(hits):
        raise RealworthyError(
            f"Successes {hits.shape} and episodes {counts.shape} need one number for "
            "each reality."
        )
    if np.any(hits < 0) or np.any(hits > counts) or np.any(counts < 1):
        raise RealworthyError("Successes must lie between 0 and the episodes, over 0.")
    if not (0 < content < 1 and 0 < confidence < 1 and fresh_episodes > 0):
        raise RealworthyError(
            f"content {content:g} and confidence {confidence:g} must lie between 0 and "
            f"1, fresh_episodes {fresh_episodes} above 0."
        )
    sizes, kinds = np.unique(counts, return_inverse=True)
    risk = (1 - content, 1 - confidence)
    proven = 0
    for candidate in range(1, fresh_episodes + 1):
        rule = _plan_test(
            tuple(sizes.tolist()), len(hits), candidate, fresh_episodes, *risk
        )
        if rule is None or int((hits <= rule.at_most[kinds]).sum()) > rule.allowed:
            break
        proven = candidate
    return Tolerance(
        lower=proven / fresh_episodes,
        content=content,
        confidence=confidence,
        fresh_episodes=fresh_episodes,
        reality_count=len(hits),
        realities_needed=math.ceil(math.log(1 - confidence) / math.log(content)),
    )


@dataclass(frozen=True, slots=True)
class _Test:
    """Refutes "too many realities fall short" where few enough showed few successes."""

    at_most: NDArray[np.int64]
    """Successes, for each number of episodes, up to which a reality counts as poor."""
    allowed: int
    """Poor realities up to which the hypothesis is refuted."""


@lru_cache(maxsize=4096)
def _plan_test(
    sizes: tuple[int, ...],
    reality_count: int,
    candidate: int,
    fresh: int,
    short_share: float,
    error: float,
) -> _Test | None:
    """Test of "over `short_share` of realities show fewer than `candidate` of `fresh`".

    Fixed before the data are seen. For each number of episodes, every threshold gives a
    least chance that a reality is poor while the hypothesis is true. Taken is the one
    that best lets realities pass that fail half as often as they may, but for a few
    outliers. None: no outcome could refute it.
    """
    from scipy.stats import binom

    truth = _spread_truths()
    short = binom.cdf(candidate - 1, fresh, truth)
    limit = truth[np.argmin(np.abs(short - short_share))]
    good = 1 - (1 - limit) / 2
    plans = []
    for size in sizes:
        thresholds = _list_thresholds(size, limit, good)
        least = _find_least(_chart_poor(size)[thresholds], short, short_share)
        allowed = _count_allowed(reality_count, least, error)
        shown = _OUTLIERS + (1 - _OUTLIERS) * binom.cdf(thresholds, size, good)
        power = np.where(allowed >= 0, binom.cdf(allowed, reality_count, shown), -1.0)
        best = int(np.argmax(power))
        plans.append((thresholds[best], least[best]))
    # realities of other episode counts are poor at least as often as the rarest
    allowed = int(_count_allowed(reality_count, min(p for _, p in plans), error))
    if allowed < 0:
        return None
    return _Test(np.array([at_most for at_most, _ in plans]), allowed)


def _list_thresholds(size: int, limit: float, good: float) -> NDArray[np.int64]:
    """Those worth a try: some realities at the limit are poor, not all good ones."""
    from scipy.stats import binom

    every = np.arange(size)
    is_useful = (binom.cdf(every, size, limit) > 1e-4) & (
        binom.cdf(every, size, good) < 0.95
    )
    return every[is_useful] if is_useful.any() else every[-1:]


def _spread_truths() -> Floats:
    """True shares of success from 1 to 0, dense near both ends."""
    return (1 + np.cos(np.linspace(0, np.pi, _GRID))) / 2


@lru_cache(maxsize=16)
def _chart_poor(size: int) -> Floats:
    """(thresholds, truths) Chance of at most so many successes in `size` episodes."""
    from scipy.stats import binom

    return binom.cdf(np.arange(size)[:, None], size, _spread_truths())


def _find_least(poor: Floats, short: Floats, share: float) -> Floats:
    """(thresholds,) Least chance of a poor outcome over all distributions of truths for
    which the chance to fall short is `share`.

    poor: (thresholds, truths). A linear programme with two constraints; each slope
    gives a bound from below by weak duality, so a coarse choice is only cautious.
    """

    def bound(log_slope: Floats) -> Floats:
        slope = np.exp(log_slope)
        return slope * share + (poor - slope[:, None] * short).min(axis=1)

    low, high = np.full(len(poor), -_STEEPEST), np.full(len(poor), _STEEPEST)
    best = np.zeros(len(poor))
    for _ in range(_SECTIONS):  # concave in the slope: one third can always go
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        at_left, at_right = bound(left), bound(right)
        best = np.maximum(best, np.maximum(at_left, at_right))
        goes_left = at_left > at_right
        low, high = np.where(goes_left, low, left), np.where(goes_left, right, high)
    return best


def _count_allowed(count: int, chance: ArrayLike, error: float) -> NDArray[np.int64]:
    """Most poor realities that come in at most `error` of cases; −1: even none may."""
    from scipy.stats import binom

    chances = binom.cdf(np.arange(count)[:, None], count, np.atleast_1d(chance))
    allowed = (chances <= error).sum(axis=0) - 1
    return allowed if np.ndim(chance) else allowed[0]
