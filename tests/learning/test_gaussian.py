"""Densities, entropies and divergences against sums over a grid."""

import math

import torch

from realworthy.learning.gaussian import Gaussian

GRID = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
WIDTH = (GRID[1] - GRID[0]).item()


def density(mean: float, std: float) -> torch.Tensor:
    scale = 1 / (std * math.sqrt(2 * math.pi))
    return scale * torch.exp(-0.5 * ((GRID - mean) / std) ** 2)


def make(mean: list[float], std: list[float]) -> Gaussian:
    return Gaussian(torch.tensor(mean), torch.tensor(std))


def test_divergence_is_the_integral():
    p, q = make([0.3, -1.0], [0.5, 1.2]), make([-0.2, -0.7], [0.9, 0.8])
    total = 0.0
    for a, s, b, t in ((0.3, 0.5, -0.2, 0.9), (-1.0, 1.2, -0.7, 0.8)):
        first, second = density(a, s), density(b, t)
        inside = first * (first.clamp(min=1e-300) / second.clamp(min=1e-300)).log()
        total += inside.sum().item() * WIDTH
    assert abs(p.kl_to(q).item() - total) < 1e-5
    assert p.kl_to(p).item() == 0.0


def test_entropy_is_the_integral():
    total = 0.0
    for mean, std in ((0.3, 0.5), (-1.0, 1.2)):
        p = density(mean, std)
        total -= (p * p.clamp(min=1e-300).log()).sum().item() * WIDTH
    assert abs(make([0.3, -1.0], [0.5, 1.2]).entropy().item() - total) < 1e-5


def test_log_density_is_that_of_torch():
    mean, std = torch.randn(6, 3), torch.rand(3) + 0.1
    x = torch.randn(6, 3)
    want = torch.distributions.Normal(mean, std).log_prob(x).sum(-1)
    torch.testing.assert_close(Gaussian(mean, std).log_prob(x), want)
