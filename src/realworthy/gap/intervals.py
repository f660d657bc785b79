"""How far a number can be trusted: intervals, and how many more trials they take.

Nothing here knows what the numbers mean. Whatever is random takes a seed, and the same
seed gives the same interval.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError

Floats = NDArray[np.float64]
MOST_TRIALS = 1_000_000
"""Trials beyond which nobody waits for an answer."""


class Interval(NamedTuple):
    """From `lower` to `upper`, both included, in the unit of what they enclose."""

    lower: float
    upper: float

    def holds(self, value: float) -> bool:
        return self.lower <= value <= self.upper


def compute_wilson_interval(
    successes: float, count: int, *, level: float = 0.95, is_corrected: bool = False
) -> Interval:
    """Of a proportion, by Wilson's score; valid at any count, 0 and all included.

    `is_corrected` adds the continuity correction: wider, and never below its level.
    Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
    Medicine 17 (1998), methods 3 and 4.
    """
    _check_counts(successes, count)
    z, n = compute_normal_quantile(level), float(count)
    p = successes / n
    middle, scale = 2 * n * p + z * z, 2 * (n + z * z)
    if not is_corrected:
        half = z * math.sqrt(z * z + 4 * n * p * (1 - p))
        lower, upper = (middle - half) / scale, (middle + half) / scale
    else:
        spread = z * z - 1 / n + 4 * n * p * (1 - p)
        below = z * math.sqrt(max(spread + 4 * p - 2, 0.0)) + 1
        above = z * math.sqrt(max(spread - 4 * p + 2, 0.0)) + 1
        lower, upper = (middle - below) / scale, (middle + above) / scale
    return Interval(
        0.0 if successes == 0 else max(lower, 0.0),
        1.0 if successes == count else min(upper, 1.0),
    )


def compute_newcombe_interval(
    first_successes: float,
    first_count: int,
    second_successes: float,
    second_count: int,
    *,
    level: float = 0.95,
    is_corrected: bool = False,
) -> Interval:
    """Of the first proportion less the second, of independent trials.

    Newcombe, "Interval estimation for the difference between independent proportions",
    Statistics in Medicine 17 (1998), method 10, or 11 with `is_corrected`.
    """
    pairs = (first_successes, first_count), (second_successes, second_count)
    one, two = (
        compute_wilson_interval(hits, count, level=level, is_corrected=is_corrected)
        for hits, count in pairs
    )
    p, q = (hits / count for hits, count in pairs)
    return Interval(
        p - q - math.hypot(p - one.lower, two.upper - q),
        p - q + math.hypot(one.upper - p, q - two.lower),
    )


def compute_paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float = 0.95,
    resample_count: int = 4000,
    seed: int = 0,
) -> Interval:
    """Of the mean of first − second over pairs, such as trials of equal seeds."""
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != two.shape or one.ndim != 1:
        raise RealworthyError(
            f"Pairs need as many values on either side; got {one.shape} and "
            f"{two.shape}.",
            hint="Without pairs, use compute_mean_bootstrap.",
        )
    return compute_mean_bootstrap(
        one - two, level=level, resample_count=resample_count, seed=seed
    )


def compute_mean_bootstrap(
    values: ArrayLike,
    others: ArrayLike | None = None,
    *,
    level: float = 0.95,
    resample_count: int = 4000,
    seed: int = 0,
) -> Interval:
    """Of the mean of `values`, less that of the unpaired `others` where given."""
    rng = np.random.default_rng(seed)
    means, counts = np.zeros(resample_count), []
    for sign, part in ((1.0, values), (-1.0, others)):
        if part is None:
            continue
        given = np.asarray(part, np.float64)
        _check_units(len(given), "values")
        drawn = rng.integers(len(given), size=(resample_count, len(given)))
        means += sign * given[drawn].mean(axis=1)
        counts.append(len(given))
    return compute_limits(means, level=level, count=min(counts))


def compute_block_bootstrap(
    trajectories: Sequence[Floats],
    statistic: Callable[[Floats], float],
    *,
    block_rows: int | None = None,
    level: float = 0.95,
    resample_count: int = 1000,
    seed: int = 0,
) -> Interval:
    """Of `statistic` of all rows, where rows near one another are alike.

    Whole trajectories are drawn, or runs of `block_rows` rows that stay inside one
    trajectory: choose several times len(rows) / compute_effective_count(rows). Says
    little from fewer than eight trajectories or blocks.
    """
    blocks = list(trajectories)
    if block_rows is not None:
        blocks = [
            rows[start : start + block_rows]
            for rows in blocks
            for start in range(max(1, len(rows) - block_rows + 1))
        ]
    if block_rows is None:
        drawn_count = len(blocks)
    else:
        row_count = sum(len(rows) for rows in trajectories)
        drawn_count = max(1, round(row_count / block_rows))
    _check_units(drawn_count, "trajectories" if block_rows is None else "blocks")
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(blocks), size=(resample_count, drawn_count))
    found = [statistic(np.concatenate([blocks[i] for i in draw])) for draw in draws]
    return compute_limits(np.array(found), level=level, count=drawn_count)


def compute_effective_count(values: ArrayLike) -> float:
    """How many independent rows these (T,) rows are worth: T / (1 + 2 Σ ρ_k).

    The autocorrelations ρ_k are added up to where a sum of two neighbours turns
    negative (Geyer, Statistical Science 7, 1992, §3.3). Between 1 and T; rough below
    some 50 rows.
    """
    rows = np.asarray(values, np.float64)
    centred, count = rows - rows.mean(), len(rows)
    power = float(centred @ centred)
    if count < 4 or power <= 0:
        return float(count)
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    alike = np.fft.irfft(spectrum, size)[: count // 2 * 2] / power
    pairs = alike[0::2] + alike[1::2]
    ends = np.flatnonzero(pairs <= 0)
    total = 2 * float(pairs[: ends[0] if len(ends) else len(pairs)].sum()) - 1
    return float(np.clip(count / max(total, 1e-12), 1.0, count))


def compute_limits(found: Floats, *, level: float, count: int) -> Interval:
    """Percentiles of resampled statistics, widened for few resampled units.

    Plain percentiles are too narrow by √((n−1)/n) and ignore Student's tails
    (Hesterberg, The American Statistician 69, 2015, §3.2: expanded percentiles).
    """
    from scipy.special import ndtr
    from scipy.stats import t

    reach = math.sqrt(count / (count - 1)) * t.ppf(0.5 + level / 2, count - 1)
    tail = float(ndtr(-reach))
    lower, upper = np.quantile(found, [tail, 1 - tail])
    return Interval(float(lower), float(upper))


def compute_normal_quantile(level: float) -> float:
    """Standard deviations either side of the mean that hold `level` of a normal."""
    from scipy.special import ndtri

    if not 0 < level < 1:
        raise RealworthyError(f"level is {level:g}; it must lie between 0 and 1.")
    return float(ndtri(0.5 + level / 2))


def _check_counts(successes: float, count: int) -> None:
    if not (count > 0 and 0 <= successes <= count):
        raise RealworthyError(f"{successes} successes of {count} trials cannot be.")


def _check_units(count: int, what: str) -> None:
    if count < 2:
        raise RealworthyError(
            f"An interval needs at least two {what}; there are {count}.",
            hint="Repeat the trial, or for one long trajectory give block_rows.",
        )


def find_fewest_trials(is_enough: Callable[[int], bool]) -> int | None:
    """Fewest further trials that are enough; None where `MOST_TRIALS` would not do.

    `is_enough` must stay true once it is; it is asked some twenty times.
    """
    if is_enough(0):
        return 0
    low, high = 0, 1
    while not is_enough(high):
        low, high = high, 2 * high
        if high > MOST_TRIALS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
