"""SAPG: with one block PPO bit for bit, and what the leader borrows of others."""

from dataclasses import fields

import pytest
import torch
from torch import Tensor

from realworthy.learning import sapg as sapgs
from realworthy.learning.gaussian import Gaussian
from realworthy.learning.learner import BadSettings
from realworthy.learning.ppo import Ppo, PpoSettings
from realworthy.learning.sapg import BlockSamples, Sapg, SapgSettings
from tests.learning.toys import Bandit, Pendulum


def quick(blocks: int) -> SapgSettings:
    s = SapgSettings()
    s.blocks, s.horizon, s.epochs, s.minibatches = blocks, 16, 2, 2
    s.latent_width = 4
    s.actor_widths = s.critic_widths = (16, 16)
    return s


def test_one_block_is_ppo_bit_for_bit():
    s, plain = quick(1), PpoSettings()
    s.entropy_weight = plain.entropy_weight
    for field in fields(PpoSettings):
        if hasattr(s, field.name):
            setattr(plain, field.name, getattr(s, field.name))
    sapg = Sapg(Pendulum(16, seed=1), s, seed=3)
    ppo = Ppo(Pendulum(16, seed=1), plain, seed=3)
    environments = Pendulum(16, seed=1), Pendulum(16, seed=1)
    for _ in range(4):
        for learner, environment in zip((sapg, ppo), environments, strict=True):
            learner.collect(environment)
            learner.update()
    pairs = zip(sapg.actor.parameters(), ppo.actor.parameters(), strict=True)
    assert all(torch.equal(one.flatten(), two.flatten()) for one, two in pairs)
    pairs = zip(sapg.critic.parameters(), ppo.critic.parameters(), strict=True)
    assert all(torch.equal(one, two) for one, two in pairs)
    assert torch.equal(sapg.learning_rate, ppo.learning_rate)
    assert torch.equal(sapg.actor.body.normaliser.mean, ppo.actor.normaliser.mean)
    assert torch.equal(sapg.generator.get_state(), ppo.generator.get_state())


def collect(blocks: int = 4, *, centred: bool = True, alike: bool = False) -> Sapg:
    s = quick(blocks)
    s.is_centred, s.borrow_after = centred, 0
    environment = Pendulum(16, seed=1)
    learner = Sapg(environment, s, seed=0)
    with torch.no_grad():
        learner.actor.log_std += 0.3 * torch.arange(blocks)[:, None]
        for body in (learner.actor.body, learner.critic):
            assert body.latents is not None
            if alike:
                body.latents.copy_(body.latents[:1].expand_as(body.latents))
        if alike:
            learner.actor.log_std.fill_(0.1)
            # What was played is judged by the statistics with which it was played.
            learner.actor.body.normaliser.observe = lambda x: None
    learner.collect(environment)
    return learner


def borrow(learner: Sapg) -> BlockSamples:
    storage = learner._storage
    old = Gaussian(storage.mean, learner._old_std[learner._block])
    with torch.no_grad():
        return learner._borrow(old.log_prob(storage.action))


def weigh(learner: Sapg, lent: BlockSamples) -> Tensor:
    """Ratios of borrowed samples before anything was learned."""
    with torch.no_grad():
        new = learner.actor.distribution(lent.actor, lent.block)
        return (new.log_prob(lent.action) - lent.numbers[:, 0]).exp()


def test_borrowed_samples_are_trusted_about_the_leader_that_was():
    """Centred, the ratio is 1 at first, wherever the lender stood, and μ is the
    likelihood of the leader by that of the lender; else the ratio itself is."""
    centred, plain = collect(), collect(centred=False)
    lent, other = borrow(centred), borrow(plain)
    assert torch.equal(weigh(centred, lent), torch.ones(16 * 4))
    assert (other.numbers[:, 6] == 1).all()
    ratio = weigh(plain, other)
    assert (ratio - 1).abs().max() > 0.1
    torch.testing.assert_close(lent.numbers[:, 6], ratio.clamp(max=4.0))


def test_blocks_that_are_alike_lend_samples_as_the_leader_s_own():
    learner = collect(alike=True, centred=False)
    lent = borrow(learner)
    torch.testing.assert_close(
        weigh(learner, lent), torch.ones(16 * 4), atol=1e-6, rtol=0
    )
    assert torch.allclose(lent.numbers[:, 4], torch.ones(16 * 4), atol=1e-6)


def test_what_is_borrowed_is_worth_one_step_by_the_leader_s_critic():
    """Worked out sample by sample, of whichever block was drawn."""
    learner = collect()
    state = learner.generator.get_state()
    lender = int(torch.randint(3, (), generator=learner.generator))
    learner.generator.set_state(state)
    lent = borrow(learner)
    storage, i = learner._storage, 0
    for t in range(storage.step_count):
        for world in range(4 * lender, 4 * lender + 4):
            assert torch.equal(lent.action[i], storage.action[t, world])
            x, after = (
                learner.critic.normaliser(seen["critic"][t, world][None])
                for seen in (storage.seen, storage.final)
            )
            leads = torch.tensor([3])
            with torch.no_grad():
                value, following = (
                    learner.critic(each, leads).item() for each in (x, after)
                )
            bootstrap = 0.99 * following * (not storage.terminated[t, world])
            want = storage.reward[t, world].item() + bootstrap
            assert lent.numbers[i, 1].item() == pytest.approx(value, rel=1e-5)
            assert lent.numbers[i, 2].item() == pytest.approx(want, rel=1e-4, abs=1e-5)
            i += 1
    assert (lent.block == 3).all()


@pytest.mark.parametrize("centred", [True, False])
def test_a_borrowed_sample_weighs_so_much_at_most(centred: bool):
    learner = collect(centred=centred)
    learner.settings.borrowed_limit = 1.5
    lent = borrow(learner)
    weight, centre = lent.numbers[:, 4], lent.numbers[:, 6]
    found = weight * centre * weigh(learner, lent)
    assert found.max() == pytest.approx(1.5, rel=1e-5)
    assert (found < 1.4).any()


def test_nothing_is_borrowed_before_the_critic_knows_anything():
    s = quick(4)
    s.borrow_after = 2
    environment = Pendulum(16)
    learner = Sapg(environment, s)
    found = []
    for _ in range(4):
        learner.collect(environment)
        found.append(learner.update().borrowed)
    assert found[:2] == [0, 0]
    assert min(found[2:]) > 0


def test_blocks_before_the_last_are_paid_for_entropy():
    s = quick(4)
    s.entropy_scale = 0.6
    learner = Sapg(Pendulum(16), s)
    want = torch.tensor([0.3, 0.2, 0.1, 0.0])
    torch.testing.assert_close(learner._entropy_weights, want)


def test_the_leader_finds_the_best_action_and_is_what_acts():
    environment = Bandit(64)
    s = quick(4)
    s.horizon, s.kl_target, s.epochs = 4, 0.02, 5
    s.borrow_after = 10
    learner = Sapg(environment, s)
    for _ in range(80):
        learner.collect(environment)
        learner.update()
    seen = environment.reset()
    best = torch.tensor([0.5, -0.3])
    assert (learner.act(seen)[0] - best).abs().max() < 0.1
    x = learner.actor.body.normaliser(seen["actor"])
    others = learner.actor.body(x, torch.zeros(64, dtype=torch.long))
    assert not torch.equal(others, learner.act(seen))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"blocks": 5}, "16 worlds cannot be split into 5 blocks"),
        ({"blocks": 0}, "16 worlds cannot be split into 0 blocks"),
        ({"latent_width": 0}, "4 blocks cannot differ by 0 numbers"),
        ({"minibatches": 1000}, "1000 minibatches were asked of 256 samples"),
    ],
)
def test_settings_that_misfit_are_refused(changes: dict[str, int], said: str):
    s = quick(4)
    for name, value in changes.items():
        setattr(s, name, value)
    with pytest.raises(BadSettings, match=said):
        Sapg(Pendulum(16), s)


def test_the_loss_of_borrowed_samples_is_the_paper_s():
    """−min(ρ A, clip(ρ, μ(1−ε), μ(1+ε)) A), against μ times PPO's of ρ/μ."""
    generator = torch.Generator().manual_seed(0)
    ratio, centre = (torch.rand(2, 200, generator=generator) * 3 + 0.05).unbind(0)
    advantage = torch.randn(200, generator=generator)
    low, high = 0.8 * centre, 1.2 * centre
    clipped = torch.maximum(torch.minimum(ratio, high), low)
    want = -torch.minimum(ratio * advantage, clipped * advantage)
    found = centre * sapgs.compute_actor_loss(ratio / centre, advantage, 0.2)
    torch.testing.assert_close(found, want, atol=1e-5, rtol=1e-5)
