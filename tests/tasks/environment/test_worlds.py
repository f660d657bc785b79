"""The contract that learners depend on: episodes, seeds, e, pushes, divergence."""

import importlib.util
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from realworthy.parameters import Belief
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.classic.cartpole import CartpoleBalance, CartpoleSwingUp
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.environment import Step
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.randomization.randomization import Pushes, Randomization
from realworthy.tasks.task import Task
from realworthy.tasks.wheels.drive import DriveVelocity
from realworthy.twins import load_twin

HAS_WARP = all(importlib.util.find_spec(n) for n in ("warp", "mujoco_warp"))
TENSORS = ("reward", "terminated", "truncated", "failure", "success", "invalid")


def believe(*names: str) -> Belief:
    return load_twin("cartpole").belief.marginal(names)


def vary(**others: object) -> Randomization:
    """Everything that may differ between worlds, but for noise."""
    belief = believe("cart.mass", "pole.mass", "cart.coulomb_friction", "all.delay")
    pushes = Pushes(speed=0.3, every=(0.05, 0.2))
    return Randomization(belief=belief, pushes=pushes, latency=(0, 2), **others)  # pyright: ignore


def make_short(seconds: float, task: Task | None = None) -> Task:
    task = task or CartpoleBalance()
    task.seconds = seconds
    return task


def make_actions(count: int, world_count: int, width: int = 1) -> Tensor:
    """(steps, worlds, width); a world's own do not depend on how many there are."""
    t, world, i = torch.meshgrid(
        *(torch.arange(n) for n in (count, world_count, width)), indexing="ij"
    )
    return torch.sin(0.3 * t + world + 2.0 * i)


def play(worlds: TaskWorlds, actions: Tensor) -> list[Step]:
    return [worlds.step(action) for action in actions]


def assert_equal(one: Step, other: Step) -> None:
    """World by world, bit by bit."""
    for name in TENSORS:
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    for group in one.observations:
        assert torch.equal(one.observations[group], other.observations[group])
        assert torch.equal(one.final[group], other.final[group])


def test_an_ended_world_shows_its_next_beginning_and_its_true_last():
    worlds = TaskWorlds(CartpoleSwingUp(), 3, thread_count=1)
    push = torch.tensor([[1.0], [0.0], [0.0]])
    step = worlds.step(push)
    while not step.terminated[0]:
        assert step.final["policy"] is step.observations["policy"]
        step = worlds.step(push)
    assert step.done.tolist() == [True, False, False]
    assert float(step.final["policy"][0, 0]) > 1.78  # [m] at the end of the rail
    assert abs(float(step.observations["policy"][0, 0])) <= 0.5  # where episodes begin
    assert float(step.observations["policy"][0, -1]) == 0.0  # no action yet
    assert float(step.final["policy"][0, -1]) == 1.0
    left = 6  # its place among what the critic sees
    assert float(step.observations["truth"][0, left]) == 1.0
    assert float(step.final["truth"][0, left]) < 1.0
    for group in worlds.groups:
        assert torch.equal(step.final[group][1:], step.observations[group][1:])


def test_time_that_is_up_is_no_termination():
    worlds = TaskWorlds(make_short(0.4, PendulumSwingUp()), 4, thread_count=1)
    steps = play(worlds, torch.zeros(10, 4, 1))
    assert worlds.step_limit == 10
    assert not any(bool(step.done.any()) for step in steps[:-1])
    last = steps[-1]
    assert last.truncated.all()
    assert not last.terminated.any()
    assert (last.failure == int(Failure.NO_PROGRESS)).all()
    assert not last.success.any()
    assert (worlds.scene.step_count == 0).all()


def test_scattered_worlds_do_not_end_together():
    worlds = TaskWorlds(make_short(1.0), 32, thread_count=1)
    worlds.reset(scatter=True)
    ended = [int(step.truncated.sum()) for step in play(worlds, torch.zeros(50, 32, 1))]
    assert sum(ended) == 32
    assert max(ended) < 8


def test_the_reward_is_the_weighted_sum_times_the_period():
    task = PendulumSwingUp()
    worlds = TaskWorlds(task, 3, thread_count=1)
    step = worlds.step(make_actions(1, 3)[0])
    total = sum(task.weights[name] * x for name, x in step.terms.items())
    torch.testing.assert_close(step.reward, worlds.period * total)


def test_a_world_goes_its_way_whatever_the_others_do():
    actions = make_actions(60, 64)
    few = TaskWorlds(make_short(0.4), 8, randomization=vary(), thread_count=1)
    many = TaskWorlds(make_short(0.4), 64, randomization=vary(), thread_count=2)
    for action in actions:
        one, other = few.step(action[:8]), many.step(action)
        assert torch.equal(few.scene.qpos, many.scene.qpos[:8])
        assert torch.equal(few.scene.qvel, many.scene.qvel[:8])
        assert torch.equal(one.failure, other.failure[:8])
        # a vectorised cosine rounds by a row's place among the others
        close = {"rtol": 0, "atol": 1e-6}
        torch.testing.assert_close(one.reward, other.reward[:8], **close)
        for group, seen in one.observations.items():
            torch.testing.assert_close(seen, other.observations[group][:8], **close)


def test_the_seed_decides():
    runs = [
        play(
            TaskWorlds(make_short(0.4), 4, randomization=vary(noise=1.0), seed=seed),
            make_actions(30, 4),
        )
        for seed in (3, 3, 4)
    ]
    for one, same, other in zip(*runs, strict=True):
        assert_equal(one, same)
        for group in one.observations:
            assert not torch.equal(one.observations[group], other.observations[group])


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_saved_run_goes_on_exactly(noise):
    def build() -> TaskWorlds:
        drawn = vary(noise=noise)
        return TaskWorlds(make_short(0.3), 5, randomization=drawn, thread_count=1)

    actions = make_actions(40, 5)
    whole = play(build(), actions)
    first = build()
    play(first, actions[:10])
    saved = {name: x.clone() for name, x in first.state_dict().items()}
    play(first, actions[10:13])  # what was saved does not move on
    again = build()
    play(again, actions[:3])
    again.load_state_dict(saved)
    assert torch.equal(again.observations["policy"], whole[9].observations["policy"])
    for one, other in zip(play(again, actions[10:]), whole[10:], strict=True):
        assert_equal(one, other)


def test_samples_of_the_belief_are_in_the_model_and_do_not_pile_up():
    belief = believe("pole.mass", "cart.damping")
    drawn = Randomization(belief=belief)
    worlds = TaskWorlds(make_short(0.02), 6, randomization=drawn, seed=9)
    pole = worlds.bound.model.body("pole").id
    seen = []
    for episode in range(1, 102):
        mass = worlds.simulator.field("body_mass")[:, pole]
        damping = worlds.simulator.field("dof_damping")[:, 0]
        wanted = belief.sample_worlds(np.arange(6), seed=9, episode=episode)
        np.testing.assert_allclose(np.stack([mass, damping], axis=1), wanted)
        np.testing.assert_array_equal(worlds.e, wanted)
        seen.append(mass.copy())
        worlds.step(torch.zeros(6, 1))  # of one step only: the next episode begins
    assert np.std(seen, axis=0).min() > 0.003  # every episode another pole
    assert np.abs(np.mean(seen) - 0.1) < 0.005


def test_what_the_critic_sees_of_e_is_in_multiples_of_the_sd():
    belief = believe("pole.mass", "cart.damping")
    worlds = TaskWorlds(
        CartpoleBalance(), 400, randomization=Randomization(belief=belief)
    )
    e = worlds.observations["e"]
    torch.testing.assert_close(e.mean(dim=0), torch.zeros(2), atol=0.2, rtol=0)
    torch.testing.assert_close(e.std(dim=0), torch.ones(2), atol=0.15, rtol=0)


def test_a_world_that_diverges_is_counted_and_begins_anew_alone():
    actions = make_actions(12, 4)
    calm = TaskWorlds(CartpoleBalance(), 4, thread_count=1)
    hurt = TaskWorlds(CartpoleBalance(), 4, thread_count=1)
    others = torch.tensor([0, 1, 3])
    for i, action in enumerate(actions):
        if i == 5:
            hurt.simulator.array("qvel")[2, 0] = np.nan
        one, other = calm.step(action), hurt.step(action)
        for name in TENSORS:
            assert torch.equal(getattr(one, name)[others], getattr(other, name)[others])
        assert bool(other.invalid[2]) == (i == 5)
        assert all(x.isfinite().all() for x in other.observations.values())
        assert other.reward.isfinite().all()
        if i == 5:
            assert other.terminated.tolist() == [False, False, True, False]
            assert int(other.failure[2]) == int(Failure.NUMERICAL)
            assert not other.success[2]
            assert float(other.reward[2]) == 0.0
    assert hurt.invalid_count == 1
    assert hurt.scene.step_count.tolist() == [12, 12, 6, 12]


def test_pushes_come_when_due_and_are_no_faster_than_stated():
    pushes = Pushes(speed=0.4, every=(0.1, 0.3), start=0.2)
    drawn = Randomization(pushes=pushes)
    worlds = TaskWorlds(CartpoleBalance(), 50, randomization=drawn, thread_count=1)
    times: list[list[float]] = [[] for _ in range(50)]
    largest = torch.zeros(2)
    for _ in range(60):
        before = torch.from_numpy(worlds.simulator.array("qvel").copy())
        due, now = worlds.pushing.due.clone(), worlds.scene.time.clone()
        worlds.pushing.push(worlds.chance)
        change = torch.from_numpy(worlds.simulator.array("qvel").copy()) - before
        is_pushed = (change != 0).any(dim=1)
        assert torch.equal(is_pushed, now >= due)
        largest = torch.maximum(largest, change.abs().max(dim=0).values.float())
        for world in is_pushed.nonzero()[:, 0].tolist():
            times[world].append(float(now[world]))
        worlds.pushing.due += 1e-9 * ~is_pushed  # nothing else is due in this step
        worlds.simulator.step(np.zeros((50, 1)))
        worlds.scene.step_count += 1
    assert (largest <= 0.4).all()
    assert (largest > 0.35).all()
    firsts = np.array([found[0] for found in times])
    between = np.concatenate([np.diff(found) for found in times])
    assert firsts.min() >= 0.3 - 1e-6
    assert firsts.max() <= 0.5 + 0.02 + 1e-6
    assert between.min() >= 0.1 - 1e-6
    assert between.max() <= 0.3 + 0.02 + 1e-6


def test_a_push_moves_the_world_within_its_step():
    drawn = Randomization(pushes=Pushes(speed=2.0, every=(0.0, 0.0)))
    pushed = TaskWorlds(CartpoleBalance(), 8, randomization=drawn, thread_count=1)
    calm = TaskWorlds(CartpoleBalance(), 8, thread_count=1)
    action = torch.zeros(8, 1)
    one, other = pushed.step(action), calm.step(action)
    gained = pushed.scene.qvel[:, 1] - calm.scene.qvel[:, 1]
    torch.testing.assert_close(gained, pushed.pushing.last[:, 1], atol=0.3, rtol=0.1)
    assert not torch.equal(one.observations["policy"], other.observations["policy"])


@pytest.mark.parametrize(
    ("task", "speeds"),
    [
        (lambda: Reach(load_twin("bimanual"), tip="left_hand"), range(6, 30)),
        (lambda: DriveVelocity(), range(2)),
    ],
)
def test_pushes_reach_the_robot_and_no_object(
    task: Callable[[], Task], speeds: range
) -> None:
    """Of `bimanual`, whose first six speeds are the box's, all joints of both arms."""
    drawn = Randomization(pushes=Pushes(speed=0.5, every=(0.0, 0.0)))
    worlds = TaskWorlds(task(), 4, randomization=drawn, thread_count=1)
    before = worlds.simulator.array("qvel").copy()
    worlds.pushing.push(worlds.chance)
    change = worlds.simulator.array("qvel") - before
    assert np.flatnonzero((change != 0).any(axis=0)).tolist() == [*speeds]


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_WARP, reason="MujocoGpu needs warp and mujoco_warp")
def test_warp_goes_the_same_way():
    """Small, on Warp's CPU device; both begin where chance on the CPU says."""
    actions = make_actions(20, 3)
    cpu = TaskWorlds(PendulumSwingUp(), 3, thread_count=1)
    warp = TaskWorlds(PendulumSwingUp(), 3, with_warp=True)
    for action in actions:
        one, other = cpu.step(action), warp.step(action)
        for group in one.observations:
            torch.testing.assert_close(
                one.observations[group], other.observations[group], atol=1e-4, rtol=0
            )
        torch.testing.assert_close(one.reward, other.reward, atol=1e-4, rtol=0)


def test_coarse_physics_take_half_the_steps_and_go_the_same_way():
    fine, coarse = (
        TaskWorlds(CartpoleSwingUp(), 16, thread_count=1, coarse=is_coarse)
        for is_coarse in (False, True)
    )
    assert (fine.simulator.substeps, coarse.simulator.substeps) == (10, 5)
    assert coarse.period == fine.period
    actions = 0.3 * make_actions(25, 16)
    for one, other in zip(play(fine, actions), play(coarse, actions), strict=True):
        seen, near = one.observations["policy"], other.observations["policy"]
        torch.testing.assert_close(near, seen, atol=0.05, rtol=0)
    assert not torch.equal(near, seen)


def test_physics_stay_as_fine_where_the_control_period_asks_for_it():
    worlds = TaskWorlds(BipedVelocity(), 2, thread_count=1, coarse=True)
    assert worlds.simulator.substeps == 5


def test_observations_are_groups_and_e_is_one_of_its_own():
    belief = believe("pole.mass", "cart.damping")
    worlds = TaskWorlds(
        make_short(0.1), 4, randomization=Randomization(belief=belief), thread_count=1
    )
    purposes = {name: group.purpose.value for name, group in worlds.groups.items()}
    assert purposes == {"policy": "deployable", "truth": "privileged", "e": "e"}
    for name, x in worlds.reset().items():
        assert x.shape == (4, *worlds.groups[name].shape)
    mean, sd = (
        np.array([y[n] for n in belief.space.names]) for y in (belief.mean, belief.sd)
    )

    def standardise() -> Tensor:
        return torch.from_numpy((worlds.e - mean) / sd).float()

    before = standardise()
    for _ in range(worlds.step_limit):
        step = worlds.step(torch.zeros(4, 1))
    assert step.truncated.all()
    # what was e until the end stays so although the worlds have another one by now
    torch.testing.assert_close(step.final["e"], before)
    torch.testing.assert_close(step.observations["e"], standardise())
    assert not torch.equal(standardise(), before)
