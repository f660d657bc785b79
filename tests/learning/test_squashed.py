"""The squashed Gaussian, against numerical Jacobians and integrals."""

import math

import pytest
import torch
from torch import Tensor

from realworthy.learning.gaussian import Gaussian
from realworthy.learning.squashed import SquashedGaussian


def draw(seed: int, limit: float) -> tuple[SquashedGaussian, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    kwargs = {"generator": generator, "dtype": torch.float64}
    mean = torch.randn(3, **kwargs)
    std = torch.rand(3, **kwargs) + 0.1
    return SquashedGaussian(Gaussian(mean, std), limit), torch.randn(3, **kwargs)


@pytest.mark.parametrize("limit", [1.0, 2.5])
@pytest.mark.parametrize("seed", range(5))
def test_density_is_that_of_a_change_of_variables(seed: int, limit: float):
    """log N(noise) − log |det da/dnoise|, the Jacobian by central differences."""
    squashed, noise = draw(seed, limit)
    _, found = squashed.draw(noise)
    h = 1e-6
    columns = []
    for i in range(3):
        step = h * torch.eye(3, dtype=torch.float64)[i]
        up, down = squashed.draw(noise + step)[0], squashed.draw(noise - step)[0]
        columns.append((up - down) / (2 * h))
    volume = torch.stack(columns).det().abs().log()
    standard = Gaussian(torch.zeros(3), torch.ones(3)).log_prob(noise)
    assert found.item() == pytest.approx((standard - volume).item(), rel=1e-6)


def test_density_integrates_to_one():
    squashed = SquashedGaussian(
        Gaussian(torch.tensor([0.3]).double(), torch.tensor([0.7]).double()), 2.0
    )
    edges = torch.linspace(-2 + 1e-9, 2 - 1e-9, 20_001, dtype=torch.float64)
    noise = ((edges / 2).atanh() - 0.3) / 0.7
    density = squashed.draw(noise[:, None])[1].exp()
    assert torch.trapezoid(density, edges).item() == pytest.approx(1, abs=1e-4)


def test_density_stays_finite_where_tanh_rounds_to_one():
    squashed = SquashedGaussian(Gaussian(torch.tensor([30.0]), torch.ones(1)), 1.0)
    noise = torch.zeros(1, requires_grad=True)
    action, density = squashed.draw(noise)
    assert action.item() == 1.0
    # log (1 − tanh² 30) = 2 (log 2 − 30)
    want = -0.5 * math.log(2 * math.pi) - 2 * (math.log(2) - 30)
    assert density.item() == pytest.approx(want, rel=1e-5)
    density.backward()
    assert noise.grad is not None
    assert torch.isfinite(noise.grad).all()


def test_middle_is_the_action_without_noise():
    squashed, noise = draw(0, 2.0)
    torch.testing.assert_close(squashed.middle, squashed.draw(0 * noise)[0])
