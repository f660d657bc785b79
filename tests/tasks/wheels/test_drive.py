"""Differential drive: the wheels' arithmetic, physics against it, the three tasks."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.policies import check_measurable
from realworthy.tasks.contract import build_contract, list_measured
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.failures import Failure
from realworthy.tasks.wheels.differential_drive import (
    Driving,
    Wheels,
    find_wheels,
    wrap,
)
from realworthy.tasks.wheels.drive import DriveGoal, DrivePath, DriveVelocity
from realworthy.twins import Twin, load_twin

TASKS = (DriveGoal, DrivePath, DriveVelocity)
ROUND = Wheels(
    joints=("l", "r"),
    commands=("l.command", "r.command"),
    radii=(0.05, 0.1),
    track=0.3,
    limit=10.0,
)


def try_task(worlds: TaskWorlds) -> tuple[Tensor, Tensor]:
    """(2,) shares of first episodes that succeed, and (2,) mean returns.

    The first half of the worlds follows the reference, the second acts by chance.
    """
    act, half = worlds.task.build_reference(worlds.scene), worlds.world_count // 2
    generator = torch.Generator().manual_seed(3)
    over = torch.zeros(worlds.world_count, dtype=torch.bool)
    success, total = over.clone(), torch.zeros(worlds.world_count)
    for _ in range(worlds.step_limit):
        chance = 2 * torch.rand(half, 2, generator=generator) - 1
        step = worlds.step(torch.cat([act(worlds.scene)[:half], chance]))
        total += torch.where(over, 0.0, step.reward)
        success |= step.done & ~over & step.success
        over |= step.done
    assert bool(over.all())
    return success.float().view(2, half).mean(1), total.view(2, half).mean(1)


def drive(twin: Twin, motion: tuple[float, float], seconds: float = 4.0) -> Tensor:
    """(steps, 3) x, y, yaw of a twin whose nominal wheels should give a motion."""
    task = DriveVelocity(twin)
    worlds = TaskWorlds(task, 1)
    worlds.simulator.reset()
    wheels = find_wheels(load_twin("diffdrive"))
    speeds = wheels.compute_speeds(torch.tensor([motion]))
    poses = []
    for _ in range(round(seconds / task.period)):
        worlds.step(speeds / wheels.limit)
        poses.append(torch.stack([x[0] for x in task.find_pose(worlds.scene)]))
    return torch.stack(poses).to(torch.float64)


def test_the_map_from_wheels_to_motion_and_its_inverse_are_inverse() -> None:
    forward = ROUND.compute_motion(torch.eye(2, dtype=torch.float64))
    back = ROUND.compute_speeds(torch.eye(2, dtype=torch.float64))
    assert torch.allclose(forward @ back, torch.eye(2, dtype=torch.float64))
    # By hand: rims at 0.05 · 4 = 0.2 m/s and 0.1 · 8 = 0.8 m/s, track 0.3 m.
    motion = ROUND.compute_motion(torch.tensor([[4.0, 8.0]]))
    assert motion[0].tolist() == pytest.approx([0.5, 2.0], rel=1e-6)


def test_wheels_beyond_their_limit_are_slowed_down_together() -> None:
    slowed = ROUND.slow_down(torch.tensor([[20.0, -5.0], [3.0, 4.0]]))
    assert slowed.tolist() == [[10.0, -2.5], [3.0, 4.0]]


def test_wheels_are_read_from_the_model() -> None:
    wheels = find_wheels(load_twin("diffdrive"))
    assert wheels.joints == ("left_wheel", "right_wheel")
    assert wheels.radii == (0.033, 0.033)
    assert wheels.track == pytest.approx(0.160)
    assert wheels.top_speed == pytest.approx(0.22, abs=0.001)  # the data sheet's


@pytest.mark.parametrize("name", ["pendulum", "arm"])
def test_a_twin_without_two_wheel_speeds_is_refused(name: str) -> None:
    with pytest.raises(RealworthyError, match="two inputs, the speeds of its wheels"):
        DriveGoal(load_twin(name))


@pytest.mark.parametrize("motion", [(0.12, 0.6), (0.1, -1.0), (-0.1, 0.5)])
def test_physics_drives_circles_of_the_computed_radius(
    motion: tuple[float, float],
) -> None:
    x, y, _ = drive(load_twin("diffdrive"), motion)[10:].numpy().T
    # A circle through all points: x² + y² = 2ax + 2by + c.
    a, b, c = np.linalg.lstsq(
        np.stack([2 * x, 2 * y, np.ones_like(x)], 1), x**2 + y**2, rcond=None
    )[0]
    radius = math.sqrt(c + a * a + b * b)
    assert radius == pytest.approx(abs(motion[0] / motion[1]), rel=0.03)


def test_a_larger_right_wheel_makes_it_drift_to_the_left_as_computed() -> None:
    def enlarge(spec: object) -> None:
        spec.geom("right_wheel").size[0] *= 1.01  # pyright: ignore

    uneven = load_twin("diffdrive").edited(enlarge)
    assert find_wheels(uneven).radii == pytest.approx((0.033, 0.03333))
    v, rates = 0.15, []
    for twin in (load_twin("diffdrive"), uneven):
        yaw = drive(twin, (v, 0.0), seconds=5.0)[:, 2]
        rates.append(float(yaw[-1] - yaw[20]) / ((len(yaw) - 21) * 0.05))
    assert rates[0] == pytest.approx(0.0, abs=1e-4)
    assert rates[1] == pytest.approx(v / 0.160 * 0.01, rel=0.1)


def test_the_figure_eight_moves_as_it_says() -> None:
    task, phase = DrivePath(), torch.linspace(0, 6.28, 50, dtype=torch.float64)
    rate, h = 2 * math.pi / task.lap, 1e-5
    now = task.find_point(phase)
    change = (task.find_point(phase + rate * h) - task.find_point(phase - rate * h)) / (
        2 * h
    )
    heading = torch.stack([torch.cos(now[:, 2]), torch.sin(now[:, 2])], dim=1)
    assert torch.allclose(change[:, :2], now[:, 3:4] * heading, atol=1e-6)
    turn = wrap(
        task.find_point(phase + rate * h)[:, 2]
        - task.find_point(phase - rate * h)[:, 2]
    ) / (2 * h)
    assert torch.allclose(turn, now[:, 4], atol=1e-5)
    assert float(now[:, 3].max()) < task.wheels.top_speed
    for input, low, high in zip(
        task.inputs, now.amin(0).tolist(), now.amax(0).tolist(), strict=True
    ):
        assert input.lower <= low + 1e-6
        assert high - 1e-6 <= input.upper


def place(
    worlds: TaskWorlds, x: float, y: float, yaw: float, *, speed: float = 0.0
) -> None:
    """`speed` [m/s] is ahead."""
    qpos = worlds.scene.initial_qpos.clone()
    qpos[:2] = torch.tensor([x, y])
    qpos[3:7] = torch.tensor([math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)])
    qvel = np.zeros(worlds.scene.qvel.shape[1])
    qvel[:2] = speed * math.cos(yaw), speed * math.sin(yaw)
    worlds.simulator.reset(qpos=qpos.numpy(), qvel=qvel)
    worlds.scene.renew()


def test_rewards_of_a_pose_by_hand() -> None:
    worlds = TaskWorlds(task := DriveGoal(), 1)
    place(worlds, 1.0, 2.0, math.pi / 2)
    task.goal = torch.tensor([[1.1, 2.2, math.pi / 2 + 0.3]])
    # Facing along y: 0.2 m ahead, 0.1 m to the right.
    errors = task.find_errors(worlds.scene)[0].tolist()
    assert errors == pytest.approx([0.2, -0.1, 0.3], abs=1e-5)
    worlds.scene.action = torch.tensor([[0.5, -0.25]])
    worlds.scene.last_action = torch.tensor([[0.25, 0.25]])
    found = {k: float(x) for k, x in task.reward_pose(worlds.scene).items()}
    assert found["position"] == pytest.approx(math.exp(-0.05 / 0.05), rel=1e-4)
    assert found["heading"] == pytest.approx(math.exp(-0.09 / 0.1), rel=1e-4)
    assert found["smooth"] == pytest.approx(-(0.25**2 + 0.5**2))
    assert dict(DrivePath.weights) == {"position": 1.0, "heading": 0.5, "smooth": 0.01}
    found = {k: float(x) for k, x in task.compute_rewards(worlds.scene).items()}
    assert set(found) == set(task.weights)
    assert found["approach"] == pytest.approx(0.0, abs=1e-6)  # it stands
    place(worlds, 1.0, 2.0, math.pi / 2, speed=0.1)
    approach = float(task.compute_rewards(worlds.scene)["approach"])
    assert approach == pytest.approx(0.1 * 0.2 / math.hypot(0.2, 0.1), rel=1e-4)
    turned = (1 + math.cos(0.3)) / 2
    assert found["heading"] == pytest.approx(math.exp(-1) * turned, rel=1e-4)
    assert found["there"] == 0
    task.goal = torch.tensor([[1.03, 2.03, math.pi / 2 - 0.14]])
    assert float(task.compute_rewards(worlds.scene)["there"]) == 1


def test_rewards_of_speeds_by_hand() -> None:
    worlds = TaskWorlds(task := DriveVelocity(), 1)
    place(worlds, 0.0, 0.0, math.pi)
    qvel = worlds.simulator.array("qvel")
    qvel[0, :2], qvel[0, 5] = (-0.1, 0.05), 0.4
    worlds.scene.renew()
    task.goal = torch.tensor([[0.15, 0.2]])
    # Facing along −x: 0.1 m/s forward, whatever it slides sideways.
    found = {k: float(x) for k, x in task.compute_rewards(worlds.scene).items()}
    assert found["forward"] == pytest.approx(math.exp(-(0.05**2) / 0.005), rel=1e-4)
    assert found["turn"] == pytest.approx(math.exp(-(0.2**2) / 0.1), rel=1e-4)


def test_driving_away_and_falling_over_end_an_episode() -> None:
    worlds = TaskWorlds(task := DriveGoal(), 1)
    place(worlds, 2.5, 0.0, 0.0)
    task.goal = torch.zeros(1, 3)
    assert task.find_failures(worlds.scene).tolist() == [Failure.OUT_OF_WORKSPACE]
    place(worlds, 0.0, 0.0, 0.0)
    assert task.find_failures(worlds.scene).tolist() == [Failure.NONE]
    worlds.simulator.array("qpos")[0, 3:7] = [math.cos(0.5), math.sin(0.5), 0, 0]
    worlds.scene.renew()
    assert task.find_failures(worlds.scene).tolist() == [Failure.FALL]


def test_commanded_speeds_change_halfway() -> None:
    worlds = TaskWorlds(task := DriveVelocity(), 2)
    before = task.goal.clone()
    halfway = worlds.step_limit // 2
    for i in range(1, halfway + 2):
        worlds.step(torch.zeros(2, 2))
        assert torch.equal(task.goal, before) == (i < halfway)
    inputs = worlds.task.inputs
    for column, one in enumerate(inputs):
        assert one.lower <= float(task.goal[:, column].min())
        assert float(task.goal[:, column].max()) <= one.upper


@pytest.mark.parametrize("kind", TASKS)
def test_the_mirrored_robot_does_the_mirrored_thing(kind: type[Driving]) -> None:
    first, second = (TaskWorlds(kind(), 3, seed=5) for _ in range(2))
    qpos, qvel = (first.simulator.array(name).copy() for name in ("qpos", "qvel"))
    qpos *= np.array([1, -1, 1, 1, -1, 1, -1, 1, 1])
    qvel *= np.array([1, -1, 1, -1, 1, -1, 1, 1])
    if kind is DrivePath:  # the mirrored eight is the eight after half a turn
        qpos[:, :2] *= -1
        qpos[:, 3:7] = qpos[:, [6, 5, 4, 3]] * np.array([-1, -1, 1, 1])
        second.task._phase = first.task._phase + math.pi
        second.task.goal = second.task.find_point(second.task._phase)
    else:
        signs = [1.0, -1.0] if kind is DriveVelocity else [1.0, -1.0, -1.0]
        second.task.goal = first.task.goal * torch.tensor(signs)
    second.simulator.reset(qpos=qpos[:, [*range(7), 8, 7]], qvel=qvel)
    second.scene.renew()
    seen = second.measuring.observe(torch.ones(3, dtype=torch.bool))[0]
    assert torch.allclose(
        seen, first.mirror("policy", first.observations["policy"]), atol=1e-5
    )
    generator = torch.Generator().manual_seed(0)
    for _ in range(40):
        action = 2 * torch.rand(3, 2, generator=generator) - 1
        one, other = first.step(action), second.step(first.mirror_action(action))
        for group in one.observations:
            expected = first.mirror(group, one.observations[group])
            assert torch.allclose(other.observations[group], expected, atol=2e-3)
        assert torch.allclose(one.reward, other.reward, atol=1e-3)


@pytest.mark.parametrize("kind", TASKS)
def test_a_policy_sees_only_what_the_robot_measures(kind: type[Driving]) -> None:
    worlds = TaskWorlds(kind(), 1)
    contract = build_contract(worlds)
    assert contract.command_kind == "velocity"
    given = (*contract.inputs, *contract.action.names)
    check_measurable(contract.terms, list_measured(worlds), given=given)


@pytest.mark.parametrize("kind", TASKS)
def test_worlds_go_on_from_a_saved_state(kind: type[Driving]) -> None:
    worlds = TaskWorlds(kind(), 2, seed=3)
    act, halfway = torch.full((2, 2), 0.4), worlds.step_limit // 2
    for _ in range(halfway - 2):
        worlds.step(act)
    state = worlds.state_dict()
    expected = [worlds.step(act).observations["truth"] for _ in range(4)]
    other = TaskWorlds(kind(), 2, seed=3)
    other.load_state_dict(state)
    for one in expected:
        assert torch.equal(other.step(act).observations["truth"], one)


@pytest.mark.parametrize("kind", TASKS)
def test_the_reference_does_the_task_and_chance_does_not(kind: type[Driving]) -> None:
    success, returns = try_task(TaskWorlds(kind(), 16, seed=1))
    assert success[0] >= 0.98
    assert success[1] <= 0.05
    assert returns[0] > 2 * returns[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", TASKS)
def test_the_reference_does_the_task_from_200_starts(kind: type[Driving]) -> None:
    success, _ = try_task(TaskWorlds(kind(), 400, seed=1))
    assert success[0] >= 0.98
    assert success[1] <= 0.05
