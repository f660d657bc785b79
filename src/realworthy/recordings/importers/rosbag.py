"""ROS 1 and ROS 2 bags, read without ROS.

`JointState` gives positions, velocities and torques by joint; on a topic with `command`
in its name, commands. `Imu` and `Float64MultiArray` give columns named after their
topic: `/imu/data` gives `imu_data.gyro.x`, `/servo/commands` gives
`servo_commands.command.0`, which the sidecar's mapping turns into signals. Everything
is brought onto the times of the joint states.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_bytes, check_readable, read_tree, reading
from realworthy.artefacts.memory import limited_memory
from realworthy.errors import BadFile, MissingExtra
from realworthy.recordings.align import merge
from realworthy.recordings.importers.importer import (
    Imported,
    Importer,
    drop_bad_rows,
    find_files,
)
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import Table, is_held

Row = tuple[int, int, dict[str, float]]
"""Header stamp [ns], time of writing [ns], numbers by column."""

Key = tuple[str, frozenset[str]]
"""Topic and the columns of one message: a topic may carry several kinds of rows."""

Stamps = NDArray[np.int64]
"""Nanoseconds."""

_ROW, _NUMBER = 500, 100
"""[bytes] of memory for a message and for each of its numbers."""

MAX_STAMP_OFFSET = 10_000_000_000
"""[ns] between header stamps and the time of writing: beyond 10 s, stamps come from
another clock, since no queue holds messages for so long."""


def find(path: Path) -> list[Path]:
    """Bags: `.bag` files, and folders with a `metadata.yaml` beside their storage."""
    if path.is_file():
        if path.suffix == ".bag":
            return [path]
        path = path.parent
        return [path] if (path / "metadata.yaml").is_file() else []
    folders = [f.parent for f in find_files(path, ("metadata.yaml",)) if _stores(f)]
    return sorted([*folders, *find_files(path, ("*.bag",))])


def read(path: Path, given: Sidecar) -> list[Imported]:
    """The bag on one clock that begins at zero with the first message.

    A topic that repeats signals of another, or has too few rows, is left out; the notes
    say so.
    """
    rows = _read_rows(path)
    clocks = {key: _find_clock(found) for key, found in rows.items()}
    stamps = {key: _stamps(found, clocks[key]) for key, found in rows.items()}
    origin = min((int(values[0]) for values in stamps.values()), default=0)
    notes: dict[str, object] = {
        "start_unix_s": origin * 1e-9,
        "clock": {topic: clock for (topic, _), clock in clocks.items()},
    }
    parts: list[Recording] = []
    left_out: list[str] = []
    for key in sorted(rows, key=_rank):
        topic = key[0]
        table, dropped = _build_table(rows[key], stamps[key] - origin)
        if parts:
            table = _extend(table, parts[0].time[-1])
        time = table.pop("time")
        if len(time) < 2 or any(not table.keys().isdisjoint(p.signals) for p in parts):
            left_out.append(topic)
            continue
        parts.append(Recording(time, table, source=path))
        if dropped:
            notes[topic] = dropped
    if not parts:
        raise BadFile(
            path,
            "it has no JointState, Imu or Float64MultiArray with two messages.",
            hint="Other messages need a converter of your own to .csv.",
        )
    if left_out:
        notes["left_out"] = left_out
    joined = merge(parts)
    table = {"time": joined.time, **joined.signals}
    return [Imported(table=table, sidecar=Sidecar(notes=notes), source=path)]


def _build_table(rows: list[Row], stamps: Stamps) -> tuple[Table, dict[str, object]]:
    """Columns that are not nan throughout, and what was dropped."""
    columns = [row[2] for row in rows]
    table = {name: np.array([c[name] for c in columns]) for name in columns[0]}
    empty = [name for name, values in table.items() if np.all(np.isnan(values))]
    kept = {name: values for name, values in table.items() if name not in empty}
    time = stamps.astype(np.float64) * 1e-9
    table, dropped = drop_bad_rows({"time": time, **kept})
    return table, {**dropped, **({"always_nan": empty} if empty else {})}


def _rank(key: Key) -> tuple[bool, str, list[str]]:
    """Joint states first: their times are kept."""
    topic, names = key
    is_state = any(name.endswith(".position") for name in names)
    return not is_state, topic, sorted(names)


def _extend(table: Table, end: float) -> Table:
    """The last command stays in force until another comes, so up to `end`."""
    names = [name for name in table if name != "time"]
    if not all(map(is_held, names)) or table["time"][-1] >= end:
        return table
    longer = {name: np.append(table[name], table[name][-1]) for name in names}
    return {"time": np.append(table["time"], end), **longer}


def _stamps(rows: list[Row], clock: str) -> Stamps:
    return np.array([row[0 if clock == "header" else 1] for row in rows])


def _find_clock(rows: list[Row]) -> str:
    """`header` where stamps are set and near the time of writing, else `log`."""
    offsets = [abs(stamp - logged) for stamp, logged, _ in rows]
    return "header" if np.median(offsets) < MAX_STAMP_OFFSET else "log"


def _read_rows(path: Path) -> dict[Key, list[Row]]:
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingExtra("rosbags", "ros", need="Reading ROS bags") from None
    rows: dict[Key, list[Row]] = {}
    _check(path)
    taken = 0
    store = get_typestore(Stores.LATEST)  # for bags that do not describe their types
    with (
        reading(path, "a whole ROS bag"),
        limited_memory(),  # the library unpacks whatever it is given
        AnyReader([path], default_typestore=store) as reader,
    ):
        wanted = [c for c in reader.connections if c.msgtype in CONVERTERS]
        if not wanted:  # to messages(), none means all
            return {}
        for connection, logged, data in reader.messages(wanted):
            message: Any = reader.deserialize(data, connection.msgtype)
            convert = CONVERTERS[connection.msgtype]
            columns = dict(convert(message, connection.topic))
            stamp = _find_stamp(message)
            key = connection.topic, frozenset(columns)
            rows.setdefault(key, []).append((stamp, logged, columns))
            taken += _ROW + _NUMBER * len(columns)
            check_bytes(path, taken)
    return rows


def _check(path: Path) -> None:
    """Raises for what the library should not be given."""
    if path.is_file():
        check_readable(path)
        return
    read_tree(path / "metadata.yaml")  # aliases of aliases stop here
    for file in path.iterdir():
        check_readable(file)


def _find_stamp(message: Any) -> int:
    header = getattr(message, "header", None)
    return 0 if header is None else header.stamp.sec * 10**9 + header.stamp.nanosec


def _convert_joints(message: Any, topic: str) -> Iterator[tuple[str, float]]:
    if "command" in topic:
        ends = (".command", ".command.velocity", ".command.torque")
    else:
        ends = (".position", ".velocity", ".torque")
    for values, end in zip(
        (message.position, message.velocity, message.effort), ends, strict=True
    ):
        for joint, value in zip(message.name, values, strict=False):  # may be empty
            yield joint + end, float(value)


def _convert_imu(message: Any, topic: str) -> Iterator[tuple[str, float]]:
    element = _element(topic)
    for quantity, vector, axes in (
        ("orientation", message.orientation, "wxyz"),
        ("gyro", message.angular_velocity, "xyz"),
        ("accelerometer", message.linear_acceleration, "xyz"),
    ):
        for axis in axes:
            yield f"{element}.{quantity}.{axis}", float(getattr(vector, axis))


def _convert_array(message: Any, topic: str) -> Iterator[tuple[str, float]]:
    for i, value in enumerate(message.data):
        yield f"{_element(topic)}.command.{i}", float(value)


def _element(topic: str) -> str:
    return topic.strip("/").replace("/", "_").replace(".", "_")


def _stores(metadata: Path) -> bool:
    endings = (".db3", ".mcap", ".db3.zstd", ".mcap.zstd")
    return any(file.name.endswith(endings) for file in metadata.parent.iterdir())


CONVERTERS = {
    "sensor_msgs/msg/JointState": _convert_joints,
    "sensor_msgs/msg/Imu": _convert_imu,
    "std_msgs/msg/Float64MultiArray": _convert_array,
}

IMPORTER = Importer(
    summary="ROS 1 and ROS 2 bags: joint states, IMUs, command arrays",
    layout="a .bag file, or a folder with metadata.yaml and .db3 or .mcap files",
    find=find,
    read=read,
)
