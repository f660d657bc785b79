"""Exported actors: the file answers as the actor does, or there is no file."""

from pathlib import Path

import msgspec
import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from realworthy.errors import RealworthyError, Unwritable
from realworthy.learning.export import BadExport, export_policy
from realworthy.learning.networks import Activation, Mlp, RecurrentNetwork
from realworthy.learning.recurrent import RecurrentKind, Unit
from realworthy.policies import Linear, load_policy
from tests.policies.actors import actor, write
from tests.policies.examples import ACTION, TERMS, WIDTH, contract, robot


class Deep(Unit):
    """Two layers, whose state is (layers of h, layers of c)."""

    def __init__(self, kind: RecurrentKind) -> None:
        generator = torch.Generator().manual_seed(0)
        super().__init__(WIDTH, 24, kind=kind, generator=generator)
        build = nn.LSTM if kind is RecurrentKind.LSTM else nn.GRU
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.rnn = build(WIDTH, 24, num_layers=2)

    def initial_hidden(self, world_count: int) -> Tensor:
        return torch.zeros(2 * self.part_count, world_count, self.width)

    def _run(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        if self.kind is RecurrentKind.GRU:
            return self.rnn(x, hidden)
        y, state = self.rnn(x, (hidden[:2], hidden[2:]))
        return y, torch.cat(state)


class Doubled(nn.Linear):
    """Looks like a linear layer, and is not."""

    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


@pytest.mark.parametrize("activation", Activation)
@pytest.mark.parametrize("recurrent", [None, *RecurrentKind])
def test_the_policy_answers_as_the_actor_does(tmp_path, activation, recurrent):
    exported = write(tmp_path / "leg.onnx", actor(recurrent, activation=activation))
    assert exported.compared_count == 1000 * 3
    assert set(exported.worst) == {"onnxruntime", "numpy"}
    assert max(exported.worst.values()) <= 1e-5


@pytest.mark.parametrize("kind", RecurrentKind)
def test_recurrent_layers_may_be_stacked(tmp_path, kind: RecurrentKind):
    made = actor(kind)
    assert isinstance(made.network, RecurrentNetwork)
    made.network.unit = Deep(kind)
    assert max(write(tmp_path / "leg.onnx", made).worst.values()) <= 1e-5


@pytest.mark.parametrize("recurrent", [None, *RecurrentKind])
def test_a_pendulum_swings_alike_under_actor_and_policy(tmp_path, recurrent):
    made = actor(recurrent)
    write(tmp_path / "leg.onnx", made)
    policy = load_policy(tmp_path / "leg.onnx")
    hidden = [made.network.initial_hidden(1)]

    def ask_torch(row: np.ndarray) -> float:
        with torch.no_grad():
            tensor = torch.from_numpy(row)[None].float()
            action, hidden[0] = made(tensor, hidden[0])
        return float(action[0, 0])

    def swing(ask) -> np.ndarray:
        angle, speed, path = 0.5, 0.0, []
        for step in range(250):  # 5 s
            row = np.zeros(WIDTH)
            row[:3] = np.sin(angle), np.cos(angle), speed
            torque = np.clip(ask(row), -1, 1)
            speed += 0.02 * (torque - 9.81 * np.sin(angle) - 0.1 * speed)
            angle += 0.02 * speed
            path.append(angle)
            assert step < 250
        return np.array(path)

    theirs = swing(ask_torch)
    ours = swing(lambda row: float(policy.act(row)[0]))
    assert np.ptp(theirs) > 0.1
    assert ours == pytest.approx(theirs, abs=1e-3)


def test_any_reader_of_onnx_finds_names_shapes_and_numbers(tmp_path):
    write(tmp_path / "leg.onnx", actor(RecurrentKind.LSTM))
    session = onnxruntime.InferenceSession(tmp_path / "leg.onnx")
    inputs = {port.name: port.shape for port in session.get_inputs()}
    outputs = {port.name: port.shape for port in session.get_outputs()}
    assert inputs == {"obs": [1, WIDTH], "h_in": [1, 1, 24], "c_in": [1, 1, 24]}
    assert outputs == {"action": [1, 3], "h_out": [1, 1, 24], "c_out": [1, 1, 24]}
    flat = session.get_modelmeta().custom_metadata_map
    assert flat["joint_names"] == "hip,knee,foot"
    assert float(flat["joint_damping"].split(",")[0]) == 1 / 3


def test_examples_come_from_the_rollout_and_the_normaliser_from_the_actor(tmp_path):
    made = actor(RecurrentKind.GRU)
    rollout = torch.randn(40, WIDTH, generator=torch.Generator().manual_seed(5))
    exported = export_policy(
        tmp_path / "leg.onnx", made, contract(), measured=robot(), rollout=rollout
    )
    assert exported.compared_count == 1040 * 3
    found = load_policy(tmp_path / "leg.onnx").contract
    assert found == exported.contract
    assert found.parity is not None
    assert found.normaliser is not None
    assert np.array(found.parity.observations) == pytest.approx(rollout[:16].numpy())
    assert found.normaliser.sd == tuple(made.normaliser.scale.tolist())


def test_an_existing_file_is_replaced_only_when_told(tmp_path):
    path = tmp_path / "leg.onnx"
    write(path, actor(seed=0))
    before = path.read_bytes()
    with pytest.raises(Unwritable, match="exists already"):
        write(path, actor(seed=1))
    assert path.read_bytes() == before
    other = actor(seed=1)
    export_policy(path, other, contract(), measured=robot(), overwrite=True)
    assert path.read_bytes() != before


def test_an_actor_that_does_more_than_its_layers_say_leaves_no_file(tmp_path):
    made = actor()
    assert isinstance(made.network, Mlp)
    layers = made.network.layers
    layers[0] = Doubled(WIDTH, layers[0].out_features)
    with pytest.raises(RealworthyError, match="differ"):
        write(tmp_path / "deep" / "leg.onnx", made)
    assert list(Path(tmp_path).iterdir()) == []


class Choosing(nn.Module):
    """Which of two things it does depends on what it sees."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x


def test_a_layer_that_cannot_be_written_leaves_no_file(tmp_path):
    made = actor()
    assert isinstance(made.network, Mlp)
    made.network.layers[1] = Choosing()
    with pytest.raises(BadExport, match="PyTorch cannot export this actor") as caught:
        write(tmp_path / "leg.onnx", made)
    assert len(str(caught.value)) < 500
    assert list(tmp_path.iterdir()) == []


def test_what_the_robot_does_not_measure_is_refused(tmp_path):
    secret = Linear(name="height", signals=("terrain.height",))
    terms = (*TERMS[:3], secret, TERMS[4])
    plain = contract(terms=terms)
    with pytest.raises(RealworthyError, match=r"terrain\.height.*height") as caught:
        write(tmp_path / "leg.onnx", actor(), plain)
    assert "critic" in caught.value.hint
    assert "other_signals" in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"terms": TERMS[:-1]}, "observation has 19 numbers; the contract's has 16"),
        (
            {
                "action": msgspec.structs.replace(
                    ACTION,
                    commands=ACTION.commands[:2],
                    offset=ACTION.offset[:2],
                    scale=ACTION.scale[:2],
                ),
                "terms": (*TERMS[:-1], Linear(name="x", signals=TERMS[0].signals)),
            },
            "action has 3 numbers; the contract's has 2",
        ),
        ({"provenance": None}, "does not name where the policy comes from"),
    ],
)
def test_a_contract_for_another_actor_is_refused(tmp_path, changes, said):
    described = contract(normaliser=None, parity=None, **changes)
    with pytest.raises(BadExport, match=said):
        write(tmp_path / "leg.onnx", actor(), described)
