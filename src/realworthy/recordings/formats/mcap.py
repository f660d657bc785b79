"""MCAP with JSON messages, as Foxglove opens it: one topic per element.

`elbow.position` and `elbow.command` are fields of `/elbow`, `base.gyro.x` is a field of
`/base/gyro`. Log times are whole nanoseconds, so the exact seconds have a topic of
their own, `/time`. Metadata `realworthy` holds the sidecar and the order of signals.
"""

from pathlib import Path

import msgspec
import numpy as np

from realworthy.errors import BadFile, MissingFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar, from_json, to_json
from realworthy.recordings.signals import Table, Values

METADATA = "realworthy"


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Files that `write` made; a ROS bag needs its importer."""
    from mcap.exceptions import McapError
    from mcap.reader import make_reader

    rows: dict[int, list[tuple[int, bytes]]] = {}
    channels: dict[int, list[str]] = {}
    try:
        with path.open("rb") as file:
            reader = make_reader(file)
            facts = {m.name: m.metadata for m in reader.iter_metadata()}.get(METADATA)
            if facts is None:
                raise BadFile(
                    path,
                    "no Realworthy wrote this MCAP file.",
                    hint="A ROS 2 bag needs --importer rosbag.",
                )
            for _, channel, message in reader.iter_messages(log_time_order=False):
                if channel.id not in channels:
                    channels[channel.id] = msgspec.json.decode(
                        channel.metadata["signals"]
                    )
                rows.setdefault(channel.id, []).append((message.sequence, message.data))
    except FileNotFoundError:
        raise MissingFile(path) from None
    except (McapError, msgspec.MsgspecError, KeyError, EOFError, OSError) as error:
        raise BadFile(path, f"it is not a whole MCAP file ({error}).") from None
    columns: Table = {}
    for key, names in channels.items():
        decode = msgspec.json.Decoder(dict[str, float]).decode
        messages = [decode(data) for _, data in sorted(rows[key])]
        for name in names:
            last = name.rpartition(".")[2]
            columns[name] = np.array([message[last] for message in messages])
    order: list[str] = msgspec.json.decode(facts["signals"])
    return {name: columns[name] for name in order}, from_json(facts["sidecar"], path)


def write(recording: Recording, path: Path) -> None:
    """Reads back bit for bit; packed with zstd."""
    from mcap.writer import Writer

    columns = {"time": recording.time, **recording.signals}
    facts = {
        "signals": msgspec.json.encode(list(columns)).decode(),
        "sidecar": to_json(recording.sidecar),
    }
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(library="realworthy")
        writer.add_metadata(METADATA, facts)
        messages: dict[int, list[bytes]] = {}
        for stem, names in _group(list(columns)).items():
            fields = [name.rpartition(".")[2] for name in names]
            schema = writer.register_schema(
                stem or "signals", "jsonschema", _describe(fields)
            )
            topic = "/" + (stem.replace(".", "/") or "time")
            signals = {"signals": msgspec.json.encode(names).decode()}
            channel = writer.register_channel(topic, "json", schema, signals)
            rows = zip(*(columns[name].tolist() for name in names), strict=True)
            messages[channel] = [
                msgspec.json.encode(dict(zip(fields, row, strict=True))) for row in rows
            ]
        for sequence, stamp in enumerate(_compute_stamps(recording.time)):
            for channel, texts in messages.items():
                writer.add_message(channel, stamp, texts[sequence], stamp, sequence)
        writer.finish()


def _group(names: list[str]) -> dict[str, list[str]]:
    """Signals by the part of their name before the last dot."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.rpartition(".")[0], []).append(name)
    return groups


def _describe(fields: list[str]) -> bytes:
    properties = {name: {"type": "number"} for name in fields}
    return msgspec.json.encode({"type": "object", "properties": properties})


def _compute_stamps(time: Values) -> list[int]:
    """Nanoseconds; a clock that begins below zero is moved up to it."""
    seconds = time - min(time[0], 0.0)
    return [min(round(t * 1e9), 2**63 - 1) for t in seconds.tolist()]


FORMAT = Format(read=read, write=write, embeds=True)
