"""Policies that ask for endless work, or say what cannot be."""

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realworthy.artefacts import save
from realworthy.errors import BadFile
from realworthy.policies import load_policy
from realworthy.policies.contract import ImageInput
from tests.policies.actors import actor, write
from tests.policies.examples import TERMS, WIDTH, contract

Nodes = list[onnx.NodeProto]
FLOAT = TensorProto.FLOAT
SECONDS = 15.0
"""Ten for a graph that is run elsewhere, and what starting it takes."""


def write_graph(
    folder: Path,
    nodes: Nodes,
    *,
    constants: dict[str, np.ndarray] | None = None,
    states: tuple[int, ...] | None = None,
    width: int = 0,
) -> Path:
    """A foreign policy; its action is the beginning of `x`, of `width` columns."""
    weights = {"w": np.zeros((WIDTH, 3), np.float32), **(constants or {})}
    inputs = [helper.make_tensor_value_info("obs", FLOAT, (1, WIDTH))]
    outputs = [helper.make_tensor_value_info("action", FLOAT, (1, 3))]
    if states is not None:
        inputs.append(helper.make_tensor_value_info("h_in", FLOAT, states))
        outputs.append(helper.make_tensor_value_info("h_out", FLOAT, states))
        nodes = [*nodes, helper.make_node("Identity", ["h_in"], ["h_out"])]
    last = helper.make_node("MatMul", ["obs", "w"], ["action"])
    if width:
        last = helper.make_node("Split", ["x", "sizes"], ["action", "rest"], axis=1)
        weights["sizes"] = np.array([3, width - 3])
    graph = helper.make_graph(
        [*nodes, last],
        "policy",
        inputs,
        outputs,
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(model, folder / "a.onnx")
    save(folder / "a.contract.yaml", contract(parity=None))
    return folder / "a.onnx"


def _loop() -> Nodes:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["still"]),
            helper.make_node("Identity", ["x"], ["y"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, ()),
            helper.make_tensor_value_info("go", TensorProto.BOOL, ()),
            helper.make_tensor_value_info("x", FLOAT, (1, WIDTH)),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, ()),
            helper.make_tensor_value_info("y", FLOAT, (1, WIDTH)),
        ],
    )
    return [helper.make_node("Loop", ["times", "", "obs"], ["end"], body=body)]


def _hidden_loop() -> Nodes:
    """Within a branch, which is not looked at further."""
    loop = helper.make_graph(
        _loop(), "then", [], [helper.make_tensor_value_info("end", FLOAT, (1, WIDTH))]
    )
    plain = helper.make_graph(
        [helper.make_node("Identity", ["obs"], ["end"])],
        "else",
        [],
        [helper.make_tensor_value_info("end", FLOAT, (1, WIDTH))],
    )
    node = helper.make_node("If", ["yes"], ["x"], then_branch=loop, else_branch=plain)
    return [node]


def _doubled(times: int) -> Nodes:
    names = ["obs", *(f"x{i}" for i in range(times - 1)), "x"]
    return [helper.make_node("Concat", [a, a], [b], axis=1) for a, b in pairwise(names)]


def _write_seeing(folder: Path) -> Path:
    """An image as large as a contract may have it, of which nothing is used."""
    path, size = write_graph(folder, []), 2**20
    model = onnx.load(path)
    shape = (1, 1, size, size)
    model.graph.input.append(helper.make_tensor_value_info("nose", FLOAT, shape))
    onnx.save(model, path)
    image = ImageInput(channels=1, height=size, width=size, camera="nose")
    seeing = contract(parity=None, images={"nose": image}, vectors=ALL)
    save(folder / "a.contract.yaml", seeing, overwrite=True)
    return path


ALL = {"obs": tuple(term.name for term in TERMS)}
TIMES = {"times": np.array(2**62), "yes": np.array(True)}
W = 30_000
WIDE = {"row": np.zeros((1, W), np.float32), "col": np.zeros((W, 1), np.float32)}
SHAPE = {"shape": np.array([2**20, 2**20])}
GRAPHS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a loop of 2⁶²": (lambda f: write_graph(f, _loop(), constants=TIMES), "has a loop"),
    "a loop in a branch": (
        lambda f: write_graph(f, _hidden_loop(), constants=TIMES),
        "has a loop",
    ),
    "a terabyte of zeros": (
        lambda f: write_graph(
            f,
            [helper.make_node("ConstantOfShape", ["shape"], ["x"])],
            constants=SHAPE,
            width=2**20,
        ),
        "does not run",
    ),
    "what doubles forty times": (
        lambda f: write_graph(f, _doubled(40), width=WIDTH * 2**40),
        "too many bytes",
    ),
    "a column plus a row": (
        lambda f: write_graph(
            f, [helper.make_node("Add", ["row", "col"], ["x"])], constants=WIDE, width=W
        ),
        "too many bytes",
    ),
    "a column times a row": (
        lambda f: write_graph(
            f,
            [helper.make_node("MatMul", ["col", "row"], ["x"])],
            constants=WIDE,
            width=W,
        ),
        "too many bytes",
    ),
    "a convolution of a point, padded to terabytes": (
        lambda f: write_graph(
            f,
            [
                helper.make_node("Reshape", ["obs", "square"], ["i"]),
                helper.make_node("Conv", ["i", "point"], ["c"], pads=[2**20] * 4),
                helper.make_node("Flatten", ["c"], ["x"], axis=1),
            ],
            constants={
                "square": np.array([1, 1, 1, WIDTH]),
                "point": np.zeros((1, 1, 1, 1), np.float32),
            },
            width=(1 + 2**21) * (WIDTH + 2**21),
        ),
        "too many bytes",
    ),
    "a number gathered a billion times": (
        lambda f: write_graph(
            f,
            [
                helper.make_node("Gather", ["obs", "places"], ["g"], axis=1),
                helper.make_node("Gather", ["g", "places"], ["h"], axis=2),
                helper.make_node("Flatten", ["h"], ["x"], axis=1),
            ],
            constants={"places": np.zeros((1, W), np.int64)},
            width=W * W,
        ),
        "too many bytes",
    ),
    "an image of terabytes": (_write_seeing, "too many bytes"),
    "a state of 4 TB": (
        lambda f: write_graph(f, [], states=(2**20, 1, 2**20)),
        "too many bytes",
    ),
    "a state of one axis": (lambda f: write_graph(f, [], states=(4,)), "'h_in' is"),
    "a state of nothing": (lambda f: write_graph(f, [], states=(1, 1, 0)), "'h_in' is"),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("engine", [None, "numpy"])
def test_a_graph_is_refused(tmp_path: Path, name: str, engine):
    make, said = GRAPHS[name]
    if engine == "numpy":
        said += "|is not among those"
    begun = time.monotonic()
    with pytest.raises(BadFile, match=said):
        load_policy(make(tmp_path), engine=engine)
    assert time.monotonic() - begun < SECONDS


def test_a_foreign_graph_that_is_small_runs(tmp_path: Path):
    """Of operations that numpy does not run here: tried elsewhere, then here."""
    nodes = [helper.make_node("Softplus", ["obs"], ["x"])]
    assert (
        load_policy(write_graph(tmp_path, nodes, width=WIDTH)).engine == "onnxruntime"
    )


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "{", "\ud83d"])
def test_metadata_that_is_no_contract_is_refused(tmp_path: Path, text: str):
    write(tmp_path / "a.onnx", actor(hidden=(8,)))
    model = onnx.load(tmp_path / "a.onnx")
    for entry in model.metadata_props:
        if entry.key == "realworthy":
            entry.value = text.encode(errors="replace").decode()
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(BadFile, match=r"without end|is not JSON"):
        load_policy(tmp_path / "a.onnx")


def test_tensors_say_no_more_than_they_hold(tmp_path: Path):
    path = write_graph(tmp_path, [])
    model = onnx.load(path)
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend([2**40, 2**20])
    onnx.save(model, path)
    with pytest.raises(BadFile, match="not a whole ONNX file"):
        load_policy(path)
