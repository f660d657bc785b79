"""Groups of observations: who sees which, and how they become one vector."""

import pytest
import torch
from torch import Tensor

from realworthy.learning import LEARNERS
from realworthy.learning.learner import BadSettings
from realworthy.learning.network_input import find_critic_input, find_policy_input
from realworthy.learning.ppo import Ppo, PpoSettings
from realworthy.tasks.environment.environment import (
    ObservationGroup,
    Observations,
    Purpose,
)
from tests.learning.toys import Noise

SEEN, MORE, E = Purpose.DEPLOYABLE, Purpose.PRIVILEGED, Purpose.E


class Grouped(Noise):
    """The same numbers as `Noise` shows, in groups of other shapes."""

    groups = {  # noqa: RUF012
        "speeds": ObservationGroup((8,), SEEN),
        "history": ObservationGroup((5, 8), SEEN),
        "truth": ObservationGroup((48,), MORE),
        "e": ObservationGroup((10,), E),
        "feet": ObservationGroup((2, 3), MORE),
    }

    def look(self) -> Observations:
        x = self.state
        return {
            "feet": x[:, 58:64].unflatten(1, (2, 3)),
            "e": x[:, 48:58],
            "truth": x[:, :48],
            "history": x[:, 8:48].unflatten(1, (5, 8)),
            "speeds": x[:, :8],
        }


def test_a_policy_sees_what_is_deployable_and_a_critic_the_rest():
    worlds = Grouped(3)
    policy, critic = find_policy_input(worlds), find_critic_input(worlds)
    assert list(policy.groups) == ["speeds", "history"]
    assert list(critic.groups) == ["truth", "e", "feet"]
    seen = worlds.reset()
    assert torch.equal(policy.join(seen), worlds.state[:, :48])
    assert torch.equal(critic.join(seen), worlds.state)
    assert (policy.width, critic.width) == (48, 64)
    rollout = {name: torch.stack([x, x + 1]) for name, x in seen.items()}
    assert torch.equal(critic.join(rollout)[1], worlds.state + 1)


def test_where_all_is_deployable_a_critic_sees_it_too():
    worlds = Grouped(3)
    worlds.groups = {"speeds": ObservationGroup((8,), SEEN)}
    assert find_critic_input(worlds) == find_policy_input(worlds)


@pytest.mark.parametrize("mirrored", [False, True])
def test_groups_teach_what_one_vector_of_them_teaches(mirrored: bool):
    """Weights are the same, bit by bit: shapes and names are no part of learning."""

    def learn(worlds: Noise) -> list[Tensor]:
        s = PpoSettings(actor_widths=(16,), critic_widths=(16,), horizon=8)
        s.mirror_samples = mirrored
        learner = Ppo(worlds, s)
        for _ in range(3):
            learner.collect(worlds)
            learner.update()
        return [*learner.actor.parameters(), *learner.critic.parameters()]

    for one, other in zip(learn(Noise(16)), learn(Grouped(16)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", sorted({*LEARNERS} - {"ppo"}))
def test_an_image_is_refused_by_name(name: str):
    worlds = Grouped(32)
    worlds.groups = {**worlds.groups, "camera": ObservationGroup((3, 64, 64), SEEN)}
    with pytest.raises(
        BadSettings, match="Group 'camera' of observations is 3 × 64 × 64"
    ):
        LEARNERS[name](worlds)
