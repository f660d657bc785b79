"""Many policies at once against each on its own, and chance shared by pairs."""

import pytest
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.learning.candidates import (
    FlatPolicy,
    Normalisation,
    PairPlayer,
    PairScores,
)
from realworthy.learning.learner import BadSettings
from realworthy.tasks.environment.environment import Step
from tests.learning.toys import CartPole, Noise


def test_policies_in_a_batch_act_as_each_alone():
    generator = torch.Generator().manual_seed(0)
    policy = FlatPolicy((4, 6, 3), has_bias=True)
    weights = torch.stack([policy.draw(generator) for _ in range(5)])
    weights += 0.1 * torch.randn(weights.shape, generator=generator)
    x = torch.randn(5, 7, 4, generator=generator)
    together = policy.act(weights, x)
    assert together.shape == (5, 7, 3)
    for i in range(5):
        first, bias, second, last = weights[i].split([24, 6, 18, 3])
        hidden = (x[i] @ first.view(6, 4).T + bias).tanh()
        want = hidden @ second.view(3, 6).T + last
        torch.testing.assert_close(together[i], want)


class Forgetful(CartPole):
    """Cannot be wound back."""

    def state_dict(self) -> dict[str, Tensor]:
        raise RealworthyError("This environment cannot be resumed exactly.")


def test_both_sides_of_a_pair_meet_the_same_chance():
    """Without a step the sides are the same policy: the same return, world by world."""
    policy = FlatPolicy((4, 1), has_bias=False)
    weights = torch.tensor([0.5, 0.5, 2.0, 1.0])
    still = torch.zeros(8, 4)
    fair, unfair = CartPole(16), Forgetful(16)
    scores = PairPlayer(fair, policy, Normalisation.NONE).play(fair, weights, still)
    assert torch.equal(scores.forward, scores.backward)
    assert scores.forward.std() > 0
    player = PairPlayer(unfair, policy, Normalisation.NONE)
    scores = player.play(unfair, weights, still)
    assert not torch.equal(scores.forward, scores.backward)


def test_shared_chance_halves_the_variance_of_differences():
    policy = FlatPolicy((4, 1), has_bias=False)
    weights = torch.tensor([0.5, 0.5, 2.0, 1.0])
    step = 0.02 * torch.ones(64, 4)

    def measure(environment: CartPole) -> float:
        player = PairPlayer(environment, policy, Normalisation.NONE)
        scores = player.play(environment, weights, step)
        return (scores.forward - scores.backward).var().item()

    assert measure(CartPole(64)) <= 0.5 * measure(Forgetful(64))


class Broken(Noise):
    """The first world of four diverges at once."""

    def step(self, action: Tensor) -> Step:
        step = super().step(action)
        bad = torch.arange(self.world_count) % 4 == 0
        step.invalid[bad] = step.terminated[bad] = True
        step.reward[bad] = torch.nan
        return step


def test_worlds_that_diverge_do_not_count():
    environment = Broken(16)
    policy = FlatPolicy((48, 12), has_bias=False)
    player = PairPlayer(environment, policy, Normalisation.NONE)
    weights = torch.zeros(policy.weight_count)
    scores = player.play(environment, weights, torch.zeros(8, policy.weight_count))
    assert scores.valid.tolist() == [True] * 8
    scores = player.play(environment, weights, torch.zeros(16, policy.weight_count))
    assert scores.valid.tolist() == [False, True, True, True] * 4
    assert scores.forward.isfinite().all()
    assert player.tally.read().invalid_count > 0


def test_directions_that_diverge_are_in_no_mean():
    scores = PairScores(
        forward=torch.tensor([-3.0, 0.0, -5.0]),
        backward=torch.tensor([-4.0, torch.nan, -2.0]),
        valid=torch.tensor([True, False, True]),
    )
    assert scores.mean.item() == pytest.approx(-3.5)
    assert scores.best.item() == -2
    none = PairScores(scores.forward, scores.backward, torch.zeros(3, dtype=torch.bool))
    assert none.mean.isnan()
    assert none.best.isnan()


def test_worlds_that_cannot_be_shared_are_refused():
    environment = CartPole(10)
    player = PairPlayer(
        environment, FlatPolicy((4, 1), has_bias=False), Normalisation.NONE
    )
    with pytest.raises(BadSettings, match="10 worlds cannot be shared by 4 directions"):
        player.play(environment, torch.zeros(4), torch.zeros(4, 4))
