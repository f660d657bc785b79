"""A policy that sees a vector and an image, and remembers: out, in again, and alike."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from realworthy.errors import BadFile
from realworthy.learning.export import Exported, export_policy
from realworthy.learning.images import ImageShape
from realworthy.learning.networks import Activation, Actor, Network, build_network
from realworthy.learning.recurrent import Episodes, RecurrentKind
from realworthy.policies import Contract, load_policy
from realworthy.policies.contract import ImageInput
from realworthy.policies.policy import Engine
from tests.policies.actors import write
from tests.policies.examples import WIDTH, contract, robot

ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")
SIZE = 64
CAMERA = ImageInput(channels=1, height=SIZE, width=SIZE, lower=-1.0, camera="nose")
STEPS, RESETS = 50, (17, 18, 40)


def describe() -> Contract:
    return contract(images={"nose": CAMERA}, parity=None)


def make_actor() -> Actor:
    """Convolutions, GRU, layers with LayerNorm and SiLU."""
    generator = torch.Generator().manual_seed(4)
    network = build_network(
        WIDTH,
        (32, 16),
        3,
        activation=Activation.SILU,
        output_gain=1.0,
        recurrent=RecurrentKind.GRU,
        recurrent_width=24,
        generator=generator,
        layer_norm=True,
        images=(ImageShape(1, SIZE, SIZE, lower=-1.0, upper=1.0),),
        image_channels=(4, 8, 8),
        image_width=16,
    )
    made = Actor(network, WIDTH, 3, std=1.0)
    with torch.no_grad():
        for weights in network.parameters():
            weights += 0.05 * torch.randn(weights.shape, generator=generator)
    made.normaliser.observe(2 * torch.randn(500, WIDTH, generator=generator) + 1)
    return made.eval()


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Exported, Actor]:
    path, made = tmp_path_factory.mktemp("seeing") / "seeing.onnx", make_actor()
    return path, export_policy(path, made, describe(), measured=robot()), made


def draw() -> tuple[np.ndarray, np.ndarray]:
    """(steps, width) and (steps, 1, height, width)."""
    chance = np.random.default_rng(7)
    rows = 3 * chance.normal(size=(STEPS, WIDTH))
    images = chance.uniform(-1, 1, size=(STEPS, 1, SIZE, SIZE))
    return rows.astype(np.float32), images.astype(np.float32)


@torch.no_grad()
def play_torch(made: Actor) -> np.ndarray:
    """Joined by hand: the vector, then the image row after row."""
    rows, images = draw()
    hidden, answers = made.network.initial_hidden(1), []
    for k in range(STEPS):
        if k in RESETS:
            hidden = made.network.initial_hidden(1)
        x = torch.from_numpy(np.concatenate([rows[k], images[k].ravel()]))
        action, hidden = made(x[None], hidden)
        answers.append(action[0].numpy())
    return np.array(answers)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_episode_is_that_of_torch(seeing, engine: Engine):
    path, _, made = seeing
    policy = load_policy(path, engine=engine)
    assert policy.recurrent
    assert policy.inputs == {"obs": (WIDTH,), "nose": (1, SIZE, SIZE)}
    rows, images = draw()
    answers = []
    for k in range(STEPS):
        if k in RESETS:
            policy.reset()
        answers.append(policy.act({"obs": rows[k], "nose": images[k]}))
    wanted = play_torch(made)
    assert np.abs(np.array(answers) - wanted).max() < 1e-5
    assert np.abs(wanted[1:] - wanted[:-1]).max() > 0.1  # it does something


def test_both_engines_were_compared_at_export(seeing):
    _, exported, _ = seeing
    assert {*exported.worst} == {*ENGINES}
    assert max(exported.worst.values()) < 1e-5


def test_worlds_are_run_side_by_side(seeing):
    path, _, _ = seeing
    rows, images = draw()
    alone, many = load_policy(path), load_policy(path, worlds=3)
    for k in range(4):
        seen = {"obs": rows[k : k + 3], "nose": images[k : k + 3]}
        together = many.act(seen)
        first = alone.act({"obs": rows[k], "nose": images[k]})
        assert together[0] == pytest.approx(first, abs=1e-5)


def test_examples_hold_images_as_bytes(seeing):
    path, exported, _ = seeing
    parity = exported.contract.parity
    assert parity is not None
    assert [len(row) for row in parity.images["nose"]] == [SIZE * SIZE] * 16
    assert load_policy(path).contract == exported.contract


def test_a_file_says_nothing_of_the_code_that_wrote_it(seeing):
    path, _, _ = seeing
    assert b".py" not in path.read_bytes()
    assert onnx.load(path).producer_name == "realworthy"


class Softened(Network):
    """A network that only PyTorch's exporter knows."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, 3)

    def initial_hidden(self, world_count: int) -> Tensor:
        return torch.zeros(0, world_count, 0)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return torch.sin(self.layer(x)), hidden

    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        return torch.sin(self.layer(x))


def test_a_network_of_somebody_elses_goes_out_for_onnxruntime(tmp_path: Path):
    path = tmp_path / "soft.onnx"
    exported = write(path, Actor(Softened(), WIDTH, 3, std=1.0))
    assert [*exported.worst] == ["onnxruntime"]
    assert load_policy(path).act(np.zeros(WIDTH)).shape == (3,)
    with pytest.raises(BadFile, match="operation 'Sin' is not among") as caught:
        load_policy(path, engine="numpy")
    assert "pip install onnxruntime" in str(caught.value)
