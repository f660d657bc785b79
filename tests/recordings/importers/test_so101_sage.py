"""Facts from the data's own notes, checked in what comes out."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import Recording, load_recording, load_recordings

JOINTS = (
    "shoulder_pan",
    "shoulder_lift",
    "elbow_flex",
    "wrist_flex",
    "wrist_roll",
    "gripper",
)


@pytest.fixture(scope="module")
def chirp(data: Path) -> Recording:
    return load_recording(data / "so101_sage" / "chirp_sweep", "so101_sage")


def test_all_motions_load(data: Path):
    motions = load_recordings(data / "so101_sage", "so101_sage")
    assert len(motions) == 37
    assert {m.joints for m in motions} == {JOINTS}
    for motion in motions:
        assert motion.sidecar.twin == "menagerie:robotstudio_so101"
        assert motion.sidecar.command_kind == "position"
        assert 1 / motion.rate == pytest.approx(0.0201, abs=1e-4)  # loop period 20.1 ms
        assert np.diff(motion.time).max() < 0.0215
        assert "dropped_rows" not in motion.sidecar.notes
        assert motion.stack("torque_magnitude").min() >= 0


def test_the_chirp_is_as_long_as_its_notes_say(chirp: Recording):
    assert len(chirp.time) == 6000
    assert chirp.duration == pytest.approx(120.34, abs=0.01)
    assert chirp.name == "chirp_sweep"


def test_tracking_errors_are_those_of_the_notes(chirp: Recording):
    error = chirp.stack("command", JOINTS[:5]) - chirp.stack("position", JOINTS[:5])
    rms = np.sqrt(np.mean(error**2, axis=0))
    np.testing.assert_allclose(rms, [0.072, 0.086, 0.083, 0.067, 0.068], atol=6e-4)


def test_encoders_step_by_a_4096th_of_a_turn(chirp: Recording):
    for joint in JOINTS:
        steps = np.diff(np.unique(chirp.signals[f"{joint}.position"]))
        assert steps.min() == pytest.approx(2 * np.pi / 4096, rel=1e-6)


def test_the_grippers_radians_agree_with_its_own_velocity(chirp: Recording):
    """Velocities are in rad/s by the notes; positions were shares of a range."""
    position, velocity = (
        chirp.signals["gripper.position"],
        chirp.signals["gripper.velocity"],
    )
    moved = np.gradient(position, chirp.time)[:-1]  # the register is one row late
    slope = moved @ velocity[1:] / (moved @ moved)
    assert slope == pytest.approx(1.0, abs=0.02)


def test_the_gripper_stays_inside_the_models_range(data: Path):
    motion = load_recording(data / "so101_sage" / "gripper_cycles", "so101_sage")
    command = motion.signals["gripper.command"]  # 0.1 to 0.9 of the range
    assert command.min() == pytest.approx(0.785398 - 0.4 * 2.33624, abs=1e-4)
    assert -0.174533 < command.min() < command.max() < 1.7453292


@pytest.mark.parametrize("name", ["control.csv.gz", "state_motor.csv.gz", "event.csv"])
def test_any_file_of_a_motion_stands_for_it(data: Path, chirp: Recording, name: str):
    path = data / "so101_sage" / "chirp_sweep" / name
    assert load_recording(path, "so101_sage").sha256() == chirp.sha256()
