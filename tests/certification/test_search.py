"""Searches find planted failures."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats.qmc import Sobol

from realworthy.certification.limits.search import (
    CubeSearchSettings,
    evaluate,
    find_smallest_deviation,
    fold,
    measure_sensitivity,
    search_worst,
)
from realworthy.errors import RealworthyError
from tests.certification.planted import (
    RADIUS,
    Score,
    plant_ball,
    plant_box,
    plant_corner,
)


def plant_behind_decoy(rng: np.random.Generator) -> Score:
    """A wide basin that never fails lies opposite to the ball that does."""
    centre = rng.uniform(RADIUS, 1 - RADIUS, 6)

    def score(u: np.ndarray) -> np.ndarray:
        decoy = 0.05 + 0.8 * np.linalg.norm(u - (1 - centre), axis=1)
        return np.minimum(np.linalg.norm(u - centre, axis=1) - RADIUS, decoy)

    return score


@pytest.mark.parametrize(
    "plant", [plant_ball, plant_box, plant_corner, plant_behind_decoy]
)
def test_a_thousandth_of_the_volume_is_found_in_400_evaluations(plant):
    found, even = 0, 0
    for seed in range(20):
        score = plant(np.random.default_rng(100 + seed))
        worst = search_worst(score, 6, seed=seed)
        assert len(worst.margins) == 400
        assert score(worst.point[None])[0] == worst.margin == worst.margins.min()
        found += worst.is_failure
        spread = Sobol(6, rng=np.random.default_rng(seed)).random(512)[:400]
        even += bool((score(spread) <= 0).any())
    assert found >= 18
    assert even <= 12  # 1 − 0.999^400 = 33 %: 6.6 of 20 on average


def test_a_score_without_slope_is_not_found_more_often_than_by_chance():
    """Sabotage: a yes or no in place of a margin takes the search's advantage away."""
    found = 0
    for seed in range(20):
        graded = plant_ball(np.random.default_rng(100 + seed))

        def score(u: np.ndarray, graded: Score = graded) -> np.ndarray:
            return np.where(graded(u) <= 0, -1.0, 1.0)

        found += search_worst(score, 6, seed=seed).is_failure
    assert found <= 12


def test_a_worst_case_in_a_corner_is_reached():
    worst = search_worst(lambda u: 2 - u.sum(axis=1), 3)
    assert worst.margin == pytest.approx(-1.0, abs=0.01)
    assert worst.points.min() >= 0
    assert worst.points.max() <= 1


def test_the_same_seed_searches_alike_and_another_does_not():
    score = plant_ball(np.random.default_rng(0))
    first, again = (search_worst(score, 6, seed=3).points for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, search_worst(score, 6, seed=4).points)


def test_a_search_may_stop_at_the_first_failure():
    settings = CubeSearchSettings(stops_at_failure=True)
    score = plant_ball(np.random.default_rng(1))
    worst = search_worst(score, 6, settings)
    assert worst.is_failure
    assert len(worst.margins) < 400
    # whole generations are scored: no more than one beyond the failure
    assert worst.first_failure is not None
    assert len(worst.margins) - worst.first_failure <= 13


def test_a_search_that_came_to_rest_starts_anew():
    worst = search_worst(lambda u: 1 + ((u - 0.5) ** 2).sum(axis=1), 2)
    assert worst.start_count > 1
    assert not worst.is_failure
    assert worst.first_failure is None
    assert worst.margin == pytest.approx(1.0, abs=1e-4)


def test_a_budget_below_the_first_points_is_kept():
    worst = search_worst(lambda u: u[:, 0], 2, CubeSearchSettings(evaluations=20))
    assert len(worst.margins) == 20
    with pytest.raises(RealworthyError, match="above zero"):
        search_worst(lambda u: u[:, 0], 0)


def test_folding_reflects_at_the_faces():
    points = np.array([0.3, -0.2, 1.25, 2.1, -1.4, 1.0])
    assert fold(points) == pytest.approx([0.3, 0.2, 0.75, 0.1, 0.6, 1.0])


def test_a_margin_that_is_no_number_counts_as_the_worst():
    margins = evaluate(lambda u: np.array([1.0, np.nan, -np.inf]), np.zeros((3, 2)))
    assert margins[0] == 1.0
    assert (margins[1:] < -1e100).all()
    assert np.isfinite(margins).all()
    with pytest.raises(RealworthyError, match="one margin for each"):
        evaluate(lambda u: u, np.zeros((3, 2)))


def test_the_smallest_deviation_is_where_the_margin_crosses_zero():
    # 1 − |u| from 0 towards (3, 4)/5 · 2: the border lies half way
    worst = np.array([1.2, 1.6])
    score = lambda u: 1.0 - np.linalg.norm(u, axis=1)  # noqa: E731
    found = find_smallest_deviation(score, np.zeros(2), worst, tolerance=1e-4)
    assert found.safe <= 0.5 <= found.failing
    assert found.failing - found.safe <= 1e-4
    assert found.point == pytest.approx(found.failing * worst)


def test_the_first_of_two_failing_stretches_is_found():
    def score(u: np.ndarray) -> np.ndarray:
        x = u[:, 0]
        return np.where(((x > 0.3) & (x < 0.4)) | (x > 0.9), -1.0, 1.0)

    found = find_smallest_deviation(score, [0.0], [1.0])
    assert found.failing == pytest.approx(0.3, abs=2e-3)  # plain bisection: 0.9


def test_a_failing_start_has_no_safe_way_and_a_safe_end_nothing_to_find():
    score = lambda u: u[:, 0] - 0.5  # noqa: E731
    found = find_smallest_deviation(score, [0.2], [0.1])
    assert (found.safe, found.failing) == (0.0, 0.0)
    with pytest.raises(RealworthyError, match="does not fail"):
        find_smallest_deviation(score, [0.9], [0.8])


def test_sensitivity_tells_which_coordinate_alone_would_save():
    # at (1, 1, 1): −0.2; the first alone gives up to 0.5 back, the second 0.1
    def score(u: np.ndarray) -> np.ndarray:
        return 0.4 - 0.5 * u[:, 0] - 0.1 * u[:, 1]

    found = measure_sensitivity(score, [1.0, 1.0, 1.0], level_count=20)
    assert found.levels[[0, -1]] == pytest.approx([0.025, 0.975])
    assert found.effect == pytest.approx([0.5 * 0.95, 0.1 * 0.95, 0.0])
    assert found.escape[0] == pytest.approx(0.425)  # first level more than 0.4 away
    assert np.isinf(found.escape[1:]).all()
    assert found.margins.shape == (3, 20)
    assert (measure_sensitivity(score, [0.0, 0.0, 0.0]).escape == 0).all()


def test_no_point_lies_where_a_prior_with_tails_is_infinite():
    seen = []

    def score(u: np.ndarray) -> np.ndarray:
        seen.append(u)
        return 3.0 - ndtri(u).max(axis=1)

    search_worst(score, 2, CubeSearchSettings(edge=0.01))
    measure_sensitivity(score, [0.5, 0.5])
    assert np.concatenate(seen).min() >= 0.01
    assert np.concatenate(seen).max() <= 0.99
    assert np.isfinite(ndtri(np.concatenate(seen))).all()
