"""What the actor measures: noise, bias, latency, histories; what the critic sees."""

import msgspec
import numpy as np
import pytest
import torch

from realworthy.parameters import Fixed, IndependentBelief
from realworthy.realities import RealityFile, StandIn
from realworthy.realities.reality import make_reality
from realworthy.robots import Command
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.classic.cartpole import CartpoleBalance
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import Twin, load_twin
from tests.tasks.arm.test_reach import make_arm


def fix(twin: Twin, values: dict[str, float]) -> IndependentBelief:
    """A belief that is sure of some numbers."""
    space = twin.space.select(list(values))
    return IndependentBelief(space, {name: Fixed(x) for name, x in values.items()})


def test_noise_has_the_stated_sd_and_the_critic_sees_none():
    task = CartpoleBalance()
    noisy = TaskWorlds(task, 400, randomization=Randomization(noise=2.0))
    exact = TaskWorlds(CartpoleBalance(), 400)
    errors = []
    for _ in range(10):
        one, other = noisy.step(torch.zeros(400, 1)), exact.step(torch.zeros(400, 1))
        assert torch.equal(one.observations["truth"], other.observations["truth"])
        errors.append(one.observations["policy"] - other.observations["policy"])
    error = torch.cat(errors)
    scales = torch.tensor([1.0, 0.5, 0.1])  # of the terms
    sd = 2.0 * torch.tensor([0.001, 0.01, 0.05]) * scales
    places = [0, 3, 4]  # of the cart, its speed, the pole's speed
    torch.testing.assert_close(error[:, places].std(dim=0), sd, rtol=0.04, atol=0)
    assert error[:, places].mean(dim=0).abs().max() < 0.1 * sd.max()
    assert not error[:, 5].any()  # the last action is known exactly
    fresh = errors[1][:, 0] * errors[0][:, 0]
    assert fresh.mean().abs() < 0.2 * float(sd[0]) ** 2  # and another in every step


@pytest.mark.parametrize("late", [1, 3])
def test_latency_shifts_measurements_by_whole_steps(late):
    drawn = Randomization(latency=(late, late))
    worlds = TaskWorlds(PendulumSwingUp(), 3, randomization=drawn, thread_count=1)
    truth = [worlds.observations["truth"][:, :3]]
    seen = [worlds.observations["policy"]]
    actions = [torch.zeros(3, 1)] * 3
    for i in range(12):
        action = torch.full((3, 1), 0.05 * i)
        actions = [*actions[1:], action]
        step = worlds.step(action)
        truth.append(step.observations["truth"][:, :3])
        seen.append(step.observations["policy"])
        # the last actions are not measured and never late
        last = torch.cat(actions, dim=1)
        torch.testing.assert_close(step.observations["policy"][:, 3:], last)
    for i in range(13):
        assert torch.equal(seen[i][:, :3], truth[max(i - late, 0)])
    assert not torch.equal(seen[-1][:, :3], truth[-1])


def test_latency_is_drawn_for_every_world_and_episode():
    task = PendulumSwingUp()
    task.seconds = 0.08
    drawn = Randomization(latency=(1, 3))
    worlds = TaskWorlds(task, 300, randomization=drawn, thread_count=1)
    first = worlds.measuring.late.clone()
    assert torch.bincount(first, minlength=4)[1:].min() > 60
    assert int(first.min()) == 1
    assert int(first.max()) == 3
    for _ in range(2):
        worlds.step(torch.zeros(300, 1))
    assert not torch.equal(first, worlds.measuring.late)


def test_histories_begin_full_of_the_first_measurement():
    task = PendulumSwingUp()
    task.seconds = 0.12
    task.terms = tuple(
        msgspec.structs.replace(term, history=3) if term.name == "speed" else term
        for term in task.terms
    )
    worlds = TaskWorlds(task, 2, thread_count=1)
    speeds = slice(2, 5)  # after sine and cosine

    def speed() -> torch.Tensor:
        return 0.2 * worlds.scene.qvel[:, :1]

    assert torch.equal(worlds.observations["policy"][:, speeds], speed().repeat(1, 3))
    past = [speed()] * 3
    for i in range(1, 7):
        step = worlds.step(torch.ones(2, 1))
        if i % 3:
            past = [*past[1:], speed()]
            seen = torch.cat(past, dim=1)
            assert torch.equal(step.observations["policy"][:, speeds], seen)
            continue
        assert step.truncated.all()
        kept = torch.cat(past[1:], dim=1)
        assert torch.equal(step.final["policy"][:, speeds][:, :2], kept)
        past = [speed()] * 3
        begun = step.observations["policy"][:, speeds]
        assert torch.equal(begun, torch.cat(past, dim=1))
    assert worlds.groups["truth"].size == 3 + 1 + 1  # the critic needs no history


@pytest.mark.parametrize("with_warp", [False, True])
@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_false_encoder_moves_measurements_and_position_commands(
    is_drawn: bool, with_warp: bool
):
    """Whether a belief says so, or the twin itself."""
    if with_warp:
        pytest.importorskip("mujoco_warp", reason="MujocoGpu needs mujoco_warp")
    twin = make_arm(2)
    bias = 0.1
    told = {"joint0.position.sensor_bias": bias}
    drawn = Randomization(belief=fix(twin, told) if is_drawn else None)
    wrong = Reach(twin if is_drawn else twin.with_values(told), tip="tip")
    false, true = (
        TaskWorlds(task, 1, randomization=how, thread_count=1, with_warp=with_warp)
        for task, how in ((wrong, drawn), (Reach(twin, tip="tip"), None))
    )
    truth = false.scene.qpos.clone()
    measured = false.observations["policy"][:, :2]
    torch.testing.assert_close(measured, truth + torch.tensor([[bias, 0.0]]))
    torch.testing.assert_close(false.observations["truth"][:, :2], truth)
    for _ in range(99):
        false.step(torch.zeros(1, 2))
        true.step(torch.zeros(1, 2))
    moved = false.scene.qpos - true.scene.qpos
    # asked for its home, it stands where its encoder says home is
    torch.testing.assert_close(moved, torch.tensor([[-bias, 0.0]]), atol=1e-3, rtol=0)
    both = [w.observations["policy"][:, :2] for w in (false, true)]
    torch.testing.assert_close(*both, atol=1e-3, rtol=0)


def test_a_torque_command_is_understood_whatever_the_encoder_says():
    twin = load_twin("cartpole")
    belief = fix(twin, {"cart.position.sensor_bias": 0.2})
    drawn = Randomization(belief=belief)
    worlds = TaskWorlds(CartpoleBalance(), 1, randomization=drawn, thread_count=1)
    worlds.step(torch.tensor([[0.5]]))
    np.testing.assert_allclose(worlds.simulator.array("ctrl"), [[5.0]])


def test_what_begun_worlds_see_is_the_same_computed_for_them_alone():
    """Noise, latency and histories of all worlds are as if all were computed."""
    task = PendulumSwingUp()
    task.terms = tuple(msgspec.structs.replace(term, history=3) for term in task.terms)
    how = Randomization(noise=1.0, latency=(1, 2))
    worlds = TaskWorlds(task, 5, randomization=how, thread_count=1)
    for i in range(4):
        worlds.step(torch.full((5, 1), 0.1 * i))
    fresh = torch.tensor([False, True, False, True, False])
    ids = fresh.nonzero()[:, 0]
    measuring, chance = worlds.measuring, worlds.chance
    before = {name: x.clone() for name, x in measuring.memory().items()}
    generator = chance.generator.get_state()
    actor, terms = measuring.observe_begun(fresh, ids)
    after = {name: x.clone() for name, x in measuring.memory().items()}

    chance.generator.set_state(generator)
    measuring.rows, measuring._actor.last = before["rows"], before["seen"]
    whole, all_terms = measuring.observe(fresh)
    assert torch.equal(actor, whole)
    assert torch.equal(terms, all_terms[ids])
    assert not torch.equal(actor, before["seen"])
    for name, x in measuring.memory().items():
        assert torch.equal(x, after[name])


def test_tasks_and_stand_ins_read_alike():
    """1.1 x + 0.05 of one truth, by whoever measures it."""
    told = {"joint.position.sensor_scale": 1.1, "joint.position.sensor_bias": 0.05}
    file = RealityFile(schema=1, twin="pendulum", parameters=told)
    robot = StandIn(make_reality("false", file))
    task = PendulumSwingUp(load_twin("pendulum").with_values(told))
    worlds = TaskWorlds(task, 1, thread_count=1)
    true = worlds.scene.array("qpos")[:, :1].double()
    column = worlds.simulator.signals.index("joint.position")
    read = worlds.measuring._measure(worlds.scene.signals, None)[:, column]
    assert read.tolist() == pytest.approx((1.1 * true[:, 0] + 0.05).tolist(), abs=1e-6)
    assert robot.read().position.tolist() == [pytest.approx(0.05, abs=1e-12)]
    for k in range(5):
        robot.write(Command(sequence=k, values=np.array([2.0])))
        robot.wait(0.02)
    turned = (robot.read().position[0] - 0.05) / 1.1
    free = StandIn(make_reality("right", RealityFile(schema=1, twin="pendulum")))
    for k in range(5):
        free.write(Command(sequence=k, values=np.array([2.0])))
        free.wait(0.02)
    assert turned == pytest.approx(float(free.read().position[0]), abs=1e-12)
