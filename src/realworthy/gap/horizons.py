"""How long a replay stays with what it replays, and what that says of the model.

Commands are replayed open loop from the same start: the robot's on the robot (RR: what
chance alone does), the simulator's on the robot (SR) or the robot's in the simulator
(RS). Small errors grow as e^{λt}, so that a horizon is λ⁻¹ ln(ε / error), and the
difference of two horizons is the logarithm of the ratio of two errors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError
from realworthy.gap.intervals import (
    Interval,
    compute_limits,
    compute_normal_quantile,
)

Floats = NDArray[np.float64]
FEWEST_REPEATS = 3
"""Repeats per arm: a scatter has two degrees of freedom then, the least that gives an
interval at all."""
SHORTEST_WINDOW = 5
"""Rows of growth that a slope needs."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """[s] until a replay left, or until it was last seen near (`censored`)."""

    time: float
    censored: bool


def divergence_horizon(
    distance: ArrayLike, time: ArrayLike, epsilon: float, consecutive: int = 3
) -> Horizon:
    """First time after which `distance` (T,) is above `epsilon` for some rows on end.

    In seconds since the first row. What is not a number counts as far away. A crossing
    in the last rows that is too short to be sure of does not count.
    """
    away, clock = np.asarray(distance, np.float64), np.asarray(time, np.float64)
    if away.shape != clock.shape or away.ndim != 1 or not len(away):
        raise RealworthyError(
            f"A distance of shape {away.shape} over times of shape {clock.shape} has "
            "no horizon.",
            hint="Give one distance per row, such as the largest of all channels.",
        )
    run = np.convolve(~(away <= epsilon), np.ones(consecutive), "full")
    ends = np.flatnonzero(run[consecutive - 1 : len(away)] >= consecutive)
    if len(ends):
        return Horizon(float(clock[ends[0]] - clock[0]), censored=False)
    return Horizon(float(clock[-1] - clock[0]), censored=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianHorizon:
    """[s] by which half of the replays left; infinite where fewer than half did."""

    time: float
    interval: Interval
    count: int
    censored_count: int


def compute_median_horizon(
    horizons: Sequence[Horizon], *, level: float = 0.95
) -> MedianHorizon:
    """Kaplan and Meier's median over repeats; those that never left count as longer.

    The interval holds the times at which the share still near may be one half by a
    score test (Brookmeyer and Crowley, Biometrics 38, 1982). Ten repeats are a fair
    number; fewer than four have no upper limit.
    """
    if not horizons:
        raise RealworthyError("There is no median of no horizons.")
    times, share, worth = compute_survival(horizons)
    times, share = np.append(0.0, times), np.append(1.0, share)
    worth = np.append(len(horizons), worth)
    off = (0.5 - share) * 2 * np.sqrt(worth) / compute_normal_quantile(level)
    lower = min(_find_first(times, off >= -1), max(h.time for h in horizons))
    return MedianHorizon(
        time=float(_find_medians(times, share[None])[0]),
        interval=Interval(lower, _find_first(times, off > 1)),
        count=len(horizons),
        censored_count=sum(horizon.censored for horizon in horizons),
    )


def compute_survival(horizons: Sequence[Horizon]) -> tuple[Floats, Floats, Floats]:
    """Times at which replays left, the share still near after each (Kaplan–Meier).

    And the count of uncensored replays that this share is worth, from Greenwood's
    variance of it.
    """
    ends = np.array([horizon.time for horizon in horizons])
    is_event = np.array([not horizon.censored for horizon in horizons])
    times = np.unique(ends[is_event])
    near = (ends >= times[:, None]).sum(1)
    left = (is_event & (ends == times[:, None])).sum(1)
    share = np.cumprod(1 - left / near)
    # With nobody left, Greenwood's variance has no value: count those that could leave.
    could = len(ends) - (~is_event & (ends < times[:, None])).sum(1)
    terms = left / (near * np.maximum(near - left, 1))
    greenwood = (1 - share) / np.maximum(share * np.cumsum(terms), 1e-300)
    return times, share, np.where(share > 0, greenwood, could)


@dataclass(frozen=True, slots=True)
class GrowthRate:
    """[1/s] λ of e^{λt}, over how many replays; NaN where none grows long enough."""

    rate: float
    interval: Interval
    count: int


def estimate_growth_rate(
    distance: ArrayLike,
    time: ArrayLike,
    epsilon: float,
    *,
    decades: float = 1.0,
    level: float = 0.95,
) -> GrowthRate:
    """Slope of log distance while it rises to `epsilon`, mean over (repeats, T) rows.

    Taken from where it last was below `epsilon` / 10^`decades`: choose both so that
    errors are small for the system there, yet large against noise. What a wrong force
    drives begins faster than e^{λt}, so that the slope is some percent too steep. The
    interval is Student's over repeats.
    """
    from scipy.stats import t

    slopes = [
        slope
        for row in np.atleast_2d(np.asarray(distance, np.float64))
        if not math.isnan(slope := _fit_rise(row, np.asarray(time), epsilon, decades))
    ]
    count = len(slopes)
    rate = float(np.mean(slopes)) if count else math.nan
    if count < 2:
        return GrowthRate(rate, Interval(-math.inf, math.inf), count)
    half = t.ppf(0.5 + level / 2, count - 1) * np.std(slopes, ddof=1) / math.sqrt(count)
    return GrowthRate(rate, Interval(rate - float(half), rate + float(half)), count)


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonComparison:
    """Whether the model's error shows above the robot's own irreproducibility."""

    real_real: MedianHorizon
    sim_real: MedianHorizon
    ratio: float
    """ρ = exp(λ (H_RR − H_SR)): error with the model over error without it."""
    interval: Interval
    """Of the ratio."""
    is_lower_bound: bool
    """Whether the ratio is larger still: the robot's own replays never left."""
    verdict: Literal["distinguishable", "not_distinguishable"]

    @property
    def is_within_noise(self) -> bool:
        """Whether the robot's own horizon may be as short: worth a warning."""
        return self.real_real.interval.lower <= self.sim_real.time


def compare_horizons(
    real_real: Sequence[Horizon],
    sim_real: Sequence[Horizon],
    rate: float,
    *,
    level: float = 0.95,
    resample_count: int = 2000,
    seed: int = 0,
) -> HorizonComparison:
    """Ratio of model error to the robot's own, from repeats of both replays.

    `rate` is λ [1/s] of the open-loop system; the law needs it positive and equal in
    both, and errors that are small at first. Not distinguishable does not mean that the
    model is right: where noise is large, replay cannot see model errors at all.
    """
    if not rate > 0:
        raise RealworthyError(
            "Replay horizons are undefined where errors do not grow "
            f"(rate {rate:g} 1/s).",
            hint="A stable system stays near even a wrong model: compare trajectories.",
        )
    arms = [list(real_real), list(sim_real)]
    if min(map(len, arms)) < FEWEST_REPEATS:
        raise RealworthyError(
            f"{len(arms[0])} and {len(arms[1])} replays are too few to compare.",
            hint=f"Repeat both {FEWEST_REPEATS} times at least; ten are a fair number.",
        )
    medians = [compute_median_horizon(arm, level=level) for arm in arms]
    longest = max(horizon.time for arm in arms for horizon in arm)
    rng = np.random.default_rng(seed)
    drawn = [_resample_medians(arm, resample_count, rng) for arm in arms]
    gained = np.minimum(drawn[0], longest) - np.minimum(drawn[1], longest)
    limits = compute_limits(gained, level=level, count=min(map(len, arms)))
    own, other = (min(median.time, longest) for median in medians)
    return HorizonComparison(
        real_real=medians[0],
        sim_real=medians[1],
        ratio=math.exp(rate * (own - other)),
        interval=Interval(*(math.exp(rate * limit) for limit in limits)),
        is_lower_bound=math.isinf(medians[0].time) and math.isfinite(medians[1].time),
        verdict="distinguishable" if limits.lower > 0 else "not_distinguishable",
    )


def _find_first(times: Floats, is_so: NDArray[np.bool_]) -> float:
    found = np.flatnonzero(is_so)
    return float(times[found[0]]) if len(found) else math.inf


def _fit_rise(away: Floats, clock: Floats, epsilon: float, decades: float) -> float:
    """Semi-log slope of one replay up to its first row above epsilon; NaN if short."""
    above = np.flatnonzero(~(away <= epsilon))
    end = int(above[0]) if len(above) else len(away)
    low = np.flatnonzero(away[:end] < epsilon / 10**decades)
    start = int(low[-1]) + 1 if len(low) else 0
    if end - start < SHORTEST_WINDOW or not len(above):
        return math.nan
    return float(np.polyfit(clock[start:end], np.log(away[start:end]), 1)[0])


def _resample_medians(
    arm: Sequence[Horizon], count: int, rng: np.random.Generator
) -> Floats:
    """(count,) medians of repeats drawn anew; those of equal time may go one by one."""
    ordered = sorted(arm, key=lambda horizon: (horizon.time, horizon.censored))
    ends = np.array([horizon.time for horizon in ordered])
    is_event = np.array([not horizon.censored for horizon in ordered])
    drawn = rng.multinomial(len(arm), np.full(len(arm), 1 / len(arm)), count)
    near = np.maximum(drawn[:, ::-1].cumsum(1)[:, ::-1], 1)
    return _find_medians(ends, np.cumprod(1 - drawn * is_event / near, 1))


def _find_medians(times: Floats, share: NDArray[np.floating]) -> Floats:
    """When each row of shares passes one half; the middle where it rests there."""
    with_end = np.append(times, np.inf)
    tiny = 1e-9
    reached, passed = (
        np.append(is_so, np.ones((len(share), 1), bool), axis=1).argmax(1)
        for is_so in (share <= 0.5 + tiny, share < 0.5 - tiny)
    )
    first, last = with_end[reached], with_end[passed]
    return np.where(np.isinf(last), first, (first + last) / 2)
