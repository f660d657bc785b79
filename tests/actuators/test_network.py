"""Learned drives against their own published outputs, and against PyTorch's layers."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from realworthy.actuators import (
    Actuator,
    BadActuator,
    ControllerGoal,
    MotorNetwork,
    anydrive_v3,
    build_law,
    unitree_go1,
)
from realworthy.actuators.network import forward_lstm, forward_mlp, sort_layers
from realworthy.errors import BadFile


def hold(motor: MotorNetwork, folder: Path, *, error: float, velocity: float) -> float:
    """Torque after one second of constant error (goal − position) and velocity."""
    law = build_law(
        Actuator(joint="a", controller=ControllerGoal(), motor=motor),
        timestep=0.005,
        folder=folder,
    )
    zero = np.zeros(1)
    state = law.initial_state(1, zero)
    for _ in range(200):
        joint = zero, zero + velocity, zero
        out = law.step(np.full((1, 1), error), *joint, {}, state)
        state = out.state
    return float(out.torque[0])


def test_the_go1_network_reproduces_its_published_outputs(data_folder: Path):
    folder = data_folder / "actuator_nets"
    arrays = dict(np.load(folder / "unitree_go1_mlp.npz"))
    check = np.load(folder / "unitree_go1_mlp_check.npz")
    out = forward_mlp(check["x"], sort_layers(arrays, "mlp"), "softsign")
    assert out == pytest.approx(check["y"], abs=1e-5)


def test_the_anydrive_network_reproduces_its_published_outputs(data_folder: Path):
    folder = data_folder / "actuator_nets"
    arrays = dict(np.load(folder / "anydrive_v3_lstm.npz"))
    check = np.load(folder / "anydrive_v3_lstm_check.npz")

    def side_by_side(memory: np.ndarray) -> np.ndarray:
        return np.concatenate(list(memory), axis=1)

    inputs = check["x"][:, 0] * np.array([2.0, 0.25], dtype=np.float32)
    hidden = side_by_side(check["h0"])
    out, hidden, cell = forward_lstm(
        inputs, sort_layers(arrays, "lstm"), hidden, np.zeros_like(hidden)
    )
    assert 20.0 * out[:, 0] == pytest.approx(check["y"], abs=1e-5)
    assert hidden == pytest.approx(side_by_side(check["hn"]), abs=1e-5)
    assert cell == pytest.approx(side_by_side(check["cn"]), abs=1e-5)


def test_both_networks_pull_towards_the_goal_as_published(data_folder: Path):
    folder = data_folder / "actuator_nets"
    go1 = unitree_go1()  # published as −1.87 for position − goal = 0.1
    assert hold(go1, folder, error=-0.1, velocity=0) == pytest.approx(-1.87, abs=0.005)
    assert hold(go1, folder, error=-0.2, velocity=0) == pytest.approx(-3.91, abs=0.005)
    assert hold(go1, folder, error=0.0, velocity=1) == pytest.approx(-0.75, abs=0.005)
    any_drive = anydrive_v3()
    torque = hold(any_drive, folder, error=0.1, velocity=0)
    assert torque == pytest.approx(8.98, abs=0.005)
    torque = hold(any_drive, folder, error=0.0, velocity=1)
    assert torque == pytest.approx(-4.63, abs=0.005)


@pytest.mark.parametrize("activation", ["softsign", "elu", "relu", "tanh"])
def test_mlp_agrees_with_pytorch(activation, tmp_path: Path, random):
    layer = {
        "softsign": torch.nn.Softsign,
        "elu": torch.nn.ELU,
        "relu": torch.nn.ReLU,
        "tanh": torch.nn.Tanh,
    }[activation]
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), layer(), torch.nn.Linear(16, 1))
    arrays = {name: w.detach().numpy() for name, w in net.named_parameters()}
    x = random.normal(size=(50, 6)).astype(np.float32)
    ours = forward_mlp(x, sort_layers(arrays, "mlp"), activation)
    assert ours == pytest.approx(net(torch.from_numpy(x)).detach().numpy(), abs=1e-6)


def test_lstm_agrees_with_pytorch_over_a_sequence(tmp_path: Path, random):
    lstm, linear = torch.nn.LSTM(2, 5, num_layers=3), torch.nn.Linear(5, 1)
    arrays = {f"lstm.{n}": w.detach().numpy() for n, w in lstm.named_parameters()}
    arrays |= {f"linear.{n}": w.detach().numpy() for n, w in linear.named_parameters()}
    np.savez(tmp_path / "net.npz", **arrays)
    motor = MotorNetwork(
        file="net.npz", form="lstm", period=0.01, error="goal_minus_position"
    )
    law = build_law(
        Actuator(joint="a", controller=ControllerGoal(), motor=motor),
        timestep=0.01,
        folder=tmp_path,
    )
    goal, velocity = random.normal(size=(2, 12, 4)).astype(np.float32)
    inputs = torch.from_numpy(np.stack([goal, velocity], axis=-1))
    expected = linear(lstm(inputs)[0])[..., 0].detach().numpy()
    zero = np.zeros(4, dtype=np.float32)
    state, torques = law.initial_state(4, zero), []
    for g, v in zip(goal, velocity, strict=True):
        out = law.step(g[:, None], zero, v, zero, {}, state)
        state = out.state
        torques.append(out.torque)
    assert np.array(torques) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("motor", [unitree_go1(), anydrive_v3()])
def test_a_network_keeps_its_own_period_at_a_finer_timestep(motor, data_folder, random):
    folder = data_folder / "actuator_nets"
    goals = random.normal(size=20) * 0.1
    actuator = Actuator(joint="a", controller=ControllerGoal(), motor=motor)
    torques = {}
    for substeps in (1, 5):
        law = build_law(actuator, timestep=0.005 / substeps, folder=folder)
        zero = np.zeros(1)
        state, torques[substeps] = law.initial_state(1, zero), []
        for goal in goals:
            for substep in range(substeps):
                out = law.step(np.full((1, 1), goal), zero, zero, zero, {}, state)
                state = out.state
                if substep == 0:
                    torques[substeps].append(out.torque[0])
    assert torques[5] == pytest.approx(torques[1], rel=1e-9)


def test_a_network_that_does_not_fit_is_refused(tmp_path: Path):
    np.savez(
        tmp_path / "net.npz", **{"0.weight": np.ones((1, 4)), "0.bias": np.ones(1)}
    )
    go1 = unitree_go1("net.npz")

    def build(motor: MotorNetwork, timestep: float = 0.005) -> None:
        actuator = Actuator(joint="a", controller=ControllerGoal(), motor=motor)
        build_law(actuator, timestep=timestep, folder=tmp_path)

    with pytest.raises(BadFile, match=r"has 4 inputs; its description 6"):
        build(go1)
    with pytest.raises(BadFile, match=r"it has no array 'lstm.bias_ih_l0'"):
        build(anydrive_v3("net.npz"))
    with pytest.raises(BadFile, match=r"there is no such file"):
        build(unitree_go1("nowhere.npz"))
    with pytest.raises(BadActuator, match=r"period of 0.005 s is not a whole number"):
        build(msgspec.structs.replace(go1, history=2), timestep=0.002)
