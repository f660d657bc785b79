"""Robots of the Menagerie start: their parts are found, what they lack is added."""

from pathlib import Path

import mujoco
import pytest
import torch

from benchmarks.menagerie import ARMS, BIPEDS, QUADRUPEDS
from realworthy.errors import RealworthyError
from realworthy.robots.roles import RoleChoices
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.legged.quadruped import QuadrupedVelocity
from realworthy.twins import Twin, load_twin
from realworthy.twins.roles.part import CHOSEN

# Which part of a task a robot lacks.
MISSING = [
    ("reach", "leap_hand", "no tip: 4 rows of links begin at 'palm': a hand"),
    ("reach", "shadow_hand", "no tip: 22 joints branch from 'lh_palm', which 2 carry"),
    ("reach", "skydio_x2", "no tip: 'x2' floats"),
    ("reach", "unitree_go1", "no tip: 'trunk' floats"),
    ("quadruped", "bitcraze_crazyflie_2", "no four legs: no link is carried by joints"),
    ("quadruped", "unitree_h1", "no four legs: 2 links end at the ground"),
    ("quadruped", "universal_robots_ur5e", "has no floating base"),
    ("quadruped", "wonik_allegro", "has no floating base"),
    ("biped", "unitree_a1", "no two legs: 4 links end at the ground"),
    ("biped", "agility_cassie", "no two legs: nothing drives joint 'left-shin'"),
]


@pytest.fixture
def load(menagerie_root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    return lambda robot: load_twin(f"menagerie:{robot}")


def hold(task: Reach | QuadrupedVelocity) -> TaskWorlds:
    """A second of zero actions in two worlds."""
    worlds = TaskWorlds(task, 2, thread_count=1)
    for _ in range(50):
        step = worlds.step(torch.zeros(2, task.action.width))
        assert not step.done.any()
        assert not step.invalid.any()
    return worlds


@pytest.mark.parametrize("robot", ARMS)
def test_an_arm_of_the_menagerie_starts_and_stays_at_home(robot: str, load) -> None:
    task = Reach(load(robot))
    tip, gripper = ARMS[robot]
    assert (task.parts["tip"].value, task.parts["gripper"].value) == (tip, gripper)
    worlds = hold(task)
    # five degrees at every joint, of arms up to 1.3 m
    home = torch.tensor(task.chain.locate(task.chain.home))
    away = (task.locate_tip(worlds.scene) - home).norm(dim=1)
    assert float(away.max()) < 0.1
    contract = build_contract(worlds)  # its gripper rests
    assert {*contract.resting} | {*contract.action.commands} == {
        *worlds.simulator.commands
    }
    assert contract.twin.reference == f"menagerie:{robot}"


SLOW = ("anybotics_anymal_c",)  # its meshes take seconds to compile


@pytest.mark.parametrize(
    "robot",
    [pytest.param(x, marks=pytest.mark.slow if x in SLOW else ()) for x in QUADRUPEDS],
)
def test_a_quadruped_of_the_menagerie_stands_on_its_feet(robot: str, load) -> None:
    twin = load(robot)
    task = QuadrupedVelocity(twin)
    trunk, feet = QUADRUPEDS[robot]
    assert task.parts["trunk"].value == trunk
    found = twin.roles.feet.value
    assert found is not None
    assert [foot.body for foot in found] == feet.split()
    assert [len(foot.joints) for foot in found] == [3] * 4
    worlds = hold(task)
    motion = task.base.read(worlds.scene)
    assert float(motion.position[:, 2].min()) > 0.9 * task.stance.height
    is_still = robot in ("unitree_go1", "unitree_go2")  # others sway for longer
    assert float(motion.velocity.abs().max()) < (0.05 if is_still else 0.2)
    assert task.feet.stands.all()
    # the feet carry the whole weight
    places = ("front_left", "front_right", "rear_left", "rear_right")
    names = [f"{place}_foot_contact" for place in places]
    carried = worlds.scene.read(worlds.scene.find(*names)).sum(1)
    weight = 9.81 * float(worlds.bound.model.body_mass.sum())
    assert carried.numpy() == pytest.approx(weight, rel=0.05)
    # each joint has its mirror image, and a fitted twin lacks nothing
    assert task.reflection is not None
    assert build_contract(worlds).twin.reference == f"menagerie:{robot}"


@pytest.mark.parametrize("robot", BIPEDS)
def test_a_humanoid_of_the_menagerie_starts_on_two_feet(robot: str, load) -> None:
    twin = load(robot)
    task = BipedVelocity(twin)
    feet = twin.roles.feet.value
    assert feet is not None
    assert [foot.body for foot in feet] == [*BIPEDS[robot]]
    legs = {joint for foot in feet for joint in foot.joints}
    assert {*task.stance.joints} == legs  # arms, head and waist stay at home
    assert task.reflection is not None
    worlds = TaskWorlds(task, 2, thread_count=1)
    for _ in range(5):  # a tenth of a second: nothing balances them
        step = worlds.step(torch.zeros(2, task.action.width))
        assert not step.done.any()
    assert task.feet.stands.any(dim=1).all()


@pytest.mark.slow  # minutes: inverse kinematics for every goal
@pytest.mark.parametrize("robot", ARMS)
def test_the_reference_reaches_nine_of_ten_goals(robot: str, load) -> None:
    task = Reach(load(robot))
    worlds = TaskWorlds(task, 64, seed=1, thread_count=1)
    act = task.build_reference(worlds.scene)
    for _ in range(100):  # one episode
        step = worlds.step(act(worlds.scene))
    assert step.truncated.all()
    assert float(step.success.float().mean()) >= 0.9


@pytest.mark.parametrize(("task", "robot", "reason"), MISSING)
def test_a_robot_that_lacks_a_part_is_refused_by_its_name(
    task: str, robot: str, reason: str, load
) -> None:
    with pytest.raises(RealworthyError, match=reason.replace("(", r"\(")):
        build_task(task, load(robot))


def test_gains_and_action_scale_are_roles_with_a_reason(load) -> None:
    twin = load("unitree_go1")
    parts = QuadrupedVelocity(twin).parts
    assert parts["gains"].words == "kp 100, kd 0"
    assert parts["action_scale"].words == "0.3 rad per unit of action"
    chosen = RoleChoices(gains=(40.0, 1.0), action_scale=0.2)
    task = QuadrupedVelocity(twin.with_roles(chosen))
    assert task.parts["gains"].words == "kp 40, kd 1"
    assert {*task.action.scale} == {0.2}
    for role in ("gains", "action_scale"):
        assert task.parts[role].reason == CHOSEN != parts[role].reason
    added = QuadrupedVelocity(load("unitree_go2")).parts["gains"]
    assert "were added" in added.reason


def test_a_fitted_twin_lacks_nothing(load) -> None:
    task = QuadrupedVelocity(load("unitree_go2"))
    assert len(task.added) == 3
    assert QuadrupedVelocity(task.twin).added == task.added[:1]  # the imu is a line


def test_torque_motors_become_servos_by_the_rule() -> None:
    """A beam of 2 kg and 1 m about its end, whose motor gives 30 N·m."""
    task = Reach(_write(MOTORS))
    [line] = task.added
    assert "2 torque motors" in line
    space = task.twin.space
    for joint, mass, length in (("upper", 2.0, 1.0), ("lower", 0.5, 0.5)):
        kp, kd = (space[f"{joint}.{kind}"].nominal for kind in ("kp", "kd"))
        assert kp == pytest.approx(30 / 0.6)
        # seen from the joint, the other one held still at home, which is at zero
        inertia = mass * length**2 / 3
        if joint == "upper":
            inertia += 0.5 * 0.5**2 / 12 + 0.5 * 1.25**2
        assert (kd + 0.1) / (2 * (kp * inertia) ** 0.5) == pytest.approx(0.7)
    worlds = hold(task)
    # 2 · 9.81 · 0.5 + 0.5 · 9.81 · 1.25 N·m sag the shoulder by 0.32 rad
    sag = float(worlds.scene.qpos[:, 0].mean())
    assert sag == pytest.approx((9.81 + 6.13) / 50, abs=0.06)


MOTORS = """
<mujoco>
  <compiler angle="radian"/>
  <default><geom type="box" contype="0" conaffinity="0"/>
    <joint axis="0 1 0" damping="0.1" range="-3 3" limited="true"/></default>
  <worldbody>
    <body name="one" pos="0 0 2">
      <inertial mass="2" pos="0.5 0 0" diaginertia="1e-4 0.16666667 0.16666667"/>
      <joint name="upper"/>
      <geom size="0.5 0.01 0.01" pos="0.5 0 0"/>
      <body name="two" pos="1 0 0">
        <inertial mass="0.5" pos="0.25 0 0" diaginertia="1e-5 0.0104167 0.0104167"/>
        <joint name="lower"/>
        <geom size="0.25 0.01 0.01" pos="0.25 0 0"/>
        <site name="end" pos="0.5 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="upper" joint="upper" ctrlrange="-30 30" ctrllimited="true"/>
    <motor name="lower" joint="lower" ctrlrange="-30 30" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


def _write(model: str) -> Twin:
    spec = mujoco.MjSpec.from_string(model)
    return Twin(name="tiny", base_spec=spec, model="")
