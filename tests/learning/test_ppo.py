"""PPO's parts against finite differences and rules worked by hand."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from realworthy.learning.learner import BadSettings
from realworthy.learning.ppo import (
    Ppo,
    PpoSettings,
    adapt_learning_rate,
    compute_actor_loss,
    compute_value_loss,
)
from realworthy.learning.recurrent import RecurrentKind
from realworthy.tasks.environment.environment import Environment, Step
from tests.learning.toys import Noise, Pendulum


def tiny(**changes: object) -> PpoSettings:
    s = PpoSettings(actor_widths=(16,), critic_widths=(16,), horizon=8, epochs=2)
    for name, value in changes.items():
        setattr(s, name, value)
    return s


def get_weights(learner: Ppo) -> list[Tensor]:
    modules = (learner.actor, learner.critic)
    return [x.detach().clone() for m in modules for x in m.state_dict().values()]


def are_equal(first: list[Tensor], second: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("loss", ["actor", "value"])
def test_gradients_are_finite_differences(loss: str):
    generator = torch.Generator().manual_seed(0)
    new, old, truth = torch.randn(3, 200, generator=generator, dtype=torch.float64)

    def compute(x: Tensor) -> Tensor:
        if loss == "actor":
            return compute_actor_loss((x - old).exp(), truth, 0.2)
        return compute_value_loss(x, old, truth, 0.2)

    x = new.clone().requires_grad_()
    compute(x).sum().backward()
    step = 1e-6
    slope = (compute(new + step) - compute(new - step)) / (2 * step)
    assert x.grad is not None
    torch.testing.assert_close(x.grad, slope, rtol=1e-5, atol=1e-7)
    assert (slope == 0).any()
    assert (slope != 0).any()


def test_there_is_no_gain_beyond_the_clip():
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5])
    advantage = torch.tensor([2.0, -2.0, 2.0, -2.0])
    found = compute_actor_loss(ratio, advantage, 0.2)
    torch.testing.assert_close(found, torch.tensor([-2.4, 3.0, -1.0, 1.6]))
    value = compute_value_loss(
        torch.tensor([0.5, 0.5]), torch.zeros(2), torch.tensor([1.0, -1.0]), 0.2
    )
    torch.testing.assert_close(value, torch.tensor([0.64, 2.25]))


def test_one_step_is_the_rule_written_out():
    """Losses sample by sample with torch's own distributions, clipping and Adam."""
    environment = Noise(6)
    s = tiny(epochs=1, minibatches=1, kl_target=None, gradient_limit=0.3)
    learner = Ppo(environment, s, seed=1)
    learner.collect(environment)
    learner.update()  # so that the policy that plays next is not the first one
    learner.collect(environment)
    (batch,), _ = learner._judge()
    with torch.no_grad():  # away from ratios of one
        for weights in learner.actor.network.parameters():
            weights += 0.1
    actor, critic = deepcopy(learner.actor), deepcopy(learner.critic)
    start = [x.detach().clone() for x in actor.parameters()]

    losses = []
    for i in range(len(batch.mean)):
        log_prob, old_value, returns, advantage, _ = batch.numbers[i]
        normal = torch.distributions.Normal(
            actor.network.unroll(batch.actor[0, i : i + 1])[0], actor.log_std.exp()
        )
        ratio = (normal.log_prob(batch.action[0, i]).sum() - log_prob).exp()
        low_high = ratio.clamp(0.8, 1.2)
        gain = torch.minimum(ratio * advantage, low_high * advantage)
        value = critic.network.unroll(batch.critic[0, i : i + 1])[0, 0]
        near = old_value + (value - old_value).clamp(-0.2, 0.2)
        error = torch.maximum((value - returns) ** 2, (near - returns) ** 2)
        losses.append(-gain + 1.0 * error - 0.01 * normal.entropy().sum())
    torch.stack(losses).mean().backward()
    for module in (actor, critic):
        torch.nn.utils.clip_grad_norm_(module.parameters(), 0.3)
    old = learner.optimiser.state_dict()
    weights = [*actor.parameters(), *critic.parameters()]
    plain = torch.optim.Adam(weights, lr=1e-3)
    state = deepcopy(old["state"])
    plain.load_state_dict(
        {"state": state, "param_groups": plain.state_dict()["param_groups"]}
    )
    plain.step()

    learner._descend(batch)
    moved = [*learner.actor.parameters(), *learner.critic.parameters()]
    for found, want in zip(moved, weights, strict=True):
        torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-6)
    assert not are_equal(start, [x.detach() for x in learner.actor.parameters()])


@pytest.mark.parametrize(
    ("rate", "kl", "want"),
    [
        (1e-3, 0.03, 1e-3 / 1.5),
        (1.2e-5, 0.03, 1e-5),
        (1e-3, 0.01, 1e-3),
        (1e-3, 0.004, 1.5e-3),
        (9e-3, 0.004, 1e-2),
        (1e-3, 0.0, 1e-3),
    ],
)
def test_step_size_follows_the_divergence(rate: float, kl: float, want: float):
    found = adapt_learning_rate(
        torch.tensor(rate), torch.tensor(kl), target=0.01, within=(1e-5, 1e-2)
    )
    assert found.item() == pytest.approx(want, rel=1e-6)


def test_ratio_is_one_before_the_first_step():
    environment = Noise(16)
    learner = Ppo(environment, tiny(epochs=1, minibatches=1))
    learner.begin(environment)
    learner._see = lambda observations: None  # statistics stand still
    learner.collect(environment)
    metrics = learner.update()
    assert metrics.kl == pytest.approx(0.0, abs=1e-6)
    assert metrics.clipped == 0.0
    assert metrics.actor_loss == pytest.approx(0.0, abs=1e-5)  # mean advantage


def test_actor_sees_nothing_of_the_critics_observations():
    environment = Pendulum(8, spread=True)
    learner = Ppo(environment, tiny())
    observations = environment.reset()
    inputs = {name: x.clone().requires_grad_() for name, x in observations.items()}
    hidden = learner.actor.network.initial_hidden(8)
    gaussian, _ = learner.actor.distribution(inputs["actor"], hidden)
    gaussian.mean.sum().backward()
    assert inputs["actor"].grad is not None
    assert inputs["actor"].grad.abs().sum() > 0
    assert inputs["critic"].grad is None
    changed = {**observations, "critic": observations["critic"] + 1}
    assert torch.equal(learner.act(observations), learner.act(changed))


def test_acting_is_the_mean_and_changes_nothing():
    environment = Noise(8)
    learner = Ppo(environment, tiny())
    learner.collect(environment)
    observations = environment.reset()
    before = get_weights(learner)
    state = learner.generator.get_state()
    action = learner.act(observations)
    hidden = learner.actor.network.initial_hidden(8)
    gaussian, _ = learner.actor.distribution(observations["actor"], hidden)
    assert torch.equal(action, gaussian.mean)
    assert are_equal(before, get_weights(learner))
    assert torch.equal(state, learner.generator.get_state())


@pytest.mark.parametrize("recurrent", [None, *RecurrentKind])
def test_a_resumed_run_is_the_same_run(recurrent: RecurrentKind | None, tmp_path):
    s = tiny(recurrent=recurrent, recurrent_width=8)

    def train(learner: Ppo, environment: Environment, count: int) -> None:
        for _ in range(count):
            learner.collect(environment)
            learner.update()

    whole, environment = Ppo(Noise(12, seed=5), s, seed=3), Noise(12, seed=5)
    train(whole, environment, 4)

    first, environment = Ppo(Noise(12, seed=5), s, seed=3), Noise(12, seed=5)
    train(first, environment, 2)
    file = tmp_path / "checkpoint.pt"
    torch.save([first.state_dict(), environment.state_dict()], file)
    state, worlds = torch.load(file, weights_only=True)
    second, environment = Ppo(Noise(12, seed=9), s, seed=8), Noise(12, seed=9)
    second.load_state_dict(state)
    environment.load_state_dict(worlds)
    train(second, environment, 2)
    assert are_equal(get_weights(whole), get_weights(second))
    assert torch.equal(whole.learning_rate, second.learning_rate)
    assert torch.equal(whole.generator.get_state(), second.generator.get_state())
    assert not are_equal(get_weights(whole), get_weights(first))


def test_a_kept_state_stays_as_it_was():
    environment = Noise(8)
    learner = Ppo(environment, tiny())
    learner.collect(environment)
    learner.update()
    kept = learner.state_dict()
    copy = deepcopy(kept)
    learner.load_state_dict(kept)
    learner.collect(environment)
    learner.update()

    def check(a: object, b: object) -> None:
        if isinstance(a, dict) and isinstance(b, dict):
            for name in a:
                check(a[name], b[name])
        elif isinstance(a, list) and isinstance(b, list):
            for x, y in zip(a, b, strict=True):
                check(x, y)
        else:
            same = torch.equal(a, b) if isinstance(a, Tensor) else a == b
            assert same

    check(kept, copy)
    assert not torch.equal(learner.state_dict()["generator"], kept["generator"])


class Diverging(Noise):
    """Breaks now and then; what a broken step brings is up to `garbage`."""

    def __init__(self, world_count: int, *, garbage: float) -> None:
        self.garbage = garbage
        super().__init__(world_count, seed=1)

    def is_invalid(self) -> Tensor:
        return self.state[:, 1] > 1.0

    def step(self, action: Tensor) -> Step:
        step = super().step(action)
        bad = step.invalid
        step.reward[bad] = self.garbage
        step.final["critic"][bad] = self.garbage
        step.terms["reward"][bad] = self.garbage
        return step


@pytest.mark.parametrize("recurrent", [None, RecurrentKind.LSTM])
def test_diverged_steps_change_nothing_and_are_counted(recurrent: RecurrentKind | None):
    found = []
    for garbage in (0.0, float("nan"), 1e30):
        environment = Diverging(16, garbage=garbage)
        learner = Ppo(environment, tiny(recurrent=recurrent, recurrent_width=8), seed=2)
        for _ in range(3):
            learner.collect(environment)
            storage = learner._storage
            metrics = learner.update()
            assert metrics.rollout.invalid_count == storage.invalid.sum() > 0
            assert metrics.value_loss == metrics.value_loss  # not NaN
        found.append(get_weights(learner))
    assert are_equal(found[0], found[1])
    assert are_equal(found[0], found[2])


def test_actions_of_diverged_steps_are_not_learned():
    found = []
    for shift in (0.0, 3.0):
        environment = Diverging(16, garbage=0.0)
        learner = Ppo(environment, tiny(), seed=2)
        learner.collect(environment)
        learner._storage.action[learner._storage.invalid] += shift
        learner.update()
        found.append(get_weights(learner))
    assert are_equal(*found)


def test_actor_and_critic_are_cut_each_on_its_own():
    """A critic with gradients a thousand times larger leaves the actor's step alone."""
    found = []
    for weight in (1.0, 1000.0):
        environment = Noise(16)
        s = tiny(value_weight=weight, epochs=1, gradient_limit=0.05)
        learner = Ppo(environment, s, seed=4)
        learner.collect(environment)
        learner.update()
        found.append([x.detach().clone() for x in learner.actor.parameters()])
    assert are_equal(*found)


def test_mirrors_and_memory_are_refused_together():
    s = tiny(mirror_samples=True, recurrent=RecurrentKind.GRU)
    with pytest.raises(BadSettings, match="remembered has no mirror image"):
        Ppo(Noise(8), s)


def test_mirrors_of_a_task_without_symmetry_are_refused():
    environment = Noise(8)
    environment.mirror_count = 1
    with pytest.raises(BadSettings, match="no symmetry"):
        Ppo(environment, tiny(mirror_weight=1.0))


def test_more_minibatches_than_worlds_are_refused():
    with pytest.raises(BadSettings, match="9 minibatches were asked of 8 worlds"):
        Ppo(Noise(8), tiny(recurrent=RecurrentKind.GRU, minibatches=9))
