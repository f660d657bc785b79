"""Reach: goals within reach, rewards, endings and inverse kinematics, on many arms."""

import math

import numpy as np
import pytest
import torch

from realworthy.deployment.drives import find_limits
from realworthy.errors import RealworthyError, UnknownName
from realworthy.tasks.arm.chain import Chain
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import Twin, bind, load_twin
from tests.simulators.robots import make_twin
from tests.tasks.rolling import roll


def make_arm(joint_count: int) -> Twin:
    """A planar arm of links 0.3 m long, standing on a post that is turned by π/2."""
    opening = closing = ""
    for i in range(joint_count):
        place = "0.3 0 0" if i else "0 0 0"
        opening += f"""
          <body name="link{i}" pos="{place}">
            <joint name="joint{i}" axis="0 0 1" range="-2.5 2.5" damping="0.5"
              armature="0.02"/>
            <inertial pos="0.15 0 0" mass="0.5" diaginertia="0.001 0.004 0.004"/>"""
        closing += "</body>"
    servos = "".join(
        f'<position name="joint{i}" joint="joint{i}" kp="30" kv="4"'
        ' ctrlrange="-2.5 2.5"/>'
        for i in range(joint_count)
    )
    return make_twin(f"""
        <mujoco model="planar{joint_count}">
          <compiler angle="radian"/>
          <option timestep="0.002" integrator="implicitfast"/>
          <worldbody>
            <body name="post" pos="0.1 0.2 0.5" euler="0 0 1.57079632679">
              {opening}<site name="tip" pos="0.3 0 0"/>{closing}
            </body>
          </worldbody>
          <actuator>{servos}</actuator>
        </mujoco>""")


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_the_reference_brings_the_arm_to_its_goals(count):
    assert roll(Reach(), count, with_reference=True).rate >= 0.98


@pytest.mark.parametrize("joint_count", [2, 3])
def test_the_reference_moves_planar_arms(joint_count):
    task = Reach(make_arm(joint_count), tip="tip")
    assert roll(task, 100, with_reference=True).rate >= 0.98


def test_the_reference_moves_an_arm_of_seven_joints(menagerie_root, monkeypatch):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    task = Reach(load_twin("menagerie:franka_emika_panda"), tip="hand")
    assert task.action.width == 7
    assert roll(task, 50, with_reference=True).rate >= 0.98


def test_chance_does_not_reach():
    assert roll(Reach(), 50, with_reference=False).rate <= 0.05


def test_the_reference_works_on_arms_of_a_belief():
    drawn = Randomization(belief=load_twin("arm").belief, noise=1.0)
    rolled = roll(Reach(), 50, with_reference=True, randomization=drawn)
    assert rolled.rate >= 0.9


def test_the_tip_is_where_trigonometry_says():
    task = Reach(make_arm(2), tip="tip")
    worlds = TaskWorlds(task, 1, thread_count=1)
    worlds.simulator.reset(qpos=[0.5, -1.2], qvel=[0.0, 0.0])
    worlds.scene.renew()
    x = 0.3 * (math.cos(0.5) + math.cos(-0.7))
    y = 0.3 * (math.sin(0.5) + math.sin(-0.7))
    tip = task.locate_tip(worlds.scene)
    torch.testing.assert_close(tip, torch.tensor([[x, y, 0.0]]), atol=1e-6, rtol=0)


def test_goals_are_within_reach_of_the_base_and_differ():
    task = Reach(make_arm(2), tip="tip")
    worlds = TaskWorlds(task, 200, thread_count=1)
    distance = task.goal.norm(dim=1)
    assert float(distance.max()) < 0.6 + 1e-6
    # at most 0.9 · 2.5 rad bent, so never nearer than the folded arm
    assert float(distance.min()) > 0.6 * math.cos(2.25 / 2) - 1e-6
    assert len({tuple(goal) for goal in task.goal.tolist()}) > 150
    inputs = worlds.observations["policy"][:, 4:7]
    torch.testing.assert_close(inputs, task.goal)


def test_rewards_are_as_computed_by_hand():
    task = Reach(make_arm(2), tip="tip")
    worlds = TaskWorlds(task, 3, thread_count=1)
    worlds.simulator.reset(qpos=[0.0, 0.0], qvel=[0.5, -2.0])
    scene = worlds.scene
    scene.renew()
    task.goal = torch.tensor([[0.6, 0.0, 0.0], [0.6, 0.01, 0.0], [0.5, 0.0, 0.0]])
    scene.action = torch.tensor([[0.3, 0.1]]).repeat(3, 1)
    scene.last_action = torch.tensor([[0.1, 0.0]]).repeat(3, 1)
    found = task.compute_rewards(scene)
    far = torch.tensor([1.0, math.exp(-0.01 / 0.3), math.exp(-1 / 3)])
    torch.testing.assert_close(found["far"], far, atol=1e-3, rtol=0)
    near = torch.tensor([1.0, math.exp(-0.01), math.exp(-1.0)])
    torch.testing.assert_close(found["near"], near, atol=1e-4, rtol=0)
    there = torch.tensor([1.0, math.exp(-0.2), math.exp(-2.0)])
    torch.testing.assert_close(found["there"], there, atol=1e-3, rtol=0)
    torch.testing.assert_close(found["action_rate"], torch.full((3,), -0.05))
    torch.testing.assert_close(found["slow"], torch.full((3,), -4.25))
    assert dict(task.weights) == {
        "far": 1.0,
        "near": 1.0,
        "there": 5.0,
        "action_rate": 0.6,
        "slow": 1e-4,
    }


def test_no_command_asks_for_more_than_a_drive_can_give():
    """By the guards that bound commands on a robot: tracking and torque never act."""
    task = Reach()
    worlds = TaskWorlds(
        task, 16, randomization=Randomization(noise=1.0), thread_count=1
    )
    contract = build_contract(worlds)
    owners = contract.command_owners
    limits = find_limits(contract)
    places = [limits.joints.index(owner) for owner in owners]
    reach = limits.torque[places] / [contract.gains[owner].kp for owner in owners]
    rng, cut = np.random.default_rng(0), 0
    for _ in range(60):
        near = worlds.measuring.near.numpy().astype(float)
        action = rng.uniform(-1, 1, (16, len(owners))).astype(np.float32)
        worlds.step(torch.from_numpy(action))
        told = worlds.scene.command.numpy()
        assert (np.abs(told - near) <= reach).all()
        assert (told >= limits.lower[places]).all()
        assert (told <= limits.upper[places]).all()
        used = worlds.scene.action.numpy()
        asked = np.array(task.action.offset) + np.array(task.action.scale) * used
        cut += int((np.abs(asked - told) > 1e-3).sum())
    assert cut > 100


def test_commands_are_bounded_about_what_a_false_encoder_says():
    """A servo closes its loop on its own encoder: what is near is near in its words."""
    off = load_twin("arm").with_values({"elbow_flex.position.sensor_bias": 0.5})
    worlds = TaskWorlds(Reach(off), 1, thread_count=1)
    names = worlds.simulator.signals
    elbow = names.index("elbow_flex.position")
    true = float(worlds.scene.signals[0, elbow])
    at = worlds.task.action.commands.index("elbow_flex.command")
    assert float(worlds.measuring.near[0, at]) == pytest.approx(true + 0.5, abs=1e-6)
    worlds.step(torch.full((1, worlds.action_width), -1.0))
    lead = worlds.task.action.bounds[at].lead
    assert float(worlds.scene.command[0, at]) == pytest.approx(true + 0.5 - lead)


def test_being_there_counts_once_it_was_held():
    task = Reach(make_arm(2), tip="tip")
    worlds = TaskWorlds(task, 1, thread_count=1)
    task.goal = task.locate_tip(worlds.scene).clone()
    task.measure_miss = lambda scene: torch.tensor([0.019])
    for count in range(1, 12):
        task.advance(worlds.scene, worlds.chance)
        assert bool(task.is_success(worlds.scene)) == (count >= 10)
    task.measure_miss = lambda scene: torch.tensor([0.021])
    task.advance(worlds.scene, worlds.chance)
    assert not bool(task.is_success(worlds.scene))


def test_inverse_kinematics_reaches_points_of_free_poses():
    chain = Chain(bind(load_twin("arm")), "gripper")
    missed = 0
    for point in chain.draw_points(40, seed=5):
        pose = chain.solve(point)
        assert chain.is_free(pose)
        assert (pose >= chain.lower).all()
        assert (pose <= chain.upper).all()
        missed += np.linalg.norm(chain.locate(pose) - point) > 2e-3
    assert missed <= 1


def test_a_tip_that_does_not_exist_has_near_misses():
    with pytest.raises(UnknownName, match="griper"):
        Reach(tip="griper")


def test_a_tip_that_servos_do_not_move_is_refused():
    with pytest.raises(RealworthyError, match="position commands"):
        Reach(load_twin("cartpole"), tip="pole")
    with pytest.raises(RealworthyError, match="1 joints"):
        Reach(tip="shoulder")
