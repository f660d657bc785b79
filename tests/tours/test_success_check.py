"""Trials are judged as somebody beside the robot would see them."""

import numpy as np
import pytest

from realworthy.recordings import Recording
from realworthy.tasks.arm.chain import Chain
from realworthy.tours.success_check import moves_as_told, reaches, stands_upright
from realworthy.twins import bind, load_twin

TIME = np.arange(0, 10, 0.04)


def swing(end: float, *, falls_at: float | None = None) -> Recording:
    """Upright from 5 s on; or until it falls."""
    angle = np.where(TIME < 5, TIME / 5 * end, end)
    if falls_at is not None:
        angle = np.where(falls_at < TIME, 0.0, angle)
    return Recording(TIME, {"joint.position": angle})


@pytest.mark.parametrize("turns", [-1, 0, 1])
def test_upright_counts_however_often_it_went_round(turns: int):
    assert stands_upright(swing(np.pi * (1 + 2 * turns)), {}, {})


@pytest.mark.parametrize(
    "recording",
    [swing(0.0), swing(np.pi - 0.2), swing(np.pi, falls_at=9.5)],
    ids=["hangs", "leans", "falls"],
)
def test_what_does_not_stand_does_not_count(recording: Recording):
    assert not stands_upright(recording, {}, {})


def test_an_encoder_that_lies_deceives_no_onlooker():
    bias = {"joint.position.sensor_bias": 0.2}
    assert not stands_upright(swing(np.pi), {}, bias)
    assert stands_upright(swing(np.pi + 0.2), {}, bias)


def drive(forward: float, turn: float) -> Recording:
    """On a circle of forward / turn [m]."""
    yaw = turn * TIME
    radius = forward / turn
    still = np.zeros_like(TIME)
    return Recording(
        TIME,
        {
            "base.position.x": radius * np.sin(yaw),
            "base.position.y": radius * (1 - np.cos(yaw)),
            "base.orientation.w": np.cos(yaw / 2),
            "base.orientation.x": still,
            "base.orientation.y": still,
            "base.orientation.z": np.sin(yaw / 2),
        },
    )


@pytest.mark.parametrize(
    ("forward", "turn", "good"),
    [
        (0.1, 0.5, True),
        (0.118, 0.5, True),
        (0.122, 0.5, False),
        (0.1, 0.59, True),
        (0.1, 0.39, False),
        (-0.1, 0.5, False),
    ],
)
def test_a_drive_moves_as_told_or_not(forward: float, turn: float, good: bool):
    told = {"goal.forward": 0.1, "goal.turn": 0.5}
    assert moves_as_told(drive(forward, turn), told, {}) is good


def test_a_wrist_is_where_its_joints_truly_are():
    chain = Chain(bind(load_twin("arm")), "wrist")
    pose = np.array([0.3, -0.4, 0.2, 0.1])
    goal = chain.locate(pose)
    told = {f"goal.{axis}": float(x) for axis, x in zip("xyz", goal, strict=True)}
    names = [str(line.joint) for line in chain.lines]
    measured = pose + np.where(np.array(names) == "shoulder_lift", 0.2, 0.0)
    signals = {
        f"{name}.position": np.full_like(TIME, x)
        for name, x in zip(names, measured, strict=True)
    }
    trial = Recording(TIME, signals)
    assert reaches(trial, told, {"shoulder_lift.position.sensor_bias": 0.2})
    assert not reaches(trial, told, {})
