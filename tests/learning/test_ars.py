"""Augmented random search on a cart-pole, and its step by hand."""

import math

import pytest
import torch

from realworthy.learning import ars
from realworthy.learning.ars import Ars, ArsMetrics, ArsSettings, compute_ars_step
from realworthy.learning.candidates import Normalisation, PairScores
from realworthy.learning.learner import BadSettings, Learner
from tests.learning.toys import Brink, CartPole


def measure_steps(learner: Learner) -> float:
    """Mean length of an episode in 100 other worlds."""
    environment = CartPole(100, seed=77)
    observations = environment.reset()
    alive, total = torch.ones(100, dtype=torch.bool), 0
    for _ in range(500):
        total += alive.sum().item()
        step = environment.step(learner.act(observations))
        observations, alive = step.observations, alive & ~step.done
    return total / 100


def train(settings: ArsSettings, seed: int, count: int) -> float:
    environment = CartPole(32, seed=seed)
    learner = Ars(environment, settings, seed=seed)
    for _ in range(count):
        learner.collect(environment)
        learner.update()
    return measure_steps(learner)


@pytest.mark.parametrize("seed", range(5))
def test_cart_pole_is_balanced_within_six_updates(seed: int):
    assert train(ars.raw(), seed, 6) == 500


@pytest.mark.parametrize("seed", range(2))
def test_scaled_observations_do_as_well(seed: int):
    s = ars.raw()
    s.normalisation = ArsSettings().normalisation
    assert train(s, seed, 8) >= 450


def test_returns_of_other_directions_teach_nothing():
    """Sabotage: what each direction brought is given to its neighbour."""
    found = []
    for seed in range(3):
        environment = CartPole(32, seed=seed)
        learner = Ars(environment, ars.raw(), seed=seed)
        for _ in range(6):
            learner.collect(environment)
            learner._directions = learner._directions.roll(1, dims=0)
            learner.update()
        found.append(measure_steps(learner))
    assert sorted(found)[1] < 300


def test_step_is_worked_by_hand():
    directions = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [5.0, 5.0]])
    scores = PairScores(
        forward=torch.tensor([3.0, 1.0, 0.0, 9.0]),
        backward=torch.tensor([1.0, 5.0, 0.5, 0.0]),
        valid=torch.tensor([True, True, True, False]),
    )
    step, spread = compute_ars_step(directions, scores, kept=2)
    want = math.sqrt(((3 - 2.5) ** 2 + (1 - 2.5) ** 2 + (1 - 2.5) ** 2 + 2.5**2) / 4)
    assert spread.item() == pytest.approx(want)
    torch.testing.assert_close(step, torch.tensor([2.0, -4.0]) / (2 * want))


DIRECTIONS = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, -4.0], [3.0, 3.0]])
"""On the brink they are worth ±1, ±2 and ∓3; the last diverges on one side alone."""


def follow(directions: torch.Tensor, *, kept: int) -> tuple[torch.Tensor, ArsMetrics]:
    """Weights after one update from zero along given directions of unit noise."""
    environment = Brink(len(directions))
    s = ArsSettings(directions=len(directions), kept=kept, noise=1.0, step_size=1.0)
    s.normalisation = Normalisation.NONE
    learner = Ars(environment, s)
    learner._directions = directions
    learner._scores = learner.player.play(environment, learner.weights, directions)
    metrics = learner.update()
    return learner.weights, metrics


def test_a_direction_that_diverges_is_left_out():
    """Gains are 4 and −6 of the two kept, their returns ±2 and ±3."""
    found, metrics = follow(DIRECTIONS, kept=2)
    want = torch.tensor([-6.0, 8.0 + 24.0]) / (2 * math.sqrt(6.5))
    torch.testing.assert_close(found, want)
    assert torch.equal(found, follow(DIRECTIONS[:3], kept=2)[0])
    assert metrics.mean == pytest.approx(-10)
    assert metrics.best == pytest.approx(-7)
    assert metrics.invalid_direction_count == 1


def test_fewer_valid_directions_than_kept_are_all_followed():
    found, metrics = follow(DIRECTIONS, kept=4)
    want, plain = follow(DIRECTIONS[:3], kept=3)
    torch.testing.assert_close(found, want)
    assert metrics.spread == pytest.approx(plain.spread)
    assert plain.invalid_direction_count == 0


def test_nothing_is_followed_where_all_diverge():
    found, metrics = follow(DIRECTIONS[3:], kept=1)
    assert not found.any()
    assert math.isnan(metrics.mean)
    assert math.isnan(metrics.best)
    assert metrics.invalid_direction_count == 1


def test_a_resumed_run_is_the_same_run():
    s = ArsSettings(warm_up=20)
    whole, environment = Ars(CartPole(32), s, seed=1), CartPole(32)
    second, other = Ars(CartPole(32), s, seed=7), CartPole(32, seed=5)
    for i in range(4):
        whole.collect(environment)
        whole.update()
        if i == 1:
            second.load_state_dict(whole.state_dict())
            other.load_state_dict(environment.state_dict())
    for _ in range(2):
        second.collect(other)
        second.update()
    assert torch.equal(whole.weights, second.weights)
    assert whole.weights.any()


def test_more_kept_than_drawn_is_refused():
    with pytest.raises(BadSettings, match="9 of 4 directions"):
        Ars(CartPole(8), ArsSettings(directions=4, kept=9))
