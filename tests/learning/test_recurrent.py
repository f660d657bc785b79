"""One padded run against step by step with resets."""

import pytest
import torch

from realworthy.learning.recurrent import RecurrentKind, Unit, forget, split_episodes

STEPS, WORLDS, INPUTS = 17, 9, 4


@pytest.mark.parametrize("kind", RecurrentKind)
def test_padded_run_is_step_by_step_with_resets(kind: RecurrentKind):
    generator = torch.Generator().manual_seed(1)
    unit = Unit(INPUTS, 8, kind=kind, generator=generator)
    x = torch.randn(STEPS, WORLDS, INPUTS, generator=generator)
    done = torch.rand(STEPS, WORLDS, generator=generator) < 0.2
    done[:, 0], done[-1, 1], done[:, 2] = False, True, True
    start = torch.randn(unit.initial_hidden(WORLDS).shape, generator=generator)
    hidden, wanted = start, []
    for t in range(STEPS):
        y, hidden = unit.step(x[t], hidden)
        wanted.append(y)
        hidden = forget(hidden, done[t])
    found = unit.unroll(x, start, split_episodes(done))
    torch.testing.assert_close(found, torch.stack(wanted), rtol=1e-5, atol=1e-5)
    forgotten = unit.unroll(x, torch.zeros_like(start), split_episodes(done))
    assert not torch.allclose(found, forgotten, atol=1e-3)


def test_episodes_are_counted_by_hand():
    done = torch.tensor([[False, True], [True, False], [False, False]])
    episodes = split_episodes(done)
    assert episodes.time.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert episodes.row.tolist() == [[0, 2], [0, 3], [1, 3]]
    assert episodes.world.tolist() == [0, 0, 1, 1]
    assert episodes.starts_rollout.tolist() == [True, False, True, False]


def test_padding_is_undone():
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(STEPS, WORLDS, 3, generator=generator)
    episodes = split_episodes(torch.rand(STEPS, WORLDS, generator=generator) < 0.3)
    padded = episodes.pad(x)
    assert torch.equal(episodes.unpad(padded), x)
    assert padded.count_nonzero() == x.numel()
