"""Velocity tracking on two legs: it stands, its clock beats, its terms by hand."""

import math

import mujoco
import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.twins import Twin, load_twin

FEET = ("left_foot", "right_foot")


def build(
    world_count: int, twin: Twin | None = None
) -> tuple[TaskWorlds, BipedVelocity]:
    task = BipedVelocity(twin)
    return TaskWorlds(task, world_count, thread_count=1), task


def make_states(worlds: TaskWorlds, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    count, scene = worlds.world_count, worlds.scene
    qpos = np.tile(scene.initial_qpos.numpy(), (count, 1)).astype(float)
    qpos[:, :3] += rng.uniform(0, 0.05, (count, 3))
    turned = rng.normal(size=(count, 4)) * [0, 0.1, 0.1, 1] + [1, 0, 0, 0]
    qpos[:, 3:7] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    qpos[:, 7:] += rng.uniform(-0.15, 0.15, (count, 12))
    return qpos, rng.normal(size=(count, 18))


def test_it_stands_for_five_seconds_without_a_policy() -> None:
    worlds, task = build(4)
    home = worlds.scene.initial_qpos.repeat(4, 1).numpy()
    worlds.simulator.reset(qpos=home)
    worlds.scene.renew()
    for _ in range(250):
        step = worlds.step(torch.zeros(4, 12))
        assert not step.done.any()
    motion = task.base.read(worlds.scene)
    assert motion.position[:, 2].numpy() == pytest.approx(0.5166, abs=0.01)
    assert float(motion.velocity.abs().max()) < 0.02
    assert task.feet.stands.all()
    assert float(step.terms["sole"].max()) < 1e-3


def test_every_reward_term_is_what_the_hand_computes() -> None:
    worlds, task = build(3)
    scene = worlds.scene
    model = scene.simulator.bound.model
    qpos, qvel = make_states(worlds, seed=0)
    worlds.simulator.reset(qpos=qpos, qvel=qvel)
    scene.renew()
    rng = np.random.default_rng(2)
    scene.last_action, scene.action = torch.tensor(
        rng.normal(size=(2, 3, 12)), dtype=torch.float32
    )
    command = [[0.5, -0.2, 0.3], [0, 0, 0], [-0.8, 0.3, -0.8]]
    task.commands.now = torch.tensor(command)
    phases = [0.3, 1.0, 4.0]
    beat = 2 * math.pi * 0.02 / 0.7
    task.phase = torch.tensor(phases) - beat
    task.advance(scene, worlds.chance)
    found = task.compute_rewards(scene)
    home, data = scene.initial_qpos.numpy(), mujoco.MjData(model)
    data.qpos[:] = home
    mujoco.mj_forward(model, data)
    ground = np.mean([data.site(foot).xpos[2] for foot in FEET])
    care = np.tile([5, 1, 0.01, 0.01, 5, 5], 2)
    for i in range(3):
        data.qpos[:], data.qvel[:] = qpos[i], qvel[i]
        mujoco.mj_forward(model, data)
        turn = data.xmat[model.body(1).id].reshape(3, 3)
        v, w = turn.T @ data.qvel[:3], data.qvel[3:6]
        down = turn.T @ [0, 0, -1]
        c, q = command[i], qpos[i, 7:]
        lifts = [max(0.0, math.sin(phases[i] + k * math.pi)) ** 2 for k in (0, 1)]
        lifts = np.array(lifts) * (0.09 if i != 1 else 0.0)
        feet = np.array([data.site(foot).xpos for foot in FEET])
        soles = [data.site(foot).xmat.reshape(3, 3).T @ [0, 0, 1] for foot in FEET]
        a = (scene.action - scene.last_action)[i].numpy()
        off = np.sum((feet[:, 2] - ground - lifts) ** 2)
        wanted = {
            "velocity": math.exp(-((v[0] - c[0]) ** 2 + (v[1] - c[1]) ** 2) / 0.25),
            "yaw": math.exp(-((w[2] - c[2]) ** 2) / 0.25),
            "rocking": w[0] ** 2 + w[1] ** 2,
            "tilt": down[0] ** 2 + down[1] ** 2,
            "rate": np.sum(a**2),
            "swing": math.exp(-off / 0.008),
            "pose": np.sum(care * (q - home[7:]) ** 2),
            "near": float(np.linalg.norm((feet[0] - feet[1])[:2]) < 0.15),
            "sole": sum(n[0] ** 2 + n[1] ** 2 for n in soles),
            "alive": 1.0,
            "fall": 0.0,
        }
        assert set(found) == set(wanted) == set(task.weights)
        for name, value in wanted.items():
            assert float(found[name][i]) == pytest.approx(value, rel=1e-3, abs=1e-5), (
                name
            )


def test_the_clock_rests_when_it_shall_stand() -> None:
    worlds, task = build(2)
    task.commands.now = torch.tensor([[0.5, 0.0, 0.0], [0.05, 0.0, 0.0]])
    task.phase = torch.tensor([0.5, 0.5])
    given = task.read_inputs(worlds.scene)
    assert given[0, 3:].tolist() == pytest.approx([math.sin(0.5), math.cos(0.5)])
    assert given[1, 3:].tolist() == [0, 0]
    # a whole gait of 0.7 s later the clock shows the same
    for _ in range(35):
        task.advance(worlds.scene, worlds.chance)
    assert task.phase.tolist() == pytest.approx([0.5, 0.5], abs=1e-4)


def test_a_tilted_or_low_biped_has_fallen() -> None:
    worlds, task = build(3)
    qpos = np.tile(worlds.scene.initial_qpos.numpy(), (3, 1)).astype(float)
    half = math.radians(61) / 2
    qpos[1, 3:7] = [math.cos(half), 0, math.sin(half), 0]
    qpos[2, 2] = 0.3
    worlds.simulator.reset(qpos=qpos)
    worlds.scene.renew()
    task.advance(worlds.scene, worlds.chance)
    wanted = [Failure.NONE, Failure.FALL, Failure.FALL]
    assert task.find_failures(worlds.scene).tolist() == wanted


def make_even(spec: mujoco.MjSpec) -> None:
    """The torso's measured inertia leans to one side by 2 mm."""
    torso = spec.body("torso")
    torso.ipos = torso.ipos * [1, 0, 1]
    torso.fullinertia = torso.fullinertia * [1, 1, 1, 0, 1, 0]


def test_physics_in_the_mirror_is_the_mirror_of_physics() -> None:
    twin = load_twin("humanoid").edited(make_even)
    (left, ahead), (right, behind) = build(8, twin), build(8, twin)
    qpos, qvel = make_states(left, seed=3)
    qpos[:, 2] += 1.0  # in the air
    qvel *= 0.3
    other_q, other_v = qpos.copy(), qvel.copy()
    other_q[:, [1, 4, 6]] *= -1
    other_v[:, [1, 3, 5]] *= -1
    swap, sign = [*range(6, 12), *range(6)], np.tile([-1, -1, 1, 1, 1, -1], 2)
    other_q[:, 7:] = qpos[:, 7:][:, swap] * sign
    other_v[:, 6:] = qvel[:, 6:][:, swap] * sign
    for worlds, task, q, v, side in (
        (left, ahead, qpos, qvel, 1),
        (right, behind, other_q, other_v, -1),
    ):
        worlds.simulator.reset(qpos=q, qvel=v)
        worlds.scene.renew()
        command = torch.tensor([0.4, 0.2 * side, 0.3 * side])
        task.commands.now = command.repeat(8, 1)
        task.commands.due.fill_(100.0)
        first = 0.4 if side > 0 else 0.4 + math.pi
        task.phase = torch.full((8,), first)
    rng = np.random.default_rng(6)
    for _ in range(5):
        action = torch.tensor(0.5 * rng.normal(size=(8, 12)), dtype=torch.float32)
        a, b = left.step(action), right.step(left.mirror_action(action))
        assert torch.allclose(a.reward, b.reward, atol=1e-3)
        for group in a.final:
            mirrored = left.mirror(group, a.final[group])
            assert float((mirrored - b.final[group]).abs().max()) < 1e-3, group


@pytest.mark.parametrize(
    ("count", "seconds"), [(8, 2), pytest.param(64, 10, marks=pytest.mark.slow)]
)
def test_random_actions_do_not_diverge(count: int, seconds: int) -> None:
    worlds, _ = build(count)
    generator = torch.Generator().manual_seed(0)
    for _ in range(50 * seconds):
        step = worlds.step(6 * torch.rand(count, 12, generator=generator) - 3)
        assert step.reward.isfinite().all()
    assert worlds.invalid_count == 0
    assert not worlds.simulator.outcomes().any()


def test_a_robot_with_other_sides_is_refused() -> None:
    with pytest.raises(RealworthyError, match="no two legs"):
        BipedVelocity(load_twin("quadruped"))
