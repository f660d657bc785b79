"""Runs a policy with numpy alone: the operations that our own policies are made of."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from realworthy.policies.onnx_file import DTYPES, Graph, Node
from realworthy.policies.runner import Floats32, Ports, Runner

Operation: TypeAlias = Callable[..., NDArray | tuple[NDArray, ...]]
"""Of arrays, or None where an input is left out."""


class NumpyRunner(Runner):
    """Some tens of microseconds for three layers of 256; many worlds at once as well.

    Raises `ValueError` with what it does not know in words.
    """

    def __init__(self, graph: Graph, ports: Ports, *, worlds: int = 1) -> None:
        self._ports = ports
        self._constants = dict(graph.constants)
        self._steps = [self._prepare(node) for node in find_needed(graph, ports)]
        self._state = {
            before.name: np.zeros(before.size(worlds, axis=-2), before.dtype)
            for before, _ in ports.states
        }
        self._vectors = list(zip(ports.vectors, ports.parts, strict=True))
        is_plain = len(ports.vectors) == 1 and not ports.others
        self._only = ports.vectors[0] if is_plain else None
        """The one input of most policies."""
        self._outputs: dict[str, Floats32] = {}

    def run(self, observations: Floats32, *others: Floats32) -> Floats32:
        values: dict[str, NDArray] = {**self._constants, **self._state}
        if self._only is not None:
            port = self._only
            values[port.name] = observations.astype(port.dtype, copy=False)
        else:
            self._put(values, observations, others)
        for step in self._steps:
            found = step.operation(*[values.get(name) for name in step.inputs])
            if isinstance(found, tuple):
                values.update(zip(step.outputs, found, strict=False))
            else:
                values[step.outputs[0]] = found
        for before, after in self._ports.states:
            self._state[before.name] = values[after.name]
        for port in self._ports.outputs:
            self._outputs[port.name] = values[port.name].astype(np.float32)
        return values[self._ports.action.name].astype(np.float32, copy=False)

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        for name, state in self._state.items():
            if worlds is None:
                self._state[name] = np.zeros_like(state)
            else:
                self._state[name] = np.where(worlds[:, None], 0, state)

    def _put(
        self,
        values: dict[str, NDArray],
        observations: Floats32,
        others: tuple[Floats32, ...],
    ) -> None:
        for port, part in self._vectors:
            values[port.name] = observations[:, part].astype(port.dtype, copy=False)
        for port, other in zip(self._ports.others, others, strict=True):
            values[port.name] = other.astype(port.dtype, copy=False)

    @property
    def outputs(self) -> dict[str, Floats32]:
        return dict(self._outputs)

    def _prepare(self, node: Node) -> "_Step":
        if node.kind not in OPERATIONS:
            raise ValueError(
                f"operation '{node.kind}' is not among those that numpy runs here: "
                + ", ".join(OPERATIONS)
            )
        if node.kind == "Gemm":
            node = self._turn_weights(node)
        return _Step(OPERATIONS[node.kind](node), node.inputs, node.outputs)

    def _turn_weights(self, node: Node) -> Node:
        """The same product, its constant weights laid out as it reads them."""
        x, weights, *rest = node.inputs
        if not _whole(node, "transB", 0) or weights not in self._constants:
            return node
        turned = f"{weights}, turned"
        self._constants[turned] = np.ascontiguousarray(self._constants[weights].T)
        attributes = {**node.attributes, "transB": 0}
        return replace(node, inputs=(x, turned, *rest), attributes=attributes)


def find_needed(graph: Graph, ports: Ports) -> list[Node]:
    """Nodes that the outputs it names and states come from; a critic, say, is not."""
    wanted = {port.name for port in (ports.action, *ports.outputs)}
    wanted |= {after.name for _, after in ports.states}
    needed = []
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            needed.append(node)
    return needed[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    operation: Operation
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def _number(node: Node, name: str, default: float) -> float:
    return float(cast(float, node.attributes.get(name, default)))


def _whole(node: Node, name: str, default: int) -> int:
    return int(cast(int, node.attributes.get(name, default)))


def _wholes(node: Node, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(cast(tuple[int, ...], node.attributes.get(name, default)))


def _refuse(node: Node, **plain: object) -> None:
    """Raises where an attribute is not what our own graphs have."""
    for name, value in plain.items():
        if node.attributes.get(name, value) != value:
            raise ValueError(
                f"operation '{node.kind}' with {name} = {node.attributes[name]!r} is"
                " not run by numpy here"
            )


def _gemm(node: Node) -> Operation:
    _refuse(node, alpha=1.0, beta=1.0, transA=0)
    if _whole(node, "transB", 0):
        return lambda x, w, b=0: x @ w.T + b
    return lambda x, w, b=0: x @ w + b


def _cast(node: Node) -> Operation:
    kind = _whole(node, "to", 1)
    if kind not in DTYPES:
        raise ValueError(f"operation 'Cast' to numbers of kind {kind} is not run")
    return lambda x: x.astype(DTYPES[kind], copy=False)


def _flatten(node: Node) -> Operation:
    _refuse(node, axis=1)
    return lambda x: x.reshape(len(x), -1)


def _elu(node: Node) -> Operation:
    alpha = np.float32(_number(node, "alpha", 1.0))

    def run(x: NDArray) -> NDArray:
        below = np.minimum(x, 0)
        np.exp(below, out=below)
        below -= 1
        below *= alpha
        return np.maximum(x, below) if alpha == 1 else np.where(x > 0, x, below)

    return run


def _clip(node: Node) -> Operation:
    def run(x: NDArray, lower: NDArray | None = None, upper: NDArray | None = None):
        x = x if lower is None else np.maximum(x, lower)
        return x if upper is None else np.minimum(x, upper)

    return run


def _constant(node: Node) -> Operation:
    value = np.asarray(node.attributes["value"])
    return lambda: value


def _split(node: Node) -> Operation:
    axis = _whole(node, "axis", 0)
    parts = len(node.outputs)

    def run(x: NDArray, sizes: NDArray | None = None) -> tuple[NDArray, ...]:
        where = parts if sizes is None else np.cumsum(sizes)[:-1]
        return tuple(np.split(x, where, axis))

    return run


def _concat(node: Node) -> Operation:
    axis = _whole(node, "axis", 0)
    return lambda *parts: np.concatenate(parts, axis)


def _sigmoid(x: NDArray) -> NDArray:
    return (0.5 * (np.tanh(0.5 * x) + 1)).astype(x.dtype, copy=False)


def _lstm(node: Node) -> Operation:
    """One direction; gates in the order i, o, f, c."""
    _refuse(node, direction="forward", activations=(), layout=0, input_forget=0)

    def run(x, w, r, b, lengths, h, c) -> tuple[NDArray, ...]:
        size = r.shape[-1]
        bias = b[0, : 4 * size] + b[0, 4 * size :]
        h, c, seen = h[0], c[0], []
        for row in x:
            gates = row @ w[0].T + h @ r[0].T + bias
            i, o, f = (_sigmoid(gates[:, k * size : (k + 1) * size]) for k in range(3))
            c = f * c + i * np.tanh(gates[:, 3 * size :])
            h = o * np.tanh(c)
            seen.append(h)
        return np.stack(seen)[:, None], h[None], c[None]

    return run


def _gru(node: Node) -> Operation:
    """One direction; gates in the order z, r, h; the reset after the product."""
    _refuse(node, direction="forward", activations=(), layout=0)
    if _whole(node, "linear_before_reset", 0) != 1:
        raise ValueError("operation 'GRU' that resets before its product is not run")

    def run(x, w, r, b, lengths, h) -> tuple[NDArray, ...]:
        size = r.shape[-1]
        h, seen = h[0], []
        for row in x:
            given = row @ w[0].T + b[0, : 3 * size]
            kept = h @ r[0].T + b[0, 3 * size :]
            both = _sigmoid(given[:, : 2 * size] + kept[:, : 2 * size])
            z, reset = both[:, :size], both[:, size:]
            new = np.tanh(given[:, 2 * size :] + reset * kept[:, 2 * size :])
            h = (1 - z) * new + z * h
            seen.append(h)
        return np.stack(seen)[:, None], h[None]

    return run


def _reshape(node: Node) -> Operation:
    keeps_zero = _whole(node, "allowzero", 0)

    def run(x: NDArray, shape: NDArray) -> NDArray:
        lengths = shape.tolist()
        if not keeps_zero:
            lengths = [n or x.shape[i] for i, n in enumerate(lengths)]
        return x.reshape(lengths)

    return run


def _slice(node: Node) -> Operation:
    def run(x: NDArray, starts, ends, axes=None, steps=None) -> NDArray:
        places = range(len(starts)) if axes is None else axes.tolist()
        strides = [1] * len(starts) if steps is None else steps.tolist()
        picked = [slice(None)] * x.ndim
        ranges = zip(places, starts.tolist(), ends.tolist(), strides, strict=True)
        for axis, start, end, step in ranges:
            if step < 1:
                raise ValueError("operation 'Slice' backwards is not run")
            picked[axis] = slice(start, end, step)
        return x[tuple(picked)]

    return run


def _gather(node: Node) -> Operation:
    axis = _whole(node, "axis", 0)
    return lambda x, places: np.take(x, places, axis)


def _transpose(node: Node) -> Operation:
    order = node.attributes.get("perm")
    return lambda x: np.transpose(x, cast(tuple[int, ...] | None, order))


def _normalise(node: Node) -> Operation:
    """Layers, over all axes from `axis` on."""
    _refuse(node, stash_type=1)
    first, epsilon = _whole(node, "axis", -1), _number(node, "epsilon", 1e-5)

    def run(x: NDArray, scale: NDArray, bias: NDArray | float = 0.0) -> NDArray:
        axes = tuple(range(first % x.ndim, x.ndim))
        x = x - x.mean(axis=axes, keepdims=True)
        variance = np.square(x).mean(axis=axes, keepdims=True)
        return x / np.sqrt(variance + np.float32(epsilon)) * scale + bias

    return run


def _convolve(node: Node) -> Operation:
    """Of images, (rows, channels, height, width)."""
    _refuse(node, group=1, auto_pad="NOTSET", dilations=(1, 1))
    top, left, bottom, right = _wholes(node, "pads", (0, 0, 0, 0))
    down, across = _wholes(node, "strides", (1, 1))
    margins = ((0, 0), (0, 0), (top, bottom), (left, right))

    def run(x: NDArray, w: NDArray, b: NDArray | None = None) -> NDArray:
        outputs, channels, height, width = w.shape
        windows = sliding_window_view(np.pad(x, margins), (height, width), axis=(2, 3))
        seen = windows[:, :, ::down, ::across].transpose(0, 2, 3, 1, 4, 5)
        rows, high, wide = seen.shape[:3]
        patches = seen.reshape(rows * high * wide, channels * height * width)
        y = patches @ w.reshape(outputs, -1).T
        y = y if b is None else y + b
        return y.reshape(rows, high, wide, outputs).transpose(0, 3, 1, 2)

    return run


OPERATIONS: dict[str, Callable[[Node], Operation]] = {
    "Add": lambda node: np.add,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "Conv": _convolve,
    "Div": lambda node: np.divide,
    "Elu": _elu,
    "Flatten": _flatten,
    "GRU": _gru,
    "Gather": _gather,
    "Gemm": _gemm,
    "Identity": lambda node: lambda x: x,
    "LSTM": _lstm,
    "LayerNormalization": _normalise,
    "MatMul": lambda node: np.matmul,
    "Mul": lambda node: np.multiply,
    "Relu": lambda node: lambda x: np.maximum(x, 0),
    "Reshape": _reshape,
    "Sigmoid": lambda node: _sigmoid,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": lambda node: lambda x, axes: np.squeeze(x, tuple(axes.tolist())),
    "Sub": lambda node: np.subtract,
    "Tanh": lambda node: np.tanh,
    "Transpose": _transpose,
    "Unsqueeze": lambda node: lambda x, axes: np.expand_dims(x, tuple(axes.tolist())),
}
"""Every operation that is run, by its name in ONNX."""
