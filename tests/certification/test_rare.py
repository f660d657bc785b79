"""The estimated probability of failure is the one that was planted."""

import numpy as np
import pytest
from scipy.special import ndtri

from realworthy.certification.rare import FailureSettings, estimate_failure
from tests.certification.planted import (
    VOLUME,
    plant_ball,
    plant_box,
    plant_corner,
    plant_half_space,
)


@pytest.mark.parametrize(
    "plant", [plant_ball, plant_box, plant_corner, plant_half_space]
)
def test_the_estimated_probability_is_within_a_factor_of_the_planted_one(plant):
    for seed in range(8):
        score = plant(np.random.default_rng(seed))
        found = estimate_failure(score, 6, seed=seed)
        assert found.is_settled
        assert found.effective >= 50
        assert VOLUME / 1.5 < found.probability < VOLUME * 1.5
        assert (score(found.points) <= 0).all()
        # plain sampling would need 50 / 0.001 points for as many failures
        assert found.evaluations <= 5000


@pytest.mark.parametrize("share", [0.5, 0.01, 1e-5])
def test_large_and_small_probabilities_are_estimated(share: float):
    for seed in range(5):
        found = estimate_failure(lambda u: 1 - share - u[:, 0], 3, seed=seed)
        assert share / 1.5 < found.probability < share * 1.5


def test_no_failure_is_reported_as_unsettled():
    settings = FailureSettings(evaluations=2000)
    found = estimate_failure(lambda u: 1 + u[:, 0], 3, settings)
    assert found.probability == 0.0
    assert not found.is_settled
    assert found.evaluations <= 2000
    assert found.points.shape == (0, 3)


def test_no_point_lies_where_a_prior_with_tails_is_infinite():
    seen = []

    def score(u: np.ndarray) -> np.ndarray:
        seen.append(u)
        return 3.0 - ndtri(u).max(axis=1)

    estimate_failure(score, 2)
    assert np.isfinite(ndtri(np.concatenate(seen))).all()
