"""Trials judged from recordings whose end is known."""

import numpy as np

from realworthy.recordings import Recording
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.task import Task
from realworthy.tasks.trial_judgement import judge_recording
from realworthy.twins import bind, load_twin
from realworthy.twins.layout import Layout


def build(name: str, twin: str) -> Task:
    return find_task(name).build(load_twin(twin))


def hold(joints: dict[str, float], seconds: float = 4.0) -> Recording:
    """A robot that stands still in a pose."""
    time = np.arange(round(100 * seconds) + 1) / 100
    signals = {f"{j}.position": np.full(len(time), q) for j, q in joints.items()}
    signals |= {f"{j}.velocity": np.zeros(len(time)) for j in joints}
    return Recording(time, signals)


def test_a_pendulum_that_stands_upright_has_succeeded_and_one_that_hangs_has_not():
    task = build("pendulum", "pendulum")
    upright = judge_recording(task, hold({"joint": np.pi}), {})
    hanging = judge_recording(task, hold({"joint": 0.0}), {})
    assert (upright.success, hanging.success) == (True, False)


def test_one_that_was_upright_only_for_a_moment_has_not():
    task = build("pendulum", "pendulum")
    assert judge_recording(task, hold({"joint": np.pi}, 0.2), {}).success is False


def test_an_arm_has_reached_where_its_tip_is_and_nowhere_else():
    task = build("reach", "arm")
    layout = Layout(bind(task.twin))
    home = layout.bound.compiled.own["own.initial_qpos"]
    pose = {j: float(home[layout.joint(j)[0]]) for j in layout.joints}
    chain = task.chain  # pyright: ignore[reportAttributeAccessIssue]
    where = chain.locate(chain.home)
    goal = {f"goal.{axis}": float(x) for axis, x in zip("xyz", where, strict=True)}
    assert judge_recording(task, hold(pose), goal).success is True
    goal["goal.x"] += 0.1
    assert judge_recording(task, hold(pose), goal).success is False


def test_where_a_robot_on_legs_has_gone_cannot_be_seen():
    task = build("quadruped", "quadruped")
    found = judge_recording(task, hold({"FL_hip": 0.0}), {})
    assert found.success is None
    assert "floats" in found.reason


def test_a_joint_that_was_not_recorded_cannot_be_seen():
    task = build("reach", "arm")
    found = judge_recording(task, hold({"elbow_flex": 0.0}), {})
    assert (found.success, found.reason) == (None, "'shoulder_pan' was not recorded")
