"""Memory that keeps its place, and steps recorded on a GPU."""

import pytest
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.tasks.classic.acrobot import AcrobotSwingUp
from realworthy.tasks.classic.cartpole import CartpoleSwingUp
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.devices import StaticBuffers
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.randomization.randomization import Randomization


class Part:
    def __init__(self) -> None:
        self.count = torch.zeros(2)


class Whole:
    """Like a scene: the last value is the one before the newest."""

    def __init__(self) -> None:
        self.now = torch.tensor([1.0, 2.0])
        self.last = torch.tensor([0.0, 0.0])
        self.part = Part()

    def move(self, new: Tensor) -> None:
        self.last = self.now
        self.now = new
        self.part.count = self.part.count + 1


def test_what_comes_into_a_place_is_copied_into_its_tensor():
    whole = Whole()
    memory = StaticBuffers(whole)
    memory.own(memory.find())
    kept = {place.name: place.tensor for place in memory.find()}
    for step in range(1, 4):
        whole.move(torch.tensor([float(step), 0.0]))
        memory.put_back()
        assert whole.now is kept["now"]
        assert whole.last is kept["last"]
        assert whole.now.tolist() == [step, 0.0]
        before = [1.0, 2.0] if step == 1 else [step - 1.0, 0.0]
        assert whole.last.tolist() == before
        assert kept["count"].tolist() == [step, step]


def test_exchanged_places_exchange_their_values():
    whole = Whole()
    memory = StaticBuffers(whole)
    memory.own(memory.find())
    whole.now, whole.last = whole.last, whole.now
    memory.put_back()
    assert whole.now.tolist() == [0.0, 0.0]
    assert whole.last.tolist() == [1.0, 2.0]


def test_owning_again_keeps_the_first_tensor():
    whole = Whole()
    memory = StaticBuffers(whole)
    memory.own(memory.find())
    first = whole.now
    memory.own(memory.find())
    assert whole.now is first


class OwnBiped(BipedVelocity):
    """A task of a user's, in a module of the user's."""

    name = "own_biped"


class Hoarder(PendulumSwingUp):
    """Remembers in a dict, where recorded steps do not look."""

    def prepare(self, scene: Scene) -> None:
        super().prepare(scene)
        self.sums = {"height": scene.zeros()}

    def memory(self) -> dict[str, Tensor]:
        return {**super().memory(), "height": self.sums["height"]}


@pytest.mark.parametrize(
    "build",
    [OwnBiped, BipedVelocity, PendulumSwingUp, AcrobotSwingUp, CartpoleSwingUp],
)
def test_every_tensor_that_a_task_remembers_is_found(build):
    worlds = TaskWorlds(build(), 2)
    found = {id(place.tensor) for place in StaticBuffers(worlds).find()}
    assert all(id(x) in found for x in worlds.task.memory().values())
    StaticBuffers(worlds).check(worlds.task.memory())


def test_a_tensor_in_a_dict_is_refused_by_name():
    worlds = TaskWorlds(Hoarder(), 2)
    with pytest.raises(RealworthyError, match="height") as caught:
        StaticBuffers(worlds).check(worlds.task.memory())
    assert "recorded=False" in str(caught.value.hint)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "build", [PendulumSwingUp, OwnBiped, AcrobotSwingUp, CartpoleSwingUp]
)
def test_recorded_steps_are_the_same_steps(build):
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    check_recorded(build, noise=0.0)


def check_recorded(build, *, noise: float) -> None:
    """Plays the same actions with and without recording, over several episodes.

    Contacts on a GPU add up in any order, and walking makes much of little: so both
    begin every step in the same state.
    """
    made = [
        TaskWorlds(
            build(),
            64,
            randomization=Randomization(noise=noise),
            device="cuda",
            recorded=recorded,
        )
        for recorded in (True, False)
    ]
    seen = [worlds.reset() for worlds in made]
    generator = torch.Generator("cuda").manual_seed(0)
    for k in range(2 * made[0].step_limit + 20):
        shape = (64, made[0].action_width)
        action = torch.randn(shape, generator=generator, device="cuda")
        made[1].simulator.restore(made[0].simulator.state())
        made[1].scene.renew()
        first, second = (worlds.step(action) for worlds in made)
        for name in seen[0]:
            assert agree(first.observations[name], second.observations[name]), (k, name)
        assert agree(first.reward[:, None], second.reward[:, None]), k
        assert agree(first.done[:, None] * 1.0, second.done[:, None] * 1.0), k
        if k == made[0].step_limit + 7:  # a reset by hand among recorded steps
            for worlds in made:
                worlds.reset()


def agree(one: Tensor, other: Tensor) -> bool:
    """Whether nine of ten worlds do: two plain ones differ by 1e-3 in one now and then,
    while memory that stands still shows in all."""
    same = (one - other).abs().amax(dim=1) < 1e-3
    return float(same.float().mean()) >= 0.9
