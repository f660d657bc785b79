"""FastTD3 and FastSAC on tasks whose answers are known, and broken on purpose."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from realworthy.learning.fast_sac import FastSac, FastSacSettings
from realworthy.learning.fast_td3 import FastTd3, FastTd3Settings
from realworthy.learning.learner import BadSettings
from realworthy.learning.off_policy import OffPolicy, OffPolicySettings
from realworthy.tasks.environment.environment import (
    ObservationGroup,
    Observations,
    Purpose,
    Step,
)
from tests.learning.toys import Bandit, Noise, Pendulum, Toy

KINDS = pytest.mark.parametrize("kind", [FastSacSettings, FastTd3Settings])


def quick(kind: type[OffPolicySettings]) -> OffPolicySettings:
    s = kind()
    s.actor_widths = s.critic_widths = (32,)
    s.batch = 128
    s.actor_rate = s.critic_rate = 3e-3
    s.target_rate = 0.05
    return s


def train(s: OffPolicySettings, environment: Toy, count: int) -> OffPolicy:
    learner = s.build(environment, seed=0)
    assert isinstance(learner, OffPolicy)
    for _ in range(count):
        learner.collect(environment)
        learner.update()
    return learner


@KINDS
def test_the_best_action_is_found(kind: type[OffPolicySettings]):
    s = quick(kind)
    s.support = (-6.0, 1.0)
    environment = Bandit(32)
    learner = train(s, environment, 60)
    best = torch.tensor([0.5, -0.3])
    assert (learner.act(environment.reset())[0] - best).abs().max() < 0.1


class Slide(Toy):
    """x creeps towards 1 by itself, worth x a step for ever; cut every ten steps.

    From x on that is worth 10 − (1 − x) · 0.75 / (1 − 0.9 · 0.75) at γ 0.9.
    """

    action_width = 1
    widths = {"actor": 1, "critic": 1}  # noqa: RUF012

    def __init__(self, *, forgets: bool) -> None:
        self.forgets = forgets
        super().__init__(32, step_limit=10)

    def draw(self) -> Tensor:
        return torch.zeros(self.world_count, 1)

    def look(self) -> Observations:
        return {"actor": self.state, "critic": self.state}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        self.state = self.state + 0.25 * (1 - self.state)
        none = torch.zeros(self.world_count, dtype=torch.bool)
        return self.state[:, 0], none

    def step(self, action: Tensor) -> Step:
        step = super().step(action)
        return replace(step, final=step.observations) if self.forgets else step


def value_late(kind: type[OffPolicySettings], *, forgets: bool) -> float:
    """Of x after nine steps, to learned critics."""
    s = quick(kind)
    s.discount, s.support = 0.9, (0.0, 12.0)
    learner = train(s, Slide(forgets=forgets), 60)
    x = torch.tensor([[1 - 0.75**9]])
    with torch.no_grad():
        seen = learner.critics.normaliser(x)
        logits = learner.critics.judge(seen, torch.zeros(1, 1))
        return learner._support.expect(logits.softmax(-1)).mean().item()


@KINDS
def test_what_follows_the_end_of_time_is_the_true_last_observation(
    kind: type[OffPolicySettings],
):
    """Sabotage: with the next episode's first one, a fifth of the value is lost."""
    want = 10 - 0.75**9 * 0.75 / (1 - 0.9 * 0.75)
    assert value_late(kind, forgets=False) == pytest.approx(want, rel=0.05)
    assert value_late(kind, forgets=True) <= 0.8 * want


@KINDS
def test_mirrored_samples_are_the_drawn_ones_in_the_mirror(
    kind: type[OffPolicySettings],
):
    s = quick(kind)
    s.support, s.mirror_samples = (-100.0, 100.0), True
    environment = Pendulum(16)
    learner = train(s, environment, 1)
    assert learner._replay is not None
    batch = learner._draw(learner._replay)
    assert len(batch.reward) == s.batch
    half = s.batch // 2
    plain, mirrored = slice(half), slice(half, None)
    assert torch.equal(batch.reward[plain], batch.reward[mirrored])
    assert torch.equal(batch.action[plain], -batch.action[mirrored])
    actor, critic = learner._normalisers
    for normaliser, x, group in (
        (actor, batch.actor, "actor"),
        (critic, batch.next_critic, "critic"),
    ):
        raw = x * normaliser.scale + normaliser.mean
        want = environment.mirror(group, raw[plain])
        torch.testing.assert_close(raw[mirrored], want, atol=1e-4, rtol=1e-4)


@KINDS
def test_the_actor_sees_nothing_that_only_critics_may(kind: type[OffPolicySettings]):
    s = quick(kind)
    s.support = (-100.0, 100.0)
    learner = train(s, Pendulum(16, spread=True), 2)
    seen = Pendulum(16, spread=True).look()
    hidden = {**seen, "critic": torch.randn(16, 5)}
    assert torch.equal(learner.act(seen), learner.act(hidden))
    critic = seen["critic"].requires_grad_()
    logits = learner.critics.judge(critic, torch.zeros(16, 1))
    slope = torch.autograd.grad(
        learner._support.expect(logits.softmax(-1)).sum(), critic
    )
    assert (slope[0][:, 3:] != 0).any()


def test_careful_critics_learn_the_lesser_of_two_views():
    """Sabotage: without care each learns its own, and the sum is larger."""
    s = quick(FastTd3Settings)
    assert isinstance(s, FastTd3Settings)
    s.support = (-100.0, 100.0)
    learner = train(s, Pendulum(16), 3)
    assert isinstance(learner, FastTd3)
    assert learner._replay is not None
    batch = learner._draw(learner._replay)
    with torch.no_grad():
        careful = learner._support.expect(learner._aim(batch))
        s.is_careful = False
        own = learner._support.expect(learner._aim(batch))
    assert torch.equal(careful[0], careful[1])
    torch.testing.assert_close(careful[0], own.amin(0))
    assert own.mean() > careful.mean()


def test_entropy_is_held_at_its_target():
    """The price of entropy moves until there is as much as was asked for."""
    s = quick(FastSacSettings)
    assert isinstance(s, FastSacSettings)
    s.support, s.temperature, s.temperature_rate = (-6.0, 3.0), 0.1, 0.02
    s.entropy_target = -0.5
    environment = Bandit(32)
    learner = train(s, environment, 60)
    found = []
    for _ in range(20):
        learner.collect(environment)
        found.append(learner.update().numbers["entropy"])
    assert sum(found) / len(found) == pytest.approx(2 * -0.5, abs=0.3)


def test_steps_in_which_the_physics_diverged_are_not_learned_from():
    class Breaking(Bandit):
        def is_invalid(self) -> Tensor:
            return torch.arange(self.world_count) == 0

        def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
            reward, done = super().move(action)
            return torch.where(self.is_invalid(), torch.nan, reward), done

    s = quick(FastSacSettings)
    s.support = (-6.0, 1.0)
    learner = s.build(Breaking(8), seed=0)
    environment = Breaking(8)
    for _ in range(3):
        learner.collect(environment)
        metrics = learner.update()
    assert metrics.is_finite
    assert metrics.rollout.invalid_count == 8
    assert isinstance(learner, FastSac)
    assert learner._replay is not None
    batch = learner._draw(learner._replay)
    assert 0 < (batch.weight == 0).float().mean() < 0.5


@KINDS
def test_a_support_that_does_not_hold_the_rewards_is_refused_at_once(
    kind: type[OffPolicySettings],
):
    s = kind()
    s.support = (-1.0, 1.0)
    with pytest.raises(BadSettings, match=r"support of -1 … 1 cannot hold") as caught:
        s.build(Pendulum(8), seed=0)
    assert "--support -100 100" in str(caught.value.hint)


@KINDS
def test_returns_beyond_the_support_raise_an_alarm(kind: type[OffPolicySettings]):
    """Each step of the slide is held, their sum is not."""
    s = quick(kind)
    s.discount, s.support = 0.9, (-4.0, 7.0)
    learner = train(s, Slide(forgets=False), 60)
    (said,) = learner.warnings
    assert "of what the critics aimed at lay at the ends of their support" in said


@KINDS
def test_settings_that_misfit_are_refused(kind: type[OffPolicySettings]):
    class Seeing(Noise):
        @property
        def groups(self) -> dict[str, ObservationGroup]:
            image = ObservationGroup((3, 8, 8), Purpose.DEPLOYABLE)
            return {**super().groups, "camera": image}

    with pytest.raises(BadSettings, match=r"'camera' of observations is 3 × 8 × 8"):
        kind().build(Seeing(4), seed=0)
    s = kind()
    s.updates, s.actor_every = 5, 2
    with pytest.raises(BadSettings, match="every 2 of 5 gradient steps"):
        s.build(Bandit(4), seed=0)
    s = kind()
    s.mirror_samples = True
    with pytest.raises(BadSettings, match="the task has no symmetry"):
        s.build(Bandit(4), seed=0)
    s = kind()
    s.batch = 0
    with pytest.raises(BadSettings, match="--batch should be above zero, not 0"):
        s.build(Bandit(4), seed=0)
