"""Folds one step from the fit are those that refits give."""

from pathlib import Path

import numpy as np

from realworthy.identification import LeastSquaresSettings, Problem
from realworthy.identification.solver.least_squares import polish, to_prior
from realworthy.identification.validation.resampling import (
    FoldEstimates,
    estimate_folds,
)
from realworthy.twins import Twin
from tests.identification.conftest import draw_truth, multisine, play_hidden

NAMES = ("joint.kp", "joint.damping", "joint.coulomb_friction")


def test_one_step_without_a_recording_is_a_refit_without_it(
    joint: Twin, joint_file: Path
):
    truth = draw_truth(4)
    commands = [multisine(k, 2.0) for k in range(3)]
    recordings = play_hidden(joint_file, truth, commands, seed=4)
    problem = Problem(joint.with_values(truth), recordings, NAMES)
    prior = to_prior(problem, None, problem.start_z)
    settings = LeastSquaresSettings()
    fit = polish(problem, problem.start_z, prior, settings)
    found = estimate_folds(problem, fit.z, prior, settings.outlier)
    assert found.by_experiment
    sd = np.sqrt(np.diag(fit.covariance_z))
    for k in range(3):
        rest = problem.restricted([i for i in range(3) if i != k])
        refit = polish(rest, fit.z, prior, settings)
        assert np.all(np.abs(found.z[k] - refit.z) < 0.3 * sd)
    assert np.abs(found.z - fit.z).max() > 0  # each fold says something else
    assert found.rmse is not None
    assert 0.0009 < found.rmse < 0.0012  # noise is 0.001 rad


def test_the_jackknife_of_a_mean_is_its_standard_error():
    """Leave-one-out means of 1, 2, 3, 6: sd 2.16 over √4."""
    values = np.array([1.0, 2.0, 3.0, 6.0])
    means = (values.sum() - values) / 3
    folds = FoldEstimates(
        z=means[:, None], rmse=None, by_experiment=True, apart_z=np.zeros(1)
    )
    assert np.isclose(folds.sd_z()[0], np.std(values, ddof=1) / 2)
