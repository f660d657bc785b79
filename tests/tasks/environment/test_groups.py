"""Groups of observations that a task adds: what they may be, and who sees them."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.learning.ppo import Ppo, PpoSettings
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.environment import Purpose, TaskGroup
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins import load_twin

DEPLOYABLE, PRIVILEGED = Purpose.DEPLOYABLE, Purpose.PRIVILEGED
PAST = TaskGroup(
    name="past", shape=(3, 2), purpose=DEPLOYABLE, mirror=lambda x: x.neg()
)
PICTURE = TaskGroup(
    name="picture",
    shape=(1, 4, 6),
    purpose=DEPLOYABLE,
    mirror=lambda x: x.flip(-1),
    upper=2.0,
    camera="front",
)
WEATHER = TaskGroup(name="weather", shape=(2,), purpose=PRIVILEGED)


class Watched(PendulumSwingUp):
    """A pendulum with a past, a picture and some weather."""

    groups = (PAST, PICTURE, WEATHER)

    def __init__(self, *groups: TaskGroup) -> None:
        super().__init__(load_twin("pendulum"))
        self.groups = groups or self.groups

    def observe_groups(self, scene: Scene) -> Mapping[str, Tensor]:
        angle = scene.qpos[:, :1]
        columns = torch.arange(6.0) - 2.5
        picture = (angle.sin() * columns).sigmoid()[:, None, None].expand(-1, 1, 4, 6)
        return {
            "past": angle[:, None].expand(-1, 3, 2),
            "picture": picture,
            "weather": torch.cat([angle, angle + 1], dim=1),
        }


def build(*groups: TaskGroup) -> TaskWorlds:
    return TaskWorlds(Watched(*groups), 5, thread_count=1)


def test_a_task_adds_groups_of_any_shape():
    worlds = build()
    assert list(worlds.groups) == ["policy", "truth", "past", "picture", "weather"]
    seen = worlds.reset()
    assert {name: tuple(x.shape[1:]) for name, x in seen.items()} == {
        name: group.shape for name, group in worlds.groups.items()
    }
    angle = worlds.scene.qpos[:, 0].clone()
    assert torch.equal(seen["past"][:, 2, 1], angle)
    step = worlds.step(torch.ones(5, 1))
    assert torch.equal(step.observations["weather"][:, 0], worlds.scene.qpos[:, 0])
    assert torch.equal(seen["past"][:, 2, 1], angle)  # what was seen stays


def test_worlds_that_begin_anew_show_their_new_beginning():
    worlds = TaskWorlds(Watched(), 4, thread_count=1)
    worlds.step_limit = 3
    for _ in range(2):
        worlds.step(torch.ones(4, 1))
    step = worlds.step(torch.ones(4, 1))
    assert bool(step.truncated.all())
    assert torch.equal(step.observations["past"][:, 0, 0], worlds.scene.qpos[:, 0])
    assert not torch.equal(step.final["past"], step.observations["past"])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ((PAST, PAST), "2 groups of observations are called 'past'"),
        (
            (TaskGroup(name="truth", shape=(1,), purpose=DEPLOYABLE),),
            "cannot be called 'truth': these names are taken: policy, truth, e, ",
        ),
        (
            (TaskGroup(name="a b", shape=(1,), purpose=DEPLOYABLE),),
            "A group of observations is called 'a b'",
        ),
        (
            (TaskGroup(name="a", shape=(1, 2, 3, 4), purpose=DEPLOYABLE),),
            r"Group 'a' of observations has shape \(1, 2, 3, 4\)",
        ),
        (
            (TaskGroup(name="a", shape=(0,), purpose=DEPLOYABLE),),
            r"Group 'a' of observations has shape \(0,\)",
        ),
        ((PAST, PICTURE), "declares groups past, picture and its `observe_groups`"),
        (
            (
                TaskGroup(name="past", shape=(2, 3), purpose=DEPLOYABLE),
                PICTURE,
                WEATHER,
            ),
            r"Group 'past' of observations is \(5, 3, 2\) of torch.float32; it is"
            r" declared as \(5, 2, 3\)",
        ),
    ],
)
def test_groups_that_cannot_be_are_refused_at_the_door(groups, message: str):
    with pytest.raises(RealworthyError, match=message):
        build(*groups)


def test_a_group_is_mirrored_as_it_declares():
    worlds = build()
    seen = worlds.reset()
    assert torch.equal(worlds.mirror("past", seen["past"]), -seen["past"])
    assert torch.equal(
        worlds.mirror("picture", seen["picture"]), seen["picture"].flip(-1)
    )
    with pytest.raises(RealworthyError, match="Group 'weather' of observations has no"):
        worlds.mirror("weather", seen["weather"])


def test_mirrored_samples_need_a_mirror_of_every_group_that_is_seen():
    settings = PpoSettings(mirror_samples=True, actor_widths=(8,), critic_widths=(8,))
    settings.minibatches = 1
    with pytest.raises(RealworthyError, match="group 'weather' of observations has no"):
        Ppo(build(), settings)
    worlds = build(
        PAST,
        PICTURE,
        TaskGroup(
            name="weather", shape=(2,), purpose=PRIVILEGED, mirror=lambda x: x.neg()
        ),
    )
    learner = Ppo(worlds, settings)
    learner.collect(worlds)
    assert learner.update().is_finite


def test_the_contract_names_what_a_policy_sees():
    contract = build_contract(build())
    assert contract.arrays == {"past": (3, 2)}
    picture = contract.images["picture"]
    assert (picture.shape, picture.lower, picture.upper) == ((1, 4, 6), 0.0, 2.0)
    assert picture.camera == "front"
    assert list(contract.others) == ["picture", "past"]
