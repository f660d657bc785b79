"""Foreign recordings into ours."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import load_recording

from .conftest import Run, Write, find_hints, list_files, swing_csv

ENTRY = {
    "position": 0.1,
    "speed": 0.0,
    "load": 65535,
    "input_volts": 7.4,
    "temp": 30,
    "goal_position": 0.2,
    "torque_enable": True,
}
LOG = {
    "mass": 0.49,
    "length": 0.1,
    "kp": 100,
    "vin": 7.4,
    "motor": "xl330",
    "trajectory": "hold",
    "entries": [ENTRY | {"timestamp": t} for t in (0.0, 0.01, 0.02)],
}


def test_one_recording_is_one_recording(run: Run, write: Write):
    write("bench.json", json.dumps(LOG))
    found = run("convert", "bench.json", "--importer", "bam_servos", "--output", "out")
    assert found.status == 0
    assert found.out == "1 recording, 0.0 s in all, written to out\n"
    assert found.files == ("out", "out/bench.csv", "out/bench.yaml")


@pytest.mark.parametrize("form", ["csv", "csv.gz", "npz", "parquet", "mcap"])
def test_every_format_keeps_the_numbers(
    run: Run, write: Write, tmp_path: Path, form: str
):
    write("a.csv", swing_csv())
    write("b.csv", swing_csv(rows=50))
    found = run("convert", "a.csv", "b.csv", "--output", "out", "--format", form)
    assert found.out == "2 recordings, 1.5 s in all, written to out\n"
    original = load_recording(tmp_path / "a.csv")
    assert load_recording(tmp_path / "out" / f"a.{form}").sha256() == original.sha256()


def test_the_result_for_programs(run: Run, write: Write, tmp_path: Path):
    write("run.csv", swing_csv())
    run("convert", "run.csv", "--output", "out", "--json", "done.json")
    done = json.loads((tmp_path / "done.json").read_text())
    assert done == {
        "recordings": [{"path": os.path.join("out", "run.csv"), "rows": 100}]
    }


@pytest.mark.parametrize("folder", ["", "absolute"])
def test_recordings_of_one_name_get_numbers_and_stay_in_the_folder(
    run: Run, write: Write, tmp_path: Path, folder: str
):
    path = write("run.csv", swing_csv()) if folder else Path("run.csv")
    write("run.csv", swing_csv())
    found = run("convert", path, path, "--output", "out", "--format", "npz")
    assert found.status == 0
    assert found.files == ("out", "out/run_0.npz", "out/run_1.npz")


def test_recordings_of_one_name_in_two_folders_get_their_folders_names(
    run: Run, write: Write
):
    write("monday/run.csv", swing_csv())
    write("tuesday/run.csv", swing_csv())
    found = run("convert", "monday", "tuesday", "--output", "out", "--format", "npz")
    assert found.files == ("out", "out/monday_run.npz", "out/tuesday_run.npz")


def test_nothing_is_written_where_one_file_stands_in_the_way(run: Run, write: Write):
    write("a.csv", swing_csv())
    write("b.csv", swing_csv())
    write("out/b.npz", "mine")
    arguments = ("convert", "a.csv", "b.csv", "--output", "out", "--format", "npz")
    run(*arguments).check_mistake(
        "Unwritable: Cannot write out/b.npz: it exists already.\n"
        "  Choose another name, or give --overwrite (overwrite=True).\n"
    )
    assert run(*arguments, "--overwrite").files == ("out/a.npz",)


def test_a_sidecar_in_the_way_counts_too(run: Run, write: Write, tmp_path: Path):
    write("a.csv", swing_csv())
    write("out/a.yaml", "rate: 3")
    run("convert", "a.csv", "--output", "out").check_mistake(
        "Unwritable: Cannot write out/a.yaml: it exists already.\n"
        "  Choose another name, or give --overwrite (overwrite=True).\n"
    )
    assert (tmp_path / "out" / "a.yaml").read_text() == "rate: 3"


def test_a_mapping_of_ones_own(run: Run, write: Write, tmp_path: Path):
    write("raw.csv", "stamp,q3\n0,0\n20,90\n40,180\n")
    write(
        "map.yaml",
        "mapping:\n"
        "  time: {source: stamp, scale: 1e-3}\n"
        "  elbow.position: {source: q3, scale: 0.017453292519943295}\n",
    )
    found = run("convert", "raw.csv", "--sidecar", "map.yaml", "--output", "out")
    assert found.status == 0
    made = load_recording(tmp_path / "out" / "raw.csv")
    np.testing.assert_allclose(made.time, [0, 0.02, 0.04])
    np.testing.assert_allclose(made.signals["elbow.position"], [0, np.pi / 2, np.pi])


def test_no_recordings_at_all(run: Run):
    run("convert", "--output", "out").check_mistake(
        "BadRecording: No recordings were given.\n  Name a file or a folder.\n"
    )


def test_an_output_that_is_a_file(run: Run, write: Write):
    write("run.csv", swing_csv())
    write("out", "mine")
    run("convert", "run.csv", "--output", "out").check_mistake(
        "Unwritable: Cannot write out/run.csv: out is a file, not a folder.\n"
        "  Give a folder, or another name.\n"
    )


@pytest.mark.parametrize("form", ["csv", "npz", "parquet", "mcap"])
def test_ctrl_c_while_writing_leaves_whole_files_only(
    run: Run,
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
):
    write("a.csv", swing_csv())

    def stop(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", stop)
    found = run("convert", "a.csv", "--output", "out", "--format", form)
    assert (found.status, found.err, found.files) == (130, "Stopped.\n", ())
    assert list_files(tmp_path) == {"a.csv"}


def lab_csv(joint_count: int = 1) -> str:
    """Two seconds of a lab's log: degrees, milliseconds, numbered columns."""
    time = np.arange(200) / 100
    columns = {"stamp_ms": 1000 * time}
    for k in range(joint_count):
        columns[f"q_{k}"] = np.degrees(1.5 * np.sin(2 * time))
        columns[f"dq_{k}"] = np.degrees(3 * np.cos(2 * time))
        columns[f"tau_{k}"] = np.cos(time)
    rows = np.stack(list(columns.values()), axis=1)
    lines = [",".join(f"{x:.6f}" for x in row) for row in rows]
    return "\n".join([",".join(columns), *lines]) + "\n"


def test_a_proposed_mapping_converts_and_is_written(
    run: Run, write: Write, tmp_path: Path
):
    write("run.csv", lab_csv())
    found = run("convert", "run.csv", "--map", "pendulum", "--output", "out")
    assert found.status == 0
    assert found.files == ("out", "out/mapping.yaml", "out/run.csv", "out/run.yaml")
    recording = load_recording(tmp_path / "out" / "run.csv")
    assert recording.joints == ("joint",)
    np.testing.assert_allclose(
        recording.signals["joint.position"], 1.5 * np.sin(2 * recording.time), atol=1e-6
    )
    again = run("convert", "run.csv", "--sidecar", "out/mapping.yaml", "--output", "b")
    assert again.status == 0
    written = load_recording(tmp_path / "b" / "run.csv")
    assert written.sha256() == recording.sha256()


def test_every_command_that_a_proposal_prints_works(run: Run, write: Write):
    write("logs/run.csv", lab_csv())
    shown = run("show", "logs/run.csv", "--twin", "pendulum")
    assert shown.status == 0
    assert "No column of logs/run.csv has the name of a joint" in shown.out
    (hint,) = find_hints(shown.out)
    converted = run(*hint)
    assert converted.status == 0, converted.err
    edit, measure = find_hints(converted.out)
    assert run(*edit).status == 0
    assert run(*measure).status == 0


def test_a_proposal_and_a_sidecar_exclude_each_other(run: Run, write: Write):
    write("run.csv", lab_csv())
    write("s.yaml", "command_kind: torque\n")
    found = run(
        "convert",
        "run.csv",
        "--map",
        "pendulum",
        "--sidecar",
        "s.yaml",
        "--output",
        "o",
    )
    found.check_mistake(
        "RealworthyError: --map proposes what --sidecar says already.\n"
        "  Give one of the two.\n"
    )
