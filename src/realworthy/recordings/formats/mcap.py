"""MCAP with JSON messages, as Foxglove opens it: one topic per element.

`elbow.position` and `elbow.command` are fields of `/elbow`, `base.gyro.x` is a field of
`/base/gyro`. Log times are whole nanoseconds, so the exact seconds have a topic of
their own, `/time`. Metadata `realworthy` holds the sidecar and the order of signals.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
import numpy as np

from realworthy.artefacts import check_bytes, check_readable, reading
from realworthy.errors import BadFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar, from_json, to_json
from realworthy.recordings.signals import Table, Values

METADATA = "realworthy"
_RECORD = 8
"""Bytes of memory for a byte of a chunk whose messages are split, 31 bytes each."""
_LZ4_MOST = 255
"""Bytes that LZ4 packs into one, at most."""


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Files that `write` made; a ROS bag needs its importer."""
    from mcap.records import Channel, Message, Metadata

    check_readable(path)
    facts: dict[str, str] | None = None
    channels: dict[int, _Channel] = {}
    with reading(path, "a whole MCAP file"), path.open("rb") as file:
        for record in _list_records(file, path):
            if isinstance(record, Metadata) and record.name == METADATA:
                facts = record.metadata
            elif isinstance(record, Channel) and record.id not in channels:
                if "signals" in record.metadata:
                    channels[record.id] = _Channel(record.metadata["signals"])
            elif isinstance(record, Message) and record.channel_id in channels:
                channels[record.channel_id].take(record.sequence, record.data)
        if facts is None:
            raise BadFile(
                path,
                "no Realworthy wrote this MCAP file.",
                hint="A ROS 2 bag needs --importer rosbag.",
            )
        columns = {n: v for c in channels.values() for n, v in c.build().items()}
        order = msgspec.json.decode(facts["signals"], type=list[str])
        table = {name: columns[name] for name in order}
        return table, from_json(facts["sidecar"], path)


class _Channel:
    """Numbers of one topic as they come, put in order at the end."""

    def __init__(self, signals: str) -> None:
        self._names = msgspec.json.decode(signals, type=list[str])
        self._fields = [name.rpartition(".")[2] for name in self._names]
        self._decode = msgspec.json.Decoder(dict[str, float]).decode
        self._sequence = array("Q")
        self._values = [array("d") for _ in self._names]

    def take(self, sequence: int, text: bytes) -> None:
        message = self._decode(text)
        self._sequence.append(sequence)
        for field, values in zip(self._fields, self._values, strict=True):
            values.append(message[field])

    def build(self) -> Table:
        """Columns by their names."""
        order = np.argsort(np.array(self._sequence), kind="stable")
        pairs = zip(self._names, self._values, strict=True)
        return {name: np.array(values)[order] for name, values in pairs}


def _list_records(file: IO[bytes], path: Path) -> Iterator[object]:
    """Records in the order of the file, those in chunks too.

    Checked before a chunk is unpacked: sizes that it declares, and what its packed data
    declare, which the library believes instead.
    """
    import zstandard
    from mcap.records import Chunk
    from mcap.stream_reader import StreamReader, breakup_chunk

    total = 0
    for record in StreamReader(file, emit_chunks=True).records:
        if not isinstance(record, Chunk):
            yield record
            continue
        size = max(record.uncompressed_size, len(record.data))
        if record.compression == "zstd":
            size = max(size, zstandard.frame_content_size(record.data))
        elif record.compression == "lz4":
            size = max(size, _LZ4_MOST * len(record.data))
        total += size
        check_bytes(path, total + _RECORD * size)
        yield from breakup_chunk(record)


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
