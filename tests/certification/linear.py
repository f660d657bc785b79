"""Policies that are one matrix, so that every answer can be computed by hand."""

from pathlib import Path

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from realworthy.policies import Contract, Policy, load_policy
from realworthy.policies.contract import Parity, PolicyProvenance
from realworthy.policies.policy import Engine

PROVENANCE = PolicyProvenance(
    created="2026-11-15T12:00:00Z", versions={}, settings_hash="", git=""
)


def draw_weights(contract: Contract, seed: int = 1) -> NDArray[np.float32]:
    """(width, actions)"""
    shape = (contract.width, contract.action.width)
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def write_linear(path: Path, weights: NDArray[np.float32], **metadata: str) -> None:
    """`obs` (n, width) → `action` = obs · weights."""
    width, count = weights.shape
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["obs", "w"], ["action"])],
        "linear",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ("n", width))],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ("n", count))],
        [numpy_helper.from_array(weights, "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.save(model, path)


def with_parity(contract: Contract, weights: NDArray[np.float32]) -> Contract:
    """The contract with 16 examples."""
    rows = np.random.default_rng(2).normal(size=(16, contract.width))
    parity = Parity(
        observations=tuple(map(tuple, rows.tolist())),
        actions=tuple(map(tuple, (rows @ weights).tolist())),
    )
    return msgspec.structs.replace(contract, parity=parity, provenance=PROVENANCE)


def load_linear(
    folder: Path,
    contract: Contract,
    *,
    worlds: int = 1,
    engine: Engine | None = None,
) -> tuple[Policy, NDArray[np.float32]]:
    """A policy of ours by its contract, with examples; and its weights."""
    weights = draw_weights(contract)
    path = folder / "linear.onnx"
    write_linear(path, weights)
    told = with_parity(contract, weights)
    policy = load_policy(path, worlds=worlds, engine=engine, infer=lambda *_: told)
    return policy, weights
