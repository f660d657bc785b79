"""Verdicts keep their promised errors over repeated looks."""

import math

import numpy as np
import pytest

from realworthy.certification.certificate.statistics import (
    CertificateVerdict,
    ComparisonVerdict,
    compare_paired,
    compute_cvar,
    estimate_more,
    grade_cells,
    judge_share,
)
from realworthy.errors import RealworthyError
from realworthy.gap.intervals import compute_wilson_interval


def look_often(truth: float, bar: float, runs: int, looks: int, batch: int):
    """First verdict of each run that looks after every batch; and naive Wilson's."""
    rng = np.random.default_rng(7)
    hits = np.cumsum(rng.binomial(batch, truth, (runs, looks)), axis=1)
    known: dict[tuple[int, int], tuple[CertificateVerdict, bool]] = {}
    firsts, naive = [], []
    for row in hits:
        first, fooled = CertificateVerdict.INSUFFICIENT, False
        for look, successes in enumerate(row.tolist(), 1):
            key = (successes, look * batch)
            if key not in known:
                lower = compute_wilson_interval(*key).lower
                known[key] = judge_share(*key, bar).verdict, lower >= bar
            verdict, passes = known[key]
            fooled |= passes
            if first is CertificateVerdict.INSUFFICIENT:
                first = verdict
        firsts.append(first)
        naive.append(fooled)
    return firsts, naive


@pytest.mark.parametrize("bar", [0.6, 0.9])
def test_repeated_looks_at_a_share_on_the_bar_rarely_mislead(bar: float):
    firsts, naive = look_often(bar, bar, runs=400, looks=60, batch=16)
    assert firsts.count(CertificateVerdict.PASS) / 400 <= 0.05
    assert firsts.count(CertificateVerdict.FAIL) / 400 <= 0.05
    # the same looks with plain Wilson bounds break the promise: 2.5 % each look
    assert sum(naive) / 400 > 0.08


@pytest.mark.parametrize(
    ("truth", "right"),
    [(0.97, CertificateVerdict.PASS), (0.80, CertificateVerdict.FAIL)],
)
def test_a_share_clear_of_the_bar_is_decided_and_decided_right(truth, right):
    firsts, _ = look_often(truth, 0.9, runs=100, looks=60, batch=16)
    assert firsts.count(right) / 100 >= 0.95


def test_evidence_equals_the_integral_of_likelihood_ratios():
    # 40 of 40 against 0.9: mean over Jeffreys' prior above the bar of (θ/0.9)^40
    theta = 0.9 + 0.1 * np.sin(np.linspace(0, math.pi / 2, 200_001)) ** 2
    middle, width = (theta[1:] + theta[:-1]) / 2, np.diff(theta)
    prior = 1 / np.sqrt(middle * (1 - middle)) * width
    for count in range(20, 60):
        evidence = ((middle / 0.9) ** count * prior).sum() / prior.sum()
        is_pass = judge_share(count, count, 0.9).verdict is CertificateVerdict.PASS
        if abs(evidence / 20 - 1) > 0.01:
            assert is_pass == (evidence >= 20)


def test_what_is_missing_is_said_and_suffices():
    judged = judge_share(31, 31, 0.95)
    assert judged.verdict is CertificateVerdict.INSUFFICIENT
    assert judged.more is not None
    total = 31 + judged.more
    assert judge_share(total, total, 0.95).verdict is CertificateVerdict.PASS
    assert (
        judge_share(total - 1, total - 1, 0.95).verdict
        is CertificateVerdict.INSUFFICIENT
    )
    assert f"run {judged.more} more" in str(judged)


def test_a_rate_on_the_bar_cannot_be_settled():
    judged = judge_share(90, 100, 0.9)
    assert judged.more is None
    assert "too close to the bar" in str(judged)


def test_nothing_seen_proves_nothing():
    judged = judge_share(0, 0, 0.9)
    assert judged.verdict is CertificateVerdict.INSUFFICIENT
    assert judged.interval == (0.0, 1.0)
    assert judged.more == estimate_more(0, 0, 0.9)
    assert 29 <= (judged.more or 0) <= 60  # 0.9^29 < 5 %


def test_a_bar_of_one_cannot_be_proven():
    with pytest.raises(RealworthyError, match="none will ever fail"):
        judge_share(10, 10, 1.0)


def test_mcnemar_agrees_with_hand_arithmetic():
    new, old = np.ones(40), np.ones(40)
    old[:9], new[9] = 0, 0  # nine won, one lost
    compared = compare_paired(new, old)
    # two-sided: 2 · (C(10,0) + C(10,1)) / 2^10
    assert compared.p_value == pytest.approx(2 * 11 / 1024)
    assert compared.difference == pytest.approx(8 / 40)
    # Bonett and Price: 10/42 − 2/42 ± 1.96 √((12/42 − (8/42)²) / 42)
    half = 1.959964 * math.sqrt((12 / 42 - (8 / 42) ** 2) / 42)
    assert compared.interval == pytest.approx((8 / 42 - half, 8 / 42 + half), rel=1e-6)
    assert compared.change is ComparisonVerdict.BETTER
    assert compare_paired(old, new).change is ComparisonVerdict.WORSE


def test_equal_needs_enough_pairs():
    few = compare_paired(np.ones(20), np.ones(20))
    assert few.change is ComparisonVerdict.INSUFFICIENT
    assert few.more is not None
    many = 20 + few.more
    assert (
        compare_paired(np.ones(many), np.ones(many)).change is ComparisonVerdict.EQUAL
    )


def test_a_small_sure_loss_within_the_margin_is_equal():
    new, old = np.ones(2000), np.ones(2000)
    new[:20] = 0
    assert compare_paired(new, old).change is ComparisonVerdict.EQUAL
    assert compare_paired(new, old, margin=0.005).change is ComparisonVerdict.WORSE


def test_pairs_of_equal_policies_are_rarely_called_different():
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(500):
        luck = rng.random(80)
        first = (luck + 0.2 * rng.random(80) < 0.9).astype(int)
        second = (luck + 0.2 * rng.random(80) < 0.9).astype(int)
        found = compare_paired(first, second, margin=0.0).change
        wrong += found in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE)
    assert wrong / 500 <= 0.05


def test_graded_scores_are_compared_by_their_paired_differences():
    rng = np.random.default_rng(2)
    hardness = rng.normal(0, 5, 100)  # common seeds: far larger than the difference
    old = hardness + rng.normal(0, 0.3, 100)
    new = hardness + rng.normal(0.5, 0.3, 100)
    compared = compare_paired(new, old, margin=0.2)
    assert compared.change is ComparisonVerdict.BETTER
    assert compared.p_value is None
    assert compared.interval.holds(0.5)
    # the same scores with the pairing lost say nothing
    mixed = compare_paired(new, rng.permutation(old), margin=0.2)
    assert mixed.change is ComparisonVerdict.INSUFFICIENT


def test_cvar_is_the_mean_of_the_worst():
    assert compute_cvar(np.arange(20.0)) == pytest.approx(0.5)  # 0 and 1
    # a tenth of 25 values: 0, 1 and half of 2
    assert compute_cvar(np.arange(25.0)) == pytest.approx((0 + 1 + 0.5 * 2) / 2.5)
    assert compute_cvar([3.0, 1.0], share=1.0) == pytest.approx(2.0)
    # of a standard normal: −φ(z)/0.1 with z = −1.2816
    normal = np.random.default_rng(0).normal(size=200_000)
    assert compute_cvar(normal) == pytest.approx(-1.755, abs=0.02)


def test_the_worst_cell_is_graded_at_a_level_for_all():
    cells = [(198, 200), (120, 200), (195, 200)]
    index, grade = grade_cells((200, 200), cells)
    assert index == 1
    assert grade.letter == "D"
    assert grade.gap == pytest.approx(0.4)
    # a loss that one cell alone would prove good is not proven among twenty
    alone, among = [(192, 200)], [(192, 200)] * 20
    assert grade_cells((200, 200), alone)[1].letter == "A"
    narrow = grade_cells((200, 200), alone)[1].interval
    wide = grade_cells((200, 200), among)[1].interval
    assert wide.upper > narrow.upper


def test_no_pairs_say_nothing():
    found = compare_paired([], [])
    assert found.change is ComparisonVerdict.INSUFFICIENT
    assert found.difference == 0.0
    assert found.count == 0
