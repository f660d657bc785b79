"""Evolution strategies against true gradients."""

import torch
from torch import Tensor

from realworthy.learning.es import Es, EsSettings, centre_ranks, es_gradient
from tests.learning.test_ars import measure_steps
from tests.learning.toys import CartPole


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


def build(seed: int = 0) -> tuple[Es, CartPole]:
    environment = CartPole(32, seed=seed)
    s = EsSettings(pairs=16, sigma=0.3, learning_rate=0.2, widths=(8,), warm_up=30)
    return Es(environment, s, seed=seed), environment


def test_cart_pole_is_balanced_within_eight_updates():
    learner, environment = build(1)
    assert measure_steps(learner) < 100
    for _ in range(8):
        learner.collect(environment)
        learner.update()
    assert measure_steps(learner) >= 400


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
