"""Evolution strategies against true gradients, and their step by hand."""

import math

import pytest
import torch
from torch import Tensor

from realworthy.learning.candidates import Normalisation, PairScores
from realworthy.learning.es import (
    Es,
    EsMetrics,
    EsSettings,
    centre_ranks,
    es_gradient,
)
from tests.learning.test_ars import DIRECTIONS, measure_steps
from tests.learning.toys import Brink, CartPole


def test_gradient_of_a_quadratic_is_found():
    generator = torch.Generator().manual_seed(0)
    shape = torch.randn(20, 20, generator=generator)
    matrix = shape @ shape.T / 20
    theta = torch.randn(20, generator=generator)

    def f(x: Tensor) -> Tensor:
        return -0.5 * (x @ matrix * x).sum(-1)

    true = -matrix @ theta
    found = es_gradient(f, theta, pairs=400, sigma=0.05, generator=generator)
    assert torch.cosine_similarity(found, true, dim=0) >= 0.95
    assert (found.norm() / true.norm() - 1).abs() < 0.2


def test_gradient_of_a_linear_function_is_unbiased():
    generator = torch.Generator().manual_seed(1)
    slope = torch.randn(5, generator=generator)
    found = torch.stack(
        [
            es_gradient(
                lambda x: x @ slope + 7,
                torch.zeros(5),
                pairs=50,
                sigma=0.3,
                generator=generator,
            )
            for _ in range(200)
        ]
    )
    error = found.std(0) / 200**0.5
    assert ((found.mean(0) - slope).abs() < 4 * error).all()


def test_ranks_are_centred():
    ranks = centre_ranks(torch.tensor([[5.0, -100.0], [7.0, 6.0]]))
    torch.testing.assert_close(ranks, torch.tensor([[-1 / 6, -0.5], [0.5, 1 / 6]]))


def test_equal_values_share_a_rank():
    ranks = centre_ranks(torch.tensor([[5.0, 1.0], [5.0, 9.0], [5.0, 0.0]]))
    want = torch.tensor([[0.1, -0.3], [0.1, 0.5], [0.1, -0.5]])
    torch.testing.assert_close(ranks, want)
    assert not centre_ranks(torch.full((2, 16), 500.0)).any()


def build(seed: int = 0) -> tuple[Es, CartPole]:
    environment = CartPole(32, seed=seed)
    s = EsSettings(pairs=16, sigma=0.3, learning_rate=0.2, widths=(8,), warm_up=30)
    return Es(environment, s, seed=seed), environment


def build_linear(directions: Tensor, **changes: float) -> tuple[Es, Brink]:
    """Weights of zero on the brink, about to be moved along given directions."""
    environment = Brink(len(directions))
    s = EsSettings(pairs=len(directions), sigma=1.0, widths=())
    s.normalisation = Normalisation.NONE
    for name, value in changes.items():
        setattr(s, name, value)
    learner = Es(environment, s)
    learner.weights.zero_()
    return learner, environment


def test_update_is_the_rule_written_out():
    """Ranks, the estimate, Adam and its decay, number by number, over three updates."""
    learner, _ = build_linear(
        DIRECTIONS[:2], sigma=0.5, learning_rate=0.1, weight_decay=0.2
    )
    weights = [0.3, -0.2, 0.1]
    learner.weights.copy_(torch.tensor(weights))
    draws = [[1.0, 2.0, -1.0], [0.5, -3.0, 2.0]]
    updates = [  # forward, backward, and their ranks from 0 to 1
        ([5.0, 1.0], [2.0, 9.0], [2 / 3, 0.0], [1 / 3, 1.0]),
        ([0.0, 3.0], [1.0, 2.0], [0.0, 1.0], [1 / 3, 2 / 3]),
        ([7.0, 6.0], [-4.0, -9.0], [1.0, 2 / 3], [1 / 3, 0.0]),
    ]
    slow, fast = [0.0] * 3, [0.0] * 3
    for t, (forward, backward, high, low) in enumerate(updates, start=1):
        learner._draws = torch.tensor(draws)
        learner._scores = PairScores(
            torch.tensor(forward), torch.tensor(backward), torch.ones(2) > 0
        )
        metrics = learner.update()
        gradient = [
            sum((high[i] - low[i]) * draws[i][j] for i in range(2)) / (2 * 0.5 * 2)
            for j in range(3)
        ]
        for j in range(3):
            slow[j] = 0.9 * slow[j] + 0.1 * gradient[j]
            fast[j] = 0.999 * fast[j] + 0.001 * gradient[j] ** 2
            size = math.sqrt(fast[j] / (1 - 0.999**t)) + 1e-8
            weights[j] *= 1 - 0.1 * 0.2
            weights[j] += 0.1 * slow[j] / (1 - 0.9**t) / size
        assert learner.weights.tolist() == pytest.approx(weights, rel=1e-5)
        assert metrics.gradient == pytest.approx(math.hypot(*gradient), rel=1e-5)


def follow(directions: Tensor) -> tuple[Tensor, EsMetrics]:
    """Weights after two updates from zero, and what the first one did."""
    learner, environment = build_linear(directions)
    learner._draws = torch.nn.functional.pad(directions, (0, 1))
    found = []
    for _ in range(2):
        learner._scores = learner.player.play(
            environment, learner.weights, learner._draws
        )
        found.append(learner.update())
    return learner.weights, found[0]


def test_a_direction_that_diverges_is_left_out():
    """Ranks of the six returns that hold differ by 1/5, 3/5 and −5/5."""
    found, metrics = follow(DIRECTIONS)
    want, plain = follow(DIRECTIONS[:3])
    gradient = [(0.2 - 1.0) / 6, (0.6 * 2 + 4.0) / 6]
    assert metrics.gradient == pytest.approx(math.hypot(*gradient), rel=1e-5)
    assert metrics.mean == pytest.approx(-10)
    assert metrics.best == pytest.approx(-7)
    assert metrics.invalid_direction_count == 1
    assert plain.invalid_direction_count == 0
    assert torch.equal(found, want)


def test_nothing_is_learned_where_all_diverge():
    learner, environment = build_linear(DIRECTIONS[3:])
    learner.weights.fill_(0.5)
    learner._draws = torch.tensor([[9.0, 9.0, 9.0]])
    learner._scores = learner.player.play(environment, learner.weights, learner._draws)
    metrics = learner.update()
    assert learner.weights.tolist() == [0.5, 0.5, 0.5]
    assert math.isnan(metrics.mean)
    assert metrics.gradient == 0
    assert metrics.invalid_direction_count == 1


def train(learner: Es, environment: CartPole, *, shift: int = 0) -> float:
    """Steps balanced after eight updates; directions may get others' returns."""
    for _ in range(8):
        learner.collect(environment)
        learner._draws = learner._draws.roll(shift, dims=0)
        learner.update()
    return measure_steps(learner)


def test_cart_pole_is_balanced_within_eight_updates():
    learner, environment = build(1)
    assert measure_steps(learner) < 100
    assert train(learner, environment) >= 400


@pytest.mark.slow
def test_cart_pole_is_balanced_with_most_seeds():
    found = [train(*build(seed)) for seed in range(3)]
    assert sorted(found)[1] >= 450


def test_returns_of_other_directions_teach_nothing():
    """Sabotage: what each direction brought is given to its neighbour."""
    found = [train(*build(seed), shift=1) for seed in range(3)]
    assert sorted(found)[1] < 200


def test_a_resumed_run_is_the_same_run():
    whole, environment = build(1)
    second, other = build(2)
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
