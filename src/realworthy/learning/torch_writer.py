"""Writes any actor as a graph of ONNX with PyTorch's own exporter."""

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence

import onnx
import torch
from onnx import helper
from torch import Tensor, nn

from realworthy.artefacts import say
from realworthy.learning.networks import Actor
from realworthy.learning.onnx_writer import BadExport

OPSET = 18
"""Of the operations, which the exporter itself thinks in; onnxruntime since 1.14."""


class _Apart(nn.Module):
    """An actor whose inputs, and what it remembers, are inputs and outputs."""

    def __init__(self, actor: Actor, input_count: int) -> None:
        super().__init__()
        self.actor, self.input_count = actor, input_count
        self.register_buffer("nothing", actor.network.initial_hidden(1))

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        seen, state = tensors[: self.input_count], tensors[self.input_count :]
        parts = [x.flatten(1) for x in seen]
        x = parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
        action, hidden = self.actor(x, state[0] if state else self.nothing)
        return (action, hidden) if state else (action,)


def build_model(
    actor: Actor, inputs: dict[str, tuple[int, ...]], metadata: dict[str, str]
) -> onnx.ModelProto:
    """The graph of one row: `inputs` (name → shape of one world's) side by side.

    All that a network remembers is one state, `h_in` → `h_out`. Takes seconds.
    """
    hidden = actor.network.initial_hidden(1)
    seen = [torch.zeros(1, *shape) for shape in inputs.values()]
    states: Sequence[Tensor] = [hidden] if hidden.numel() else []
    with _quiet():
        try:
            program = torch.onnx.export(
                _Apart(actor, len(seen)).eval(),
                (*seen, *states),
                input_names=[*inputs, *["h_in" for _ in states]],
                output_names=["action", *["h_out" for _ in states]],
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
        except Exception as error:  # the exporter has many of its own
            raise BadExport(
                f"PyTorch cannot export this actor: {say(error)}",
                hint="Leave out what depends on the values of tensors.",
            ) from error
    assert program is not None
    model = program.model_proto
    _forget_where(model)
    del model.metadata_props[:]
    helper.set_model_props(model, metadata)
    model.producer_name = "realworthy"
    onnx.checker.check_model(model)
    return model


def _forget_where(model: onnx.ModelProto) -> None:
    """Takes out the lines of code that operations came from, with paths of files."""
    graph = model.graph
    for thing in (*graph.node, *graph.input, *graph.output, *graph.value_info):
        del thing.metadata_props[:]
        thing.doc_string = ""
    for tensor in graph.initializer:
        del tensor.metadata_props[:]
    del graph.metadata_props[:]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Messages of the exporter about itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
