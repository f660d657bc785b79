"""The own reader of .onnx against the onnx package."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realworthy.errors import BadFile
from realworthy.policies.onnx_file import read_graph


def test_a_policy_is_read_as_the_onnx_package_reads_it(any_path):
    path, _ = any_path
    found, model = read_graph(path), onnx.load(path)
    assert [node.kind for node in found.nodes] == [n.op_type for n in model.graph.node]
    for ours, theirs in zip(found.nodes, model.graph.node, strict=True):
        assert ours.inputs == tuple(theirs.input)
        assert ours.outputs == tuple(theirs.output)
        expected = {a.name: helper.get_attribute_value(a) for a in theirs.attribute}
        assert ours.attributes == expected
    for constant in model.graph.initializer:
        array = numpy_helper.to_array(constant)
        assert found.constants[constant.name].dtype == array.dtype
        assert (found.constants[constant.name] == array).all()
    assert found.metadata == {p.key: p.value for p in model.metadata_props}
    assert found.inputs[0].name == "obs"


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1.5, -2.25]], np.float32),
        np.array([1e300, -1.0]),
        np.array([-1, 2**40], np.int64),
        np.array([-7, 7], np.int32),
    ],
)
@pytest.mark.parametrize("raw", [True, False])
def test_numbers_come_back_whichever_way_they_are_held(tmp_path, values, raw):
    kind = helper.np_dtype_to_tensor_dtype(values.dtype)
    data = values.tobytes() if raw else values.ravel()
    tensor = helper.make_tensor("x", kind, values.shape, data, raw=raw)
    node = helper.make_node(
        "Some", [], ["y"], f=0.5, i=-3, s="text", fs=[1.0, 2.0], n=[1, -2], t=tensor
    )
    graph = helper.make_graph([node], "g", [], [], [tensor])
    onnx.save(helper.make_model(graph), tmp_path / "x.onnx")
    found = read_graph(tmp_path / "x.onnx")
    assert (found.constants["x"] == values).all()
    attributes = found.nodes[0].attributes
    assert (attributes.pop("t") == values).all()
    assert attributes == {
        "f": 0.5,
        "i": -3,
        "s": "text",
        "fs": (1.0, 2.0),
        "n": (1, -2),
    }


def test_numbers_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "x.onnx"
    half = helper.make_tensor("x", TensorProto.FLOAT16, (1,), [1.0])
    onnx.save(helper.make_model(helper.make_graph([], "g", [], [], [half])), path)
    with pytest.raises(BadFile, match="'x' holds numbers of kind 10"):
        read_graph(path)


def test_numbers_in_a_second_file_are_found_beside_the_first_and_nowhere_else(tmp_path):
    path, beside = tmp_path / "x.onnx", tmp_path / "x.data"
    values = np.arange(5000, dtype=np.float32)
    large = numpy_helper.from_array(values, "x")
    model = helper.make_model(helper.make_graph([], "g", [], [], [large]))
    onnx.save(model, path, save_as_external_data=True, location="x.data")
    found = read_graph(path)
    assert (found.constants["x"] == values).all()
    assert found.companions == (beside,)
    beside.write_bytes(beside.read_bytes()[:-4])
    with pytest.raises(BadFile, match="has 19996 bytes, 20000 are needed"):
        read_graph(path)
    beside.rename(tmp_path / "y.data")
    with pytest.raises(BadFile, match=r"'x\.data', which is not beside it"):
        read_graph(path)
    path.write_bytes(path.read_bytes().replace(b"x.data", b"/x.dat"))
    with pytest.raises(BadFile, match="not beside it"):
        read_graph(path)


@pytest.mark.parametrize("content", [b"schema: 1\n", b"\x89PNG\r\n\x1a\n", b"\x08\x08"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x.onnx").write_bytes(content)
    with pytest.raises(BadFile, match="not a whole ONNX file"):
        read_graph(tmp_path / "x.onnx")
