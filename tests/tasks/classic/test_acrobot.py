"""Acrobot: its equations, its rewards, its reference controller."""

import math

import mujoco
import numpy as np
import pytest
import torch

from realworthy.simulators import MujocoCpu
from realworthy.tasks.classic.acrobot import (
    AcrobotBalance,
    AcrobotSwingUp,
    acrobot_randomization,
    read_links,
)
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.twins import bind, load_twin
from tests.tasks.rolling import roll

COUNTS = [40, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", [AcrobotBalance, AcrobotSwingUp])
def test_the_reference_does_the_task(kind, count):
    assert roll(kind(), count, with_reference=True).rate >= 0.95


@pytest.mark.parametrize("kind", [AcrobotBalance, AcrobotSwingUp])
def test_chance_does_not(kind):
    assert roll(kind(), 40, with_reference=False).rate <= 0.05


def test_equations_of_motion_are_those_of_the_model():
    names = [f"{j}.{k}" for j in ("shoulder", "elbow") for k in ("damping",)]
    names += [f"{j}.coulomb_friction" for j in ("shoulder", "elbow")]
    twin = load_twin("double_pendulum").with_values(dict.fromkeys(names, 0.0))
    model = bind(twin).model
    links, data = read_links(model), mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (0.7, -1.9), (2.0, -3.0)
    q, v = (torch.tensor(x[None]) for x in (data.qpos, data.qvel))
    wanted = torch.tensor([11.0], dtype=torch.float64)
    data.ctrl[:] = 0.0, float(links.compute_elbow_torque(q, v, wanted))
    mujoco.mj_forward(model, data)
    assert data.qacc[1] == pytest.approx(11.0, rel=1e-6)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    mujoco.mj_forward(model, data)
    moved = data.energy.sum()
    data.qpos[:], data.qvel[:] = (math.pi, 0.0), 0.0
    mujoco.mj_forward(model, data)
    energy = float(links.compute_energy(q, v))
    assert energy == pytest.approx(moved - data.energy.sum(), rel=1e-6)


def test_rewards_are_as_computed_by_hand():
    task = AcrobotBalance()
    worlds = TaskWorlds(task, 3, thread_count=1)
    qpos = [[math.pi, 0.0], [math.pi / 2, 0.0], [math.pi, math.pi]]
    worlds.simulator.reset(qpos=qpos, qvel=[0.0, 0.0])
    worlds.scene.renew()
    # links of 0.2 m and 0.3 m: folded, the tip is 0.1 m below the shoulder
    height = torch.tensor([1.0, 0.0, -0.2])
    torch.testing.assert_close(
        task.measure_height(worlds.scene), height, atol=1e-5, rtol=0
    )
    by_hand = torch.tensor([1.0, 0.1 ** (0.95**2), 0.1 ** (1.15**2)])
    found = task.compute_rewards(worlds.scene)
    torch.testing.assert_close(found["height"], by_hand, atol=1e-5, rtol=0)
    # at rest energy is height: of all that hangs on the shoulder, and of the forearm
    model = worlds.simulator.bound.model
    inner, outer = (float(model.body(b).mass[0]) for b in ("link1", "link2"))
    centres = [float(-model.body(b).ipos[2]) for b in ("link1", "link2")]
    lever = 9.81 * (inner * centres[0] + outer * 0.2)
    held = 9.81 * outer * centres[1]
    lacks = torch.tensor([0.0, lever + held, 2 * held]) / lever
    torch.testing.assert_close(found["energy"], -lacks, atol=1e-4, rtol=0)
    assert float(found["near"][0]) == 1.0  # nothing is left to do
    assert found["alive"].tolist() == [1.0, 0.0, 0.0]


def test_what_is_near_is_what_the_regulator_brings_up():
    """Its cost to come falls, so what is paid rises where much is left to do; dry
    friction keeps it from the very top."""
    worlds = TaskWorlds(AcrobotBalance(), 8, thread_count=1)
    act, paid = worlds.task.build_reference(worlds.scene), []
    for _ in range(25):
        worlds.step(act(worlds.scene))
        paid.append(worlds.task.compute_rewards(worlds.scene)["near"])
    assert float(paid[-1].min()) > 0.8 > float(paid[0].min()) + 0.1


def test_only_who_stood_can_fall():
    task = AcrobotSwingUp()
    worlds = TaskWorlds(task, 2, thread_count=1)
    upright, low = [math.pi, 0.0], [math.pi / 2, 0.0]

    def put(*qpos: list[float]) -> None:
        worlds.simulator.reset(qpos=qpos, qvel=[0.0, 0.0])
        worlds.scene.renew()
        task.advance(worlds.scene, worlds.chance)

    for _ in range(16):  # 0.32 s
        put(upright, low)
    put(low, low)
    assert task.find_failures(worlds.scene).tolist() == [int(Failure.FALL), 0]
    task.begin(worlds.scene, torch.tensor([True, True]), worlds.chance)
    assert task.find_failures(worlds.scene).tolist() == [0, 0]


def test_practice_begins_hanging_nearly_upright_and_anywhere():
    practice, judged = (
        TaskWorlds(AcrobotSwingUp(), 600, thread_count=1, is_practice=is_practice)
        for is_practice in (True, False)
    )
    from_upright = (practice.scene.qpos - torch.tensor([math.pi, 0.0])).abs()
    is_up = (from_upright < 0.15).all(dim=1)
    hangs = (practice.scene.qpos.abs() < 0.1).all(dim=1)
    hangs &= (practice.scene.qvel.abs() < 0.1).all(dim=1)
    for share in (is_up, hangs, ~is_up & ~hangs):
        assert float(share.float().mean()) == pytest.approx(1 / 3, abs=0.06)
    assert bool((judged.scene.qpos.abs() < 0.1).all())


def test_worlds_that_nobody_could_balance_are_not_drawn():
    twin = AcrobotBalance().twin
    belief = acrobot_randomization(twin).belief
    assert belief is not None
    assert not any("centre_of_mass" in name for name in belief.space.names)
    for name in ("shoulder.damping", "link2.mass"):
        assert belief.sd[name] == pytest.approx(twin.belief.sd[name] / 4, rel=0.05)
    rate = roll(
        AcrobotBalance(),
        60,
        with_reference=True,
        randomization=acrobot_randomization(twin),
    ).rate
    assert rate >= 0.8


def test_the_mirrored_robot_does_the_mirrored_thing():
    first, second = (TaskWorlds(AcrobotSwingUp(), 3, thread_count=1) for _ in range(2))
    qpos = np.array([[0.3, -0.2], [math.pi - 0.1, 0.2], [-2.0, 1.0]])
    qvel = np.array([[1.0, -2.0], [0.3, 0.4], [-3.0, 5.0]])
    first.simulator.reset(qpos=qpos, qvel=qvel)
    second.simulator.reset(qpos=-qpos, qvel=-qvel)
    generator = torch.Generator().manual_seed(0)
    for worlds in (first, second):
        worlds.scene.renew()
    for _ in range(30):
        action = 2 * torch.rand(3, 1, generator=generator) - 1
        one, other = first.step(action), second.step(first.mirror_action(action))
        assert torch.allclose(one.reward, other.reward, atol=1e-5)
        for group in one.observations:
            expected = first.mirror(group, one.observations[group])
            assert torch.allclose(other.observations[group], expected, atol=1e-3)


def test_the_built_in_twin_is_relieved_whoever_gives_it():
    """A policy's contract names it, and is certified and viewed on what it names."""
    name, built_in = "shoulder.coulomb_friction", load_twin("double_pendulum")
    for twin, left in (
        (None, 0.01),
        (built_in, 0.01),
        (AcrobotBalance().twin, 0.01),
        (built_in.with_values({name: 0.1}), 0.1),
    ):
        assert AcrobotBalance(twin).twin.space[name].nominal == left


def test_only_the_elbow_is_driven():
    worlds = TaskWorlds(AcrobotBalance(), 1, thread_count=1)
    worlds.step(torch.tensor([[0.5]]))
    np.testing.assert_allclose(worlds.simulator.array("ctrl"), [[0.0, 3.0]])


def test_doing_nothing_does_not_balance():
    simulator = MujocoCpu(bind(AcrobotBalance().twin), 1, substeps=10, thread_count=1)
    simulator.reset(qpos=[math.pi + 0.02, 0.02], qvel=[0.0, 0.0])
    for _ in range(300):
        simulator.step(np.zeros((1, 2)))
    assert abs(simulator.array("qpos")[0, 0] - math.pi) > 1
