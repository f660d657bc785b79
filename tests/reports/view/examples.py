"""A policy that balances a pole by linear feedback, and a recording of a pendulum."""

from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import Tensor

from realworthy.learning.export import export_policy
from realworthy.learning.networks import Activation, Actor, Mlp
from realworthy.policies.contract import PolicyProvenance
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.tasks.classic.cartpole import CartpoleBalance
from realworthy.tasks.classic.regulator import build_regulator
from realworthy.tasks.contract import build_contract, list_measured
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.task import Task
from realworthy.twins import bind, load_twin


def write_balancer(path: Path) -> Path:
    """Cart-pole: force = −gain · (x, sin θ, v, ω), by a linear-quadratic regulator."""
    task = CartpoleBalance()
    worlds = TaskWorlds(task, 1, thread_count=1)
    regulator = build_regulator(
        worlds.simulator,
        qpos=(0.0, 0.0),
        command="cart.command",
        state_cost=(2.0, 10.0, 0.2, 0.2),
        command_cost=0.05,
        device=worlds.device,
    )
    x, angle, speed, turn = (-regulator.gain / task.force).tolist()
    # of place, sine, cosine, both speeds as scaled, the last action
    weights = torch.tensor([[x, angle, 0.0, speed / 0.5, turn / 0.1, 0.0]])
    return write_linear(path, worlds, weights)


def write_still(path: Path, task: Task) -> Path:
    """A policy whose every action is zero."""
    worlds = TaskWorlds(task, 1, thread_count=1)
    shape = (worlds.action_width, worlds.groups["policy"].size)
    return write_linear(path, worlds, torch.zeros(shape))


def write_linear(path: Path, worlds: TaskWorlds, weights: Tensor) -> Path:
    """A policy of a task: action = weights · observation."""
    network = Mlp(
        weights.shape[1],
        (),
        weights.shape[0],
        activation=Activation.TANH,
        output_gain=1.0,
        generator=torch.Generator().manual_seed(0),
    )
    network.load_state_dict(
        {"layers.0.weight": weights, "layers.0.bias": torch.zeros(len(weights))}
    )
    provenance = PolicyProvenance(
        created="2026-11-15T12:00:00Z", versions={}, settings_hash="", git=""
    )
    contract = msgspec.structs.replace(build_contract(worlds), provenance=provenance)
    actor = Actor(network, weights.shape[1], len(weights), std=1.0)
    export_policy(path, actor, contract, measured=list_measured(worlds))
    return path


def record_pendulum(seconds: float = 3.0) -> Recording:
    """A pendulum with more friction than its twin, driven by two sines."""
    twin = load_twin("pendulum")
    space = twin.space.select(["joint.coulomb_friction"])
    simulator = MujocoCpu(bind(twin, space), 1, thread_count=1)
    simulator.write([[0.5]])
    simulator.reset()
    time = np.arange(round(seconds / simulator.period)) * simulator.period
    torque = 2.0 * np.sin(2 * time) + 1.5 * np.sin(5 * time)
    return record(simulator, torque[:, None])[0]
