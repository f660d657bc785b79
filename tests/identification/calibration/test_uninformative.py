"""Recordings that identify nothing give no twin, and say what would."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.identification import CalibrationOutcome, ParameterVerdict, calibrate
from realworthy.identification.calibration.result import (
    Calibration,
    ParameterEstimate,
)
from realworthy.identification.calibration.uninformative import find_want_of_evidence
from realworthy.identification.validation.evidence import (
    beats_persistence,
    find_resting_joints,
    keep_evidence,
)
from realworthy.identification.validation.held_out import (
    HeldOutError,
    divide_recordings,
)
from realworthy.realities import RealityFile, RealityNoise, StandIn, make_reality
from realworthy.recordings import Recording, Sidecar

RATE = 200.0
NOISE = 2e-4


def check_refused(found: Calibration) -> None:
    """No twin other than the given one, no number called known, and a motion."""
    assert found.outcome is CalibrationOutcome.NOT_IDENTIFIED
    assert not found.outcome.is_kept
    assert found.twin is found.original
    assert not any(e.verdict.is_known for e in found.estimates)
    assert found.excitation is not None
    assert found.excitation.motion.duration > 1
    assert any(f.is_met for f in found.excitation.forecasts)
    assert "realworthy excite" in found.advice[-1]


def swing(seconds: float, *, seed: int = 0) -> Recording:
    """A pendulum that its drive swings, other than the built-in twin."""
    file = RealityFile(
        schema=1,
        twin="pendulum",
        seed=seed,
        parameters={"joint.damping": 0.15, "joint.coulomb_friction": 0.05},
        noise=RealityNoise(position=NOISE),
    )
    robot = StandIn(make_reality("swinging", file))
    t = np.arange(round(seconds * robot.info.rate)) / robot.info.rate
    wave = 1.5 * np.sin((3 + seed) * t) + np.sin(5 * t) * np.minimum(1, t)
    return play(robot, {"joint.command": wave})


def move_by_hand(seconds: float, seed: int) -> Recording:
    """Gravity compensation: a hand moves the arm from pose to pose, and lets it stand
    for the last third. The torque is the controller's law, m g c sin q."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    poses = np.append(rng.uniform(-2, 2, 6), 0.7)
    times = np.append(np.linspace(0, 0.6 * seconds, 6), 0.67 * seconds)
    q = np.interp(t, times, poses)
    window = np.hanning(round(0.8 * RATE))
    smooth = np.convolve(np.pad(q, len(window), "edge"), window / window.sum(), "same")
    q = np.asarray(smooth[len(window) : -len(window)], dtype=np.float64)
    torque = 2.98 * np.sin(q)
    velocity = np.gradient(q, t)
    return Recording(
        t,
        {
            "joint.position": q + NOISE * rng.standard_normal(len(t)),
            "joint.velocity": velocity + 0.01 * rng.standard_normal(len(t)),
            "joint.torque": torque + 0.02 * rng.standard_normal(len(t)),
            "joint.command": torque,
        },
        Sidecar(command_kind="torque", rate=RATE),
        Path(f"gravity_compensation_{seed}.csv"),
    )


@pytest.mark.parametrize("noise", [0.0, NOISE])
def test_a_robot_that_stands_still_gives_no_twin(noise: float):
    rng = np.random.default_rng(0)
    t = np.arange(800) / RATE
    q = 0.3 + noise * rng.standard_normal(len(t))
    still = Recording(
        t,
        {"joint.position": q, "joint.command": np.full(len(t), 0.9)},
        Sidecar(command_kind="torque", rate=RATE),
    )
    found = calibrate("pendulum", still)
    check_refused(found)
    assert "stands still" in found.summary


@pytest.mark.slow
def test_gravity_compensation_moved_by_hand_gives_no_twin():
    found = calibrate("pendulum", move_by_hand(24.0, 1))
    check_refused(found)
    assert "such as a hand" in found.summary


def test_one_joint_that_moves_of_several_gives_no_twin():
    t = np.arange(800) / RATE
    rng = np.random.default_rng(0)
    joints = ("shoulder", "elbow")
    wave = np.sin(4 * t) * np.minimum(1, t)
    signals = {}
    for joint in joints:
        own = wave if joint == joints[-1] else np.zeros_like(t)
        signals[f"{joint}.position"] = own + NOISE * rng.standard_normal(len(t))
        signals[f"{joint}.command"] = own
    one = Recording(t, signals, Sidecar(command_kind="torque", rate=RATE))
    found = calibrate("double_pendulum", [one, one])
    check_refused(found)
    assert f"only {joints[-1]} of 2 joints moves" in found.summary


def test_a_swing_whose_end_stands_still_is_cut_where_it_moves():
    """The last quarter of the motion judges, not the last quarter of the time."""
    moving = swing(6.0)
    q = moving.signals["joint.position"]
    rest = round(3 * moving.rate)
    held = np.full(rest, q[-1])
    time = np.arange(len(q) + rest) / moving.rate
    signals = {
        name: np.concatenate([s, held if name.endswith("position") else 0 * held])
        for name, s in moving.signals.items()
    }
    recording = Recording(time, signals, moving.sidecar)
    division = divide_recordings([recording])
    kept, said = keep_evidence(division, ("joint",))
    assert np.ptp(division.held_out[0].signals["joint.position"][10:]) < 0.02
    assert np.ptp(kept.held_out[0].signals["joint.position"]) > 0.5
    assert 3.0 < kept.fitted[0].duration < 5.5
    assert "no evidence" in said[0]


def test_recordings_that_stand_still_do_not_judge():
    moving, still = swing(3.0), swing(3.0, seed=1)
    level = np.zeros_like(still.signals["joint.position"])
    still = still.with_signals({"joint.position": level})
    division = divide_recordings([moving], [still, moving])
    kept, said = keep_evidence(division, ("joint",))
    assert kept.held_out == (moving,)
    assert len(said) == 1
    assert find_resting_joints([still], ("joint",)) == ("joint",)
    assert find_resting_joints([still, moving], ("joint",)) == ()


def test_numbers_known_to_a_third_of_their_size_keep_a_twin_that_predicts_better():
    """None is known to a tenth, and yet the recordings tell something of each."""

    def estimate(share: float) -> ParameterEstimate:
        return ParameterEstimate(
            name="joint.damping",
            unit="N·m·s/rad",
            before=0.1,
            mean=0.2,
            sd=0.2 * share,
            verdict=ParameterVerdict.NOT_EXCITED,
        )

    def find(share: float) -> str:
        better = HeldOutError(recording="r", before=0.06, after=0.007, persistence=0.2)
        return find_want_of_evidence(
            CalibrationOutcome.IMPROVED,
            [estimate(share)],
            [better],
            [swing(3.0)],
            ("joint",),
        )

    assert find(0.33) == ""
    assert "half its size" in find(0.9)


def test_a_swing_that_moves_is_fitted_and_beats_persistence():
    """The other arm: the same rules do not refuse what is informative."""
    found = calibrate(
        "pendulum", [swing(5.0, seed=k) for k in range(3)], parameters=["joint.damping"]
    )
    assert found.outcome is CalibrationOutcome.IMPROVED
    # it makes up for the dry friction, which is not fitted
    assert found["joint.damping"].verdict is ParameterVerdict.EFFECTIVE
    assert beats_persistence(found.errors)
    idle = HeldOutError(recording="r", before=1.0, after=0.9, persistence=1.0)
    assert not beats_persistence([idle])
