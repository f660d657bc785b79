"""Pendulum swing-up: its model, its rewards, its reference controller."""

import math

import numpy as np
import pytest
import torch

from realworthy.simulators import MujocoCpu
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins import bind, load_twin
from tests.tasks.rolling import roll


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_the_reference_swings_up(count):
    assert roll(PendulumSwingUp(), count, with_reference=True).rate >= 0.98


def test_chance_does_not():
    assert roll(PendulumSwingUp(), 60, with_reference=False).rate <= 0.05


def test_energy_stays_without_friction():
    names = ("joint.damping", "joint.coulomb_friction")
    twin = load_twin("pendulum").with_values(dict.fromkeys(names, 0.0))
    simulator = MujocoCpu(bind(twin), 1, substeps=1, thread_count=1)
    simulator.reset(qpos=[2.0], qvel=[0.0])
    heights, fastest = [], 0.0
    for _ in range(round(10 / simulator.timestep)):
        simulator.step(np.zeros((1, 1)))
        heights.append(1 - math.cos(simulator.array("qpos")[0, 0]))
        fastest = max(fastest, abs(simulator.array("qvel")[0, 0]))
    assert fastest > 3  # it swung
    last = heights[-round(2 / simulator.timestep) :]
    # at the end of a swing all energy is height
    assert max(last) == pytest.approx(1 - math.cos(2.0), rel=1e-3)


def test_rewards_are_as_computed_by_hand():
    task = PendulumSwingUp()
    worlds = TaskWorlds(task, 2, thread_count=1)
    worlds.simulator.reset(qpos=[[math.pi], [-math.pi / 2]], qvel=[[0.0], [3.0]])
    worlds.scene.renew()
    worlds.scene.action = torch.tensor([[0.0], [-0.5]])
    found = task.compute_rewards(worlds.scene)
    upright = torch.tensor([0.0, -((math.pi / 2) ** 2)])
    torch.testing.assert_close(found["upright"], upright, atol=1e-5, rtol=0)
    torch.testing.assert_close(found["slow"], torch.tensor([0.0, -9.0]))
    torch.testing.assert_close(found["effort"], torch.tensor([0.0, -1.0]))


def test_energy_is_rewarded_where_leaning_is_not_enough() -> None:
    """Hanging at rest it lacks twice its lever arm's torque; upright it lacks nothing,
    and with speed it has too much."""
    worlds = TaskWorlds(PendulumSwingUp(), 3, thread_count=1)
    worlds.simulator.reset(
        qpos=[[0.0], [math.pi], [math.pi]], qvel=[[0.0], [0.0], [2.0]]
    )
    worlds.scene.renew()
    model = worlds.simulator.bound.model
    lever = 0.676 * 0.45 * 9.81
    fast = -0.5 * float(model.dof_M0[0]) * 2.0**2 / (2 * lever)
    found = worlds.task.compute_rewards(worlds.scene)["energy"]
    assert found.tolist() == pytest.approx([-1.0, 0.0, fast], rel=1e-5, abs=1e-6)
