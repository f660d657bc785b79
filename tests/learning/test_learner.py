"""What every learner must keep to."""

import pytest
import torch

from realworthy.learning import LEARNERS
from realworthy.learning.learner import Learner, NothingCollected
from tests.learning.toys import Pendulum


def build(name: str, seed: int = 0) -> tuple[Learner, Pendulum]:
    environment = Pendulum(32, seed=seed)
    environment.step_limit = 40
    return LEARNERS[name](environment, seed=seed), environment


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
