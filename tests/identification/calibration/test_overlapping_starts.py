"""Pieces that overlap: where they begin, and what they may not count twice."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import LeastSquaresSettings, Problem
from realworthy.identification.calibration.overlapping_starts import fit_overlapping
from realworthy.identification.calibration.priors import make_prior
from realworthy.identification.solver.least_squares import polish
from realworthy.identification.validation.resampling import estimate_folds
from realworthy.twins import Twin
from tests.identification.conftest import draw_truth, multisine, play_hidden

NAMES = ("joint.kp", "joint.damping", "joint.coulomb_friction")
SETTINGS = LeastSquaresSettings()


@pytest.fixture(name="problem")
def problem_(joint: Twin, joint_file: Path) -> Problem:
    """Predictions 0.5 s ahead from measured states of two recordings of 4 s."""
    truth = draw_truth(4)
    commands = [multisine(k, 4.0) for k in range(2)]
    recordings = play_hidden(joint_file, truth, commands, seed=4)
    return Problem(
        joint.with_values(truth),
        recordings,
        NAMES,
        horizon=0.5,
        estimate_starts=False,
    ).levelled()


def test_pieces_begin_every_tenth_of_a_second(problem: Problem):
    dense = problem.overlapping(0.1)
    for number, track in enumerate(problem.tracks):
        own = [p for p in dense.pieces if p.recording == number]
        rate, rows = track.recording.rate, len(track.rows)
        apart = np.diff([p.first for p in own]) / rate
        assert np.all(apart < 0.101)
        assert np.median(apart) == pytest.approx(0.1, abs=1 / rate)
        assert {p.row_count for p in own} == {problem.pieces[0].row_count}
        assert max(p.first + p.row_count for p in own) <= rows - 1
    chosen = problem.of_pieces([3])
    first, length = chosen.pieces[0].first, chosen.pieces[0].row_count
    inside = [p.first for p in chosen.overlapping(0.1).pieces]
    assert inside[0] == first
    assert max(inside) < first + length


def test_rows_that_pieces_share_count_once(problem: Problem):
    """Five times the rows of one recording are no more knowledge than one time."""
    prior = make_prior(problem, problem.start_z, 1.0, lacks=True)
    plain = polish(problem, problem.start_z, prior, SETTINGS)
    dense = fit_overlapping(problem, plain, SETTINGS)
    assert len(dense.problem.pieces) > 4 * len(problem.pieces)
    sd = [np.sqrt(np.diag(f.covariance_z)) for f in (plain, dense.fit)]
    assert np.all(sd[1] > 0.9 * sd[0])
    assert np.all(sd[1] < 2.0 * sd[0])
    assert np.all(np.abs(dense.fit.z - plain.z) < 2 * sd[0])


def test_pieces_that_overlap_are_left_out_together(problem: Problem):
    """One recording has no experiments to leave out; its pieces go by place."""
    one = problem.restricted([0])
    prior = make_prior(one, one.start_z, 1.0, lacks=True)
    fit = polish(one, one.start_z, prior, SETTINGS)
    plain = estimate_folds(one, fit.z, prior, SETTINGS.outlier)
    dense = estimate_folds(one.overlapping(0.1), fit.z, prior, SETTINGS.outlier)
    assert not dense.by_experiment
    assert len(dense.z) == len(plain.z)
    assert np.all(dense.sd_z() > 0.4 * plain.sd_z())
