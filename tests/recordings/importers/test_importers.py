"""What all importers have in common."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.recordings import (
    IMPORTERS,
    load_recording,
    load_recordings,
    save_recording,
)
from realworthy.recordings.importers.importer import drop_bad_rows
from realworthy.recordings.units import find_unit_suspicions

SMALL = {
    "so101_sage": "so101_sage/wave_motion",
    "bam_servos": "bam_servos/xl330/xl330_kp100_sin_sin.json",
    "dfki_simple_pendulum": "dfki_simple_pendulum/direct_collocation",
    "dfki_double_pendulum": "dfki_double_pendulum/acrobot_mcpilco/experiment01.csv.gz",
    "crazypad": "crazypad/normal_flight/motor_E8_log00.csv.gz",
}


@pytest.mark.parametrize("name", IMPORTERS)
def test_every_importer_says_what_it_reads(name: str, tmp_path: Path):
    assert IMPORTERS[name].summary
    assert IMPORTERS[name].layout
    assert IMPORTERS[name].find(tmp_path) == []


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet", ".mcap"])
def test_what_was_imported_is_saved_and_loaded_whole(
    data: Path, tmp_path: Path, name: str, suffix: str
):
    imported = load_recording(data / SMALL[name], name)
    save_recording(imported, tmp_path / f"run{suffix}")
    again = load_recording(tmp_path / f"run{suffix}")
    assert again.sha256() == imported.sha256()
    assert again.sidecar == imported.sidecar


@pytest.mark.parametrize("name", SMALL)
def test_a_sidecar_of_the_users_own_goes_over_the_layouts(
    data: Path, tmp_path: Path, name: str
):
    path = tmp_path / "mine.yaml"
    path.write_text("twin: mine.twin.yaml\nnotes: {weather: cold}\n")
    plain = load_recording(data / SMALL[name], name)
    mine = load_recording(data / SMALL[name], name, sidecar=path)
    assert mine.sidecar.twin == "mine.twin.yaml"
    assert mine.sidecar.command_kind == plain.sidecar.command_kind
    assert mine.sidecar.notes == {**plain.sidecar.notes, "weather": "cold"}


@pytest.mark.parametrize("name", SMALL)
def test_no_real_recording_is_suspected_of_wrong_units(data: Path, name: str):
    """Among them pendulums that turn several times, and dirty velocities."""
    for recording in load_recordings(data / name, name):
        assert find_unit_suspicions(recording) == []


@pytest.mark.parametrize("name", list(SMALL)[:4])
def test_real_positions_in_degrees_are_refused(data: Path, tmp_path: Path, name: str):
    real = load_recording(data / SMALL[name], name)
    degrees = {
        f"{joint}.position": np.degrees(real.signals[f"{joint}.position"])
        for joint in real.joints
    }
    save_recording(real.with_signals(degrees), tmp_path / "run.npz")
    with pytest.raises(BadRecording, match=r"\.position' is in degrees"):
        load_recording(tmp_path / "run.npz")


def test_bad_rows_are_dropped_and_counted():
    nan = float("nan")
    table = {
        "time": np.array([0.0, 1.0, 5.0, 2.0, 2.0, 3.0, nan]),
        "a": np.array([0.0, 1.0, nan, 2.0, 9.0, 3.0, 4.0]),
    }
    kept, notes = drop_bad_rows(table)
    assert kept["time"].tolist() == [0, 1, 2, 3]  # 5 s was never good, so 2 s is later
    assert kept["a"].tolist() == [0, 1, 2, 3]
    assert notes == {"dropped_rows": {"not_finite": 2, "time_not_increasing": 1}}


def test_importing_the_room_loads_nothing_heavy():
    heavy = ("scipy", "pyarrow", "mcap", "rosbags", "mujoco", "torch")
    code = (
        "import sys, realworthy.recordings;"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
