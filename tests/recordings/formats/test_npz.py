from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadFile
from realworthy.recordings import Recording, load_recording, save_recording


def test_numpy_reads_what_was_written(swing: Recording, tmp_path: Path):
    save_recording(swing, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as archive:
        assert archive["elbow.position"].tobytes() == (
            swing.signals["elbow.position"].tobytes()
        )
        assert str(archive["__sidecar__"]) == '{"schema":1}'


def test_what_numpy_wrote_is_read(tmp_path: Path):
    arrays = {"time": np.arange(3), "on": np.array([True, False, True])}
    np.savez(tmp_path / "run.npz", **arrays)  # pyright: ignore[reportArgumentType]
    recording = load_recording(tmp_path / "run.npz")
    assert recording.signals["on"].tolist() == [1.0, 0.0, 1.0]


def test_a_matrix_is_not_a_signal(tmp_path: Path):
    np.savez(tmp_path / "run.npz", time=np.arange(3), dof=np.zeros((3, 23)))
    with pytest.raises(BadFile) as caught:
        load_recording(tmp_path / "run.npz")
    assert "'dof' is an array of float64 with shape (3, 23)." in caught.value.problem


def test_pickles_are_never_opened(tmp_path: Path):
    np.savez(tmp_path / "run.npz", time=np.array([{}, {}], dtype=object))
    with pytest.raises(BadFile, match="not an archive of plain NumPy arrays"):
        load_recording(tmp_path / "run.npz")
