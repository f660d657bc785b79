"""Policies with several named inputs and outputs, and what their contracts say."""

import json
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realworthy.artefacts import save
from realworthy.errors import BadFile, RealworthyError
from realworthy.policies import Contract, Pilot, load_policy
from realworthy.policies.contract import ImageInput, Parity
from realworthy.policies.metadata import KEY, read_metadata, write_metadata
from realworthy.policies.policy import Engine
from tests.policies.examples import TERMS, WIDTH, contract, robot

ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")
FLOAT = TensorProto.FLOAT
BODY, GOAL = tuple(term.name for term in TERMS[:-2]), tuple(t.name for t in TERMS[-2:])
CAMERA = ImageInput(channels=1, height=2, width=3, lower=-1.0, upper=3.0, camera="nose")
WEIGHTS = np.random.default_rng(1).normal(size=(WIDTH + 6 + 4, 3)).astype(np.float32)


def several(**changes: object) -> Contract:
    """Terms in two vectors, an image, numbers of a program, a state of its own."""
    plain: dict[str, object] = {
        "vectors": {"body": BODY, "goal": GOAL},
        "images": {"nose": CAMERA},
        "arrays": {"heights": (2, 2)},
        "outputs": {"value": (1,)},
        "states": {"memory": "memory_next"},
        "parity": None,
    }
    return contract(**{**plain, **changes})


def write(folder: Path, described: Contract, rows: int | str = 1) -> Path:
    """action = [body, goal, nose, heights] · weights + memory; memory = the action."""

    def port(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, FLOAT, (rows, *shape))

    nodes = [
        helper.make_node("Flatten", ["nose"], ["a"], axis=1),
        helper.make_node("Flatten", ["heights"], ["b"], axis=1),
        helper.make_node("Concat", ["body", "goal", "a", "b"], ["x"], axis=1),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Add", ["y", "memory"], ["action"]),
        helper.make_node("Identity", ["action"], ["memory_next"]),
        helper.make_node("Split", ["action"], ["value", "c", "d"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "several",
        [
            port("heights", 2, 2),
            port("goal", 4),
            port("memory", 3),
            port("nose", 1, 2, 3),
            port("body", WIDTH - 4),
        ],
        [port("value", 1), port("memory_next", 3), port("action", 3)],
        [numpy_helper.from_array(WEIGHTS, "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(
        helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "a.onnx"
    )
    save(folder / "a.contract.yaml", described)
    return folder / "a.onnx"


def draw(shapes: dict[str, tuple[int, ...]], worlds: tuple[int, ...], seed: int = 0):
    chance = np.random.default_rng(seed)
    return {k: chance.normal(size=(*worlds, *v)) for k, v in shapes.items()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [1, "worlds"])
def test_inputs_reach_the_ports_of_their_names(tmp_path: Path, engine: Engine, rows):
    policy = load_policy(write(tmp_path, several(), rows), engine=engine, worlds=3)
    seen = draw(policy.inputs, (3,))  # pyright: ignore[reportArgumentType]
    names = ("body", "goal", "nose", "heights")
    first = np.concatenate([seen[k].reshape(3, -1) for k in names], 1) @ WEIGHTS
    assert policy.act(seen) == pytest.approx(first, abs=1e-4)
    assert policy.outputs["value"] == pytest.approx(first[:, :1], abs=1e-4)
    assert policy.act(seen) == pytest.approx(2 * first, abs=1e-4)
    policy.reset(np.array([True, False, True]))
    wanted = first * [[1], [3], [1]]
    assert policy.act(seen) == pytest.approx(wanted, abs=1e-4)
    assert policy.outputs["value"] == pytest.approx(wanted[:, :1], abs=1e-4)


def test_a_vector_in_pieces_is_given_whole_or_by_name(tmp_path: Path):
    described = several(images={}, arrays={}, states={}, outputs={})
    nodes = [
        helper.make_node("Concat", ["goal", "body"], ["x"], axis=1),
        helper.make_node("MatMul", ["x", "w"], ["action"]),
    ]
    graph = helper.make_graph(
        nodes,
        "pieces",
        [
            helper.make_tensor_value_info("goal", FLOAT, (1, 4)),
            helper.make_tensor_value_info("body", FLOAT, (1, WIDTH - 4)),
        ],
        [helper.make_tensor_value_info("action", FLOAT, (1, 3))],
        [numpy_helper.from_array(WEIGHTS[:WIDTH], "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(model, tmp_path / "a.onnx")
    save(tmp_path / "a.contract.yaml", described)
    policy = load_policy(tmp_path / "a.onnx")
    row = np.random.default_rng(0).normal(size=WIDTH)
    body, goal = row[:-4], row[-4:]
    wanted = np.concatenate([goal, body]) @ WEIGHTS[:WIDTH]
    assert policy.act(row) == pytest.approx(wanted, abs=1e-4)
    named = policy.act({"goal": goal, "body": body})
    assert named == pytest.approx(wanted, abs=1e-4)
    assert Pilot(policy, robot()).policy is policy


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(WIDTH), "was given one array; it takes body (15), goal (4), nose"),
        ({"nose": np.zeros((1, 2, 3))}, "was given inputs nose; it takes body (15)"),
        ({"nose": np.zeros((2, 3))}, "was given 'nose' of shape (2, 3)"),
    ],
)
def test_what_it_does_not_take_is_named(tmp_path: Path, given, message: str):
    policy = load_policy(write(tmp_path, several()))
    if message.startswith("was given 'nose'"):
        shapes = dict(policy.inputs)
        given = draw(shapes, ()) | given
    with pytest.raises(RealworthyError) as caught:
        policy.act(given)
    assert message in str(caught.value)


def test_a_policy_with_images_fits_no_robot_without_cameras(tmp_path: Path):
    policy = load_policy(write(tmp_path, several()))
    with pytest.raises(RealworthyError) as caught:
        Pilot(policy, robot())
    assert "no camera 'nose', whose 1 × 2 × 3 are input 'nose'" in str(caught.value)
    assert "does not measure 2 × 2 numbers of input 'heights'" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vectors": {"body": GOAL, "goal": BODY}}, "vectors: they have to be angles"),
        ({"vectors": {"nose": (*BODY, *GOAL)}}, "Two inputs of the network"),
        ({"outputs": {"memory_next": (3,)}}, "Two outputs of the network"),
        (
            {"images": {"nose": msgspec.structs.replace(CAMERA, upper=-1.0)}},
            "`lower` has to be below `upper`",
        ),
        (
            {
                "parity": Parity(
                    observations=((0.0,) * WIDTH,),
                    actions=((0.0,) * 3,),
                    images={"nose": (bytes(5),)},
                    arrays={"heights": ((0.0,) * 4,)},
                )
            },
            "parity.images.nose: each row has 6 numbers",
        ),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused(changes, message: str):
    with pytest.raises(RealworthyError, match=message):
        msgspec.convert(msgspec.to_builtins(several(**changes)), Contract)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrays": {}}, "an input 'heights', which its contract does not describe"),
        ({"arrays": {"heights": (4,)}}, r"by its contract it is \(1, 4\)"),
        ({"outputs": {"speed": (1,)}}, "no output 'speed', which its contract names"),
        ({"states": {"c": "d"}}, "no input 'c', a state by its contract"),
        (
            {"arrays": {"heights": (2, 2), "more": (1,)}},
            "no input 'more', which its contract names",
        ),
    ],
)
def test_a_graph_that_is_no_such_is_refused(tmp_path: Path, changes, message: str):
    path = write(tmp_path, several(**changes))
    with pytest.raises(BadFile, match=message):
        load_policy(path)


def test_examples_are_kept_by_input_and_played_again(tmp_path: Path):
    path = write(tmp_path, several())
    policy = load_policy(path)
    pixels = bytes(range(0, 240, 40))
    image = -1 + 4 * (np.frombuffer(pixels, np.uint8) / 255).reshape(1, 2, 3)
    shapes = dict(policy.inputs)
    seen = draw(shapes, ()) | {"nose": image}
    parity = Parity(
        observations=(tuple(np.concatenate([seen["body"], seen["goal"]]).tolist()),),
        actions=(tuple(policy.act(seen).tolist()),),
        images={"nose": (pixels,)},
        arrays={"heights": (tuple(seen["heights"].ravel().tolist()),)},
    )
    save(tmp_path / "a.contract.yaml", several(parity=parity), overwrite=True)
    assert load_policy(path).contract.parity == parity
    wrong = msgspec.structs.replace(parity, images={"nose": (bytes(6),)})
    save(tmp_path / "a.contract.yaml", several(parity=wrong), overwrite=True)
    with pytest.raises(BadFile, match="differ by up to"):
        load_policy(path)


def test_a_contract_of_schema_1_is_read_as_it_was_meant():
    tree = json.loads(write_metadata(contract())[KEY])
    for key in ("vectors", "images", "arrays", "outputs", "states"):
        del tree[key]
    for key in ("images", "arrays"):
        del tree["parity"][key]
    old = json.dumps(tree | {"schema": 1})
    assert read_metadata(Path("policy.onnx"), {KEY: old}) == contract()
