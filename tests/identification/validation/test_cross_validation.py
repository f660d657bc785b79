"""Held-out experiments: what they say of a fit that has not seen them."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.identification import Problem, bootstrap, cross_validate
from realworthy.identification.solver.least_squares import fit_least_squares
from realworthy.identification.validation.cross_validation import (
    deal_folds,
    group_experiments,
)
from realworthy.recordings import Recording
from realworthy.twins import Twin
from tests.identification.conftest import FIVE, draw_truth, multisine, play_hidden


@pytest.fixture(scope="module")
def four(joint_file: Path) -> list[Recording]:
    commands = [multisine(k, 1.5, amplitude=0.3 + 0.1 * k) for k in range(4)]
    return play_hidden(joint_file, draw_truth(5), commands, seed=5)


def test_noise_is_all_that_is_left_on_unseen_experiments(
    joint: Twin, four: list[Recording]
):
    found = cross_validate(
        joint, four, FIVE, fold_count=2, start=draw_truth(5), horizon=np.inf
    )
    assert len(found.folds) == 2
    assert sorted(found.loss) == sorted(Problem(joint, four, FIVE).names)
    assert found.reduced_chi2 == pytest.approx(1.0, abs=0.3)
    assert found.rmse == pytest.approx(1e-3, rel=0.2)
    assert not found.warnings


def test_an_experiment_unlike_the_others_is_not_predicted(
    joint: Twin, joint_file: Path, four: list[Recording]
):
    """One recording of another robot: its number moves between folds."""
    stiffer = draw_truth(5) | {"joint.kp": 1.5 * draw_truth(5)["joint.kp"]}
    other = play_hidden(joint_file, stiffer, [multisine(9, 1.5)], seed=6)
    found = cross_validate(
        joint,
        [*four[:2], *other],
        FIVE,
        fold_count=3,
        start=draw_truth(5),
        horizon=np.inf,
    )
    assert any("Held-out residuals are larger" in w for w in found.warnings)
    assert any("between folds" in w for w in found.warnings)


def test_repeats_stay_on_one_side(joint: Twin, four: list[Recording]):
    from dataclasses import replace

    sidecar = four[0].sidecar
    repeats = [
        replace(r, sidecar=type(sidecar)(repeat_group="a" if k < 2 else None))
        for k, r in enumerate(four)
    ]
    problem = Problem(joint, repeats, FIVE, horizon=np.inf, noise=1e-3)
    experiments = group_experiments(problem)
    assert experiments == [[0, 1], [2], [3]]
    assert deal_folds(experiments, 2) == [[0, 1, 3], [2]]


def test_one_experiment_cannot_be_held_out(joint: Twin, four: list[Recording]):
    with pytest.raises(RealworthyError, match="two experiments"):
        cross_validate(joint, four[:1], FIVE)


def test_a_bootstrap_spreads_as_far_as_the_fit_says(joint: Twin, four: list[Recording]):
    problem = Problem(joint, four, FIVE, horizon=0.5)
    fit = fit_least_squares(problem, draw_truth(5))
    belief = bootstrap(problem, fit, count=8, seed=1)
    assert len(belief.samples) == 8
    ratio = np.array([belief.sd[n] / fit.sd[n] for n in FIVE])
    assert np.exp(np.mean(np.log(ratio))) == pytest.approx(1.0, rel=0.7)
    truth = draw_truth(5)
    assert all(abs(belief.mean[n] - truth[n]) < 6 * belief.sd[n] for n in FIVE)


def test_one_piece_cannot_be_drawn_again(joint: Twin, four: list[Recording]):
    problem = Problem(joint, four[:1], FIVE, horizon=np.inf)
    fit = fit_least_squares(problem, draw_truth(5))
    with pytest.raises(RealworthyError, match="needs 4 experiments"):
        bootstrap(problem, fit)
