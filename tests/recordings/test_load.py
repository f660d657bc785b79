from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from realworthy.errors import BadFile, BadRecording, UnknownName, Unwritable
from realworthy.recordings import (
    Recording,
    Sidecar,
    SignalSource,
    load_recording,
    load_recordings,
    save_recording,
    suspicions,
)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_sidecar_beside_a_table_is_read_and_applied(tmp_path: Path):
    path = write(tmp_path / "run.csv", "time,q\n0,0\n0.01,90\n0.02,180\n")
    write(
        tmp_path / "run.yaml",
        "command_kind: torque\n"
        "mapping: {elbow.position: {source: q, scale: 0.017453292519943295}}\n",
    )
    recording = load_recording(path)
    assert_allclose(recording.signals["elbow.position"], [0, np.pi / 2, np.pi])
    assert recording.sidecar.command_kind == "torque"
    assert recording.source == path


def test_a_mapping_is_applied_once_however_often_it_is_saved(tmp_path: Path):
    table = {"time": np.arange(3.0), "q": np.array([1.0, 2.0, 3.0])}
    from realworthy.recordings import build_recording

    mapping = {"a.position": SignalSource(source="q", scale=2.0)}
    first = build_recording(table, Sidecar(mapping=mapping))
    for name in ("one.csv", "two.npz", "three.mcap"):
        save_recording(first, tmp_path / name)
        assert load_recording(tmp_path / name).sha256() == first.sha256()


def test_an_embedded_sidecar_wins_over_one_beside_the_file(
    swing: Recording, tmp_path: Path
):
    save_recording(swing.with_sidecar(Sidecar(twin="arm")), tmp_path / "run.npz")
    write(tmp_path / "run.yaml", "twin: leg")
    assert load_recording(tmp_path / "run.npz").sidecar.twin == "arm"
    given = tmp_path / "run.yaml"
    assert load_recording(tmp_path / "run.npz", sidecar=given).sidecar.twin == "leg"


def test_degrees_are_refused_on_loading_unless_asked_for(
    swing: Recording, tmp_path: Path
):
    wrong = 57.29578 * swing.signals["elbow.position"]
    save_recording(swing.with_signals({"elbow.position": wrong}), tmp_path / "run.csv")
    with pytest.raises(BadRecording, match="is in degrees"):
        load_recording(tmp_path / "run.csv")
    let_through = load_recording(tmp_path / "run.csv", check_units=False)
    assert suspicions(let_through)[0].certain
    mapping = suspicions(let_through)[0].mapping
    mended = load_recording(tmp_path / "run.csv", sidecar=Sidecar(mapping=mapping))
    assert suspicions(mended) == []


def test_saving_never_overwrites_unasked(swing: Recording, tmp_path: Path):
    save_recording(swing, tmp_path / "run.csv")
    with pytest.raises(Unwritable, match="it exists already"):
        save_recording(swing, tmp_path / "run.csv")
    with pytest.raises(Unwritable, match=r"run\.yaml: it exists already"):
        save_recording(swing, tmp_path / "run.csv.gz")
    save_recording(swing, tmp_path / "run.csv", overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.csv", "run.yaml"]


def test_a_folder_gives_all_its_files(swing: Recording, tmp_path: Path):
    save_recording(swing, tmp_path / "b.csv.gz")
    save_recording(swing, tmp_path / "a.npz")
    assert [r.name for r in load_recordings(tmp_path)] == ["a", "b"]
    assert [r.name for r in load_recordings([tmp_path / "b.csv.gz", tmp_path])] == (
        ["b", "a", "b"]
    )
    with pytest.raises(BadRecording) as caught:
        load_recording(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} holds 2 recordings, not one: a.npz, b.csv.gz\n"
        "  Name one of them, or use load_recordings."
    )


def test_an_unknown_importer_is_answered_with_the_nearest(tmp_path: Path):
    with pytest.raises(UnknownName) as caught:
        load_recording(tmp_path, "so101_sge")
    assert str(caught.value) == (
        "Realworthy has no importer 'so101_sge'.\n"
        "  Nearest: 'so101_sage'. All 7: realworthy show importers"
    )


def test_an_unknown_extension_is_answered_with_the_known_ones(tmp_path: Path):
    path = write(tmp_path / "run.xlsx", "")
    with pytest.raises(BadFile) as caught:
        load_recording(path)
    assert str(caught.value) == (
        f"{path}: recordings are not kept in files with '.xlsx'.\n"
        "  Formats: .csv, .csv.gz, .npz, .parquet, .mcap. "
        "Foreign layouts: realworthy show importers"
    )


def test_a_foreign_folder_is_recognised(tmp_path: Path):
    write(tmp_path / "log.json", '{"mass": 1, "entries": []}')
    with pytest.raises(BadFile) as caught:
        load_recordings(tmp_path)
    assert caught.value.hint == (
        "Formats: .csv, .csv.gz, .npz, .parquet, .mcap. "
        "This looks like bam_servos: try --importer bam_servos"
    )


def test_a_folder_that_an_importer_cannot_read_says_what_it_expects(tmp_path: Path):
    with pytest.raises(BadFile) as caught:
        load_recordings(tmp_path, "crazypad")
    assert str(caught.value) == (
        f"{tmp_path}: it holds no crazypad recording.\n"
        "  The importer expects motor_*.csv[.gz] or controller_*.csv[.gz], or a folder "
        "of them."
    )


@pytest.mark.parametrize("importer", [None, "bam_servos"])
@pytest.mark.parametrize("name", ["no.csv", "no.npz", "no.parquet", "no.mcap"])
def test_a_missing_file_is_said_plainly(
    tmp_path: Path, name: str, importer: str | None
):
    with pytest.raises(BadFile, match="there is no such file"):
        load_recording(tmp_path / name, importer)


def test_nothing_is_not_a_recording():
    with pytest.raises(BadRecording, match="No recordings were given"):
        load_recordings([])
