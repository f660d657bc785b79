"""Grades are right or withheld; the intervals below them agree with published ones."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom, binomtest

from realworthy.errors import RealworthyError
from realworthy.gap.grades import (
    compare_returns,
    compute_look_level,
    compute_rank_correlation,
    grade_transfer,
)
from realworthy.gap.intervals import (
    compute_block_bootstrap,
    compute_effective_count,
    compute_mean_bootstrap,
    compute_newcombe_interval,
    compute_paired_bootstrap,
    compute_wilson_interval,
)


def is_right(letter: str, gap: float) -> bool:
    claims = {"A": gap < 0.10, "B": gap < 0.30, "D": gap > 0.30, "insufficient": True}
    return claims[letter]


def test_grades_of_a_thousand_random_policies_are_right_or_withheld():
    rng = np.random.default_rng(0)
    right, given = 0, 0
    for _ in range(1000):
        sim, real = rng.uniform(0.5, 1), rng.uniform(0.2, 1)
        sims, reals = (int(n) for n in rng.integers(10, 300, 2))
        hits = int(rng.binomial(sims, sim)), int(rng.binomial(reals, real))
        grade = grade_transfer(hits[0], sims, hits[1], reals)
        right += is_right(grade.letter, sim - real)
        given += grade.letter != "insufficient"
    assert right >= 950
    assert given >= 500


@pytest.mark.parametrize(("limit", "letters"), [(0.10, "A"), (0.30, "AB"), (0.30, "D")])
@pytest.mark.parametrize("count", [10, 20, 100])
def test_a_gap_on_the_limit_is_seldom_graded_past_it(
    limit: float, letters: str, count: int
):
    """Summed over all outcomes: exact, without draws. A and B err above, D below."""
    counts = np.arange(count + 1)
    graded = np.array(
        [
            [grade_transfer(int(a), count, int(b), count).letter for b in counts]
            for a in counts
        ]
    )
    is_graded = np.isin(graded, list(letters))
    worst = max(
        float(
            binom.pmf(counts, count, sim)
            @ is_graded
            @ binom.pmf(counts, count, sim - limit)
        )
        for sim in np.linspace(limit, 1, 15)
    )
    assert worst < 0.026


def test_eighteen_of_twenty_against_seventeen_is_insufficient():
    grade = grade_transfer(18, 20, 17, 20)
    assert grade.letter == "insufficient"
    assert grade.gap == pytest.approx(0.05)
    assert grade.retention == pytest.approx(17 / 18)
    assert str(grade) == (
        "insufficient evidence: success gap 5.0 points (-20.6 to 30.2), "
        "run 349 more trials on each side; simulation succeeds in 90 % only"
    )


def test_twenty_trials_can_never_be_good():
    letters = {grade_transfer(20, 20, hits, 20).letter for hits in range(21)}
    assert letters == {"B", "insufficient", "D"}


def test_enough_trials_earn_each_letter():
    assert grade_transfer(490, 500, 480, 500).letter == "A"
    assert grade_transfer(490, 500, 410, 500).letter == "B"
    assert grade_transfer(490, 500, 200, 500).letter == "D"


@pytest.mark.parametrize("hits", [(18, 17), (19, 14), (20, 12)])
def test_the_trials_asked_for_would_do(hits: tuple[int, int]):
    grade = grade_transfer(hits[0], 20, hits[1], 20)
    assert grade.episodes_needed
    times = math.ceil(1 + grade.episodes_needed / 20)
    more = grade_transfer(times * hits[0], times * 20, times * hits[1], times * 20)
    assert more.episodes_needed == 0
    fewer = grade_transfer(*(n * (times - 2) for n in (hits[0], 20, hits[1], 20)))
    assert fewer.episodes_needed


def test_half_a_width_of_five_points_takes_some_280_trials():
    limits = compute_newcombe_interval(252, 280, 252, 280)
    assert (limits.upper - limits.lower) / 2 == pytest.approx(0.05, abs=0.001)


def test_a_gap_on_a_limit_cannot_be_decided():
    grade = grade_transfer(20, 20, 14, 20)
    assert grade.episodes_needed is None
    assert "too near a limit" in str(grade)


def test_an_easier_reality_has_a_negative_gap_and_says_so():
    grade = grade_transfer(10, 40, 38, 40)
    assert grade.gap == pytest.approx(-0.7)
    assert grade.is_reality_easier
    assert not grade.is_ready
    assert "reality is easier" in str(grade)
    assert grade_transfer(19, 20, 20, 20).is_reality_easier is False


def test_a_policy_that_never_succeeds_retains_nothing_to_speak_of():
    grade = grade_transfer(0, 20, 0, 20)
    assert grade.retention is None
    assert not grade.is_ready


def test_planned_looks_keep_the_level():
    """Ten looks at a gap of exactly 10 points: an A in fewer than 1 of 20 series."""
    rng = np.random.default_rng(1)
    level, wrong, naive = compute_look_level(0.95, 10), 0, 0
    for _ in range(300):
        sim = np.cumsum(rng.random(300) < 0.95)[29::30].tolist()
        real = np.cumsum(rng.random(300) < 0.85)[29::30].tolist()
        looks = list(zip(sim, range(30, 301, 30), real, strict=True))
        wrong += any(
            grade_transfer(a, n, b, n, level=level).letter == "A" for a, n, b in looks
        )
        naive += any(grade_transfer(a, n, b, n).letter == "A" for a, n, b in looks)
    assert wrong / 300 < 0.025
    assert naive > wrong


def test_impossible_counts_are_refused():
    with pytest.raises(RealworthyError, match="21 successes of 20 trials"):
        grade_transfer(21, 20, 3, 20)


def test_return_gaps_are_signed_and_pairs_narrow_them():
    rng = np.random.default_rng(0)
    start = rng.normal(0, 10, 30)
    sim, real = 100 + start + rng.normal(0, 1, 30), 97 + start + rng.normal(0, 1, 30)
    paired = compare_returns(sim, real, is_paired=True)
    apart = compare_returns(sim, real)
    assert paired.gap == pytest.approx(3, abs=0.6)
    assert paired.interval.lower > 0 > apart.interval.lower
    assert paired == compare_returns(sim, real, is_paired=True)


def test_rank_correlation_by_hand():
    """One swap of neighbours among five: 1 − 6·2 / (5·24)."""
    found = compute_rank_correlation([1, 2, 3, 4, 5], [10, 20, 30, 50, 40])
    assert found.correlation == pytest.approx(0.9)
    assert found.interval.lower < 0.5


def test_five_agreeing_policies_prove_little():
    found = compute_rank_correlation([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert found.correlation == pytest.approx(1)
    assert 0 < found.interval.lower < 0.5
    assert found.interval.upper == 1
    ten = compute_rank_correlation(range(10), range(10))
    assert ten.interval.lower > 0.85


def test_ranks_need_five_policies_that_differ():
    with pytest.raises(RealworthyError, match="the same 5 or more policies"):
        compute_rank_correlation([1, 2, 3, 4], [1, 2, 3, 4])
    with pytest.raises(RealworthyError, match="one score on one side"):
        compute_rank_correlation([1] * 5, [1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    "successes", [(0, 20), (1, 29), (15, 148), (81, 263), (20, 20)]
)
@pytest.mark.parametrize("is_corrected", [False, True])
def test_wilson_agrees_with_scipy(successes: tuple[int, int], is_corrected: bool):
    ours = compute_wilson_interval(*successes, level=0.9, is_corrected=is_corrected)
    method = "wilsoncc" if is_corrected else "wilson"
    theirs = binomtest(*successes).proportion_ci(0.9, method=method)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_difference_interval_is_newcombes():
    """Statistics in Medicine 17 (1998) 873–890, table II, example (a), method 10."""
    found = compute_newcombe_interval(56, 70, 48, 80)
    assert found == pytest.approx((0.0524, 0.3339), abs=5e-5)
    turned = compute_newcombe_interval(48, 80, 56, 70)
    assert turned == pytest.approx((-0.3339, -0.0524), abs=5e-5)


def test_bootstraps_of_ten_values_hold_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held = paired = 0
    for seed in range(400):
        values, others = rng.normal(1, 1, 10), rng.normal(0, 1, 10)
        settings = {"seed": seed, "resample_count": 500}
        held += compute_mean_bootstrap(values, others, **settings).holds(1)
        paired += compute_paired_bootstrap(values, others, **settings).holds(1)
    assert 0.93 < held / 400 < 0.99
    assert 0.92 < paired / 400 < 0.98


def test_pairs_must_match():
    with pytest.raises(RealworthyError, match="compute_mean_bootstrap"):
        compute_paired_bootstrap([1.0, 2.0], [1.0])


def test_blocks_keep_rows_that_are_alike_together():
    """Twenty trajectories, each at a level of its own: 20 facts, not 2,000."""
    rng = np.random.default_rng(0)
    levels = rng.normal(size=20)
    trajectories = [level + rng.normal(0, 0.1, 100) for level in levels]
    found = compute_block_bootstrap(trajectories, lambda rows: float(rows.mean()))
    truth = 2 * 2.09 * levels.std(ddof=1) / math.sqrt(20)  # Student's t, 19 degrees
    assert found.upper - found.lower == pytest.approx(truth, rel=0.15)
    rows = compute_block_bootstrap(
        trajectories, lambda rows: float(rows.mean()), block_rows=1, resample_count=200
    )
    assert rows.upper - rows.lower < truth / 5


def test_blocks_of_one_long_trajectory_hold_its_mean():
    rng = np.random.default_rng(1)
    held = 0
    for seed in range(100):
        rows = lfilter([1], [1, -0.9], rng.normal(size=3000))[500:]
        found = compute_block_bootstrap(
            [rows],
            lambda r: float(r.mean()),
            block_rows=125,
            resample_count=200,
            seed=seed,
        )
        held += found.holds(0)
    assert held >= 88


def test_one_trajectory_needs_blocks():
    with pytest.raises(RealworthyError, match="give block_rows"):
        compute_block_bootstrap([np.zeros(50)], lambda rows: float(rows.mean()))


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_effective_count_of_a_first_order_process(memory: float):
    """By hand: the autocorrelation is memoryᵏ, so that the share is (1−m)/(1+m)."""
    noise = np.random.default_rng(0).normal(size=50000)
    rows = lfilter([1], [1, -memory], noise)
    share = compute_effective_count(rows) / len(rows)
    assert share == pytest.approx((1 - memory) / (1 + memory), rel=0.15)
