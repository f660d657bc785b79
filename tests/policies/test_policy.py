"""Policies: engines agree, files that lie are refused, errors say what to do."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from realworthy.artefacts import save
from realworthy.errors import BadFile, MissingFile, RealworthyError
from realworthy.learning.recurrent import RecurrentKind
from realworthy.policies import load_contract, load_policy
from realworthy.policies.policy import Engine
from tests.policies.actors import actor, write
from tests.policies.examples import WIDTH, contract

PROPS = "metadata_props"
OPEN = {"obs": {0: "batch"}, "actions": {0: "batch"}}
ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")


def observations(count: int, seed: int = 3) -> np.ndarray:
    return 3 * np.random.default_rng(seed).normal(size=(count, WIDTH))


def change(path: Path, tmp_path: Path, edit) -> Path:
    """A copy of a policy with something edited in its model."""
    model = onnx.load(path)
    edit(model)
    changed = tmp_path / "changed.onnx"
    onnx.save(model, changed)
    return changed


def write_foreign(path: Path, nodes: list, *, width: int | str = WIDTH) -> None:
    """A file without metadata: `obs` (1, width) → `action` (1, 3)."""
    weights = np.random.default_rng(0).normal(size=(WIDTH, 3)).astype(np.float32)
    graph = helper.make_graph(
        nodes,
        "foreign",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ("n", width))],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ("n", 3))],
        [numpy_helper.from_array(weights, "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


@torch.no_grad()
def play_torch(kind: RecurrentKind | None, rows: np.ndarray) -> np.ndarray:
    made = actor(kind)
    hidden = made.network.initial_hidden(1)
    answers = []
    for row in torch.from_numpy(rows).float():
        action, hidden = made(row[None], hidden)
        answers.append(action[0].numpy())
    return np.array(answers)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_answers_as_torch_does(any_path, engine: Engine):
    path, kind = any_path
    policy = load_policy(path, engine=engine)
    assert policy.recurrent == (kind is not None)
    sequences = [observations(200, seed=s) for s in range(5)]
    for rows in sequences:
        policy.reset()
        found = np.array([policy.act(row) for row in rows])
        wanted = play_torch(kind, rows)
        assert found == pytest.approx(
            wanted, abs=1e-5 * max(1.0, float(abs(wanted).max()))
        )


def test_many_worlds_are_one_world_many_times(any_path):
    path, kind = any_path
    many, one = load_policy(path, worlds=4), load_policy(path)
    assert many.engine == "numpy"
    rows = observations(40).reshape(10, 4, WIDTH)
    found = np.array([many.act(row) for row in rows])
    for world in range(4):
        one.reset()
        alone = np.array([one.act(row) for row in rows[:, world]])
        assert found[:, world] == pytest.approx(alone, abs=1e-5)
    if kind is not None:
        many.reset(np.array([True, False, False, True]))
        fresh, going_on = many.act(rows[0])[[0, 1]]
        assert fresh == pytest.approx(found[0, 0], abs=1e-6)
        assert going_on != pytest.approx(found[0, 1], abs=1e-3)


def test_many_worlds_run_with_onnxruntime_as_with_numpy(any_path):
    path, kind = any_path
    one, other = (load_policy(path, engine=engine, worlds=4) for engine in ENGINES)
    assert (one.engine, other.engine) == ENGINES
    rows = observations(40).reshape(10, 4, WIDTH)
    for row in rows:
        assert one.act(row) == pytest.approx(other.act(row), abs=1e-5)
    mask = np.array([True, False, False, True])
    for policy in (one, other):
        policy.reset(mask)
    again = one.act(rows[0])
    assert again == pytest.approx(other.act(rows[0]), abs=1e-5)
    one.reset()
    fresh = one.act(rows[0])
    assert again[mask] == pytest.approx(fresh[mask], abs=1e-6)
    assert kind is None or again[~mask] != pytest.approx(fresh[~mask], abs=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_actions_are_fresh_and_the_observation_stays(policy_path, engine: Engine):
    policy = load_policy(policy_path, engine=engine)
    first, second = observations(2).astype(np.float32)
    before = first.copy()
    action = policy.act(first)
    kept = action.copy()
    policy.act(second)
    assert (action == kept).all()
    assert (first == before).all()


def test_the_contract_comes_with_it_and_without_running_it(policy_path):
    assert load_contract(policy_path) == load_policy(policy_path).contract
    assert load_contract(policy_path).task == "leg"


def test_the_robots_computer_needs_numpy_only(policy_path):
    code = (
        "import sys\n"
        "for name in ('torch', 'onnx', 'onnxruntime', 'mujoco', 'warp', 'tyro'):\n"
        "    sys.modules[name] = None\n"
        "import numpy as np\n"
        "from realworthy.policies import load_policy\n"
        f"policy = load_policy({str(policy_path)!r})\n"
        f"print(policy.engine, *policy.act(np.ones({WIDTH})).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    engine, *action = done.stdout.split()
    assert engine == "numpy"
    expected = play_torch(None, np.ones((1, WIDTH)))[0]
    assert [float(x) for x in action] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.95, 0.999])
def test_a_file_that_is_cut_off_is_refused(policy_path, tmp_path, share, engine):
    data = policy_path.read_bytes()
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(data[: int(share * len(data))])
    with pytest.raises(BadFile, match=r"not a whole|empty"):
        load_policy(cut, engine=engine)


def test_no_damage_to_a_byte_surprises_the_loader(policy_path, tmp_path):
    """Either it is refused, or it does no harm: names and notes may change."""
    data = policy_path.read_bytes()
    generator = np.random.default_rng(0)
    wanted = load_policy(policy_path, engine="numpy").act(np.ones(WIDTH))
    damaged = tmp_path / "damaged.onnx"
    refused = 0
    for place in generator.integers(0, len(data), 150):
        changed = bytearray(data)
        changed[place] ^= int(generator.integers(1, 256))
        damaged.write_bytes(bytes(changed))
        try:
            found = load_policy(damaged, engine="numpy").act(np.ones(WIDTH))
        except RealworthyError:
            refused += 1
        else:
            assert np.isfinite(found).all()
            assert found.shape == wanted.shape
    assert refused > 50


def test_a_missing_file_is_missing_and_a_folder_is_a_folder(tmp_path):
    with pytest.raises(MissingFile):
        load_policy(tmp_path / "leg.onnx")
    with pytest.raises(BadFile, match="folder"):
        load_policy(tmp_path)


def test_weights_that_changed_since_export_are_noticed(policy_path, tmp_path):
    def edit(model):
        bias = next(c for c in model.graph.initializer if c.name.startswith("bias"))
        array = numpy_helper.to_array(bias).copy()
        array[0] += 0.01
        bias.CopyFrom(numpy_helper.from_array(array, bias.name))

    changed = change(policy_path, tmp_path, edit)
    for engine in ENGINES:
        with pytest.raises(BadFile, match=r"differ by up to .* same 16 observations"):
            load_policy(changed, engine=engine)


def test_actions_that_are_not_numbers_are_refused(policy_path, tmp_path):
    def edit(model):
        for constant in model.graph.initializer:
            array = np.full(tuple(constant.dims), np.nan, np.float32)
            constant.CopyFrom(numpy_helper.from_array(array, constant.name))

    changed = change(policy_path, tmp_path, edit)
    for engine in ENGINES:
        with pytest.raises(BadFile, match="not numbers"):
            load_policy(changed, engine=engine)


def test_a_contract_of_another_graph_is_refused(policy_path, tmp_path):
    other = contract(terms=contract().terms[:-1], normaliser=None, parity=None)
    save(tmp_path / "changed.contract.yaml", other)
    changed = change(policy_path, tmp_path, lambda model: model.ClearField(PROPS))
    with pytest.raises(BadFile, match=r"19 numbers .* contract has 16 \(angles 3·3"):
        load_policy(changed)


def test_a_wrong_observation_is_refused(policy_path):
    policy = load_policy(policy_path)
    with pytest.raises(RealworthyError, match=r"shape \(4,\); it takes \(19,\)"):
        policy.act(np.zeros(4))
    with pytest.raises(RealworthyError, match=r"shape \(3, 19\)"):
        policy.act(np.zeros((3, WIDTH)))


def test_a_foreign_policy_says_what_is_missing(tmp_path):
    path = tmp_path / "walk.onnx"
    write_foreign(path, [helper.make_node("MatMul", ["obs", "w"], ["action"])])
    with pytest.raises(BadFile, match=r"takes obs \(\?, 19\) and gives") as caught:
        load_policy(path)
    assert "walk.contract.yaml" in caught.value.hint


def test_a_foreign_policy_runs_by_a_contract_beside_it(tmp_path):
    path = tmp_path / "walk.onnx"
    write_foreign(path, [helper.make_node("MatMul", ["obs", "w"], ["action"])])
    bare = contract(normaliser=None, provenance=None, parity=None)
    asked = []
    inferred = load_policy(path, infer=lambda p, graph: asked.append(p) or bare)
    assert (asked, inferred.contract) == ([path], bare)
    save(tmp_path / "walk.contract.yaml", bare)
    one, other = (load_policy(path, engine=engine) for engine in ENGINES)
    row = observations(1)[0]
    assert one.act(row) == pytest.approx(other.act(row), abs=1e-5)


class Foreign(torch.nn.Module):
    """Normaliser, network and clip as other trainers export them."""

    def __init__(self) -> None:
        super().__init__()
        self.network = torch.nn.Sequential(
            *(torch.nn.Linear(WIDTH, 32), torch.nn.ELU(), torch.nn.Linear(32, 3))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(((x - 0.5) / 2.0).clamp(-5, 5)).clamp(-1, 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "dynamo", [False, pytest.param(True, marks=pytest.mark.slow)], ids=str
)
def test_what_torch_exports_itself_runs_in_both_engines(tmp_path, dynamo: bool):
    path, network = tmp_path / "walk.onnx", Foreign().eval()
    batch = {0: torch.export.Dim("batch")}
    open_axis = {"dynamic_shapes": (batch,)} if dynamo else {"dynamic_axes": OPEN}
    torch.onnx.export(
        network,
        (torch.zeros(2, WIDTH),),
        path,
        input_names=["obs"],
        output_names=["actions"],
        dynamo=dynamo,
        external_data=False,
        **open_axis,
    )
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    row = observations(1)[0]
    with torch.no_grad():
        expected = network(torch.from_numpy(row)[None].float())[0].numpy()
    for engine in ENGINES:
        found = load_policy(path, engine=engine).act(row)
        assert found == pytest.approx(expected, abs=1e-5)


def test_an_operation_that_numpy_does_not_run_is_named(tmp_path):
    path = tmp_path / "walk.onnx"
    nodes = [
        helper.make_node("Erf", ["obs"], ["x"]),
        helper.make_node("MatMul", ["x", "w"], ["action"]),
    ]
    write_foreign(path, nodes)
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    load_policy(path, engine="onnxruntime")
    with pytest.raises(BadFile, match="operation 'Erf'"):
        load_policy(path, engine="numpy")
    many = load_policy(path, worlds=3)
    assert many.engine == "onnxruntime"
    rows = observations(3)
    alone = [load_policy(path).act(row) for row in rows]
    assert many.act(rows) == pytest.approx(np.array(alone), abs=1e-5)


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_worlds_that_would_see_each_other_are_run_one_by_one(tmp_path, engine):
    """The first axis is left open, and the graph averages over it."""
    path = tmp_path / "walk.onnx"
    nodes = [
        helper.make_node("ReduceMean", ["obs"], ["mean"], axes=[0], keepdims=1),
        helper.make_node("Add", ["obs", "mean"], ["x"]),
        helper.make_node("MatMul", ["x", "w"], ["action"]),
    ]
    write_foreign(path, nodes)
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    if engine == "numpy":
        with pytest.raises(BadFile, match="ReduceMean"):
            load_policy(path, engine=engine, worlds=3)
        return
    rows = observations(3)
    alone = [load_policy(path).act(row) for row in rows]
    found = load_policy(path, engine=engine, worlds=3).act(rows)
    assert found == pytest.approx(np.array(alone), abs=1e-5)


def write_with_outputs(path: Path, outputs: dict[str, tuple[int, ...]]) -> None:
    """The first is the action 2·obs[:3], the others are zeros."""
    first, *others = outputs
    weights = np.zeros((WIDTH, 3), np.float64)
    weights[[0, 1, 2], [0, 1, 2]] = 2.0
    nodes = [helper.make_node("MatMul", ["obs", "w"], [first])]
    nodes += [
        helper.make_node("ConstantOfShape", [f"{name}.size"], [name]) for name in others
    ]
    sizes = {name: np.array(outputs[name], np.int64) for name in others}
    graph = helper.make_graph(
        nodes,
        "foreign",
        [helper.make_tensor_value_info("obs", TensorProto.DOUBLE, (1, WIDTH))],
        [
            helper.make_tensor_value_info(
                name, TensorProto.DOUBLE if name == first else TensorProto.FLOAT, shape
            )
            for name, shape in outputs.items()
        ],
        [
            numpy_helper.from_array(weights, "w"),
            *(numpy_helper.from_array(x, f"{n}.size") for n, x in sizes.items()),
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


@pytest.mark.parametrize(
    "outputs",
    [
        {"53": (1, 3), "24": (1, 1), "51": (1,)},
        {"actions": (1, 3), "values": (1, 3)},
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_action_is_found_among_outputs_and_may_be_of_64_bits(
    tmp_path, outputs, engine: Engine
):
    path = tmp_path / "walk.onnx"
    write_with_outputs(path, outputs)
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    row = observations(1)[0]
    found = load_policy(path, engine=engine).act(row)
    assert found.dtype == np.float32
    assert found == pytest.approx(2 * row[:3], rel=1e-6)
    rows = observations(3)
    many = load_policy(path, engine=engine, worlds=3).act(rows)
    assert many == pytest.approx(2 * rows[:, :3], rel=1e-6)


def test_outputs_that_may_both_be_the_action_are_refused(tmp_path):
    path = tmp_path / "walk.onnx"
    write_with_outputs(path, {"53": (1, 3), "24": (1, 3)})
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    with pytest.raises(BadFile, match=r"called action .* '53' \(1, 3\), '24' \(1, 3\)"):
        load_policy(path)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_action_whose_width_is_left_open_is_found_by_running(tmp_path, engine):
    path = tmp_path / "walk.onnx"
    write_foreign(path, [helper.make_node("MatMul", ["obs", "w"], ["action"])])

    def open_width(model):
        model.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "width"

    changed = change(path, tmp_path, open_width)
    save(tmp_path / "changed.contract.yaml", contract(parity=None))
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    row = observations(1)[0]
    assert load_policy(changed, engine=engine).act(row) == pytest.approx(
        load_policy(path).act(row), abs=1e-5
    )
    action = msgspec.structs.replace(
        contract().action,
        commands=("hip.command", "knee.command"),
        offset=(0.0, 0.0),
        scale=(1.0, 1.0),
    )
    other = contract(parity=None, action=action, terms=contract().terms)
    save(tmp_path / "changed.contract.yaml", other, overwrite=True)
    with pytest.raises(BadFile, match=r"does not run|gives actions of shape"):
        load_policy(changed, engine=engine)


def test_whole_numbers_are_refused_as_actions(tmp_path):
    path = tmp_path / "walk.onnx"
    write_foreign(path, [helper.make_node("MatMul", ["obs", "w"], ["action"])])

    def edit(model):
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64

    changed = change(path, tmp_path, edit)
    save(tmp_path / "changed.contract.yaml", contract(parity=None))
    with pytest.raises(BadFile, match="'action' holds numbers of int64, not floats"):
        load_policy(changed)


def test_a_width_that_is_left_open_is_refused(tmp_path):
    path = tmp_path / "walk.onnx"
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["action"])]
    write_foreign(path, nodes, width="width")
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    with pytest.raises(BadFile, match=r"'obs' is left open \(a dynamic shape\)"):
        load_policy(path)


@pytest.mark.parametrize("engine", ENGINES)
def test_shapes_that_do_not_fit_within_the_graph_are_refused(tmp_path, engine):
    path = tmp_path / "walk.onnx"
    nodes = [
        helper.make_node("MatMul", ["obs", "w"], ["x"]),
        helper.make_node("MatMul", ["x", "w"], ["action"]),
    ]
    write_foreign(path, nodes)
    save(tmp_path / "walk.contract.yaml", contract(parity=None))
    with pytest.raises(BadFile, match=r"does not run|refuses"):
        load_policy(path, engine=engine)


def test_other_inputs_are_refused_by_name(policy_path, tmp_path):
    def add_input(model):
        port = helper.make_tensor_value_info("time_step", TensorProto.FLOAT, (1, 1))
        model.graph.input.append(port)

    changed = change(policy_path, tmp_path, add_input)
    with pytest.raises(BadFile, match=r"'obs' .*, 'time_step'"):
        load_policy(changed)


@pytest.mark.parametrize("kind", RecurrentKind)
def test_a_state_that_goes_in_must_come_out(kind, tmp_path):
    path = tmp_path / "leg.onnx"
    write(path, actor(kind))

    def cut_output(model):
        found = next(o for o in model.graph.output if o.name == "h_out")
        model.graph.output.remove(found)

    with pytest.raises(BadFile, match="input 'h_in' and no output 'h_out'"):
        load_policy(change(path, tmp_path, cut_output))
