"""LeRobot datasets, v2.1 and v3: parquet tables with one row per frame, no videos.

A dataset does not say in which unit its states and actions are: degrees, -100..100 of a
calibrated range and radians all occur. So the user's mapping must say it.
"""

from pathlib import Path

import msgspec
import numpy as np

from realworthy.artefacts import check_readable, read_bytes, reading
from realworthy.errors import BadFile, BadRecording
from realworthy.recordings.formats.parquet import read_table
from realworthy.recordings.importers.importer import Imported, Importer, drop_bad_rows
from realworthy.recordings.sidecar import Sidecar, SignalSource, sidecar_path
from realworthy.recordings.signals import Table
from realworthy.recordings.suspicions import to_paste
from realworthy.recordings.units import DEGREE

STATE, ACTION = "observation.state", "action"
_COST = 16
"""Bytes of memory for a byte of JSON."""


class Feature(msgspec.Struct):
    """One column of the dataset; `names` is a list, or lists by group, or missing."""

    dtype: str
    shape: list[int]
    names: list[str] | dict[str, list[str]] | None = None


class Info(msgspec.Struct):
    """The part of `meta/info.json` that matters here."""

    codebase_version: str
    fps: float
    features: dict[str, Feature]
    robot_type: str | None = None


def find(path: Path) -> list[Path]:
    """Datasets below a folder, or one data file of a dataset."""
    if path.is_file():
        return [path] if path.suffix == ".parquet" and _find_root(path) else []
    return sorted(info.parent.parent for info in path.rglob("meta/info.json"))


def read(path: Path, given: Sidecar) -> list[Imported]:
    """One recording per episode, in the columns that the user's mapping names."""
    root = _find_root(path)
    if root is None:
        raise BadFile(path, "no meta/info.json lies above it.")
    info = _read_info(root / "meta" / "info.json")
    files = [path] if path.is_file() else sorted(root.glob("data/*/*.parquet"))
    if not files:
        raise BadFile(root, "it has no data/*/*.parquet.")
    tables = [_read_frames(file, info) for file in files]
    frames = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
    _check_mapping(frames, given, path)
    imported = []
    for episode in np.unique(frames["episode_index"]).astype(int):
        rows = np.flatnonzero(frames["episode_index"] == episode)
        rows = rows[np.argsort(frames["frame_index"][rows], kind="stable")]
        table = {name: values[rows] for name, values in frames.items()}
        del table["episode_index"], table["frame_index"]
        table, dropped = drop_bad_rows({"time": table.pop("timestamp"), **table})
        notes: dict[str, object] = {
            "dataset": root.name,
            "episode": int(episode),
            "robot": info.robot_type,
            "layout": f"LeRobot {info.codebase_version}",
            **dropped,
        }
        source = root / f"episode_{episode:06d}"
        sidecar = Sidecar(rate=info.fps, notes=notes)
        imported.append(Imported(table=table, sidecar=sidecar, source=source))
    return imported


def _check_mapping(frames: Table, given: Sidecar, path: Path) -> None:
    sources = [entry.source or "" for entry in given.mapping.values()]
    if any(source.startswith(STATE) for source in sources):
        return
    proposal: dict[str, SignalSource] = {}
    for column in frames:
        for stem, quantity in ((STATE, "position"), (ACTION, "command")):
            if column.startswith(stem + "."):
                joint = column.removeprefix(stem + ".").removesuffix(".pos")
                proposal[f"{joint}.{quantity}"] = SignalSource(
                    source=column, scale=DEGREE
                )
    states = [values for name, values in frames.items() if name.startswith(STATE)]
    low = min((values.min() for values in states), default=0.0)
    high = max((values.max() for values in states), default=0.0)
    raise BadRecording(
        f"{path}: a LeRobot dataset does not say its units; {STATE} goes from "
        f"{low:.4g} to {high:.4g}.",
        hint=f"Write {sidecar_path(path)} with scale 0.017453292519943295 for "
        "degrees, 1 for radians, or half the joint's range in radians / 100 for "
        f"-100..100:  {to_paste(proposal)}",
    )


def _read_info(path: Path) -> Info:
    with reading(path, "the description of a LeRobot dataset"):
        return msgspec.json.decode(read_bytes(path, cost=_COST), type=Info)


def _read_frames(path: Path, info: Info) -> Table:
    """Columns of numbers, lists of them split into `<feature>.<name>`."""
    import pyarrow

    vectors = {
        key: feature.shape[0]
        for key, feature in info.features.items()
        if feature.dtype in ("float32", "float64")
        and len(feature.shape) == 1
        and key != "timestamp"
    }
    scalars = ("timestamp", "episode_index", "frame_index")
    check_readable(path)
    with reading(path, "a table as its meta/info.json describes it"):
        table = read_table(path, [*scalars, *vectors])
        frames: Table = {n: table[n].to_numpy().astype(np.float64) for n in scalars}
        for key, width in vectors.items():
            values = table[key].combine_chunks()
            flat = values.flatten() if pyarrow.types.is_nested(values.type) else values
            rows = flat.to_numpy(zero_copy_only=False).astype(np.float64)
            rows = rows.reshape(len(table), width)
            for i, name in enumerate(_name(info.features[key], width)):
                frames[f"{key}.{name}"] = rows[:, i]
    return frames


def _name(feature: Feature, width: int) -> list[str]:
    names = feature.names or []
    if isinstance(names, dict):
        names = [name for group in names.values() for name in group]
    return names if len(names) == width else [str(i) for i in range(width)]


def _find_root(path: Path) -> Path | None:
    folders = (path, *path.parents)
    return next((f for f in folders if (f / "meta" / "info.json").is_file()), None)


IMPORTER = Importer(
    summary="LeRobot datasets v2.1 and v3, one recording per episode",
    layout="a dataset folder with meta/info.json and data/chunk-*/*.parquet",
    find=find,
    read=read,
)
