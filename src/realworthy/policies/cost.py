"""What one run of a graph costs, told from its shapes before anything is run.

A graph of a few bytes can ask for terabytes: a column plus a row is a table, and twenty
of `concat(x, x)` make a million of one. Only for the operations that numpy runs here.
"""

import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from realworthy.policies.onnx_file import Graph, Node
from realworthy.policies.runner import Ports

Shape: TypeAlias = tuple[int, ...]
_NUMBER = 8
"""[bytes] for a number that is kept, and for a product that is computed."""


def compute_declared(ports: Ports) -> int:
    """[bytes] of what goes in and comes out for one row."""
    states = [port for pair in ports.states for port in pair]
    every = (*ports.by_world, *states)
    return _NUMBER * sum(math.prod(n or 1 for n in port.shape) for port in every)


def compute_cost(graph: Graph, nodes: Iterable[Node]) -> int | None:
    """[bytes] of all that some of its nodes compute for one row; None: unknown."""
    if graph.inner:
        return None
    shapes = {name: values.shape for name, values in graph.constants.items()}
    shapes |= {port.name: port.size(1) for port in graph.inputs}
    total = 0
    for node in nodes:
        try:
            found, products = RULES[node.kind](node, _Known(graph, shapes))
        except (LookupError, ValueError, TypeError, AttributeError):
            return None
        shapes |= zip(node.outputs, found, strict=False)
        total += sum(map(math.prod, found)) + products
    return total * _NUMBER


class _Known:
    """Shapes, and numbers of constants, by name."""

    def __init__(self, graph: Graph, shapes: dict[str, Shape]) -> None:
        self._graph, self._shapes = graph, shapes

    def shape(self, node: Node, place: int) -> Shape:
        return self._shapes[node.inputs[place]]

    def axes(self, node: Node, place: int = 1) -> list[int]:
        """Whole numbers of an input that is a constant."""
        return self._graph.constants[node.inputs[place]].ravel().tolist()


Rule: TypeAlias = Callable[[Node, _Known], tuple[list[Shape], int]]
"""Shapes of the outputs, and how many products they take."""


def _attribute(node: Node, name: str, default: int) -> int:
    value = node.attributes.get(name, default)
    if not isinstance(value, int):
        raise TypeError(name)
    return value


def _same(node: Node, known: _Known) -> tuple[list[Shape], int]:
    return [known.shape(node, 0)], 0


def _broadcast(first: Shape, second: Shape) -> Shape:
    axes = max(len(first), len(second))
    pairs = zip(
        (1,) * (axes - len(first)) + first,
        (1,) * (axes - len(second)) + second,
        strict=True,
    )
    return tuple(b if a == 1 else a for a, b in pairs)


def _both(node: Node, known: _Known) -> tuple[list[Shape], int]:
    return [_broadcast(known.shape(node, 0), known.shape(node, 1))], 0


def _gemm(node: Node, known: _Known) -> tuple[list[Shape], int]:
    (rows, inner), (a, b) = known.shape(node, 0), known.shape(node, 1)
    if _attribute(node, "transA", 0):
        rows, inner = inner, rows
    width = rows, a if _attribute(node, "transB", 0) else b
    if len(node.inputs) > 2 and node.inputs[2]:
        width = _broadcast(width, known.shape(node, 2))
    return [width], math.prod(width) * inner


def _matmul(node: Node, known: _Known) -> tuple[list[Shape], int]:
    (*batch_a, rows, inner), (*batch_b, _, width) = (
        known.shape(node, 0),
        known.shape(node, 1),
    )
    shape = (*_broadcast(tuple(batch_a), tuple(batch_b)), rows, width)
    return [shape], math.prod(shape) * inner


def _concat(node: Node, known: _Known) -> tuple[list[Shape], int]:
    shapes = [known.shape(node, i) for i in range(len(node.inputs))]
    joined = list(shapes[0])
    axis = _attribute(node, "axis", 0)
    joined[axis] = sum(shape[axis] for shape in shapes)
    return [tuple(joined)], 0


def _constant(node: Node, known: _Known) -> tuple[list[Shape], int]:
    return [np.shape(node.attributes["value"])], 0  # pyright: ignore[reportArgumentType]


def _flatten(node: Node, known: _Known) -> tuple[list[Shape], int]:
    first, *rest = known.shape(node, 0)
    return [(first, math.prod(rest))], 0


def _split(node: Node, known: _Known) -> tuple[list[Shape], int]:
    whole = list(known.shape(node, 0))
    axis = _attribute(node, "axis", 0)
    parts = len(node.outputs)
    sizes = known.axes(node) if len(node.inputs) > 1 else [whole[axis] // parts] * parts
    place = axis % len(whole)
    return [(*whole[:place], n, *whole[place + 1 :]) for n in sizes], 0


def _squeeze(node: Node, known: _Known) -> tuple[list[Shape], int]:
    shape = known.shape(node, 0)
    axes = {axis % len(shape) for axis in known.axes(node)}
    return [tuple(n for i, n in enumerate(shape) if i not in axes)], 0


def _unsqueeze(node: Node, known: _Known) -> tuple[list[Shape], int]:
    shape = list(known.shape(node, 0))
    total = len(shape) + len(known.axes(node))
    for axis in sorted(axis % total for axis in known.axes(node)):
        shape.insert(axis, 1)
    return [tuple(shape)], 0


def _recurrent(node: Node, known: _Known) -> tuple[list[Shape], int]:
    """LSTM and GRU: all steps, the last one, and the cells."""
    (steps, rows, width), (directions, gates, hidden) = (
        known.shape(node, 0),
        known.shape(node, 2),
    )
    last = directions, rows, hidden
    products = steps * directions * rows * gates * (width + hidden)
    return [(steps, directions, rows, hidden), last, last], products


def _reshape(node: Node, known: _Known) -> tuple[list[Shape], int]:
    before = known.shape(node, 0)
    lengths = known.axes(node)
    if not _attribute(node, "allowzero", 0):
        lengths = [n or before[i] for i, n in enumerate(lengths)]
    rest = math.prod(n for n in lengths if n != -1)
    shape = tuple(math.prod(before) // rest if n == -1 else n for n in lengths)
    if min(shape, default=1) < 0 or math.prod(shape) != math.prod(before):
        raise ValueError("Reshape")
    return [shape], 0


def _slice(node: Node, known: _Known) -> tuple[list[Shape], int]:
    shape = list(known.shape(node, 0))
    starts, ends = known.axes(node, 1), known.axes(node, 2)
    axes = known.axes(node, 3) if len(node.inputs) > 3 else range(len(starts))
    steps = known.axes(node, 4) if len(node.inputs) > 4 else [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        shape[axis] = len(range(shape[axis])[start:end:step])
    return [tuple(shape)], 0


def _gather(node: Node, known: _Known) -> tuple[list[Shape], int]:
    shape, places = known.shape(node, 0), known.shape(node, 1)
    axis = _attribute(node, "axis", 0) % len(shape)
    return [(*shape[:axis], *places, *shape[axis + 1 :])], 0


def _transpose(node: Node, known: _Known) -> tuple[list[Shape], int]:
    shape = known.shape(node, 0)
    order = node.attributes.get("perm", tuple(reversed(range(len(shape)))))
    return [tuple(shape[i] for i in order)], 0  # pyright: ignore


def _convolve(node: Node, known: _Known) -> tuple[list[Shape], int]:
    """The padded image and every patch of it count as products, too."""
    (rows, channels, *image), (outputs, *kernel) = (
        known.shape(node, 0),
        known.shape(node, 1),
    )
    axes = len(image)
    pads, strides = (
        tuple(node.attributes.get(name, (default,) * count))  # pyright: ignore
        for name, default, count in (("pads", 0, 2 * axes), ("strides", 1, axes))
    )
    if min(pads) < 0 or min(strides) < 1 or node.attributes.get("group", 1) != 1:
        raise ValueError("Conv")
    lengths = [n + pads[i] + pads[axes + i] for i, n in enumerate(image)]
    reach = zip(lengths, kernel[1:], strides, strict=True)
    shape = (rows, outputs, *((n - k) // step + 1 for n, k, step in reach))
    if min(shape) < 1:
        raise ValueError("Conv")
    patches = rows * math.prod(shape[2:]) * math.prod(kernel)
    padded = rows * channels * math.prod(lengths)
    return [shape], patches * (outputs + 1) + padded


RULES: dict[str, Rule] = {
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), _both),
    **dict.fromkeys(("Cast", "Clip", "Elu", "Identity"), _same),
    **dict.fromkeys(("LayerNormalization", "Relu", "Sigmoid", "Tanh"), _same),
    **dict.fromkeys(("GRU", "LSTM"), _recurrent),
    "Concat": _concat,
    "Constant": _constant,
    "Conv": _convolve,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Of every operation in `numpy_runner.OPERATIONS`."""
