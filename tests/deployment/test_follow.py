"""Motions on stand-ins: followed within limits, stopped beyond them."""

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.identification.excitation import find_limits, record
from realworthy.realities import StandIn, load_reality
from realworthy.recordings.motion import Motion
from realworthy.robots.limits import Limits
from realworthy.twins import load_twin


def sway(joint: str, size: float, *, start: float = 0.0, seconds: float = 3.0):
    time = np.arange(round(seconds * 100) + 1) / 100
    away = 0.5 * size * (1 - np.cos(2 * np.pi * time / 1.5))
    return Motion(time, (joint,), (start + away)[:, None])


@pytest.mark.parametrize(
    ("reality", "joint", "size", "close"),
    [
        ("pendulum_1_easy", "joint", 1.5, 0.05),
        ("servo_bench_1_warm", "arm", 0.8, 0.08),
        ("diffdrive_1_worn_wheel", "left_wheel", 1.0, 0.15),
        ("arm_1_soft", "elbow_flex", -0.4, 0.2),
    ],
)
def test_every_kind_of_drive_follows_a_motion(reality, joint, size, close):
    found = load_reality(reality)
    start = {"elbow_flex": 0.9}.get(joint, 0.0)
    motion = sway(joint, size, start=start)
    done = record(motion, StandIn(found), found.twin)
    assert done.reason == ""
    goal = motion.sample(StandIn(found).info.rate).position[:, 0]
    position = done.recording.signals[f"{joint}.position"]
    assert len(position) == len(goal)
    assert np.sqrt(np.mean((position - goal) ** 2)) < close
    kind = done.recording.sidecar.command_kind
    assert kind == {"joint": "torque", "arm": "voltage"}.get(joint, kind)


def test_a_guard_stops_with_damping_says_why_and_keeps_the_recording():
    found = load_reality("pendulum_1_easy")
    hard = find_limits(found.twin)
    limits = Limits(
        joints=hard.joints,
        lower=hard.lower,
        upper=hard.upper,
        speed=hard.speed,
        acceleration=hard.acceleration,
        torque=np.array([1.5]),
    )
    robot = StandIn(found)
    done = record(sway("joint", 2.0), robot, found.twin, limits=limits)
    assert done.reason == "the limit of torque acted in 21% of the last 1 s"
    assert np.abs(done.recording.signals["joint.command"]).max() <= 1.5
    assert 2 <= len(done.recording.time) < 300
    robot.wait(0.1)
    assert robot.read().mode == "damp"


def test_a_motion_that_asks_for_too_much_is_refused_before_anything_moves():
    found = load_reality("arm_1_soft")
    robot = StandIn(found)
    with pytest.raises(RealworthyError, match=r"elbow_flex at 2\.90"):
        record(sway("elbow_flex", 2.0, start=0.9), robot, found.twin)
    assert robot.read().time == 0.0
    fast = Motion(np.array([0.0, 0.1]), ("joint",), np.array([[0.0], [5.0]]))
    pendulum = load_reality("pendulum_1_easy")
    with pytest.raises(RealworthyError, match="not safe"):
        record(fast, StandIn(pendulum), pendulum.twin)


def test_a_robot_is_led_slowly_to_where_a_motion_begins():
    found = load_reality("arm_1_soft")
    motion = sway("elbow_flex", -0.3, start=0.5, seconds=1.5)
    done = record(motion, StandIn(found), found.twin)
    assert done.reason == ""
    assert done.recording.time[0] > 1.0  # the way there took time, unrecorded
    first = done.recording.signals["elbow_flex.position"][0]
    assert first == pytest.approx(0.5, abs=0.2)  # soft servos sag


def test_the_twin_of_another_robot_is_refused():
    found = load_reality("pendulum_1_easy")
    with pytest.raises(RealworthyError, match="has no joint 'arm'"):
        record(sway("arm", 0.5), StandIn(found), load_twin("servo_bench"))
