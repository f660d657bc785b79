"""What every learner must keep to."""

import pytest
import torch

from realworthy.learning import LEARNERS
from realworthy.learning.candidates import Normalisation
from realworthy.learning.catalogue import from_tree, name_learner, to_tree
from realworthy.learning.learner import (
    BadSettings,
    BadWeights,
    Learner,
    LearnerSettings,
    NothingCollected,
)
from realworthy.learning.off_policy import OffPolicySettings
from realworthy.learning.ppo import PpoSettings
from tests.learning.toys import CartPole, Pendulum


def choose(name: str) -> LearnerSettings:
    """Its default settings; critics with a support hold the toys' returns."""
    settings = LEARNERS[name].Settings()
    if isinstance(settings, OffPolicySettings):
        settings.support = (-200.0, 200.0)
    return settings


def build(name: str, seed: int = 0) -> tuple[Learner, Pendulum]:
    environment = Pendulum(32, seed=seed)
    environment.step_limit = 40
    return choose(name).build(environment, seed=seed), environment


def practise(learner: Learner, environment: Pendulum, count: int) -> torch.Tensor:
    """What it does in the end, in other worlds."""
    for _ in range(count):
        learner.collect(environment)
        learner.update()
    return learner.act(Pendulum(8, seed=50).reset(), learner.remember(8))


@pytest.mark.parametrize("name", LEARNERS)
def test_learning_changes_the_policy_and_is_counted(name: str):
    learner, environment = build(name)
    before = learner.act(Pendulum(8, seed=50).reset())
    assert before.shape == (8, 1)
    learner.collect(environment)
    metrics = learner.update()
    assert metrics.rollout.step_count >= environment.world_count
    assert metrics.rollout.reward < 0
    assert not torch.equal(before, practise(learner, environment, 1))


@pytest.mark.parametrize("name", LEARNERS)
def test_there_is_nothing_to_learn_from_nothing(name: str):
    learner, environment = build(name)
    with pytest.raises(NothingCollected, match="Call collect"):
        learner.update()
    learner.collect(environment)
    learner.update()
    with pytest.raises(NothingCollected):
        learner.update()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_seed_is_the_same_run(name: str):
    first, second = (practise(*build(name, 3), 2) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, practise(*build(name, 4), 2))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_run_that_was_saved_goes_on_as_if_nothing_had_happened(name: str, tmp_path):
    learner, environment = build(name)
    practise(learner, environment, 2)
    torch.save([learner.state_dict(), environment.state_dict()], tmp_path / "kept.pt")
    other, worlds = build(name, 9)
    state, world_state = torch.load(tmp_path / "kept.pt", weights_only=True)
    other.load_state_dict(state)
    worlds.load_state_dict(world_state)
    want = practise(learner, environment, 2)
    assert torch.equal(want, practise(other, worlds, 2))


def check_exported(learner: Learner, environment: Pendulum) -> None:
    """What is exported acts as the learner does, on observations of any size."""
    practise(learner, environment, 2)
    x = 3 * torch.randn(16, 3, generator=torch.Generator().manual_seed(0))
    actor = learner.export()
    hidden = actor.network.initial_hidden(16)
    torch.testing.assert_close(actor(x, hidden)[0], learner.act({"actor": x}))


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_exported_acts_as_the_learner_does(name: str):
    check_exported(*build(name))


@pytest.mark.parametrize("name", ["ars", "es"])
@pytest.mark.parametrize("normalisation", Normalisation)
def test_what_is_exported_normalises_alike(name: str, normalisation: Normalisation):
    settings = LEARNERS[name].Settings()
    settings.normalisation = normalisation  # pyright: ignore
    environment = Pendulum(32, seed=0)
    environment.step_limit = 40
    check_exported(settings.build(environment, seed=0), environment)


@pytest.mark.parametrize("name", LEARNERS)
def test_another_learner_can_begin_with_the_weights(name: str):
    """It does what the first does, and from the same chance it learns on alike."""
    learner, environment = build(name)
    practise(learner, environment, 2)
    other, _ = build(name, 9)
    x = {"actor": torch.randn(16, 3)}
    assert not torch.equal(other.act(x), learner.act(x))
    assert other.load_weights(learner.copy_weights()) == ()
    assert torch.equal(other.act(x), learner.act(x))


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_of_another_policy_are_refused(name: str):
    learner, _ = build(name)
    other = choose(name).build(CartPole(32), seed=0)
    with pytest.raises(BadWeights, match="Weights of another policy"):
        other.load_weights(learner.copy_weights())


def test_a_critic_that_sees_other_numbers_begins_anew():
    learner, _ = build("ppo")
    other, _ = build("ppo", 9)
    weights = learner.copy_weights()
    weights["critic"] = {"normaliser.mean": torch.zeros(9)}
    (said,) = other.load_weights(weights)
    assert said.startswith("The critic starts with new weights: ")
    x = {"actor": torch.randn(16, 3)}
    assert torch.equal(other.act(x), learner.act(x))


@pytest.mark.parametrize("name", ["ars", "es"])
def test_worlds_that_directions_cannot_share_are_refused_at_once(name: str):
    with pytest.raises(BadSettings, match="33 worlds cannot be shared"):
        LEARNERS[name](Pendulum(33))


@pytest.mark.parametrize("name", LEARNERS)
def test_settings_are_plain_data_and_back(name: str):
    settings = choose(name)
    assert name_learner(settings) == name
    assert to_tree(settings)["name"] == name
    assert from_tree(to_tree(settings)) == settings
    built = settings.build(Pendulum(32), seed=0)
    assert type(built) is LEARNERS[name]
    assert built.warnings == ()


def test_settings_count_their_widest_layer():
    assert PpoSettings(actor_widths=(8, 32), critic_widths=(16,)).widest_layer == 32
    assert PpoSettings(actor_widths=(), critic_widths=()).widest_layer == 1
