from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import load_recording, load_recordings

RUNS = {
    "direct_collocation": (333, 3.5, "position"),
    "fft": (100, 100, "position"),
    "ilqr": (50, 20, "torque"),
    "pd_1nm_failure": (200, 40, "torque"),
    "pd_system_identification": (300, 3.9, "position"),
    "sac": (200, 40, "torque"),
}


def test_rates_lengths_and_commands_of_every_run(data: Path):
    runs = load_recordings(data / "dfki_simple_pendulum", "dfki_simple_pendulum")
    found = {run.name: run for run in runs}
    assert found.keys() == RUNS.keys()
    for name, (rate, length, kind) in RUNS.items():
        assert found[name].rate == pytest.approx(rate, rel=0.01)
        assert found[name].duration == pytest.approx(length, rel=0.01)
        assert found[name].sidecar.command_kind == kind
        assert found[name].joints == ("joint",)


@pytest.mark.parametrize("name", ["ilqr", "sac"])
def test_a_torque_command_is_felt_one_row_later(data: Path, name: str):
    run = load_recording(data / "dfki_simple_pendulum" / name, "dfki_simple_pendulum")
    sent, felt = run.signals["joint.command"][:-1], run.signals["joint.torque"][1:]
    assert np.corrcoef(sent, felt)[0, 1] > 0.99
    assert sent @ felt / (sent @ sent) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("name", ["direct_collocation", "pd_system_identification"])
def test_a_tracked_position_is_followed_row_by_row(data: Path, name: str):
    run = load_recording(data / "dfki_simple_pendulum" / name, "dfki_simple_pendulum")
    error = run.signals["joint.command"] - run.signals["joint.position"]
    assert np.sqrt(np.mean(error**2)) < 0.05
    sent, felt = run.signals["joint.command.torque"], run.signals["joint.torque"]
    assert np.abs(sent).max() <= 1.0
    assert np.corrcoef(sent, felt)[0, 1] < 0.7


def test_several_turns_are_kept(data: Path):
    run = load_recording(data / "dfki_simple_pendulum" / "sac", "dfki_simple_pendulum")
    assert run.signals["joint.position"].min() < -28  # more than four turns


def write(folder: Path, name: str, rows: list[str]) -> None:
    (folder / name).write_text("time,position,velocity,torque\n" + "\n".join(rows))


def test_bad_rows_are_dropped_and_counted(tmp_path: Path):
    rows = ["0,1,0,0", "1,2,0,0", "1,3,0,0", "2,nan,0,0", "3,4,0,0", "0,0,0,0"]
    write(tmp_path, "data_measured.csv", rows)
    write(tmp_path, "data_desired.csv", [f"{i},0,0,0.5" for i in range(7)])
    run = load_recording(tmp_path, "dfki_simple_pendulum")
    assert run.time.tolist() == [0, 1, 3]
    assert run.signals["joint.position"].tolist() == [1, 2, 4]
    assert run.sidecar.notes["dropped_rows"] == (
        {"not_finite": 1, "time_not_increasing": 2}
    )
    assert run.sidecar.notes["unpaired_rows"] == 1
