"""Velocity tracking on four legs: its terms by hand, its mirror by physics."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.legged.quadruped import (
    QuadrupedSettings,
    QuadrupedVelocity,
    quadruped_randomization,
)
from realworthy.twins import Twin, load_twin

LEGS = ("FL", "FR", "RL", "RR")


def build(
    world_count: int, *, twin: Twin | None = None, seconds: float = 20.0, seed: int = 0
) -> tuple[TaskWorlds, QuadrupedVelocity]:
    task = QuadrupedVelocity(twin, settings=QuadrupedSettings(seconds=seconds))
    return TaskWorlds(task, world_count, seed=seed, thread_count=1), task


def put(worlds: TaskWorlds, qpos: np.ndarray, qvel: np.ndarray) -> None:
    worlds.simulator.reset(qpos=qpos, qvel=qvel)
    worlds.scene.renew()


def make_states(worlds: TaskWorlds, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Near standing, turned and tilted, moving."""
    rng = np.random.default_rng(seed)
    count, scene = worlds.world_count, worlds.scene
    qpos = np.tile(scene.initial_qpos.numpy(), (count, 1)).astype(float)
    qpos[:, :3] += rng.uniform(-0.02, 0.03, (count, 3))
    turned = rng.normal(size=(count, 4)) * [0, 0.1, 0.1, 1] + [1, 0, 0, 0]
    qpos[:, 3:7] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    qpos[:, 7:] += rng.uniform(-0.3, 0.3, (count, 12))
    return qpos, rng.normal(size=(count, 18))


def test_every_reward_term_is_what_the_hand_computes() -> None:
    worlds, task = build(3)
    scene = worlds.scene
    model = scene.simulator.bound.model
    states = [make_states(worlds, seed=seed) for seed in (0, 1)]
    states[1][0][2, 7 + 2] = -2.7  # the FL calf near its end
    rng = np.random.default_rng(2)
    scene.last_action, scene.action = torch.tensor(
        rng.normal(size=(2, 3, 12)), dtype=torch.float32
    )
    for qpos, qvel in states:
        put(worlds, qpos, qvel)
        scene.step_count += 1
        task.commands.now = torch.tensor([[0.5, -0.2, 0.3], [0, 0, 0], [-1, 0.5, -1]])
        task.advance(scene, worlds.chance)
    assert task.commands.is_moving.tolist() == [True, False, True]
    found = task.compute_rewards(scene)
    command = [[0.5, -0.2, 0.3], [0, 0, 0], [-1, 0.5, -1]]
    home = scene.initial_qpos.numpy()[7:]
    for i in range(3):
        datas = [mujoco.MjData(model) for _ in states]
        for data, (qpos, qvel) in zip(datas, states, strict=True):
            data.qpos[:], data.qvel[:] = qpos[i], qvel[i]
            data.ctrl[:] = scene.initial_command.numpy()
            mujoco.mj_forward(model, data)
        data, q = datas[1], states[1][0][i, 7:]
        turn = data.xmat[model.body("trunk").id].reshape(3, 3)
        v, w = turn.T @ data.qvel[:3], data.qvel[3:6]
        down = turn.T @ [0, 0, -1]
        torque = [
            data.sensor(f"{joint}.torque").data[0] for joint in task.stance.joints
        ]
        touch = [data.sensor(f"{leg}_foot_contact").data[0] > 1 for leg in LEGS]
        before = [datas[0].sensor(f"{leg}_foot_contact").data[0] > 1 for leg in LEGS]
        feet = [[d.site(f"{leg}_foot").xpos for leg in LEGS] for d in datas]
        speed = np.linalg.norm(np.subtract(*feet[::-1])[:, :2], axis=1) / 0.02
        sigma = np.tile([0.3, 0.4, 0.6], 4)
        low, high = model.jnt_range[1:].T
        over = np.abs(q - (low + high) / 2) - 0.9 * (high - low) / 2
        c, moves = command[i], i != 1
        a = (scene.action - scene.last_action)[i].numpy()
        # a foot that was up for the first step of 0.02 s and now stands has landed
        landed = np.array(touch) & ~np.array(before)
        wanted = {
            "velocity": math.exp(-((v[0] - c[0]) ** 2 + (v[1] - c[1]) ** 2) / 0.25),
            "yaw": math.exp(-((w[2] - c[2]) ** 2) / 0.25),
            "pose": math.exp(-np.mean(((q - home) / sigma) ** 2)),
            "bounce": v[2] ** 2,
            "rocking": w[0] ** 2 + w[1] ** 2,
            "tilt": down[0] ** 2 + down[1] ** 2,
            "rate": np.sum(a**2),
            "torque": np.sum(np.square(torque)),
            "limits": np.sum(np.maximum(over, 0)),
            "slip": np.sum(np.array(touch) * speed**2),
            "air": moves * np.sum(landed * (0.04 - 0.25)),
            "still": (not moves) * np.sum(np.abs(q - home)),
            "fall": 0.0,
        }
        assert set(found) == set(wanted) == set(task.weights)
        for name, value in wanted.items():
            assert float(found[name][i]) == pytest.approx(value, rel=2e-4, abs=1e-5), (
                name
            )
    assert float(found["limits"][2]) > 0


def test_it_ends_when_it_lies_or_its_trunk_touches() -> None:
    worlds, task = build(3)
    qpos, qvel = np.tile(worlds.scene.initial_qpos.numpy(), (3, 1)), np.zeros((3, 18))
    half = math.radians(71) / 2
    qpos[1, 3:7] = [math.cos(half), math.sin(half), 0, 0]
    qpos[1, 2] = 0.5
    qpos[2, 2] = 0.14
    put(worlds, qpos.astype(float), qvel)
    task.advance(worlds.scene, worlds.chance)
    wanted = [Failure.NONE, Failure.FALL, Failure.BASE_CONTACT]
    assert task.find_failures(worlds.scene).tolist() == wanted
    assert task.compute_rewards(worlds.scene)["fall"].tolist() == [0, 1, 1]
    assert not task.is_success(worlds.scene)[1:].any()


def test_an_episode_succeeds_by_its_mean_error() -> None:
    worlds, task = build(2, seconds=1.0)
    for _ in range(worlds.step_limit):
        task.commands.now = torch.tensor([[0.0, 0, 0], [1.0, 0, 0]])
        task.commands.due.fill_(100.0)
        step = worlds.step(torch.zeros(2, 12))
    assert step.truncated.all()
    assert step.success.tolist() == [True, False]
    walked = task.tally.measure_ended()
    assert walked.seconds.tolist() == pytest.approx([1.0, 1.0])
    assert float(walked.mean_error[1]) == pytest.approx(1.0, abs=0.1)


def test_what_only_the_critic_sees_does_not_reach_the_actor() -> None:
    task = QuadrupedVelocity()
    worlds = TaskWorlds(task, 2, thread_count=1)
    qpos, qvel = make_states(worlds, seed=0)
    qpos[1], qvel[1] = qpos[0], qvel[0]
    qpos[1, :3] += [3.0, -2.0, 0.2]  # elsewhere, higher: no foot stands
    qvel[1, :3] += [1.0, -0.5, 0.3]
    put(worlds, qpos, qvel)
    task.commands.now = torch.zeros(2, 3)
    actor, _ = worlds.measuring.observe(torch.ones(2, dtype=torch.bool))
    assert torch.allclose(actor[0], actor[1], atol=1e-6)
    hidden = task.observe_privileged(worlds.scene)
    assert (hidden[0, :4] != hidden[1, :4]).all()
    measured = {s for term in task.terms for s in term.signals}
    told = {one.name for one in task.inputs} | set(task.action.names)
    kinds = ("imu_gyro.", "imu_orientation.")
    for name in measured - told:
        joint = name.endswith((".position", ".velocity")) and name[:2] in LEGS
        assert joint or name.startswith(kinds), name


def mirror_state(qpos: np.ndarray, qvel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """y → −y, written out by hand: an outside truth for the table of signs."""
    q, v = qpos.copy(), qvel.copy()
    q[:, 1] *= -1
    q[:, [4, 6]] *= -1  # a turn about x or z goes the other way
    v[:, 1] *= -1
    v[:, [3, 5]] *= -1
    swap = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]
    sign = np.tile([-1, 1, 1], 4)
    q[:, 7:] = q[:, 7:][:, swap] * sign
    v[:, 6:] = v[:, 6:][:, swap] * sign
    return q, v


def make_even(spec: mujoco.MjSpec) -> None:
    """The trunk's measured inertia is lopsided in the fourth digit."""
    spec.body("trunk").iquat = [0.5**0.5, 0, 0.5**0.5, 0]


OFF = {
    f"{joint}.position.sensor_bias": off
    for joint, off in {"FL_hip": 0.1, "FR_hip": 0.05, "RL_calf": -0.2}.items()
}


@pytest.mark.parametrize("encoders", [{}, OFF])
@pytest.mark.parametrize(("height", "slack"), [(1.0, 1e-6), (0.0, 1e-3)])
def test_physics_in_the_mirror_is_the_mirror_of_physics(
    height: float, slack: float, encoders: dict[str, float]
) -> None:
    """Also where servos follow encoders that are off: these stay as they are."""
    count = 32
    twin = load_twin("quadruped").edited(make_even).with_values(encoders)
    left, ahead = build(count, twin=twin)
    right, behind = build(count, twin=twin)
    qpos, qvel = make_states(left, seed=5)
    qpos[:, 2] += height
    put(left, qpos, 0.3 * qvel)
    put(right, *mirror_state(qpos, 0.3 * qvel))
    for task, sign in ((ahead, 1.0), (behind, -1.0)):
        command = torch.tensor([0.4, 0.2 * sign, 0.3 * sign])
        task.commands.now = command.repeat(count, 1)
        task.commands.due.fill_(100.0)
    right.scene.action = left.mirror_action(left.scene.action)
    rng = np.random.default_rng(6)
    for _ in range(10):
        action = torch.tensor(0.5 * rng.normal(size=(count, 12)), dtype=torch.float32)
        a, b = left.step(action), right.step(left.mirror_action(action))
        assert torch.allclose(a.reward, b.reward, atol=100 * slack)
        for group in a.final:
            mirrored = left.mirror(group, a.final[group])
            off = (mirrored - b.final[group]).abs()
            assert float(off.max()) < 20 * slack, group
            again = left.mirror(group, mirrored)
            assert torch.allclose(again, a.final[group], atol=1e-6)
    ours, theirs = left.simulator.array("qpos"), right.simulator.array("qpos")
    other, _ = mirror_state(ours, left.simulator.array("qvel"))
    assert np.abs(other - theirs).max() < slack


@pytest.mark.parametrize(
    ("count", "seconds"), [(16, 2), pytest.param(64, 10, marks=pytest.mark.slow)]
)
def test_random_actions_do_not_diverge(count: int, seconds: int) -> None:
    task = QuadrupedVelocity()
    randomization = quadruped_randomization()
    worlds = TaskWorlds(task, count, randomization=randomization, seed=1)
    generator = torch.Generator().manual_seed(0)
    for _ in range(50 * seconds):
        action = 6 * torch.rand(count, 12, generator=generator) - 3
        step = worlds.step(action)
        assert step.reward.isfinite().all()
    assert worlds.invalid_count == 0
    assert float(task.tally.measure().seconds) == pytest.approx(count * seconds)
    assert not worlds.simulator.outcomes().any()


def test_randomized_worlds_differ_as_stated() -> None:
    task = QuadrupedVelocity()
    worlds = TaskWorlds(task, 64, randomization=quadruped_randomization())
    e = dict(zip(worlds.bound.space.names, worlds.e.T, strict=True))
    mass = e.pop("trunk.mass") - 6.921
    centre = e.pop("trunk.centre_of_mass.x") - 0.021112
    for values, least, most in (
        (e["all.contact_friction"], 0.3, 1.2),
        (mass, -1, 1),
        (centre, -0.03, 0.03),
        (e["all.kp"], 0.8, 1.2),
        (e["all.delay"], 0.0, 0.02),
    ):
        assert least <= values.min() < least + 0.1 * (most - least)
        assert most >= values.max() > most - 0.1 * (most - least)
    foot = worlds.bound.model.geom("FL_foot").id
    friction = worlds.simulator.field("geom_friction")[:, foot, 0]
    assert friction == pytest.approx(e["all.contact_friction"])


def test_it_goes_on_exactly_from_where_it_was_kept() -> None:
    randomization = quadruped_randomization()
    randomization = replace(randomization, noise=1.0)
    worlds = TaskWorlds(QuadrupedVelocity(), 8, randomization=randomization)
    worlds.reset(scatter=True)

    def play(count: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(3)
        for _ in range(count):
            step = worlds.step(torch.randn(8, 12, generator=generator))
        return step.reward, torch.cat([*step.observations.values()], dim=1)

    play(5)
    kept = worlds.state_dict()
    first = play(5)
    play(5)
    worlds.load_state_dict(kept)
    for a, b in zip(first, play(5), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_a_robot_with_other_joints_is_refused() -> None:
    with pytest.raises(
        RealworthyError, match="has no four legs: 2 links end at the ground"
    ):
        QuadrupedVelocity(load_twin("humanoid"))


@pytest.mark.slow  # Warp compiles its kernels for the model
def test_warp_agrees_with_the_cpu_for_ten_steps() -> None:
    check_warp("cpu")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_cuda_agrees_with_the_cpu_for_ten_steps() -> None:
    check_warp("cuda")


def check_warp(device: str) -> None:
    pytest.importorskip("mujoco_warp", reason="MujocoGpu needs mujoco_warp")
    generator = torch.Generator().manual_seed(0)
    actions = 0.5 * torch.randn(10, 4, 12, generator=generator)
    native, warp = (
        TaskWorlds(QuadrupedVelocity(), 4, with_warp=False),
        TaskWorlds(QuadrupedVelocity(), 4, with_warp=True, device=device),
    )
    start = [native.scene.qpos.numpy(), native.scene.qvel.numpy()]
    warp.simulator.reset(qpos=start[0], qvel=start[1])
    warp.scene.renew()
    for worlds in (native, warp):
        task = worlds.task
        assert isinstance(task, QuadrupedVelocity)
        task.commands.now = torch.zeros(4, 3, device=worlds.device)
        task.commands.due.fill_(100.0)
    for action in actions:
        a, b = native.step(action), warp.step(action.to(device))
        for group in a.observations:
            found = b.observations[group].cpu()
            assert torch.allclose(a.observations[group], found, atol=2e-2), group
        assert torch.allclose(a.reward, b.reward.cpu(), atol=2e-3)
