"""Reads `.onnx` without the onnx package: as much of the format as policies need.

The file is a protobuf message: fields of a number, a wire type and a value, messages
within messages. Numbers of fields are those of onnx.proto, version 1.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_readable
from realworthy.errors import BadFile

Attribute: TypeAlias = float | int | str | NDArray | tuple[float | int | str, ...]
_DTYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}
"""Of tensors, by their number in onnx.proto."""
_EXTERNAL = 1
"""`data_location` of a tensor whose numbers lie in another file."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph; None stands for a length that is left open."""

    name: str
    shape: tuple[int | None, ...]

    def size(self, worlds: int, *, axis: int = 0) -> tuple[int, ...]:
        """Its shape for some worlds, which lie along `axis`."""
        return tuple(
            worlds if i == axis else length or 1 for i, length in enumerate(self.shape)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation; an input without a name is left out."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Attribute]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Operations in the order in which they run, and their constants."""

    nodes: tuple[Node, ...]
    constants: dict[str, NDArray]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    metadata: dict[str, str]


def read_graph(path: Path | str) -> Graph:
    """The graph in a file; raises where it is cut off, or is something else."""
    path = Path(path)
    check_readable(path)
    if path.is_dir():
        raise BadFile(path, "it is a folder, not a policy.")
    data = path.read_bytes()
    if not data:
        raise BadFile(path, "it is empty.")
    try:
        return _read_model(path, memoryview(data))
    except (_CutOff, struct.error, ValueError, OverflowError, MemoryError) as error:
        raise BadFile(
            path,
            f"it is cut off, or not an ONNX file ({error}).",
            hint="Copy it again, or export it again.",
        ) from None


class _CutOff(Exception):
    """The bytes end before the message does."""


def _read_model(path: Path, data: memoryview) -> Graph:
    graph, metadata = None, {}
    for number, value in _fields(data):
        if number == 7:
            graph = _bytes(value)
        elif number == 14:
            entry = {n: _text(v) for n, v in _fields(_bytes(value))}
            metadata[entry.get(1, "")] = entry.get(2, "")
    if graph is None:
        raise _CutOff("there is no graph in it")
    nodes, constants, inputs, outputs = [], {}, [], []
    for number, value in _fields(graph):
        if number == 1:
            nodes.append(_read_node(path, _bytes(value)))
        elif number == 5:
            name, array = _read_tensor(path, _bytes(value))
            constants[name] = array
        elif number == 11:
            inputs.append(_read_port(_bytes(value)))
        elif number == 12:
            outputs.append(_read_port(_bytes(value)))
    return Graph(
        nodes=tuple(nodes),
        constants=constants,
        inputs=tuple(port for port in inputs if port.name not in constants),
        outputs=tuple(outputs),
        metadata=metadata,
    )


def _read_node(path: Path, data: memoryview) -> Node:
    inputs, outputs, kind, domain, attributes = [], [], "", "", {}
    for number, value in _fields(data):
        if number == 1:
            inputs.append(_text(value))
        elif number == 2:
            outputs.append(_text(value))
        elif number == 4:
            kind = _text(value)
        elif number == 5:
            name, content = _read_attribute(path, _bytes(value))
            attributes[name] = content
        elif number == 7:
            domain = _text(value)
    if domain not in ("", "ai.onnx"):
        kind = f"{domain}.{kind}"
    return Node(kind, tuple(inputs), tuple(outputs), attributes)


def _read_attribute(path: Path, data: memoryview) -> tuple[str, Attribute]:
    name = ""
    many: list[float | int | str] = []
    one: Attribute | None = None
    for number, value in _fields(data):
        match number:
            case 1:
                name = _text(value)
            case 2:
                (one,) = struct.unpack("<f", _bytes(value))
            case 3:
                one = _signed(value)
            case 4:
                one = _text(value)
            case 5:
                one = _read_tensor(path, _bytes(value))[1]
            case 7:
                many += np.frombuffer(_bytes(value), "<f4").tolist()
            case 8:
                many += _integers(value)
            case 9:
                many.append(_text(value))
    return name, tuple(many) if one is None else one


def _read_tensor(path: Path, data: memoryview) -> tuple[str, NDArray]:
    name, dims, kind = "", [], 0
    raw: memoryview | None = None
    numbers: list[float | int] = []
    for number, value in _fields(data):
        match number:
            case 1:
                dims += _integers(value)
            case 2:
                kind = _signed(value)
            case 4:
                numbers += np.frombuffer(_bytes(value), "<f4").tolist()
            case 5 | 7:
                numbers += _integers(value)
            case 8:
                name = _text(value)
            case 9:
                raw = _bytes(value)
            case 10:
                numbers += np.frombuffer(_bytes(value), "<f8").tolist()
            case 14 if _signed(value) == _EXTERNAL:
                raise BadFile(
                    path,
                    f"the numbers of '{name}' lie in another file.",
                    hint="Export it with all weights inside.",
                )
    if kind not in _DTYPES:
        raise BadFile(
            path,
            f"'{name}' holds numbers of kind {kind}, which is not read here.",
            hint="Export it with 32-bit floats.",
        )
    dtype = np.dtype(_DTYPES[kind]).newbyteorder("<")
    flat = np.array(numbers, dtype) if raw is None else np.frombuffer(raw, dtype)
    return name, flat.astype(_DTYPES[kind]).reshape(dims)


def _read_port(data: memoryview) -> Port:
    name, shape = "", []
    for number, value in _fields(data):
        if number == 1:
            name = _text(value)
        elif number == 2:
            tensor = _find(_bytes(value), 1)
            dims = _find(tensor, 2)
            shape = [_read_length(_bytes(dim)) for n, dim in _fields(dims) if n == 1]
    return Port(name, tuple(shape))


def _read_length(data: memoryview) -> int | None:
    found = [_signed(value) for number, value in _fields(data) if number == 1]
    return found[0] if found else None


def _find(data: memoryview, wanted: int) -> memoryview:
    """The message in a field; empty where there is none."""
    for number, value in _fields(data):
        if number == wanted:
            return _bytes(value)
    return memoryview(b"")


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: a whole number, or the bytes of anything else."""
    place = 0
    while place < len(data):
        key, place = _read_whole(data, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, place = _read_whole(data, place)
            yield number, value
            continue
        if kind == 2:
            length, place = _read_whole(data, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise _CutOff(f"field of wire type {kind}")
        if place + length > len(data):
            raise _CutOff(f"{place + length - len(data)} bytes are missing")
        yield number, data[place : place + length]
        place += length


def _read_whole(data: memoryview, place: int) -> tuple[int, int]:
    """A whole number, seven bits in a byte, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise _CutOff("it ends within a number")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise _CutOff("a number without end")


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise _CutOff("a number stands where a message should")
    return value


def _text(value: int | memoryview) -> str:
    return bytes(_bytes(value)).decode()


def _signed(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise _CutOff("a message stands where a number should")
    return value - (1 << 64) if value >> 63 else value


def _integers(value: int | memoryview) -> list[int]:
    """One whole number, or several that are packed."""
    if isinstance(value, int):
        return [_signed(value)]
    found, place = [], 0
    while place < len(value):
        one, place = _read_whole(value, place)
        found.append(_signed(one))
    return found
