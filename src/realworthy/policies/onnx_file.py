"""Reads `.onnx` without the onnx package: as much of the format as policies need.

Numbers of fields are those of onnx.proto, version 1. Weights may lie in a second file
beside the first, as torch writes them.
"""

import math
import shlex
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_readable, read_bytes, reading
from realworthy.errors import BadFile
from realworthy.policies.protobuf import (
    CutOff,
    as_bytes,
    as_text,
    as_whole,
    as_wholes,
    find_message,
    read_fields,
)
from realworthy.recordings.formats import find_suffix

Attribute: TypeAlias = float | int | str | NDArray | tuple[float | int | str, ...]
DTYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}
"""Of tensors, by their number in onnx.proto."""
_COST = 16
"""Bytes of memory for a byte of the file: numbers that are packed become Python's."""
_FUNCTIONS, _SPARSE, _GRAPHS, _SPARSE_ATTRIBUTES = 25, 15, (6, 11), (22, 23)
"""Fields of a model, of a graph, and of an attribute (both)."""
_EXTERNAL = 1
"""`data_location` of a tensor whose numbers lie in another file."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph; None stands for a length that is left open."""

    name: str
    shape: tuple[int | None, ...]
    dtype: type[np.generic] | None = np.float32
    """Of its numbers; None: one that is not read here."""

    @property
    def width(self) -> int:
        """Numbers in a row of one world."""
        return math.prod(length or 1 for length in self.shape[1:])

    def size(self, worlds: int, *, axis: int = 0) -> tuple[int, ...]:
        """Its shape for some worlds, which lie along `axis`."""
        shape = [length or 1 for length in self.shape]
        shape[axis] = worlds
        return tuple(shape)


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
    companions: tuple[Path, ...] = ()
    """Other files that hold some of its numbers; all lie beside it."""
    inner: frozenset[str] = frozenset()
    """Operations in functions and in graphs within its nodes, which are not read here
    any further."""


def read_graph(path: Path | str) -> Graph:
    """The graph in a file; raises where it is cut off, or is something else."""
    path = Path(path)
    check_readable(path)
    if path.is_dir():
        raise BadFile(path, "it is a folder, not a policy.")
    _refuse_recording(path)
    data = read_bytes(path, cost=_COST)
    if not data:
        raise BadFile(path, "it is empty.")
    with reading(path, "a whole ONNX file", hint="Copy it again, or export it again."):
        return _read_model(path, memoryview(data))


def _refuse_recording(path: Path) -> None:
    """Raises where a file is what a robot was measured to do, by its name."""
    if not find_suffix(path):
        return
    name = shlex.quote(str(path))
    raise BadFile(
        path,
        "this is a recording, not a policy.",
        hint=f"A policy is an .onnx file. How far a twin is from the recording: "
        f"realworthy measure TWIN {name}",
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """The file that is read, and those beside it that hold some of its numbers."""

    path: Path
    companions: dict[Path, bytes] = field(default_factory=dict)

    def read_beside(self, tensor: str, entries: dict[str, str]) -> memoryview:
        """Bytes of a tensor that lie in another file."""
        location = entries.get("location", "")
        beside = self.path.parent / location
        if Path(location).name != location or not beside.is_file():
            raise BadFile(
                self.path,
                f"the numbers of '{tensor}' lie in another file, '{location}', which is"
                " not beside it.",
                hint="Copy both files; or export it with all weights inside"
                " (torch.onnx.export(…, external_data=False)).",
            )
        if beside not in self.companions:
            self.companions[beside] = read_bytes(beside, cost=4)
        data = memoryview(self.companions[beside])
        first = int(entries.get("offset", 0))
        length = int(entries.get("length", len(data) - first))
        if first < 0 or length < 0 or first + length > len(data):
            raise BadFile(
                self.path,
                f"the numbers of '{tensor}' are not all in '{location}': it has"
                f" {len(data)} bytes, {first + length} are needed.",
                hint="Copy both files again; they belong together.",
            )
        return data[first : first + length]


def _read_model(path: Path, data: memoryview) -> Graph:
    graph, metadata, inner = None, {}, set()
    for number, value in read_fields(data):
        if number == 7:
            if graph is not None:
                raise CutOff("there are two graphs in it")
            graph = as_bytes(value)
        elif number == _FUNCTIONS:
            inner |= {"a function", *_list_kinds(as_bytes(value), nodes_in=7)}
        elif number == 14:
            entry = {n: as_text(v) for n, v in read_fields(as_bytes(value))}
            metadata[entry.get(1, "")] = entry.get(2, "")
    if graph is None:
        raise CutOff("there is no graph in it")
    source = _Source(path)
    nodes, constants, inputs, outputs = [], {}, [], []
    for number, value in read_fields(graph):
        if number == 1:
            nodes.append(_read_node(source, as_bytes(value)))
            inner |= _list_inner_kinds(as_bytes(value))
        elif number == 5:
            name, array = _read_tensor(source, as_bytes(value))
            constants[name] = array
        elif number == 11:
            inputs.append(_read_port(as_bytes(value)))
        elif number == 12:
            outputs.append(_read_port(as_bytes(value)))
        elif number == _SPARSE:
            inner.add("a sparse tensor")
    return Graph(
        nodes=tuple(nodes),
        constants=constants,
        inputs=tuple(port for port in inputs if port.name not in constants),
        outputs=tuple(outputs),
        metadata=metadata,
        companions=tuple(source.companions),
        inner=frozenset(inner),
    )


def _list_kinds(graph: memoryview, *, nodes_in: int = 1) -> set[str]:
    """Operations of a graph whose nodes are in field `nodes_in`, those within too."""
    kinds = set()
    for number, value in read_fields(graph):
        if number == nodes_in:
            node = as_bytes(value)
            kinds |= {as_text(v) for n, v in read_fields(node) if n == 4}
            kinds |= _list_inner_kinds(node)
    return kinds


def _list_inner_kinds(node: memoryview) -> set[str]:
    """Operations of the graphs that a node has as attributes."""
    kinds = set()
    for number, value in read_fields(node):
        if number != 5:
            continue
        for n, v in read_fields(as_bytes(value)):
            if n in _GRAPHS:
                kinds |= {"a graph", *_list_kinds(as_bytes(v))}
            elif n in _SPARSE_ATTRIBUTES:
                kinds.add("a sparse tensor")
    return kinds


def _read_node(source: _Source, data: memoryview) -> Node:
    inputs, outputs, kind, domain, attributes = [], [], "", "", {}
    for number, value in read_fields(data):
        if number == 1:
            inputs.append(as_text(value))
        elif number == 2:
            outputs.append(as_text(value))
        elif number == 4:
            kind = as_text(value)
        elif number == 5:
            name, content = _read_attribute(source, as_bytes(value))
            attributes[name] = content
        elif number == 7:
            domain = as_text(value)
    if domain not in ("", "ai.onnx"):
        kind = f"{domain}.{kind}"
    return Node(kind, tuple(inputs), tuple(outputs), attributes)


def _read_attribute(source: _Source, data: memoryview) -> tuple[str, Attribute]:
    name = ""
    many: list[float | int | str] = []
    one: Attribute | None = None
    for number, value in read_fields(data):
        match number:
            case 1:
                name = as_text(value)
            case 2:
                (one,) = struct.unpack("<f", as_bytes(value))
            case 3:
                one = as_whole(value)
            case 4:
                one = as_text(value)
            case 5:
                one = _read_tensor(source, as_bytes(value))[1]
            case 7:
                many += np.frombuffer(as_bytes(value), "<f4").tolist()
            case 8:
                many += as_wholes(value)
            case 9:
                many.append(as_text(value))
    return name, tuple(many) if one is None else one


def _read_tensor(source: _Source, data: memoryview) -> tuple[str, NDArray]:
    name, dims, kind = "", [], 0
    raw: memoryview | None = None
    numbers: list[float | int] = []
    elsewhere: dict[str, str] = {}
    is_elsewhere = False
    for number, value in read_fields(data):
        match number:
            case 1:
                dims += as_wholes(value)
            case 2:
                kind = as_whole(value)
            case 4:
                numbers += np.frombuffer(as_bytes(value), "<f4").tolist()
            case 5 | 7:
                numbers += as_wholes(value)
            case 8:
                name = as_text(value)
            case 9:
                raw = as_bytes(value)
            case 10:
                numbers += np.frombuffer(as_bytes(value), "<f8").tolist()
            case 13:
                entry = {n: as_text(v) for n, v in read_fields(as_bytes(value))}
                elsewhere[entry.get(1, "")] = entry.get(2, "")
            case 14:
                is_elsewhere = as_whole(value) == _EXTERNAL
    if kind not in DTYPES:
        raise BadFile(
            source.path,
            f"'{name}' holds numbers of kind {kind}, which is not read here.",
            hint="Export it with 32-bit floats.",
        )
    if is_elsewhere:
        raw = source.read_beside(name, elsewhere)
    dtype = np.dtype(DTYPES[kind]).newbyteorder("<")
    flat = np.array(numbers, dtype) if raw is None else np.frombuffer(raw, dtype)
    return name, flat.astype(DTYPES[kind]).reshape(dims)


def _read_port(data: memoryview) -> Port:
    name, shape, kind = "", [], 1
    for number, value in read_fields(data):
        if number == 1:
            name = as_text(value)
        elif number == 2:
            tensor = find_message(as_bytes(value), 1)
            kind = next((as_whole(k) for n, k in read_fields(tensor) if n == 1), 0)
            dims = find_message(tensor, 2)
            shape = [
                _read_length(as_bytes(dim)) for n, dim in read_fields(dims) if n == 1
            ]
    return Port(name, tuple(shape), DTYPES.get(kind))


def _read_length(data: memoryview) -> int | None:
    found = [as_whole(value) for number, value in read_fields(data) if number == 1]
    return found[0] if found else None
