"""Mirrored samples and the mirror loss, against the same written out."""

from functools import cache
from statistics import median

import pytest
import torch
from torch import Tensor

from realworthy.learning.ppo import Ppo, PpoSettings
from realworthy.learning.storage import Samples
from tests.learning.test_ppo_learning import learn_pendulum, pendulum_settings
from tests.learning.toys import Noise, Pendulum


def build(environment: Noise | Pendulum, **changes: object) -> Ppo:
    s = PpoSettings(
        actor_widths=(16,), critic_widths=(16,), horizon=8, minibatches=1, epochs=1
    )
    s.kl_target = None
    for name, value in changes.items():
        setattr(s, name, value)
    return Ppo(environment, s, seed=1)


def test_the_toys_mirror_is_a_symmetry_of_its_physics():
    plain, mirrored = Pendulum(32), Pendulum(32)
    mirrored.state = plain.state * torch.tensor([-1.0, -1.0, 1.0, 1.0])
    for _ in range(10):
        action = plain.uniform(32, 1)
        first = plain.step(action)
        second = mirrored.step(plain.mirror_action(action))
        for group, x in first.observations.items():
            assert torch.equal(plain.mirror(group, plain.mirror(group, x)), x)
            want = plain.mirror(group, x)
            torch.testing.assert_close(
                second.observations[group], want, rtol=0, atol=1e-5
            )
        torch.testing.assert_close(second.reward, first.reward)


def test_mirrored_samples_are_samples():
    """One step on mirrored samples is one step on a batch that holds both."""
    learner = build(Noise(16), mirror_samples=True)
    learner.collect(learner._environment)
    (batch,), _ = learner._judge()
    assert len(batch.actor) == 2

    plain = build(Noise(16))
    plain.load_state_dict(learner.state_dict())
    plain._storage.std.copy_(learner._storage.std)
    both = Samples(
        actor=batch.actor.flatten(0, 1)[None],
        critic=batch.critic.flatten(0, 1)[None],
        action=batch.action.flatten(0, 1)[None],
        mean=torch.cat([batch.mean, -batch.mean]),
        numbers=torch.cat([batch.numbers] * 2),
    )
    learner._descend(batch)
    plain._descend(both)
    for first, second in zip(
        learner.actor.parameters(), plain.actor.parameters(), strict=True
    ):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-6)
    for first, second in zip(
        learner.critic.parameters(), plain.critic.parameters(), strict=True
    ):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-6)


def test_mirrors_show_raw_observations():
    """What is mirrored is what was seen; statistics come after."""
    environment = Pendulum(16)
    learner = build(environment, mirror_samples=True)
    learner.collect(environment)
    (batch,), _ = learner._judge()
    normaliser = learner.actor.normaliser
    raw = batch.actor * normaliser.scale + normaliser.mean
    torch.testing.assert_close(
        raw[1], environment.mirror("actor", raw[0]), rtol=1e-4, atol=1e-5
    )


def measure_asymmetry(learner: Ppo) -> float:
    environment = Pendulum(200, seed=5)
    seen = environment.reset()
    environment.state[:, :2] = 3 * environment.uniform(200, 2)
    seen = environment.look()
    mirrored = {group: environment.mirror(group, x) for group, x in seen.items()}
    action = learner.act(seen)
    unlike = learner.act(mirrored) - environment.mirror_action(action)
    return (unlike.square().mean() / action.square().mean()).sqrt().item()


def test_mirror_loss_is_what_it_says():
    learner = build(Pendulum(16), mirror_weight=1.0)
    learner.collect(learner._environment)
    (batch,), _ = learner._judge()
    network = learner.actor.network
    plain, mirrored = network.unroll(batch.actor[0]), network.unroll(batch.actor[1])
    want = (mirrored + plain).square().mean()
    found = learner._descend(batch)[4]
    torch.testing.assert_close(found, want.detach())


@pytest.mark.parametrize("changes", [{"mirror_weight": 5.0}, {"mirror_samples": True}])
def test_a_policy_becomes_symmetric(changes: dict[str, object]):
    def train(**changes: object) -> float:
        environment = Pendulum(64)
        learner = build(environment, horizon=32, epochs=5, minibatches=4, **changes)
        _shift(learner.actor.network.layers[-1].bias)
        for _ in range(12):
            learner.collect(environment)
            learner.update()
        return measure_asymmetry(learner)

    assert train(**changes) < 0.7 * train()


def _shift(bias: Tensor) -> None:
    """A policy that pushes to one side."""
    with torch.no_grad():
        bias += 0.5


class Crooked(Pendulum):
    """Its mirror leaves actions as they are, which is wrong."""

    def mirror_action(self, action: Tensor, element: int = 1) -> Tensor:
        return action


@cache
def learn(kind: type[Pendulum], *, mirrors: bool) -> list[float]:
    """Scores of three seeds after 20 updates."""
    found = []
    for seed in range(3):
        environment = kind(128, seed=seed)
        s = pendulum_settings()
        s.mirror_samples = mirrors
        learner = Ppo(environment, s, seed=seed)
        found.append(learn_pendulum(learner, environment, 20)[0])
    return found


@pytest.mark.slow
def test_mirrors_teach_faster():
    found = median(learn(Pendulum, mirrors=True))
    assert found >= median(learn(Pendulum, mirrors=False)) + 0.1


@pytest.mark.slow
def test_a_wrong_mirror_teaches_nothing():
    """Sabotage: one sign of the mirror."""
    assert min(learn(Pendulum, mirrors=True)) >= 0.8
    assert max(learn(Crooked, mirrors=True)) <= 0.5
