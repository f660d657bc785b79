"""What a count of successes proves: pass, fail, or how many more episodes it takes.

Nothing is judged on a point estimate. A share is judged so that one may look after
every batch: the chance of a wrong verdict stays below 1 − level over all looks together
(`judge_share`). What holds of realities never tried is the matter of `tolerance`.
"""

import enum
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError
from realworthy.gap.grades import Grade, compute_look_level, grade_transfer
from realworthy.gap.intervals import (
    MOST_TRIALS,
    Interval,
    compute_normal_quantile,
    compute_paired_bootstrap,
    compute_wilson_interval,
    find_fewest_trials,
)

Floats = NDArray[np.float64]
_FEWEST_PAIRS = 8
"""Pairs below which no change is claimed: fewer have too few distinct resamples for a
95 % interval."""


class CertificateVerdict(enum.StrEnum):
    PASS = "pass"
    FAIL = "fail"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Whether the true share of success reaches `bar`, and on what evidence."""

    verdict: CertificateVerdict
    successes: int
    count: int
    bar: float
    interval: Interval
    """Wilson's, of this look alone."""
    more: int | None
    """Further episodes that would settle it at the present rate; 0 where it is settled,
    None where the rate is too near the bar to tell."""

    def __str__(self) -> str:
        low, high = (100 * limit for limit in self.interval)
        seen = (
            f"{self.successes} of {self.count} ({low:.1f} to {high:.1f} %), required "
            f"{100 * self.bar:g} %"
        )
        if self.verdict is not CertificateVerdict.INSUFFICIENT:
            return f"{self.verdict}: {seen}"
        if self.more is None:
            return f"insufficient evidence: {seen}; too close to the bar to decide"
        return f"insufficient evidence: {seen}; run {self.more} more"


def judge_share(
    successes: int, count: int, bar: float, *, level: float = 0.95
) -> Judgement:
    """Whether successes come in at least a share `bar` of all episodes.

    May be asked after every batch: either wrong verdict comes in fewer than 1 − level
    of all runs, however often one looks. The evidence is the mean likelihood ratio of
    all shares on the wanted side of the bar against the bar itself (Robbins, Annals of
    Mathematical Statistics 41, 1970); a verdict also needs Wilson's interval on that
    side. Episodes must be independent.
    """
    verdict = _decide(successes, count, bar, level)
    more = 0
    if verdict is CertificateVerdict.INSUFFICIENT:
        more = estimate_more(successes, count, bar, level=level)
    return Judgement(
        verdict=verdict,
        successes=successes,
        count=count,
        bar=bar,
        interval=_bound_share(successes, count, level),
        more=more,
    )


def estimate_more(
    successes: int, count: int, bar: float, *, level: float = 0.95
) -> int | None:
    """Further episodes until `judge_share` decides if the rate stays as it is.

    About an even chance; None where a million would not do. Without any episode yet,
    the rate is taken to be 1.
    """
    rate = successes / count if count else 1.0

    def is_settled(more: int) -> bool:
        total = count + more
        return (
            _decide(rate * total, total, bar, level)
            is not CertificateVerdict.INSUFFICIENT
        )

    return find_fewest_trials(is_settled)


def _decide(
    successes: float, count: int, bar: float, level: float
) -> CertificateVerdict:
    if not 0 < bar < 1:
        raise RealworthyError(
            f"The bar is {bar:g}; it must lie between 0 and 1.",
            hint="No number of episodes proves that none will ever fail.",
        )
    needed = -math.log(1 - level)
    interval = _bound_share(successes, count, level)
    failures = count - successes
    if interval.lower >= bar and _weigh(successes, failures, bar) >= needed:
        return CertificateVerdict.PASS
    if interval.upper < bar and _weigh(failures, successes, 1 - bar) >= needed:
        return CertificateVerdict.FAIL
    return CertificateVerdict.INSUFFICIENT


def _weigh(successes: float, failures: float, bar: float) -> float:
    """Log of the mean likelihood ratio of shares above `bar` to `bar` itself.

    The mean is over Jeffreys' prior, cut at the bar. Were the true share the bar or
    less, exp of this would be a supermartingale that begins at 1.
    """
    from scipy.special import betainc, betaln

    a, b = successes + 0.5, failures + 0.5
    # the upper tail of Beta(a, b) is the lower tail of Beta(b, a)
    tail, prior = betainc(b, a, 1 - bar), betainc(0.5, 0.5, 1 - bar)
    if tail <= 0:
        return -math.inf
    mean = betaln(a, b) + math.log(tail) - betaln(0.5, 0.5) - math.log(prior)
    return float(mean - successes * math.log(bar) - failures * math.log1p(-bar))


def _bound_share(successes: float, count: int, level: float) -> Interval:
    if count == 0:
        return Interval(0.0, 1.0)
    return compute_wilson_interval(successes, count, level=level)


class ComparisonVerdict(enum.StrEnum):
    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    """Within the margin."""
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What a new policy is against an old one on the same episodes."""

    change: ComparisonVerdict
    difference: float
    """Mean of new less old, in the unit of the scores."""
    interval: Interval
    p_value: float | None
    """McNemar's, exact and two-sided; None for scores other than 0 and 1."""
    count: int
    more: int | None
    """Further pairs that would settle it at the present difference; 0: settled."""


def compare_paired(
    new: ArrayLike,
    old: ArrayLike,
    *,
    margin: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """New against old (episodes,) of equal seeds: more is better.

    Successes (0 or 1) give Bonett and Price's interval (Journal of Educational and
    Behavioral Statistics 37, 2012) and must also convince McNemar's exact test; other
    scores a paired bootstrap. Equal: the whole interval lies within ± margin, whatever
    its side of zero. For k looks use `compute_look_level(level, k)`.
    """
    first, second = np.asarray(new, np.float64), np.asarray(old, np.float64)
    is_binary = bool(np.isin([*first, *second], (0.0, 1.0)).all())
    if is_binary and first.shape == second.shape and first.ndim == 1:
        won, lost = int((first > second).sum()), int((first < second).sum())
        interval = _bound_pairs(won, lost, len(first), level)
        p_value = _test_pairs(won, lost)
    else:
        interval = compute_paired_bootstrap(first, second, level=level, seed=seed)
        p_value = None
    difference = float(np.mean(first - second)) if len(first) else 0.0
    is_sure = p_value is None or p_value <= 1 - level
    change = ComparisonVerdict.INSUFFICIENT
    if len(first) >= _FEWEST_PAIRS:
        if -margin < interval.lower and interval.upper < margin:
            change = ComparisonVerdict.EQUAL
        elif interval.lower > 0 and is_sure:
            change = ComparisonVerdict.BETTER
        elif interval.upper < 0 and is_sure:
            change = ComparisonVerdict.WORSE
    settled = change is not ComparisonVerdict.INSUFFICIENT
    return Comparison(
        change=change,
        difference=difference,
        interval=interval,
        p_value=p_value,
        count=len(first),
        more=0 if settled else _count_pairs(difference, interval, margin, len(first)),
    )


def _bound_pairs(won: int, lost: int, count: int, level: float) -> Interval:
    gain, loss = (won + 1) / (count + 2), (lost + 1) / (count + 2)
    middle = gain - loss
    spread = math.sqrt((gain + loss - middle**2) / (count + 2))
    half = compute_normal_quantile(level) * spread
    return Interval(max(middle - half, -1.0), min(middle + half, 1.0))


def _test_pairs(won: int, lost: int) -> float:
    from scipy.stats import binomtest

    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def _count_pairs(
    difference: float, interval: Interval, margin: float, count: int
) -> int | None:
    """Pairs to add until the interval, narrowing as 1/√n, leaves zero or fits within
    the margin, whichever is sooner."""
    half = (interval.upper - interval.lower) / 2
    room = max(abs(difference), margin - abs(difference))
    if room <= 0:
        return None
    needed = math.ceil(count * (half / room) ** 2)
    more = max(needed, _FEWEST_PAIRS, count + 1) - count
    return more if more <= MOST_TRIALS else None


def compute_cvar(values: ArrayLike, *, share: float = 0.1) -> float:
    """Mean of the worst `share` of values, low ones being bad; a value on the edge
    counts in part."""
    ordered = np.sort(np.asarray(values, np.float64))
    if not len(ordered) or not 0 < share <= 1:
        raise RealworthyError(
            f"The mean of the worst {share:g} of {len(ordered)} values cannot be."
        )
    wanted = share * len(ordered)
    weights = np.clip(wanted - np.arange(len(ordered)), 0.0, 1.0)
    return float(weights @ ordered / wanted)


def grade_cells(
    nominal: tuple[int, int], cells: ArrayLike, *, level: float = 0.95
) -> tuple[int, Grade]:
    """Index and transfer grade of the cell that loses most against the nominal one.

    nominal: successes and episodes; cells: (cells, 2) the same of every other cell. The
    worst of many is chosen by its luck too, so each is graded at a level that holds for
    all of them together.
    """
    counts = np.asarray(cells, np.int64)
    if counts.ndim != 2 or counts.shape[1:] != (2,) or not len(counts):
        raise RealworthyError(f"Cells need rows (successes, episodes): {counts.shape}.")
    each = compute_look_level(level, len(counts))
    grades = [
        grade_transfer(*nominal, int(hits), int(count), level=each)
        for hits, count in counts
    ]
    worst = max(range(len(grades)), key=lambda i: grades[i].gap)
    return worst, grades[worst]
