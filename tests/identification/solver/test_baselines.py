"""Baselines: their traps are guarded, and they are told from a fit."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import (
    LbfgsSettings,
    Problem,
    RandomSettings,
    fit_lbfgs,
    fit_least_squares,
    fit_random,
)
from realworthy.twins import Twin
from tests.identification.conftest import (
    FIVE,
    draw_truth,
    multisine,
    play_hidden,
    start_off,
)


def make_problem(joint: Twin, file: Path, seed: int, seconds: float = 2.0) -> Problem:
    recordings = play_hidden(
        file, draw_truth(seed), [multisine(seed, seconds)], seed=seed
    )
    return Problem(joint, recordings, FIVE, horizon=np.inf)


def worst(e: dict[str, float], seed: int) -> float:
    truth = draw_truth(seed)
    return max(abs(e[n] / truth[n] - 1) for n in FIVE)


def warns(warnings: tuple[str, ...]) -> bool:
    return any("L-BFGS-B stopped" in w or "restart ends" in w for w in warnings)


def test_scaled_variables_get_near_and_cost_more_than_least_squares(
    joint: Twin, joint_file: Path
):
    start = start_off(draw_truth(1), 1)
    problem = make_problem(joint, joint_file, 1)
    fit = fit_lbfgs(problem, start)
    least = fit_least_squares(make_problem(joint, joint_file, 1), start)
    assert worst(fit.e, 1) < 0.1
    assert least.evaluation_count < 0.5 * fit.evaluation_count


def test_raw_units_end_far_off_and_are_found_out(joint: Twin, joint_file: Path):
    problem = make_problem(joint, joint_file, 2)
    start = start_off(draw_truth(2), 2)
    fit = fit_lbfgs(problem, start, settings=LbfgsSettings(scaled=False))
    assert worst(fit.e, 2) > 0.05
    assert warns(fit.warnings)
    assert not fit.converged or warns(fit.warnings)


@pytest.mark.slow
def test_raw_units_are_found_out_ten_times_of_ten(joint: Twin, joint_file: Path):
    for seed in range(10):
        problem = make_problem(joint, joint_file, seed, 6.0)
        fit = fit_lbfgs(
            problem,
            start_off(draw_truth(seed), seed),
            settings=LbfgsSettings(scaled=False),
        )
        assert warns(fit.warnings), f"seed {seed}: worst {worst(fit.e, seed):.2f}"


def test_random_candidates_are_no_fit_and_say_so(joint: Twin, joint_file: Path):
    problem = make_problem(joint, joint_file, 3)
    settings = RandomSettings(count=200)
    fit = fit_random(problem, start_off(draw_truth(3), 3), settings=settings)
    begun = problem.residuals(
        problem.coordinates.to_z(problem.space.vector(start_off(draw_truth(3), 3)))
    ).values[0]
    assert np.mean(fit.residuals**2) < np.mean(begun**2)
    assert worst(fit.e, 3) > 0.03
    assert not fit.converged
    assert any("200 random candidates" in w for w in fit.warnings)
