"""The contract that every format passes: what was written is read back, bit for bit."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realworthy.errors import BadFile, Unwritable
from realworthy.recordings import (
    FORMATS,
    Gains,
    Recording,
    Sidecar,
    load_recording,
    save_recording,
)
from realworthy.recordings.signals import is_signal_name

numbers = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(0, exclude_min=True, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
names = st.one_of(
    st.sampled_from(
        ["elbow.position", "elbow.command", "base.gyro.x", "file", "a/b.c"]
    ),
    st.lists(texts, min_size=1, max_size=3).map(".".join).filter(is_signal_name),
)
leaves = st.one_of(numbers, st.integers(-(2**53), 2**53), st.booleans(), texts)
sidecars = st.builds(
    Sidecar,
    twin=st.none() | texts,
    command_kind=st.sampled_from([None, "position", "torque"]),
    rate=st.none() | positive,
    gains=st.dictionaries(texts, st.builds(Gains, kp=positive), max_size=2),
    notes=st.dictionaries(texts, leaves | st.lists(leaves, max_size=3), max_size=3),
)


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    steps = draw(st.lists(st.floats(1e-6, 0.9), min_size=1, max_size=6))
    start = draw(st.floats(-1e6, 1.7e9))
    time = np.array(sorted({start + float(s) for s in np.cumsum([0.0, *steps])}))
    if len(time) < 2:
        time = np.array([start, start + 1.0])
    column = st.lists(numbers, min_size=len(time), max_size=len(time)).map(np.array)
    signals = draw(st.dictionaries(names, column, max_size=4))
    return Recording(time, signals, draw(sidecars))


def to_bytes(recording: Recording) -> dict[str, bytes]:
    columns = {"time": recording.time, **recording.signals}
    return {name: values.tobytes() for name, values in columns.items()}


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=60, deadline=None)
@given(recording=recordings())
def test_numbers_names_and_sidecar_come_back(suffix: str, recording: Recording):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run.v1{suffix}"
        save_recording(recording, path)
        again = load_recording(path, check_units=False)
    assert to_bytes(again) == to_bytes(recording)
    assert list(again.signals) == list(recording.signals)
    assert again.sidecar == recording.sidecar


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_same_recording_gives_the_same_bytes(
    swing: Recording, tmp_path: Path, suffix: str
):
    for name in ("a", "b"):
        save_recording(swing, tmp_path / f"{name}{suffix}")
    one, two = (tmp_path / f"{name}{suffix}" for name in "ab")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_cut_off_file_is_refused(swing: Recording, tmp_path: Path, suffix: str):
    path = tmp_path / f"run{suffix}"
    save_recording(swing, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadFile):
        load_recording(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_empty_file_is_refused(tmp_path: Path, suffix: str):
    path = tmp_path / f"run{suffix}"
    path.write_bytes(b"")
    with pytest.raises(BadFile):
        load_recording(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_failed_write_leaves_nothing(
    swing: Recording, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(Unwritable, match="No space left on device"):
        save_recording(swing, tmp_path / f"run{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_upper_case_endings_are_known(swing: Recording, tmp_path: Path):
    save_recording(swing, tmp_path / "run.csv")
    (tmp_path / "run.csv").rename(tmp_path / "RUN.CSV")
    assert load_recording(tmp_path / "RUN.CSV").sha256() == swing.sha256()
