"""Recordings of real robots, whose logs are in order, are not accused."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from realworthy.diagnosis.log import Answer, Limits, inspect, read_limits
from realworthy.errors import RealworthyError
from realworthy.recordings import Recording, load_recordings
from realworthy.recordings.signals import is_held
from realworthy.twins import load_twin

COUNTS = {
    "so101_sage": 37,
    "bam_servos": 15,
    "dfki_simple_pendulum": 6,
    "dfki_double_pendulum": 46,
    "crazypad": 60,
}
"""Importer → recordings in its folder."""
SAMPLES = {
    "so101_sage": "backlash_detection",
    "bam_servos": "xl330/xl330_kp100_lift_and_drop.json",
    "dfki_simple_pendulum": "sac",
    "dfki_double_pendulum": "acrobot_mcpilco/experiment05.csv.gz",
    "crazypad": "normal_flight/motor_E9_log03.csv.gz",
}
"""One of each that an eager check would accuse: a joint that rocks in its backlash,
coarse registers at rest, several turns, 33 Hz, and rows that a card did not take."""


@lru_cache
def find_limits(name: str) -> Limits:
    try:
        return read_limits(load_twin(name))
    except RealworthyError:  # a model that this checkout does not have
        return Limits()


def accuse(recordings: list[Recording], *, by_twin: bool) -> list[tuple[str, ...]]:
    return [
        (str(recording.source), finding.name, finding.evidence)
        for recording in recordings
        for finding in inspect(
            recording,
            limits=find_limits(str(recording.sidecar.twin)) if by_twin else Limits(),
        )
        if finding.is_fault
    ]


@pytest.mark.parametrize("importer", SAMPLES)
def test_a_difficult_recording_is_not_accused(importer: str, data_folder: Path):
    path = data_folder / importer / SAMPLES[importer]
    recordings = load_recordings(path, importer, check_units=False)
    assert accuse(recordings, by_twin=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("importer", COUNTS)
def test_no_recording_is_accused(
    importer: str, data_folder: Path, menagerie_root: Path
):
    recordings = load_recordings(data_folder / importer, importer, check_units=False)
    assert len(recordings) == COUNTS[importer]
    assert accuse(recordings, by_twin=True) == []


def test_missing_rows_of_a_real_log_are_counted(data_folder: Path):
    """Its clock steps by 4, 4 and 22 periods: 3 + 3 + 21 rows."""
    path = data_folder / "crazypad" / SAMPLES["crazypad"]
    (recording,) = load_recordings(path, "crazypad")
    found = {finding.name: finding for finding in inspect(recording)}
    dropped = found["dropped_samples"]
    assert dropped.answer is Answer.NOTE
    assert dropped.evidence.startswith("27 of 2597 rows")


def test_an_old_estimate_in_a_real_log_is_noted(data_folder: Path):
    """An estimator and a logger of one rate now and then miss each other."""
    path = data_folder / "crazypad" / SAMPLES["crazypad"]
    (recording,) = load_recordings(path, "crazypad")
    noted = [
        finding.joints
        for finding in inspect(recording)
        if finding.name == "stale_samples" and finding.answer is Answer.NOTE
    ]
    assert ("base.position",) in noted


def test_the_late_servo_registers_of_a_real_arm_are_no_fault(data_folder: Path):
    """Its documentation says that velocities lag by about one row."""
    path = data_folder / "so101_sage" / "chirp_sweep"
    (recording,) = load_recordings(path, "so101_sage")
    lags = [f for f in inspect(recording) if f.name == "clock_offset"]
    assert [f.answer for f in lags] == [Answer.IN_ORDER, Answer.NOTE]
    assert 0.5 < lags[0].size * recording.rate < 1.5
    assert 0.08 < lags[1].size < 0.14  # goal to position: 4 to 7 rows


def test_stale_rows_planted_in_a_real_log_are_found(data_folder: Path):
    """Every measured number of 3 % of the rows, coarse registers all of them."""
    path = data_folder / "so101_sage" / "chirp_sweep"
    (recording,) = load_recordings(path, "so101_sage")
    rows = np.arange(len(recording.time))
    late = np.flatnonzero(np.random.default_rng(1).random(len(rows)) < 0.03)
    rows[late] = late - 1
    measured = {n: v[rows] for n, v in recording.signals.items() if not is_held(n)}
    (found,) = [f for f in inspect(recording.with_signals(measured)) if f.is_fault]
    assert (found.name, found.joints) == ("stale_samples", ())
    assert 0.015 < found.size < 0.06


@pytest.mark.parametrize(
    ("factor", "name"), [(-1.0, "joint_sign"), (180 / np.pi, "unit_scale")]
)
def test_a_velocity_planted_in_a_real_log_is_found(
    factor: float, name: str, data_folder: Path
):
    path = data_folder / "dfki_simple_pendulum" / "direct_collocation"
    (recording,) = load_recordings(path, "dfki_simple_pendulum")
    velocity = {"joint.velocity": factor * recording.signals["joint.velocity"]}
    found = [f for f in inspect(recording.with_signals(velocity)) if f.is_fault]
    assert [(f.name, f.joints) for f in found] == [(name, ("joint",))]


def test_velocities_exchanged_in_a_real_log_are_found(data_folder: Path):
    path = data_folder / "so101_sage" / "chirp_sweep"
    (recording,) = load_recordings(path, "so101_sage")
    first, second = "shoulder_pan.velocity", "elbow_flex.velocity"
    exchanged = {
        first: recording.signals[second],
        second: recording.signals[first],
    }
    found = [f for f in inspect(recording.with_signals(exchanged)) if f.is_fault]
    assert [f.name for f in found] == ["joint_order"]
    assert found[0].joints == ("shoulder_pan", "elbow_flex")
