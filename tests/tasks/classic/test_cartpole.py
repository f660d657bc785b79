"""Cart-pole: its model, its rewards, its endings, its reference controller."""

import math

import mujoco
import numpy as np
import pytest
import torch

from realworthy.simulators import MujocoCpu
from realworthy.tasks.classic.cartpole import CartpoleBalance, CartpoleSwingUp
from realworthy.tasks.classic.regulator import build_regulator, linearise
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import bind, load_twin
from tests.tasks.rolling import roll

TASKS = (CartpoleBalance, CartpoleSwingUp)
COUNTS = [50, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", TASKS)
def test_the_reference_does_the_task(kind, count):
    assert roll(kind(), count, with_reference=True).rate >= 0.98


@pytest.mark.parametrize("kind", TASKS)
def test_chance_does_not(kind):
    rolled = roll(kind(), 40, with_reference=False)
    assert rolled.rate <= 0.05
    assert not (rolled.failure == int(Failure.NONE)).any()


def test_the_reference_balances_cart_poles_of_a_belief():
    belief = load_twin("cartpole").belief
    drawn = Randomization(belief=belief, noise=1.0)
    rolled = roll(CartpoleBalance(), 40, with_reference=True, randomization=drawn)
    assert rolled.rate >= 0.9


def shorten(spec: mujoco.MjSpec) -> None:
    spec.option.timestep = 2e-4


def test_energy_stays_without_friction():
    names = ("cart.damping", "pole.damping", "cart.coulomb_friction")
    names += ("pole.coulomb_friction",)
    twin = load_twin("cartpole").with_values(dict.fromkeys(names, 0.0))
    twin = twin.edited(shorten)  # at 2 ms the integrator loses 0.5 %
    simulator = MujocoCpu(bind(twin), 1, substeps=1, thread_count=1)
    simulator.reset(qpos=[0.1, 2.0], qvel=[0.0, 0.0])
    heights, fastest = [], 0.0
    for _ in range(round(10 / simulator.timestep)):
        simulator.step(np.zeros((1, 1)))
        heights.append(1 + math.cos(simulator.array("qpos")[0, 1]))
        fastest = max(fastest, abs(simulator.array("qvel")[0, 1]))
    assert fastest > 3  # it swung
    # no momentum, so at the end of a swing all of it rests and all energy is height
    start = 1 + math.cos(2.0)
    assert max(heights[-10_000:]) == pytest.approx(start, rel=1e-3)


def test_rewards_are_as_computed_by_hand():
    task = CartpoleBalance()
    worlds = TaskWorlds(task, 2, thread_count=1)
    qpos, qvel = [[0.0, 0.0], [0.9, math.pi / 2]], [[0.0, 0.0], [0.0, 2.5]]
    worlds.simulator.reset(qpos=qpos, qvel=qvel)
    worlds.scene.renew()
    worlds.scene.action = torch.tensor([[0.0], [0.5]])
    found = task.compute_rewards(worlds.scene)["balance"]
    # half upright; 0.1^(1/4) = 0.562341 for half of either margin; (5 − 0.25) / 5
    by_hand = 0.5 * (1.562341 / 2) ** 2 * 0.95
    torch.testing.assert_close(found, torch.tensor([1.0, by_hand]))


def test_the_end_of_the_rail_ends_an_episode():
    worlds = TaskWorlds(CartpoleSwingUp(), 2, thread_count=1)
    count, step = 0, None
    while step is None or not step.terminated.any():
        count, step = count + 1, worlds.step(torch.tensor([[1.0], [0.0]]))
    assert step.terminated.tolist() == [True, False]
    assert step.failure.tolist() == [int(Failure.JOINT_LIMIT), 0]
    # 10 N on 1.2 kg over 1.3…2.3 m takes 0.56…0.75 s without any friction or pole
    assert 0.5 < count * worlds.period < 1.0
    assert worlds.scene.step_count.tolist() == [0, count]


def test_linearised_motion_is_that_of_small_motions():
    values = dict.fromkeys(("cart.coulomb_friction", "pole.coulomb_friction"), 0.0)
    bound = bind(load_twin("cartpole").with_values(values))
    simulator = MujocoCpu(bound, 1, substeps=10, thread_count=1)
    a, b = linearise(simulator, (0.0, 0.0), 0)
    x, u = np.array([0.0, 1e-3, 0.0, -1e-3]), 1e-2
    simulator.reset(qpos=x[:2], qvel=x[2:])
    simulator.step([[u]])
    moved = np.concatenate([simulator.array("qpos")[0], simulator.array("qvel")[0]])
    np.testing.assert_allclose(a @ x + b[:, 0] * u, moved, atol=1e-8)


def test_regulated_deviations_die_out_and_cost_what_was_foreseen():
    simulator = MujocoCpu(bind(load_twin("cartpole")), 1, substeps=10, thread_count=1)
    weights = np.array([2.0, 10.0, 0.2, 0.2])
    found = build_regulator(
        simulator,
        qpos=(0.0, 0.0),
        command="cart.command",
        state_cost=weights.tolist(),
        command_cost=0.05,
        device=torch.device("cpu"),
    )
    a, b = linearise(simulator, (0.0, 0.0), 0)
    x, cost = np.array([0.3, 0.1, 0.0, 0.0]), 0.0
    foreseen = float(found.foresee(torch.tensor(x[None], dtype=torch.float32))[0])
    for _ in range(1000):
        deviation = torch.tensor(x[None], dtype=torch.float32)
        u = float(found.command(deviation)[0])
        cost += float(weights @ x**2 + 0.05 * u**2)
        x = a @ x + b[:, 0] * u
    assert np.abs(x).max() < 1e-3
    assert cost == pytest.approx(foreseen, rel=1e-3)
