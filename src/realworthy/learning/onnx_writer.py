"""Writes an actor's layers as a graph of ONNX: a list of layers, nothing traced."""

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from realworthy.errors import RealworthyError
from realworthy.learning.flow import Flow, embed_time
from realworthy.learning.networks import Actor, Bounded, Mlp, RecurrentNetwork
from realworthy.learning.normaliser import Normaliser

OPSET = 17
"""Of the operations; every onnxruntime since 1.12 runs it."""
IR_VERSION = 8


class BadExport(RealworthyError):
    """An actor that cannot be written, or whose policy answers otherwise."""


_LAYERS = (nn.Linear, nn.LayerNorm, nn.ELU, nn.ReLU, nn.Tanh, nn.SiLU, Bounded)


def knows(actor: Actor) -> bool:
    """Whether it writes such an actor; `torch_writer` writes others, in seconds."""
    match actor.network:
        case RecurrentNetwork(head=head):
            return all(isinstance(x, _LAYERS) for x in head.layers)
        case Mlp(layers=layers):
            return all(isinstance(x, _LAYERS) for x in layers)
        case Flow(field=field):
            return all(isinstance(x, _LAYERS) for x in field.layers)
    return False


def build_model(actor: Actor, metadata: dict[str, str]) -> onnx.ModelProto:
    """The graph of one row: raw observation in, action out, states as in and out."""
    writer = _Writer()
    value = writer.add_normaliser("obs", actor.normaliser)
    match actor.network:
        case RecurrentNetwork():
            value = writer.add_recurrent(value, actor.network.unit.rnn)
            value = writer.add_layers(value, actor.network.head.layers)
        case Mlp():
            value = writer.add_layers(value, actor.network.layers)
        case Flow():
            value = writer.add_flow(value, actor.network)
        case other:
            raise BadExport(
                f"A network of kind {type(other).__name__} cannot be exported.",
                hint="Mlp, RecurrentNetwork and Flow can.",
            )
    writer.add("Identity", value, outputs=("action",))
    graph = helper.make_graph(
        writer.nodes,
        "policy",
        [_port("obs", (1, writer.width_in)), *writer.states_in],
        [_port("action", (1, writer.width)), *writer.states_out],
        writer.constants,
    )
    model = helper.make_model(
        graph,
        producer_name="realworthy",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    return model


class _Writer:
    """Nodes and constants of a graph, one layer after the other."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.states_in: list[onnx.ValueInfoProto] = []
        self.states_out: list[onnx.ValueInfoProto] = []
        self.width_in = 0
        self.width = 0
        """Of the last value."""
        self._kept: dict[int, str] = {}

    def add(
        self, kind: str, *inputs: str, outputs: tuple[str, ...] = (), **attributes
    ) -> str:
        """Adds an operation; its first output."""
        outputs = outputs or (f"{kind.lower()}_{len(self.nodes)}",)
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]

    def keep(self, name: str, values: Tensor | NDArray) -> str:
        """Adds a constant, floats with 32 bits; its name."""
        array = values.detach().numpy() if isinstance(values, Tensor) else values
        is_weight = isinstance(values, nn.Parameter)
        if is_weight and id(values) in self._kept:  # used again by the next step
            return self._kept[id(values)]
        name = f"{name}_{len(self.constants)}"
        if is_weight:
            self._kept[id(values)] = name
        array = np.ascontiguousarray(array)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add_normaliser(self, value: str, normaliser: Normaliser) -> str:
        self.width_in = self.width = len(normaliser.mean)
        value = self.add("Sub", value, self.keep("mean", normaliser.mean))
        return self.add("Div", value, self.keep("sd", normaliser.scale))

    def add_layers(self, value: str, layers: nn.Sequential) -> str:
        """Linear layers and activations; anything else is refused by name."""
        for layer in layers:
            match layer:
                case nn.Linear():
                    weight = self.keep("weight", layer.weight)
                    inputs = [value, weight]
                    if layer.bias is not None:
                        inputs.append(self.keep("bias", layer.bias))
                    value = self.add("Gemm", *inputs, transB=1)
                    self.width = layer.out_features
                case nn.ELU():
                    value = self.add("Elu", value, alpha=float(layer.alpha))
                case nn.ReLU():
                    value = self.add("Relu", value)
                case nn.Tanh():
                    value = self.add("Tanh", value)
                case nn.SiLU():
                    value = self.add("Mul", value, self.add("Sigmoid", value))
                case nn.LayerNorm():
                    inputs = [value, self.keep("gain", layer.weight)]
                    if layer.bias is not None:
                        inputs.append(self.keep("shift", layer.bias))
                    value = self.add(
                        "LayerNormalization", *inputs, axis=-1, epsilon=layer.eps
                    )
                case Bounded():
                    value = self.add("Tanh", value)
                    if layer.limit != 1:
                        limit = np.array([layer.limit], np.float32)
                        value = self.add("Mul", value, self.keep("limit", limit))
                case other:
                    raise BadExport(
                        f"A layer of kind {type(other).__name__} cannot be exported.",
                        hint="Linear, LayerNorm, ELU, ReLU, SiLU, Tanh and Bounded "
                        "can.",
                    )
        return value

    def add_flow(self, seen: str, flow: Flow) -> str:
        """All its steps from ε = 0, one after the other: x ← x + v(x, k/K, o)/K."""
        count = flow.step_count
        x = self.keep("start", np.zeros((1, flow.action_width), np.float32))
        share = self.keep("share", np.array([1 / count], np.float32))
        for k in range(count):
            time = self.keep("time", embed_time(torch.full((1, 1), k / count)))
            value = self.add("Concat", seen, x, time, axis=-1)
            velocity = self.add_layers(value, flow.field.layers)
            x = self.add("Add", x, self.add("Mul", velocity, share))
        self.width = flow.action_width
        return x

    def add_recurrent(self, value: str, unit: nn.RNNBase) -> str:
        """Layers of LSTM or GRU for one step; their states are inputs and outputs."""
        if unit.bidirectional or not unit.bias or getattr(unit, "proj_size", 0):
            raise BadExport(
                "A recurrent unit that is bidirectional, projected or without bias"
                " cannot be exported."
            )
        states = ("h", "c") if isinstance(unit, nn.LSTM) else ("h",)
        parts = {name: self._add_state(name, unit) for name in states}
        axis = self.keep("axis", np.array([0], np.int64))
        value = self.add("Unsqueeze", value, axis)
        after: dict[str, list[str]] = {name: [] for name in states}
        for layer in range(unit.num_layers):
            outputs = [f"{name}_{layer}_out" for name in states]
            self.add(
                unit.mode,
                value,
                *self._keep_gates(unit, layer),
                "",
                *(parts[name][layer] for name in states),
                outputs=("", *outputs),
                hidden_size=unit.hidden_size,
                **({} if len(states) == 2 else {"linear_before_reset": 1}),
            )
            value = outputs[0]
            for name, output in zip(states, outputs, strict=True):
                after[name].append(output)
        for name, outputs in after.items():
            self.add("Concat", *outputs, outputs=(f"{name}_out",), axis=0)
        self.width = unit.hidden_size
        return self.add("Squeeze", value, axis)

    def _add_state(self, name: str, unit: nn.RNNBase) -> list[str]:
        """An input and an output (layers, 1, hidden); the input of each layer."""
        shape = (unit.num_layers, 1, unit.hidden_size)
        self.states_in.append(_port(f"{name}_in", shape))
        self.states_out.append(_port(f"{name}_out", shape))
        if unit.num_layers == 1:
            return [f"{name}_in"]
        parts = tuple(f"{name}_{layer}_in" for layer in range(unit.num_layers))
        sizes = self.keep("sizes", np.ones(unit.num_layers, np.int64))
        self.add("Split", f"{name}_in", sizes, outputs=parts, axis=0)
        return list(parts)

    def _keep_gates(self, unit: nn.RNNBase, layer: int) -> tuple[str, str, str]:
        """Weights and biases, from torch's order of gates into that of ONNX."""
        order = (0, 3, 1, 2) if isinstance(unit, nn.LSTM) else (1, 0, 2)

        def sort(name: str) -> Tensor:
            gates = getattr(unit, f"{name}_l{layer}").chunk(len(order))
            return torch.cat([gates[i] for i in order])

        bias = torch.cat([sort("bias_ih"), sort("bias_hh")])
        return (
            self.keep("input_weight", sort("weight_ih")[None]),
            self.keep("state_weight", sort("weight_hh")[None]),
            self.keep("gate_bias", bias[None]),
        )


def _port(name: str, shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
