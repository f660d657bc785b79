"""Planted changes on stand-ins whose twin is wrong elsewhere, and none at all."""

from collections.abc import Mapping

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.diagnosis.changes import find_changes
from realworthy.diagnosis.changes.estimates import list_candidates
from realworthy.realities import RealityFile, RealityNoise, StandIn, make_reality
from realworthy.recordings import Recording
from realworthy.twins import load_twin

AMPLITUDE = {"pendulum": 1.25, "double_pendulum": 0.4, "arm": 0.3}
"""[N·m or rad] of each sine."""
WRONG = {
    "pendulum": {"joint.damping": 0.07, "all.delay": 0.004},
    "double_pendulum": {"link1.mass": 0.57, "shoulder.damping": 0.02},
    "arm": {"all.kp": 0.85, "all.damping": 1.3},
}
"""Where the twin is wrong, before as now."""


def record(
    twin: str,
    seed: int,
    count: int,
    parameters: Mapping[str, float] | None = None,
    *,
    seconds: float = 4.0,
) -> list[Recording]:
    """Trials of one machine, each with a motion of its own."""
    truth = {**WRONG[twin], **(parameters or {})}
    file = RealityFile(
        schema=1,
        twin=twin,
        seed=seed,
        parameters=truth,
        noise=RealityNoise(position=0.001, velocity=0.01),
    )
    robot = StandIn(make_reality("hidden", file))
    time = np.arange(round(seconds * robot.info.rate)) / robot.info.rate
    inputs = len(robot.info.commands)
    trials = []
    for i in range(count):
        chance = np.random.default_rng([seed, i])
        waves = [
            np.sin(2 * np.pi * f * time[:, None] * stretch + phase)
            for f in (0.3, 0.7, 1.3, 2.1)
            for stretch, phase in [
                (chance.uniform(0.9, 1.1, inputs), chance.uniform(0, 6.28, inputs))
            ]
        ]
        command = AMPLITUDE[twin] * np.sum(waves, axis=0)
        trials.append(play(robot, command * np.minimum(1, time)[:, None]))
    return trials


PENDULUM = [
    ({"pendulum.mass": 0.8}, "mass", 0.124),
    ({"joint.gear": 0.8}, "gear", -0.2),
    ({"joint.coulomb_friction": 0.4}, "coulomb_friction", 0.111),
    ({"joint.position.sensor_bias": 0.03}, "encoder_offset", 0.03),
    ({"all.delay": 0.016}, "delay", 0.012),
]


@pytest.mark.slow
@pytest.mark.parametrize(("planted", "name", "size"), PENDULUM)
def test_a_planted_change_of_a_pendulum_is_named_and_sized(
    planted: dict[str, float], name: str, size: float
):
    before, now = record("pendulum", 1, 3), record("pendulum", 2, 1, planted)
    (change,) = find_changes(load_twin("pendulum"), before, now)
    assert change.name == name
    assert change.joints == (() if name == "delay" else ("joint",))
    said = float(change.size.split(": ")[1].split()[0])
    assert said == pytest.approx(size, rel=0.15)
    assert change.false_alarm_rate < 0.01


@pytest.mark.slow
def test_a_weak_motor_shows_between_one_recording_and_the_next():
    """One before, one now: parts of them show how far e scatters."""
    before = record("pendulum", 1, 1, seconds=8)
    now = record("pendulum", 2, 1, {"joint.gear": 0.8}, seconds=8)
    changes = find_changes(load_twin("pendulum"), before, now)
    assert [c.name for c in changes] == ["gear"]
    assert changes[0].size.startswith("weak motor: -0.2")
    assert "day to day is unknown" in changes[0].evidence


ARM = [
    ({"gripper.mass": 0.25}, "mass", {"wrist_roll", "wrist_yaw"}),
    ({"elbow_flex.coulomb_friction": 0.5}, "coulomb_friction", {"elbow_flex"}),
    ({"elbow_flex.position.sensor_bias": 0.04}, "encoder_offset", {"elbow_flex"}),
    ({"all.delay": 0.02}, "delay", set()),
]


@pytest.mark.slow
@pytest.mark.parametrize(("planted", "name", "joints"), ARM)
def test_the_clearest_change_of_an_arm_is_the_planted_one(
    planted: dict[str, float], name: str, joints: set[str]
):
    before, now = record("arm", 1, 3), record("arm", 2, 1, planted)
    changes = find_changes(load_twin("arm"), before, now)
    assert changes[0].name == name
    assert set(changes[0].joints) <= joints


@pytest.mark.slow
def test_unchanged_pendulums_raise_few_alarms():
    twin, alarms = load_twin("pendulum"), []
    for seed in range(40):
        before = record("pendulum", 100 + seed, 3)
        now = record("pendulum", 1000 + seed, 1)
        alarms.append(bool(find_changes(twin, before, now)))
    assert np.mean(alarms) <= 0.1


def test_candidates_are_what_can_change_and_was_recorded():
    names = list_candidates(load_twin("arm"), record("arm", 1, 1, seconds=0.5))
    assert {"all.delay", "forearm.mass", "elbow_flex.kp"} <= set(names)
    assert "elbow_flex.position.sensor_bias" in names
    assert not {n for n in names if n.endswith((".gear", ".velocity.sensor_bias"))}
    assert not {n for n in names if n.startswith("all.") and n != "all.delay"}
