from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from realworthy.errors import BadFile
from realworthy.recordings import load_recording, load_recordings
from realworthy.recordings.importers.bam_servos import to_signed


def test_logs_are_told_from_files_of_parameters(data: Path):
    logs = load_recordings(data / "bam_servos", "bam_servos")
    assert len(logs) == 15
    assert {log.sidecar.notes["motor"] for log in logs} == {"xl330", "sts3250"}
    assert all(log.duration == pytest.approx(6.0, abs=0.02) for log in logs)
    assert all(log.joints == ("arm",) for log in logs)


def test_registers_are_two_s_complement():
    assert_array_equal(to_signed(np.array([0.0, 885, 32767, 65535, 64651])), [
        0, 885, 32767, -1, -885,
    ])  # fmt: skip


@pytest.mark.parametrize("trajectory", ["sin_sin", "up_and_down", "lift_and_drop"])
def test_the_duty_follows_the_servos_published_law(data: Path, trajectory: str):
    """Slope 0.999 at gain 800, says the data's note."""
    name = f"xl330_kp800_{trajectory}.json"
    log = load_recording(data / "bam_servos" / "xl330" / name, "bam_servos")
    notes = log.sidecar.notes
    assert (notes["mass"], notes["length"], notes["kp"], notes["vin"]) == (
        0.49, 0.1, 800, 7.4,
    )  # fmt: skip
    error = log.signals["arm.command"] - log.signals["arm.position"]
    law = np.clip(800 * error * 4096 / (2 * np.pi) / (256 * 885), -1, 1)
    on = log.signals["arm.torque_enable"] > 0
    law, duty = law[on], log.signals["arm.duty"][on]
    assert law @ duty / (law @ law) == pytest.approx(0.999, abs=0.004)
    assert np.corrcoef(law, duty)[0, 1] > 0.999


def test_speed_is_the_derivative_of_position(data: Path):
    path = data / "bam_servos" / "xl330" / "xl330_kp800_sin_sin.json"
    log = load_recording(path, "bam_servos")
    slope = np.gradient(log.signals["arm.position"], log.time)
    assert np.corrcoef(slope, log.signals["arm.velocity"])[0, 1] > 0.98
    assert log.rate == pytest.approx(188, abs=1)


def test_a_motor_without_a_duty_register_has_none(data: Path):
    folder = data / "bam_servos" / "sts3250"
    for log in load_recordings(folder, "bam_servos"):
        assert "arm.duty" not in log.signals
        assert "duty" in log.sidecar.notes


def test_another_json_file_is_refused(tmp_path: Path):
    path = tmp_path / "log.json"
    path.write_text('{"entries": [1, 2]}')
    with pytest.raises(BadFile, match="it is not a bench log"):
        load_recording(path, "bam_servos")
