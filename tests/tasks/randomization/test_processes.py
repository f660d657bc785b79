"""Numbers of e that move within the episodes of a task."""

import importlib.util

import numpy as np
import pytest
import torch

from realworthy.parameters import Fixed, IndependentBelief, Marginal, Uniform
from realworthy.parameters.processes import Jitter, Jump, Process
from realworthy.realities import load_reality
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.reality import build_real_worlds
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import load_twin
from tests.tasks.environment.test_worlds import (
    assert_equal,
    make_actions,
    make_short,
    play,
)

HAS_WARP = all(importlib.util.find_spec(n) for n in ("warp", "mujoco_warp"))
MASS = "pendulum.mass"
PAYLOAD = Jump(MASS, 2.0, Uniform(1.0, 2.0))
BUSY_BUS = Jitter("all.delay", 0.01)


def vary(*processes: Process, mass: Marginal, noise: float = 0.0) -> Randomization:
    """Pendulums of a mass, with 5 ms of delay, and what moves of them."""
    space = load_twin("pendulum").space.select([MASS, "all.delay"])
    belief = IndependentBelief(space, {MASS: mass, "all.delay": Fixed(0.005)})
    return Randomization(belief=belief, processes=processes, noise=noise)


def build(count: int, *processes: Process, noise: float = 0.0, **others) -> TaskWorlds:
    """Episodes of a second, of masses that differ from one to the next."""
    drawn = vary(*processes, mass=Uniform(0.5, 0.8), noise=noise)
    task = make_short(1.0, PendulumSwingUp())
    return TaskWorlds(task, count, randomization=drawn, thread_count=1, **others)


def read_masses(worlds: TaskWorlds) -> np.ndarray:
    return np.array(worlds.simulator.field("body_mass")[:, 1])


def test_a_payload_jumps_at_its_rate_and_is_gone_in_the_next_episode():
    drawn = vary(PAYLOAD, mass=Fixed(0.7))
    task = make_short(1.0, PendulumSwingUp())
    worlds = TaskWorlds(task, 1000, randomization=drawn, thread_count=1)
    for _ in range(2):
        np.testing.assert_array_equal(read_masses(worlds), 0.7)
        for _ in range(worlds.step_limit - 1):
            worlds.step(torch.zeros(1000, 1))
        mass = read_masses(worlds)
        waits = mass == 0.7
        seconds = (worlds.step_limit - 1) * worlds.period
        assert waits.mean() == pytest.approx(np.exp(-2.0 * seconds), abs=0.035)
        assert (mass[~waits] >= 1.0).all()
        assert mass[~waits].mean() == pytest.approx(1.5, abs=0.04)
        np.testing.assert_array_equal(worlds.e[:, 0], mass)
        assert worlds.step(torch.zeros(1000, 1)).truncated.all()


def test_the_critic_sees_a_payload_as_it_jumps():
    worlds = build(50, PAYLOAD)
    before = worlds.observations["e"][:, -2]
    after = play(worlds, torch.zeros(10, 50, 1))[-1].observations["e"][:, -2]
    jumped = torch.from_numpy(worlds.e[:, 0] >= 1.0)
    assert 0 < int(jumped.sum()) < 50
    assert torch.equal(before != after, jumped)


def test_a_delay_that_jitters_is_another_in_every_step():
    worlds = build(500, BUSY_BUS)
    delays = []
    for action in make_actions(3, 500):
        worlds.step(action)
        delays.append(np.array(worlds.simulator.field("actuator_delay")[:, 0]))
    extra = np.array(delays) - 0.005
    assert extra.min() >= 0.0
    assert extra.mean() == pytest.approx(0.01, rel=0.08)
    assert abs(np.corrcoef(extra[0], extra[1])[0, 1]) < 0.15


def test_a_delay_that_jitters_moves_what_drives_do():
    calm, busy = build(20), build(20, BUSY_BUS)
    actions = make_actions(10, 20)
    play(calm, actions)
    assert not any(bool(step.invalid.any()) for step in play(busy, actions))
    apart = (calm.scene.qvel - busy.scene.qvel).abs()
    assert (apart > 0).all()
    assert float(apart.max()) < 1.0  # [rad/s]


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_worlds_with_processes_go_on_exactly_where_they_were_saved(noise):
    actions = make_actions(90, 6)
    processes = (PAYLOAD, BUSY_BUS)
    whole = play(build(6, *processes, noise=noise), actions)
    first = build(6, *processes, noise=noise)
    play(first, actions[:40])
    saved = {name: x.clone() for name, x in first.state_dict().items()}
    play(first, actions[40:43])  # what was saved does not move on
    again = build(6, *processes, noise=noise)
    play(again, actions[:3])
    again.load_state_dict(saved)
    for one, other in zip(play(again, actions[40:]), whole[40:], strict=True):
        assert_equal(one, other)
    assert any(bool(step.done.any()) for step in whole[40:])


def test_after_a_rewind_the_same_episodes_come_again():
    worlds = build(6, PAYLOAD, BUSY_BUS, noise=1.0)
    actions = make_actions(60, 6)  # of more than two episodes
    first, masses = play(worlds, actions), read_masses(worlds)
    for _ in range(2):
        worlds.rewind()
        worlds.reset()
        for one, other in zip(play(worlds, actions), first, strict=True):
            assert_equal(one, other)
        np.testing.assert_array_equal(read_masses(worlds), masses)


def test_a_rewind_brings_back_the_noise_of_a_robot():
    reality = load_reality("pendulum_2_late")
    worlds = build_real_worlds(PendulumSwingUp, reality, 3, thread_count=1)
    actions = make_actions(20, 3)
    first = play(worlds, actions)
    worlds.rewind()
    worlds.reset()
    for one, other in zip(play(worlds, actions), first, strict=True):
        assert_equal(one, other)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_WARP, reason="MujocoGpu needs warp and mujoco_warp")
def test_warp_goes_on_where_it_was_saved():
    """Small, on Warp's CPU device; new episodes wait for their e when it is saved."""
    actions = make_actions(66, 3)
    worlds, again = (build(3, PAYLOAD, with_warp=True) for _ in range(2))
    play(worlds, actions[:30])
    saved = {name: x.clone() for name, x in worlds.state_dict().items()}
    assert saved["waiting"].all()
    play(worlds, actions[30:])
    assert not worlds.state_dict()["waiting"].any()
    again.load_state_dict(saved)
    play(again, actions[30:])
    np.testing.assert_array_equal(read_masses(again), read_masses(worlds))
