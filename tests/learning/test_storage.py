"""Advantages against their definition."""

import torch
from torch import Tensor

from realworthy.learning.storage import Samples, compute_advantages

STEPS, WORLDS = 12, 40


def compute_by_definition(
    reward: Tensor,
    value: Tensor,
    after: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    discount: float,
    decay: float,
) -> Tensor:
    """Σ (γλ)^k δ over the later steps of the same episode."""
    found = torch.zeros(reward.shape, dtype=torch.float64)
    for n in range(reward.shape[1]):
        for start in range(len(reward)):
            for t in range(start, len(reward)):
                follows = 0.0 if terminated[t, n] else float(after[t, n])
                gain = float(reward[t, n]) + discount * follows - float(value[t, n])
                found[start, n] += (discount * decay) ** (t - start) * gain
                if terminated[t, n] or truncated[t, n]:
                    break
    return found


def make() -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(3)
    reward, value, after = torch.randn(3, STEPS, WORLDS, generator=generator)
    chance = torch.rand(STEPS, WORLDS, generator=generator)
    terminated, truncated = chance < 0.1, (chance > 0.1) & (chance < 0.2)
    assert terminated[1:-1].any()
    assert truncated[1:-1].any()
    return reward, value, after, terminated, truncated


def compute(
    reward: Tensor,
    value: Tensor,
    after: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    invalid: Tensor | None = None,
) -> Tensor:
    if invalid is None:
        invalid = torch.zeros_like(terminated)
    return compute_advantages(
        reward,
        value,
        after,
        terminated=terminated,
        done=terminated | truncated | invalid,
        invalid=invalid,
        discount=0.97,
        decay=0.9,
    )


def test_advantages_are_their_definition():
    facts = make()
    want = compute_by_definition(*facts, discount=0.97, decay=0.9)
    torch.testing.assert_close(compute(*facts).double(), want, rtol=1e-5, atol=1e-5)


def test_time_outs_are_worth_what_the_reference_form_adds_to_the_reward():
    reward, value, after, terminated, truncated = make()
    before = torch.where(truncated, value, after)
    ours = compute(reward, value, before, terminated, truncated)
    added = reward + 0.97 * value * truncated
    ended = terminated | truncated
    theirs = compute_by_definition(
        added, value, after, ended, torch.zeros_like(ended), discount=0.97, decay=0.9
    )
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)


def test_a_diverged_step_counts_for_nothing_and_those_before_see_its_value():
    reward, value, after, terminated, truncated = make()
    invalid = torch.zeros_like(terminated)
    invalid[5, :] = True
    terminated[5, :], truncated[:6, :], terminated[:5, :] = True, False, False
    found = compute(reward, value, after, terminated, truncated, invalid)
    assert (found[5] == 0).all()
    stopped = truncated.clone()
    stopped[4, :] = True  # as if time had been up before the step
    want = compute(reward, value, after, terminated, stopped)
    torch.testing.assert_close(found[:5], want[:5])


def test_minibatches_hold_every_sample_once_and_rows_stay_together():
    count = 103
    mark = torch.arange(float(count))[:, None]
    samples = Samples(
        actor=mark[None] + 0.1,
        critic=mark[None] + 0.2,
        action=mark[None] + 0.3,
        mean=mark + 0.4,
        numbers=mark.expand(count, 5) + 0.5,
    )
    parts = samples.split(4, torch.Generator().manual_seed(0))
    assert len(parts) == 4
    seen = torch.cat([part.mean for part in parts])
    assert not torch.equal(seen, mark + 0.4)
    assert torch.equal(seen.sort(0).values, mark + 0.4)
    for part in parts:
        torch.testing.assert_close(part.actor[0], part.mean - 0.3)
        torch.testing.assert_close(part.critic[0], part.mean - 0.2)
        torch.testing.assert_close(part.numbers[:, :1], part.mean + 0.1)
