"""Intervals: what they promise, and what refits with fresh noise show."""

from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

from realworthy.identification import Fit, Problem, fit_least_squares
from realworthy.identification.solver.covariance import (
    compute_covariance,
    eliminate_starts,
    estimate_autocorrelation,
)
from realworthy.recordings import Recording
from realworthy.twins import Twin
from tests.identification.conftest import (
    FIVE,
    SIGMA,
    add_noise,
    draw_truth,
    multisine,
    play_hidden,
)
from tests.identification.linear import make_linear

LEVEL = 0.9


@pytest.fixture(scope="module")
def clean(joint_file: Path) -> Recording:
    """What a stand-in does, before noise."""
    commands = [multisine(31, 3.0)]
    return play_hidden(joint_file, draw_truth(31), commands, seed=31, sigma=0.0)[0]


def white(seed: int, count: int) -> np.ndarray:
    return SIGMA * np.random.default_rng([seed, 3]).standard_normal(count)


def lasting(seed: int, count: int, rho: float = 0.9) -> np.ndarray:
    """AR(1) noise of the same standard deviation."""
    steps = np.random.default_rng([seed, 4]).standard_normal(count + 200)
    return SIGMA * np.sqrt(1 - rho**2) * lfilter([1.0], [1.0, -rho], steps)[200:]


def refit(joint: Twin, clean: Recording, noise: np.ndarray) -> Fit:
    problem = Problem(joint, add_noise(clean, noise), FIVE, noise=SIGMA, horizon=np.inf)
    return fit_least_squares(problem, draw_truth(31))


def covered(fit: Fit, *, scale: float = 1.0) -> list[bool]:
    """Whether each interval, its width scaled, holds the truth."""
    truth = fit.space.to_z([draw_truth(31)[name] for name in FIVE])
    sd = scale * np.sqrt(np.diag(fit.covariance_z))
    return (np.abs(fit.z - truth) < 1.645 * sd).tolist()


def test_white_residuals_have_no_autocorrelation():
    residuals = np.random.default_rng(0).standard_normal(4000)
    assert len(estimate_autocorrelation(residuals, [slice(0, 4000)])) == 0


def test_lasting_residuals_are_worth_fewer():
    """AR(1) with ρ: 1 + 2 Σ ρ^k = (1 + ρ) / (1 − ρ) = 19 at 0.9."""
    residuals = lasting(1, 40_000) / SIGMA
    series = [slice(k, k + 10_000) for k in range(0, 40_000, 10_000)]
    rho = estimate_autocorrelation(residuals, series)
    assert rho[:10] == pytest.approx(0.9 ** np.arange(1, 11), abs=0.05)
    assert 1 + 2 * rho.sum() == pytest.approx(19, rel=0.25)


def test_a_slow_derivative_feels_lasting_noise_in_full_and_a_fast_one_hardly():
    t = np.arange(20_000)
    sensitivity = np.stack([np.ones(len(t)), np.cos(np.pi * t)], axis=1)
    rho = 0.9 ** np.arange(1, 100)
    information = sensitivity.T @ sensitivity
    spread, _ = compute_covariance(
        information, sensitivity, rho, [slice(0, len(t))], variance=1.0
    )
    inflated = np.diag(spread) * np.diag(information)
    assert inflated == pytest.approx([19, 1], rel=0.02)


def test_eliminating_starts_gives_the_information_of_the_schur_complement():
    problem = make_linear(4)
    from realworthy.identification.solver.jacobian import differentiate

    z, starts = np.ones(4), np.zeros((3, 2))
    jacobian = differentiate(problem, z, starts)
    expected = np.zeros((4, 4))
    for rows in problem.runs:
        a, b = jacobian.by_z[rows], jacobian.by_start[rows]
        known = b.T @ b + np.eye(2)  # what is believed of a start has sd 1
        expected += a.T @ a - a.T @ b @ np.linalg.solve(known, b.T @ a)
    kept = eliminate_starts(jacobian.by_z, jacobian.by_start, problem.runs)
    assert kept.T @ kept == pytest.approx(expected, rel=1e-9)


def test_predicted_sd_are_those_of_a_few_refits(joint: Twin, clean: Recording):
    fits = [refit(joint, clean, white(k, len(clean.time))) for k in range(16)]
    seen = np.std([fit.z for fit in fits], axis=0, ddof=1)
    said = np.sqrt(np.mean([np.diag(fit.covariance_z) for fit in fits], axis=0))
    # sd of an sd from 16 draws is 18 %
    assert np.abs(np.log(seen / said)).max() < np.log(2.0)
    assert np.median(seen / said) == pytest.approx(1.0, abs=0.35)


@pytest.mark.slow
def test_predicted_sd_are_within_a_quarter_of_200_refits(joint: Twin, clean: Recording):
    fits = [refit(joint, clean, white(k, len(clean.time))) for k in range(200)]
    seen = np.std([fit.z for fit in fits], axis=0, ddof=1)
    said = np.sqrt(np.mean([np.diag(fit.covariance_z) for fit in fits], axis=0))
    assert seen / said == pytest.approx(np.ones(5), abs=0.25)
    hits = [hit for fit in fits[:100] for hit in covered(fit)]
    assert 0.84 <= np.mean(hits) <= 0.96


@pytest.mark.slow
def test_lasting_noise_defeats_naive_intervals_not_corrected_ones(
    joint: Twin, clean: Recording
):
    fits = [refit(joint, clean, lasting(k, len(clean.time))) for k in range(60)]
    corrected = [hit for fit in fits for hit in covered(fit)]
    naive = [hit for fit in fits for hit in covered(fit, scale=fit.inflation**-0.5)]
    assert np.mean(naive) < 0.6
    assert np.mean(corrected) >= 0.8
