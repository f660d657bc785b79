"""Shared numbers are found from afar."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import Problem
from realworthy.identification.calibration.first_fits import fit_shared, scan_decades
from realworthy.identification.calibration.priors import make_prior
from realworthy.twins import Twin
from tests.identification.conftest import draw_truth, multisine, play_hidden

NAMES = ("all.kp", "all.damping")


@pytest.fixture
def far(joint: Twin, joint_file: Path) -> tuple[Problem, float]:
    """A twin whose gain is eighty times the robot's, and the factor that mends it."""
    truth = draw_truth(2)
    recordings = play_hidden(joint_file, truth, [multisine(2, 3.0)], seed=2)
    published = joint.with_values(truth | {"joint.kp": 80 * truth["joint.kp"]})
    return Problem(published, recordings, NAMES), 1 / 80


def test_a_scan_over_decades_ends_near(far: tuple[Problem, float]):
    problem, factor = far
    z = scan_decades(problem)
    assert abs(z[0] - np.log(factor)) < 1.0  # the scan goes in steps of e


def test_a_gain_eighty_times_off_is_found(far: tuple[Problem, float]):
    problem, factor = far
    fit = fit_shared(problem)
    assert fit.e["all.kp"] == pytest.approx(factor, rel=0.05)
    assert fit.e["all.damping"] == pytest.approx(1.0, rel=0.1)


def test_a_twin_that_lacks_something_is_held_near_by_beliefs_of_due_weight(
    joint: Twin, joint_file: Path
):
    recordings = play_hidden(joint_file, draw_truth(2), [multisine(2, 3.0)], seed=2)
    names = ("joint.kp", "joint.position.sensor_bias")
    problem = Problem(joint, recordings, names)
    z = problem.start_z
    held = np.diag(make_prior(problem, z, 100.0, lacks=True).precision)
    assert held == pytest.approx([100 / 0.5**2, 100 / 0.05**2])
    free = np.diag(make_prior(problem, z, 100.0).precision)
    assert free[0] < 1
    assert free[1] == held[1]
