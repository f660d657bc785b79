"""Running statistics against those of everything at once."""

import numpy as np
import torch

from realworthy.learning.normaliser import Normaliser


def draw(seed: int, *sizes: int) -> list[torch.Tensor]:
    """Batches whose mean and spread drift."""
    generator = torch.Generator().manual_seed(seed)
    return [
        (1 + 0.3 * i) * torch.randn(size, 5, generator=generator) + 2.0 * i - 3
        for i, size in enumerate(sizes)
    ]


def test_statistics_are_those_of_the_concatenation():
    batches = draw(0, 7, 64, 1, 300, 20)
    normaliser = Normaliser(5)
    for batch in batches:
        normaliser.observe(batch)
    everything = np.concatenate([batch.double().numpy() for batch in batches])
    np.testing.assert_allclose(normaliser.mean, everything.mean(0), rtol=1e-5)
    np.testing.assert_allclose(normaliser.variance, everything.var(0), rtol=1e-5)
    x = batches[1]
    want = (x.numpy() - everything.mean(0)) / (everything.std(0) + 1e-2)
    np.testing.assert_allclose(normaliser(x), want, rtol=1e-4, atol=1e-5)


def test_using_it_changes_nothing():
    normaliser = Normaliser(5)
    normaliser.observe(draw(1, 50)[0])
    before = {name: x.clone() for name, x in normaliser.state_dict().items()}
    normaliser(draw(2, 50)[0] + 100)
    assert all(torch.equal(before[k], v) for k, v in normaliser.state_dict().items())


def test_what_never_moves_is_not_blown_up():
    normaliser = Normaliser(1)
    normaliser.observe(torch.full((100, 1), 3.0))
    assert normaliser(torch.tensor([[3.001]])).abs().item() < 0.11


def test_merging_processes_gives_the_statistics_of_all_their_rows():
    shares = [draw(3, 32, 32), draw(4, 32, 32)]
    parts = [Normaliser(5), Normaliser(5)]
    for round_ in range(2):
        for part, batches in zip(parts, shares, strict=True):
            part.observe(batches[round_])
        means = torch.stack([part.mean for part in parts]).mean(0)
        spreads = [p.variance + (p.mean - means).square() for p in parts]
        answers = [means, torch.stack(spreads).mean(0)]
        for part in parts:
            queue = list(answers)
            part.merge(lambda tensors, queue=queue: tensors[0].copy_(queue.pop(0)))
    everything = torch.cat([batch for share in shares for batch in share]).double()
    for part in parts:
        torch.testing.assert_close(
            part.mean.double(), everything.mean(0), rtol=1e-5, atol=1e-6
        )
        want = everything.var(0, correction=0)
        torch.testing.assert_close(part.variance.double(), want, rtol=1e-5, atol=1e-6)
