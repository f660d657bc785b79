"""Distributions of values over atoms, against slow and independent ways to them."""

import math

import numpy as np
import pytest
import torch

from realworthy.learning.categorical import (
    Support,
    SupportWatch,
    compute_cross_entropy,
)
from realworthy.learning.learner import BadSettings


def project_slowly(
    support: Support, p: np.ndarray, reward: float, discount: float
) -> np.ndarray:
    """Each atom's mass, cut into 1,000 grains that fall on a neighbour by chance's
    own mean: a histogram."""
    grid = np.linspace(support.lower, support.upper, support.atom_count)
    found = np.zeros(len(grid))
    for mass, z in zip(p, grid, strict=True):
        x = min(max(reward + discount * z, support.lower), support.upper)
        grains = (np.arange(1000) + 0.5) / 1000
        above = int(np.searchsorted(grid, x, side="left"))
        if abs(grid[min(above, len(grid) - 1)] - x) < 1e-9 or above == 0:
            found[min(above, len(grid) - 1)] += mass
            continue
        width = grid[above] - grid[above - 1]
        ups = (grains < (x - grid[above - 1]) / width).mean()
        found[above] += mass * ups
        found[above - 1] += mass * (1 - ups)
    return found


@pytest.mark.parametrize("atoms", [2, 5, 51])
def test_projection_is_a_histogram_of_where_mass_lands(atoms: int):
    support = Support(-3.0, 5.0, atoms)
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(40, atoms, generator=generator).softmax(-1)
    reward = 4 * torch.randn(40, generator=generator)
    discount = torch.rand(40, generator=generator)
    discount[:5], discount[5:10], reward[10:15] = 0.0, 1.0, 0.0
    reward[5:10] = support.spacing  # lands on atoms
    found = support.project(p, reward, discount)
    for i in range(40):
        want = project_slowly(
            support, p[i].numpy(), float(reward[i]), float(discount[i])
        )
        assert found[i].numpy() == pytest.approx(want, abs=2e-3)


def test_projection_keeps_mass_and_mean():
    """Mass always; the mean where nothing falls beyond the ends."""
    support = Support(-10.0, 10.0, 101)
    generator = torch.Generator().manual_seed(1)
    p = (3 * torch.randn(500, 101, generator=generator)).softmax(-1)
    reward = 20 * torch.randn(500, generator=generator)
    found = support.project(p, reward, torch.full((500,), 0.97))
    assert (found.sum(-1) - 1).abs().max() <= 1e-6
    assert (found >= 0).all()
    inside = support.project(p, 0.005 * reward, torch.full((500,), 0.5))
    want = 0.005 * reward + 0.5 * support.expect(p)
    assert (support.expect(inside) - want).abs().max() <= 1e-5 * 10


def test_nothing_changes_without_reward_and_discount():
    support = Support(-2.0, 2.0, 7)
    p = torch.rand(9, 7).softmax(-1)
    same = support.project(p, torch.zeros(9), torch.ones(9))
    torch.testing.assert_close(same, p)


def test_what_terminated_is_worth_its_reward():
    support = Support(-2.0, 2.0, 5)
    p = torch.rand(2, 5).softmax(-1)
    found = support.project(p, torch.tensor([1.0, 1.25]), torch.zeros(2))
    want = torch.tensor([[0, 0, 0, 1, 0], [0, 0, 0, 0.75, 0.25]])
    torch.testing.assert_close(found, want)


def test_the_loss_is_least_at_the_target():
    target = torch.rand(4, 6).softmax(-1)
    logits = target.log().requires_grad_()
    loss = compute_cross_entropy(logits, target)
    torch.testing.assert_close(loss, -(target * target.log()).sum(-1))
    loss.sum().backward()
    assert logits.grad is not None
    assert logits.grad.abs().max() <= 1e-6


def test_saturation_is_told_only_where_it_lasts():
    support = Support(-1.0, 1.0, 3)
    p = torch.tensor([[0.02, 0.9, 0.08]])
    assert support.measure_ends(p).item() == pytest.approx(0.1)
    watch = SupportWatch(support)
    for _ in range(20):
        watch.note(1.0)  # while critics know nothing
    for _ in range(80):
        watch.note(0.04)
    assert watch.warnings == ()
    for _ in range(100):
        watch.note(0.1)
    (said,) = watch.warnings
    assert said.startswith("7% of what the critics aimed at lay at the ends")
    assert "wider --support" in said


@pytest.mark.parametrize("support", [(1.0, 1.0, 5), (2.0, -2.0, 5), (0.0, 1.0, 1)])
def test_a_support_that_holds_nothing_is_refused(support: tuple[float, float, int]):
    with pytest.raises(BadSettings, match="holds no values"):
        Support(*support).check()


def test_spacing_is_between_neighbours():
    support = Support(-10.0, 10.0, 51)
    atoms = support.build_atoms(torch.device("cpu"))
    assert math.isclose(support.spacing, 0.4)
    torch.testing.assert_close(atoms.diff(), torch.full((50,), 0.4))
