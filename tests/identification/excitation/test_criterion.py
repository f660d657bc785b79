"""Criteria against matrices worked by hand."""

import itertools

import numpy as np
import pytest

from realworthy.identification.excitation.information import (
    Criterion,
    choose_mix,
    compute_score,
)


def test_criteria_of_a_diagonal_information():
    information = np.diag([1.0, 4.0, 100.0])
    assert compute_score(information, Criterion.D) == pytest.approx(np.log(400) / 3)
    inverse = (1 + 1 / 4 + 1 / 100) / 3
    assert compute_score(information, Criterion.A) == pytest.approx(-np.log(inverse))
    assert compute_score(information, Criterion.E) == pytest.approx(0.0)


def test_half_of_a_score_is_the_log_of_a_typical_sd():
    """Twice the data, √2 smaller sd, whatever the criterion."""
    information = np.array([[3.0, 1.0], [1.0, 2.0]])
    for criterion in Criterion:
        once, twice = (compute_score(k * information, criterion) for k in (1, 2))
        assert np.exp(-(twice - once) / 2) == pytest.approx(1 / np.sqrt(2))


@pytest.mark.parametrize("criterion", list(Criterion))
@pytest.mark.parametrize("seed", range(5))
def test_a_mix_is_at_least_as_good_as_every_candidate(criterion: Criterion, seed: int):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((2, 4, 3, 6, 5))
    parts = np.einsum("...ri,...rj->...ij", roots, roots)
    known = np.eye(5)

    def score(choice) -> float:
        total = known + sum(parts[:, c, j] for j, c in enumerate(choice))
        return float(np.mean([compute_score(f, criterion) for f in total]))

    chosen = score(choose_mix(parts, known, criterion))
    assert chosen >= max(score([c] * 3) for c in [0]) - 1e-12
    best = max(score(c) for c in itertools.product(range(4), repeat=3))
    assert chosen >= best - 0.25  # one joint at a time comes close to the best of all
