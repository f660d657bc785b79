"""The search itself, against dense algebra."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from realworthy.identification import Ending, LeastSquaresSettings
from realworthy.identification.solver.least_squares import estimate_covariance
from realworthy.identification.solver.levenberg_marquardt import minimise
from realworthy.identification.solver.linearisation import Prior
from tests.identification.linear import Linear, make_linear, solve_linear

PLAIN = LeastSquaresSettings(outlier=np.inf, promise=1e-12, share=1e-14)


def flat(d: int) -> Prior:
    return Prior(np.zeros(d), np.zeros((d, d)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [0, 2])
def test_a_linear_problem_has_its_closed_form_and_covariance(seed: int, k: int):
    problem = make_linear(seed, k=k)
    z, starts, covariance = solve_linear(problem)
    found = minimise(problem, np.ones(4), flat(4), PLAIN)
    assert found.ending is Ending.CONVERGED
    assert found.at.point.z == pytest.approx(z, abs=1e-7)
    assert found.at.point.starts == pytest.approx(starts, abs=1e-6)
    spread, inflation = estimate_covariance(problem, found.at)
    residuals = problem.residuals(z, starts[None]).values[0]
    variance = residuals @ residuals / (len(residuals) - 4)
    assert spread == pytest.approx(variance * covariance[:4, :4], rel=1e-5, abs=1e-9)
    assert inflation == pytest.approx(1)


def test_a_gaussian_prior_is_so_many_more_measurements():
    problem = make_linear(5, k=0)
    mean, precision = np.full(4, 3.0), np.diag([0.0, 10.0, 100.0, 1e6])
    design = problem.a.reshape(-1, 4)
    hessian = design.T @ design + precision
    expected = np.linalg.solve(hessian, design.T @ problem.y.ravel() + precision @ mean)
    found = minimise(problem, np.ones(4), Prior(mean, precision), PLAIN)
    assert found.at.point.z == pytest.approx(expected, abs=1e-6)


def test_a_bound_holds_and_the_others_adapt_to_it():
    problem = make_linear(1, k=0, lower=0.9, upper=1.1)
    found = minimise(problem, np.ones(4), flat(4), PLAIN).at.point.z
    design, y = problem.a.reshape(-1, 4), problem.y.ravel()
    assert found == pytest.approx(lsq_linear(design, y, (0.9, 1.1)).x, abs=1e-6)
    assert np.abs(found - 1).max() == pytest.approx(0.1)


def test_outliers_hardly_move_a_robust_fit():
    clean = make_linear(2, k=0)
    truth, _, _ = solve_linear(clean)
    y = clean.y.copy()
    y[:, ::10] += 40.0
    spoilt = Linear(clean.a, clean.b, y)
    robust = LeastSquaresSettings(promise=1e-6, share=1e-9)
    held = minimise(spoilt, np.ones(4), flat(4), robust).at.point.z
    dragged = minimise(spoilt, np.ones(4), flat(4), PLAIN).at.point.z
    assert np.abs(held - truth).max() < 0.25 * np.abs(dragged - truth).max()


def test_a_direction_without_information_stays_where_it_was():
    problem = make_linear(3, k=0)
    problem.a[:, :, 3] = 0.0
    found = minimise(problem, np.full(4, 1.7), flat(4), PLAIN)
    assert found.at.point.z[3] == pytest.approx(1.7)
