"""Datasets made here, in the layouts that LeRobot v2.1 and v3 write."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

from realworthy.errors import BadFile, BadRecording
from realworthy.recordings import Sidecar, SignalSource, load_recording, load_recordings

DEGREE = np.pi / 180
MOTORS = ["shoulder_pan.pos", "elbow_flex.pos"]
MAPPING = {
    "shoulder_pan.position": SignalSource("observation.state.shoulder_pan.pos"),
    "elbow_flex.position": SignalSource(
        "observation.state.elbow_flex.pos", scale=DEGREE
    ),
    "elbow_flex.command": SignalSource("action.elbow_flex.pos", scale=DEGREE),
}


def write_dataset(
    root: Path, version: str, names: object = MOTORS, episodes: int = 3
) -> Path:
    """Episode k of 5 frames at 10 Hz; elbow at 10 k + frame degrees."""
    vector = {"dtype": "float32", "shape": [2], "names": names}
    scalar = {"dtype": "int64", "shape": [1], "names": None}
    info = {
        "codebase_version": version,
        "robot_type": "so101_follower",
        "fps": 10,
        "features": {
            "observation.state": vector,
            "action": vector,
            "observation.images.top": {
                "dtype": "video",
                "shape": [480, 640, 3],
                "names": ["height", "width", "channels"],
            },
            "timestamp": {"dtype": "float32", "shape": [1], "names": None},
            "frame_index": scalar,
            "episode_index": scalar,
        },
    }
    (root / "meta").mkdir(parents=True)
    (root / "meta" / "info.json").write_text(json.dumps(info))
    chunk = root / "data" / "chunk-000"
    chunk.mkdir(parents=True)
    tables = []
    for k in range(episodes):
        frame = np.arange(5)
        state = np.stack([np.zeros(5), 10.0 * k + frame], axis=1).astype(np.float32)
        columns = {
            "observation.state": pa.array(list(state), pa.list_(pa.float32())),
            "action": pa.array(list(state + 1), pa.list_(pa.float32(), 2)),
            "timestamp": pa.array(frame / 10, pa.float32()),
            "frame_index": pa.array(frame),
            "episode_index": pa.array(np.full(5, k)),
        }
        tables.append(pa.table(columns))
        if version == "v2.1":
            pq.write_table(tables[-1], chunk / f"episode_{k:06d}.parquet")
    if version == "v3.0":
        pq.write_table(pa.concat_tables(tables), chunk / "file-000.parquet")
    return root


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_one_recording_per_episode(tmp_path: Path, version: str):
    root = write_dataset(tmp_path / "pick", version)
    given = Sidecar(mapping=MAPPING, command_kind="position")
    episodes = load_recordings(root, "lerobot", sidecar=given)
    assert [e.name for e in episodes] == [f"episode_{k:06d}" for k in range(3)]
    last = episodes[2]
    assert_allclose(last.time, np.arange(5) / 10, atol=1e-7)
    elbow = np.arange(20, 25) * DEGREE
    assert_allclose(last.signals["elbow_flex.position"], elbow)
    assert_allclose(last.signals["elbow_flex.command"], elbow + DEGREE)
    assert last.sidecar.rate == 10
    assert last.sidecar.command_kind == "position"
    assert last.sidecar.notes["episode"] == 2


def test_a_dataset_never_has_its_units_guessed(tmp_path: Path):
    root = write_dataset(tmp_path / "pick", "v3.0")
    with pytest.raises(BadRecording) as caught:
        load_recordings(root, "lerobot")
    assert caught.value.problem == (
        f"{root}: a LeRobot dataset does not say its units; observation.state goes "
        "from 0 to 24."
    )
    assert caught.value.hint.startswith(f"Write {tmp_path}/pick.yaml with scale")
    _, _, proposal = caught.value.hint.partition(":  ")
    (tmp_path / "pick.yaml").write_text(proposal)  # taken at its word: degrees
    episode = load_recordings(root, "lerobot")[1]
    assert episode.joints == ("shoulder_pan", "elbow_flex")
    assert_allclose(episode.signals["elbow_flex.command"], np.arange(11, 16) * DEGREE)


def test_one_episode_of_a_dataset_can_be_named(tmp_path: Path):
    root = write_dataset(tmp_path / "pick", "v2.1")
    path = root / "data" / "chunk-000" / "episode_000001.parquet"
    episode = load_recording(path, "lerobot", sidecar=Sidecar(mapping=MAPPING))
    assert episode.sidecar.notes["episode"] == 1


@pytest.mark.parametrize(
    ("names", "column"),
    [
        ({"motors": ["pan", "lift"]}, "observation.state.lift"),
        (["state"], "observation.state.1"),
        (None, "observation.state.1"),
    ],
)
def test_names_come_in_several_shapes(tmp_path: Path, names: object, column: str):
    root = write_dataset(tmp_path / "pick", "v3.0", names=names, episodes=1)
    mapping = {"lift.position": SignalSource(column, scale=DEGREE)}
    episode = load_recording(root, "lerobot", sidecar=Sidecar(mapping=mapping))
    assert_allclose(episode.signals["lift.position"], np.arange(5) * DEGREE)


def test_several_episodes_are_not_one_recording(tmp_path: Path):
    root = write_dataset(tmp_path / "pick", "v3.0")
    with pytest.raises(BadRecording, match="holds 3 recordings, not one: episode_0"):
        load_recording(root, "lerobot", sidecar=Sidecar(mapping=MAPPING))


def test_a_file_that_does_not_fit_its_description(tmp_path: Path):
    root = write_dataset(tmp_path / "pick", "v3.0")
    wrong = pa.table({"timestamp": [0.0, 1.0]})
    pq.write_table(wrong, root / "data" / "chunk-000" / "file-000.parquet")
    with pytest.raises(BadFile, match=r"not a table as its meta/info"):
        load_recordings(root, "lerobot", sidecar=Sidecar(mapping=MAPPING))
