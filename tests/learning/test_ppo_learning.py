"""PPO on tasks whose answers are known, and broken on purpose."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from realworthy.learning import ppo
from realworthy.learning.learner import Learner
from realworthy.learning.ppo import Ppo, PpoSettings, TimeOut
from realworthy.learning.recurrent import RecurrentKind
from tests.learning.toys import Bandit, Pendulum, Recall, Still, Toy


def train(learner: Learner, environment: Toy, count: int) -> None:
    for _ in range(count):
        learner.collect(environment)
        learner.update()


def evaluate(environment: Toy, act: Callable[[dict[str, Tensor]], Tensor]):
    """Mean undiscounted return and success of one episode in each world."""
    observations = environment.reset()
    total = torch.zeros(environment.world_count)
    for _ in range(environment.step_limit):
        step = environment.step(act(observations))
        observations = step.observations
        total += step.reward
    return total.mean().item(), step.success.float().mean().item()


def learn_still(*, ends: bool, time_out: TimeOut) -> float:
    environment = Still(32, ends=ends)
    s = PpoSettings(
        actor_widths=(8,),
        critic_widths=(8,),
        minibatches=1,
        learning_rate=3e-2,
        kl_target=None,
        clip_value=False,
        gradient_limit=100.0,
        time_out=time_out,
    )
    learner = Ppo(environment, s)
    train(learner, environment, 60)
    hidden = learner.critic.network.initial_hidden(1)
    return learner.critic(torch.zeros(1, 1), hidden)[0].item()


@pytest.mark.parametrize("time_out", TimeOut)
def test_running_out_of_time_is_not_the_end(time_out: TimeOut):
    """One state, 1 for each step for ever at γ 0.99, cut every 20 steps."""
    assert learn_still(ends=False, time_out=time_out) == pytest.approx(100, abs=5)


def test_an_end_is_the_end():
    """The same with real ends: what follows the last of 20 steps is worth nothing."""
    carry, total, slope = 0.99 * 0.95, 0.0, 0.0
    for t in range(24):  # of the rollout
        for left in range(1, 21):  # of the episode
            count = min(left, 24 - t)
            weight = sum(carry**j for j in range(count))
            total += weight
            slope += 0.01 * weight
            if left <= 24 - t:
                slope += 0.99 * carry ** (count - 1)
    want = total / slope  # where the mean advantage is zero
    assert want == pytest.approx(12.67, abs=0.01)
    found = learn_still(ends=True, time_out=TimeOut.FINAL)
    assert found == pytest.approx(want, abs=2)


def test_step_size_holds_the_divergence_near_its_target():
    environment = Bandit(256)
    s = PpoSettings(actor_widths=(16,), critic_widths=(16,), horizon=4)
    learner = Ppo(environment, s)
    found = []
    for _ in range(80):
        learner.collect(environment)
        found.append(learner.update().kl)
    assert 0.005 <= sum(found[-50:]) / 50 <= 0.02
    best = torch.tensor([0.5, -0.3])
    assert (learner.act(environment.reset())[0] - best).abs().max() < 0.1


def learn_recall(recurrent: RecurrentKind | None, count: int) -> float:
    environment = Recall(128)
    s = ppo.small()
    s.horizon = 32
    s.learning_rate = 1e-3
    s.recurrent = recurrent
    s.recurrent_width = 32
    s.actor_widths = s.critic_widths = (32,)
    learner = Ppo(environment, s)
    train(learner, environment, count)
    other = Recall(1000, seed=9)
    memory = learner.remember(1000)
    return evaluate(other, lambda seen: learner.act(seen, memory))[1]


@pytest.mark.slow
def test_memory_recalls_what_was_seen_long_ago():
    assert learn_recall(RecurrentKind.LSTM, 120) >= 0.95


def test_without_memory_recall_is_chance():
    assert learn_recall(None, 15) <= 0.6


PENDULUM_RANDOM, PENDULUM_REFERENCE = -210.8, -37.1
"""Returns of random actions and of the reference controller, checked below."""


def learn_pendulum(learner: Ppo, environment: Pendulum, count: int):
    """Normalised score and success on 200 other starts."""
    train(learner, environment, count)
    total, success = evaluate(Pendulum(200, seed=99), learner.act)
    scale = PENDULUM_REFERENCE - PENDULUM_RANDOM
    return (total - PENDULUM_RANDOM) / scale, success


def pendulum_settings() -> PpoSettings:
    return ppo.small()


def test_pendulum_is_the_one_that_was_calibrated():
    environment = Pendulum(200, seed=1)
    total, success = evaluate(environment, lambda _: environment.reference())
    assert total == pytest.approx(PENDULUM_REFERENCE, rel=0.05)
    assert success >= 0.98
    total, success = evaluate(environment, lambda _: environment.uniform(200, 1))
    assert total == pytest.approx(PENDULUM_RANDOM, rel=0.05)
    assert success <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pendulum_swings_up(seed: int):
    environment = Pendulum(128, seed=seed)
    learner = Ppo(environment, pendulum_settings(), seed=seed)
    score, success = learn_pendulum(learner, environment, 150)
    assert score >= 0.95
    assert success >= 0.95


@pytest.mark.slow
def test_shuffled_advantages_teach_nothing():
    environment = Pendulum(128)
    learner = Ppo(environment, pendulum_settings())
    honest = learner._normalise

    def shuffle(advantage: Tensor, weight: Tensor) -> Tensor:
        order = torch.randperm(advantage.numel(), generator=learner.generator)
        return honest(advantage, weight).flatten()[order].view_as(advantage)

    learner._normalise = shuffle
    score, success = learn_pendulum(learner, environment, 150)
    assert score <= 0.45
    assert success == 0


class Fortune(Toy):
    """Every step is worth what the episode drew; only the critic may see it."""

    action_width = 1

    def __init__(self, world_count: int, *, is_seen: bool) -> None:
        self.is_seen = is_seen
        self.widths = {"actor": 1, "critic": 2}
        super().__init__(world_count, step_limit=20)

    def draw(self) -> Tensor:
        return self.uniform(self.world_count, 1)

    def look(self) -> dict[str, Tensor]:
        left = 1 - self.time[:, None] / self.step_limit
        fortune = self.state if self.is_seen else torch.zeros_like(self.state)
        return {"actor": left, "critic": torch.cat([left, fortune], dim=-1)}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        return self.state[:, 0], self.time >= self.step_limit


def test_a_critic_that_sees_more_explains_more():
    def learn(*, is_seen: bool) -> float:
        environment = Fortune(64, is_seen=is_seen)
        s = ppo.small()
        s.horizon = 24
        s.clip_value = False
        s.learning_rate = 3e-3
        s.kl_target = None
        learner = Ppo(environment, s)
        train(learner, environment, 8)
        learner.collect(environment)
        return learner.update().explained_variance

    assert learn(is_seen=True) >= 0.95
    assert learn(is_seen=False) <= 0.1
