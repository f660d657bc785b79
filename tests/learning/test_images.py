"""Networks that see images, and PPO that learns from them."""

import pytest
import torch
from torch import Tensor, nn

from realworthy.learning.images import ImageEncoder, ImageShape
from realworthy.learning.network_input import find_policy_input
from realworthy.learning.networks import Activation, build_network
from realworthy.learning.normaliser import Normaliser
from realworthy.learning.ppo import Ppo, PpoSettings
from realworthy.learning.recurrent import RecurrentKind
from realworthy.tasks.environment.environment import (
    ObservationGroup,
    Observations,
    Purpose,
)
from tests.learning.toys import Toy

SIZE = 8


class Spot(Toy):
    """One step; a bright column of an image says which of −1 and 1 to answer."""

    action_width = 1
    groups = {  # noqa: RUF012
        "spot": ObservationGroup((1, SIZE, SIZE), Purpose.DEPLOYABLE),
        "speed": ObservationGroup((2,), Purpose.DEPLOYABLE),
    }

    def __init__(self, world_count: int) -> None:
        super().__init__(world_count, step_limit=1)

    def draw(self) -> Tensor:
        return self.uniform(self.world_count, 1).sign()

    def look(self) -> Observations:
        image = torch.zeros(self.world_count, 1, SIZE, SIZE)
        image[:, :, :, 1] = (self.state < 0).float()[:, :, None]
        image[:, :, :, -2] = (self.state > 0).float()[:, :, None]
        return {"spot": image, "speed": torch.ones(self.world_count, 2)}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        far = (action - self.state).square().sum(-1)
        return -far, torch.ones(self.world_count, dtype=torch.bool)


def settings(**changes: object) -> PpoSettings:
    s = PpoSettings(horizon=4, learning_rate=1e-2, entropy_weight=0.0, std=0.5)
    s.epochs, s.minibatches, s.kl_target = 4, 2, None
    s.actor_widths = s.critic_widths = (16,)
    s.image_channels, s.image_width = (4, 8), 8
    for name, value in changes.items():
        setattr(s, name, value)
    return s


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"layer_norm": True, "activation": Activation.SILU},
        {"recurrent": RecurrentKind.GRU, "recurrent_width": 8},
    ],
    ids=["plain", "layer norm", "memory"],
)
def test_ppo_learns_from_an_image(changes):
    """A policy that does not look answers 0 at best, which is worth −1."""
    worlds = Spot(32)
    learner = Ppo(worlds, settings(**changes))
    for _ in range(25):
        learner.collect(worlds)
        learner.update()
    seen = worlds.reset()
    off = learner.act(seen) - worlds.state
    assert float(off.square().mean()) < 0.2


def test_vectors_come_before_images_whatever_the_order_of_groups():
    worlds = Spot(3)
    policy = find_policy_input(worlds)
    assert (policy.width, [x.size for x in policy.images]) == (2, [SIZE * SIZE])
    joined = policy.join(worlds.reset())
    assert joined.shape == (3, 2 + SIZE * SIZE)
    assert bool((joined[:, :2] == 1).all())


def test_statistics_are_of_vectors_alone():
    normaliser = Normaliser(2)
    rows = torch.arange(30.0).view(6, 5)
    normaliser.observe(rows)
    assert torch.equal(normaliser.mean, rows[:, :2].mean(0))
    seen = normaliser(rows)
    assert torch.equal(seen[:, 2:], rows[:, 2:])
    assert torch.equal(seen[:, :2], normaliser(rows[:, :2]))


def test_an_image_is_seen_from_minus_one_to_one():
    """The first convolution is made to copy the middle of its patch."""
    image = ImageShape(1, 2, 2, lower=10.0, upper=30.0)
    encoder = ImageEncoder(
        image, (1,), 1, activate=nn.Identity, generator=torch.Generator()
    )
    convolution, linear = encoder.layers[0], encoder.layers[3]
    assert isinstance(convolution, nn.Conv2d)
    assert isinstance(linear, nn.Linear)
    with torch.no_grad():
        convolution.weight.zero_()[0, 0, 1, 1] = 1.0
        linear.weight.fill_(1.0)
    rows = torch.tensor([[10.0, 0, 0, 0], [30.0, 0, 0, 0], [20.0, 9, 9, 9]])
    assert encoder(rows)[:, 0].tolist() == [-1.0, 1.0, 0.0]


def test_worlds_are_encoded_one_by_one():
    network = build_network(
        2,
        (8,),
        3,
        activation=Activation.ELU,
        output_gain=1.0,
        recurrent=None,
        recurrent_width=0,
        generator=torch.Generator().manual_seed(0),
        images=(ImageShape(1, SIZE, SIZE, 0.0, 1.0),),
        image_channels=(4,),
        image_width=5,
    )
    x = torch.randn(4, 3, 2 + SIZE * SIZE)
    many = network.unroll(x)
    alone, _ = network(x[2, 1:2], network.initial_hidden(1))
    torch.testing.assert_close(many[2, 1:2], alone)
