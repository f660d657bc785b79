"""What a policy lost on its way from simulation to reality, graded on the interval.

A point estimate grades luck: with 20 trials a side, 95 % limits lie some 20 points
either way. A letter is therefore given only where the whole interval of the success gap
lies on the right side of a limit; else the answer is how many more trials to run.

Looking again after every trial until a letter appears breaks what `level` promises:
plan k looks and grade each at `compute_look_level(level, k)`.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from realworthy.errors import RealworthyError
from realworthy.gap.intervals import (
    Interval,
    compute_mean_bootstrap,
    compute_newcombe_interval,
    compute_normal_quantile,
    compute_paired_bootstrap,
    find_fewest_trials,
)

GOOD = 0.10
"""Loss of success in reality (share of episodes) below which the grade is A."""
POOR = 0.30
"""Loss of success beyond which the grade is D; B lies between."""
READY = 0.95
"""Success in simulation from which a gap says something about reality."""
FEWEST_POLICIES = 5
"""Policies for a rank correlation: of four, perfect agreement is chance once in 24."""

Letter = Literal["A", "B", "D", "insufficient"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """The success gap as a share of trials (0.1: ten points), and what is sure of it.

    A: less than 10 points are lost. B: less than 30 are; it may turn out an A with more
    trials. D: more than 30 are lost. Each is wrong in some (1 − level) / 2 of cases
    where the true gap lies on its limit, and less often elsewhere.
    """

    letter: Letter
    gap: float
    """Success in simulation less success in reality; negative: reality is easier."""
    interval: Interval
    retention: float | None
    """Success in reality over success in simulation; None where that never came."""
    episodes_needed: int | None
    """Further trials on each side until the letter that the gap seen suggests has an
    even chance; 0 where it is given, None where the gap seen is too near a limit.

    A B whose gap looks like an A has a count too. Trial counts grow alike on each side.
    """
    sim_success: float

    @property
    def is_ready(self) -> bool:
        """Whether simulation succeeds in 95 % at least; else improve the policy there
        first, for what begins low cannot fall far."""
        return self.sim_success >= READY

    @property
    def is_reality_easier(self) -> bool:
        """Whether the gap is negative beyond doubt: the simulator is then too hard."""
        return self.interval.upper < 0

    def __str__(self) -> str:
        low, high = (100 * limit for limit in self.interval)
        seen = f"success gap {100 * self.gap:.1f} points ({low:.1f} to {high:.1f})"
        if self.letter != "insufficient":
            parts = [f"{self.letter}: {seen}"]
        elif self.episodes_needed is None:
            parts = [f"insufficient evidence: {seen}, too near a limit to decide"]
        else:
            more = f"run {self.episodes_needed} more trials on each side"
            parts = [f"insufficient evidence: {seen}, {more}"]
        if self.is_reality_easier:
            parts.append("reality is easier")
        if not self.is_ready:
            parts.append(f"simulation succeeds in {100 * self.sim_success:.0f} % only")
        return "; ".join(parts)


def grade_transfer(
    sim_successes: int,
    sim_count: int,
    real_successes: int,
    real_count: int,
    *,
    level: float = 0.95,
) -> Grade:
    """Grade of a policy by its successes in independent trials on either side.

    The interval is Newcombe's with continuity correction, because robots give few
    trials: without it 18 of 20 against 17 of 20 would already pass for a B.
    """
    interval = _bound_gap(sim_successes, sim_count, real_successes, real_count, level)
    sim, real = sim_successes / sim_count, real_successes / real_count
    return Grade(
        letter=_choose_letter(interval),
        gap=sim - real,
        interval=interval,
        retention=real / sim if sim > 0 else None,
        episodes_needed=_count_missing(sim, sim_count, real, real_count, level),
        sim_success=sim,
    )


def compute_look_level(level: float, look_count: int) -> float:
    """Level for each of `look_count` planned looks, so that all together keep `level`.

    Bonferroni's bound: valid however the looks depend on one another.
    """
    return 1 - (1 - level) / look_count


@dataclass(frozen=True, kw_only=True, slots=True)
class ReturnGap:
    """Mean return in simulation less that in reality; negative: reality is easier."""

    gap: float
    interval: Interval


def compare_returns(
    sim: ArrayLike,
    real: ArrayLike,
    *,
    is_paired: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> ReturnGap:
    """Return gap with its bootstrap interval, from one return per episode.

    `is_paired`: episode i began alike on both sides. Both must be computed by the same
    code from logged signals; a return from a simulator's inner state has no equal on
    hardware.
    """
    compute = compute_paired_bootstrap if is_paired else compute_mean_bootstrap
    interval = compute(sim, real, level=level, seed=seed)
    gap = np.mean(np.asarray(sim, float)) - np.mean(np.asarray(real, float))
    return ReturnGap(gap=float(gap), interval=interval)


@dataclass(frozen=True, kw_only=True, slots=True)
class RankCorrelation:
    """Spearman's: 1 where simulation ranks policies as reality does, −1 reversed."""

    correlation: float
    interval: Interval
    policy_count: int


def compute_rank_correlation(
    sim: ArrayLike, real: ArrayLike, *, level: float = 0.95
) -> RankCorrelation:
    """Whether the better policy in simulation is the better one in reality.

    One score per policy on either side, five policies at least. The interval is Bonett
    and Wright's (Psychometrika 65, 2000); ranks that agree perfectly count as half a
    swap short of it, so that five policies never prove certainty.
    """
    from scipy.stats import spearmanr

    first, second = np.asarray(sim, np.float64), np.asarray(real, np.float64)
    n = len(first)
    if n != len(second) or n < FEWEST_POLICIES:
        raise RealworthyError(
            f"Ranks of {n} and {len(second)} policies cannot be compared.",
            hint=f"Score the same {FEWEST_POLICIES} or more policies on both sides.",
        )
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        raise RealworthyError(
            "All policies have one score on one side: there are no ranks to compare."
        )
    seen = float(np.asarray(spearmanr(first, second))[0])
    most = 1 - 6 / (n * (n * n - 1))
    kept = float(np.clip(seen, -most, most))
    half = compute_normal_quantile(level) * math.sqrt((1 + kept**2 / 2) / (n - 3))
    lower, upper = (
        math.tanh(math.atanh(kept) - half),
        math.tanh(math.atanh(kept) + half),
    )
    interval = Interval(
        -1.0 if seen <= -most else lower, 1.0 if seen >= most else upper
    )
    return RankCorrelation(correlation=seen, interval=interval, policy_count=n)


def _choose_letter(interval: Interval) -> Letter:
    if interval.upper < GOOD:
        return "A"
    if interval.upper < POOR:
        return "B"
    return "D" if interval.lower > POOR else "insufficient"


def _count_missing(
    sim: float, sim_count: int, real: float, real_count: int, level: float
) -> int | None:
    """Fewest further trials a side that show the likeliest letter if rates go on."""
    wanted = _choose_letter(Interval(sim - real, sim - real))

    def is_shown(more: int) -> bool:
        sims, reals = sim_count + more, real_count + more
        interval = _bound_gap(sim * sims, sims, real * reals, reals, level)
        return _choose_letter(interval) == wanted

    return find_fewest_trials(is_shown)


def _bound_gap(
    sim_hits: float, sim_count: int, real_hits: float, real_count: int, level: float
) -> Interval:
    return compute_newcombe_interval(
        sim_hits, sim_count, real_hits, real_count, level=level, is_corrected=True
    )
