"""One padded run against step by step with resets."""

from copy import deepcopy
from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from realworthy.learning.networks import RecurrentNetwork
from realworthy.learning.ppo import Ppo
from realworthy.learning.recurrent import RecurrentKind, Unit, forget, split_episodes
from tests.learning.test_ppo import Diverging, tiny

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


def remember(unit: Unit, x: Tensor, hidden: list[Tensor]) -> list[Tensor]:
    """The next state of one world: gates of Hochreiter and of Cho, written out."""
    rnn = unit.rnn
    seen = rnn.weight_ih_l0 @ x + rnn.bias_ih_l0
    held = rnn.weight_hh_l0 @ hidden[0] + rnn.bias_hh_l0
    if unit.kind is RecurrentKind.LSTM:
        take, keep, new, show = (seen + held).chunk(4)
        cell = keep.sigmoid() * hidden[1] + take.sigmoid() * new.tanh()
        return [show.sigmoid() * cell.tanh(), cell]
    (reset, keep, new), (held_reset, held_keep, held_new) = seen.chunk(3), held.chunk(3)
    keep = (keep + held_keep).sigmoid()
    new = (new + (reset + held_reset).sigmoid() * held_new).tanh()
    return [(1 - keep) * new + keep * hidden[0]]


def play_back(
    network: RecurrentNetwork, x: Tensor, hidden: Tensor, done: Tensor
) -> list[Tensor]:
    """Outputs of one world, step by step, from nothing after each end."""
    state, found = list(hidden), []
    for t in range(len(x)):
        state = remember(network.unit, x[t], state)
        found.append(network.head.layers(state[0]))
        if done[t]:
            state = [torch.zeros_like(part) for part in state]
    return found


@pytest.mark.parametrize("kind", RecurrentKind)
def test_one_step_is_the_rule_written_out(kind: RecurrentKind):
    """World by world and step by step, torch's own distributions, clipping and Adam."""
    environment = Diverging(8, garbage=0.0)
    s = tiny(recurrent=kind, recurrent_width=6, horizon=10, minibatches=2)
    s.kl_target, s.gradient_limit = None, 0.3
    learner = Ppo(environment, s, seed=1)
    for _ in range(2):  # so that worlds remember something at the start
        learner.collect(environment)
    batch = learner._judge()[0][0]
    double = {
        f.name: getattr(batch, f.name).double()
        for f in fields(batch)
        if f.name not in ("done", "episodes")
    }
    batch = replace(batch, **double)
    learner.actor.double()
    learner.critic.double()
    with torch.no_grad():  # away from ratios of one
        for weights in learner.actor.network.parameters():
            weights += 0.1
    actor, critic = deepcopy(learner.actor), deepcopy(learner.critic)

    losses, total = [], 0.0
    for w in range(4):
        done = batch.done[:, w]
        assert batch.actor_hidden[:, w].any()
        means = play_back(
            actor.network, batch.actor[0, :, w], batch.actor_hidden[:, w], done
        )
        values = play_back(
            critic.network, batch.critic[0, :, w], batch.critic_hidden[:, w], done
        )
        for t in range(10):
            log_prob, old_value, returns, advantage, weight = batch.numbers[t, w]
            normal = torch.distributions.Normal(means[t], actor.log_std.exp())
            ratio = (normal.log_prob(batch.action[0, t, w]).sum() - log_prob).exp()
            gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            near = old_value + (values[t][0] - old_value).clamp(-0.2, 0.2)
            error = torch.maximum((values[t][0] - returns) ** 2, (near - returns) ** 2)
            losses.append(weight * (error - gain - 0.01 * normal.entropy().sum()))
            total += weight.item()
    assert batch.done[:-1].any()
    assert 0 < total < 40
    (torch.stack(losses).sum() / total).backward()
    for module in (actor, critic):
        torch.nn.utils.clip_grad_norm_(module.parameters(), 0.3)
    want = [*actor.parameters(), *critic.parameters()]
    torch.optim.Adam(want, lr=1e-3).step()

    learner._descend(batch)
    found = [*learner.actor.parameters(), *learner.critic.parameters()]
    for a, b in zip(found, want, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-5, atol=1e-9)
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-9)
