"""Exports of other trainers run as they did there, and drafts say all they know."""

import functools
import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from realworthy.artefacts import save
from realworthy.certification.contract.check import Aspect, Mark, check_interface
from realworthy.certification.foreign.draft import (
    ContractDraft,
    Origin,
    assist,
    infer_contract,
)
from realworthy.errors import BadFile, Unwritable
from realworthy.policies import Contract, Linear, Observer, load_policy
from realworthy.policies.metadata import read_sidecar
from realworthy.policies.policy import Policy
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.worlds import TaskWorlds
from tests.certification.linear import load_linear, write_linear
from tests.policies.actors import actor, write

PAGE = (Path(__file__).parents[2] / "docs" / "foreign_policies.md").read_text("utf-8")
LEGS = ("FL", "FR", "RL", "RR")
JOINTS = tuple(f"{leg}_{part}" for leg in LEGS for part in ("hip", "thigh", "calf"))
METADATA = {
    "run_path": "somebody/runs/1",
    "joint_names": ",".join(f"{joint}_joint" for joint in JOINTS),
    "joint_stiffness": ",".join(["20.000"] * 12),
    "joint_damping": ",".join(["0.015"] * 12),
    "default_joint_pos": ",".join(["0.100,0.900,-1.800"] * 4),
    "command_names": "twist",
    "observation_names": "base_ang_vel,projected_gravity,joint_pos,joint_vel,actions,"
    "command",
    "observation_terms_scale": "0.200,1.000,1.000,0.050,1.000,1.000;2.000;0.250",
    "observation_terms_history_length": "0.000,0.000,3.000,0.000,0.000,0.000",
    "observation_terms_clip": "-inf;inf,-inf;inf,-inf;inf,-100.000;100.000,-inf;inf,"
    "-inf;inf",
    "action_scale": ",".join(["0.250"] * 12),
}
"""As mjlab writes it: three decimals, counts too; lists within lists by semicolons."""
WIDTH = 3 + 3 + 12 * 3 + 12 + 12 + 3


@pytest.fixture(scope="module")
def reach() -> Contract:
    return build_contract(TaskWorlds(build_task("reach"), 1))


@pytest.fixture(scope="module")
def walking() -> TaskWorlds:
    return TaskWorlds(build_task("quadruped"), 1)


@pytest.fixture(scope="module")
def quadruped(walking: TaskWorlds) -> Contract:
    return build_contract(walking)


def load(path: Path, expected: Contract, worlds: int = 1) -> Policy:
    infer = functools.partial(infer_contract, expected=expected)
    return load_policy(path, infer=infer, worlds=worlds)


def write_mjlab(path: Path, *, width: int = WIDTH, **changes: str | None) -> Path:
    metadata = {**METADATA, **changes}
    kept = {key: value for key, value in metadata.items() if value is not None}
    weights = np.random.default_rng(0).normal(size=(width, 12)).astype(np.float32)
    write_linear(path, weights, **kept)
    return path


def say(draft: ContractDraft, key: str) -> str:
    return " ".join(note.about for note in draft.missing if note.key == key)


@pytest.fixture(params=["mlp", "lstm", "gru"])
def rsl_rl_model(request, reach) -> torch.nn.Module:
    """An actor of rsl_rl with a normaliser that has seen things."""
    pytest.importorskip("rsl_rl")
    from rsl_rl.models.mlp_model import MLPModel
    from rsl_rl.models.rnn_model import RNNModel
    from tensordict import TensorDict

    torch.manual_seed(0)
    rows = TensorDict({"policy": 3 * torch.randn(64, reach.width) + 1}, [64])
    settings = {
        "obs": rows,
        "obs_groups": {"actor": ["policy"]},
        "obs_set": "actor",
        "output_dim": reach.action.width,
        "hidden_dims": [32, 16],
        "obs_normalization": True,
        "distribution_cfg": {"class_name": "GaussianDistribution"},
    }
    kind = request.param
    if kind == "mlp":
        model = MLPModel(**settings)
    else:
        model = RNNModel(**settings, rnn_type=kind, rnn_hidden_dim=16)
    model.update_normalization(rows)
    model.eval()
    return model


@torch.no_grad()
def play(model: torch.nn.Module, rows: np.ndarray) -> np.ndarray:
    """(steps, worlds, actions) of rsl_rl itself."""
    from tensordict import TensorDict

    model.reset()  # type: ignore
    seen = [TensorDict({"policy": row}, [len(row)]) for row in torch.tensor(rows)]
    return np.array([model(row.float()).numpy() for row in seen])


def export_plainly(model: torch.nn.Module, folder: Path) -> Path:
    """The module that rsl_rl exports, by torch's older exporter: seconds sooner."""
    module = model.as_onnx(verbose=False).eval()  # type: ignore
    torch.onnx.export(
        module,
        module.get_dummy_inputs(),
        folder / "policy.onnx",
        input_names=module.input_names,
        output_names=module.output_names,
        dynamo=False,
    )
    return folder / "policy.onnx"


def export_by_rsl_rl(model: torch.nn.Module, folder: Path) -> Path:
    """Its runner's own method, which puts weights into a second file."""
    from rsl_rl.runners import OnPolicyRunner

    runner = SimpleNamespace(alg=SimpleNamespace(get_policy=lambda: model))
    OnPolicyRunner.export_policy_to_onnx(runner, str(folder))  # type: ignore
    return folder / "policy.onnx"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "export",
    [export_plainly, pytest.param(export_by_rsl_rl, marks=pytest.mark.slow)],
)
def test_an_actor_of_rsl_rl_runs_as_it_does_there(
    rsl_rl_model, export, reach, tmp_path
):
    path = export(rsl_rl_model, tmp_path)
    rows = np.random.default_rng(1).normal(size=(5, 3, reach.width))
    wanted = play(rsl_rl_model, rows)
    many = load(path, reach, worlds=3)
    assert many.recurrent == rsl_rl_model.is_recurrent
    found = np.array([many.act(row) for row in rows])
    assert found == pytest.approx(wanted, abs=1e-5)
    one = load(path, reach)
    alone = np.array([one.act(row) for row in rows[:, 1]])
    assert alone == pytest.approx(wanted[:, 1], abs=1e-5)
    said, normaliser = one.contract.normaliser, rsl_rl_model.obs_normalizer
    assert said is not None
    assert said.mean == pytest.approx(normaliser.mean.tolist(), abs=1e-6)
    assert said.sd == pytest.approx((normaliser.std + 1e-2).tolist(), rel=1e-5)


class SbLike(torch.nn.Module):
    """What PPO of Stable-Baselines3 exports: action, value and log probability."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.flatten = torch.nn.Flatten()
        self.pi = torch.nn.Sequential(torch.nn.Linear(width, 16), torch.nn.Tanh())
        self.vf = torch.nn.Sequential(torch.nn.Linear(width, 16), torch.nn.Tanh())
        self.action, self.value = torch.nn.Linear(16, count), torch.nn.Linear(16, 1)
        self.log_std = torch.nn.Parameter(torch.full((count,), -0.5))
        self.count = count

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.flatten(observation.float())
        mean = self.action(self.pi(x))
        sd = torch.ones_like(mean) * self.log_std.exp()
        log = (-(((mean - mean) / sd) ** 2) / 2 - sd.log()).sum(dim=1)
        return mean.reshape((-1, self.count)), self.value(self.vf(x)), log


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_open", [False, True], ids=["one row", "many rows"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_policy_of_stable_baselines_runs_as_it_does_there(
    tmp_path, reach, is_open: bool, dtype: torch.dtype
):
    path, model = tmp_path / "ppo.onnx", SbLike(reach.width, reach.action.width).eval()
    torch.onnx.export(
        model,
        (torch.zeros(1, reach.width, dtype=dtype),),
        path,
        input_names=["input"],
        dynamic_axes={"input": {0: "n"}} if is_open else None,
        opset_version=17,
        dynamo=False,
    )
    rows = np.random.default_rng(1).normal(size=(4, reach.width))
    with torch.no_grad():
        wanted = model(torch.from_numpy(rows).to(dtype))[0].numpy()
    assert load(path, reach, worlds=4).act(rows) == pytest.approx(wanted, abs=1e-5)
    assert load(path, reach).act(rows[0]) == pytest.approx(wanted[0], abs=1e-5)
    draft = assist(path, reach)
    assert draft.origin is Origin.BARE
    assert any("VecNormalize" in note.about for note in draft.assumed)
    with pytest.raises(BadFile, match="one output that is called action") as caught:
        assist(path)
    assert "name the task" in caught.value.hint


def test_shapes_alone_are_the_tasks_where_widths_are_alike(tmp_path, reach):
    path = tmp_path / "some.onnx"
    write_linear(path, np.ones((reach.width, 6), np.float32))
    draft = assist(path, reach)
    assert draft.missing == ()
    assert draft.contract == msgspec.structs.replace(reach, envelope={})
    assert "pose 6 + speed 6 + goal 3 + last_action 6" in draft.text
    write_linear(path, np.ones((22, 5), np.float32))
    other = assist(path, reach)
    assert other.contract is None
    assert "has 22 numbers in an observation; policies of task 'reach' have 21" in (
        say(other, "terms")
    )
    assert "has 5 actions; policies of task 'reach' have 6" in say(other, "action")


def test_without_a_task_everything_that_no_file_says_is_listed(tmp_path):
    path = tmp_path / "some.onnx"
    write_linear(path, np.ones((4, 2), np.float32))
    draft = assist(path)
    listed = {note.key for note in draft.missing}
    assert listed == {
        *("twin", "joints", "terms", "action", "period", "substeps", "command_kind"),
        *("gains", "limits", "inputs", "delays", "conventions"),
    }
    with pytest.raises(BadFile, match="- period: Say how many seconds") as caught:
        load_policy(path, infer=infer_contract)
    assert "drafts some.contract.yaml" in caught.value.hint


def test_mjlabs_metadata_becomes_a_contract(tmp_path, quadruped):
    draft = assist(write_mjlab(tmp_path / "walk.onnx"), quadruped)
    assert (draft.origin, draft.missing) == (Origin.MANAGER, ())
    contract = draft.contract
    assert contract is not None
    assert contract.joints == JOINTS
    assert contract.action.commands == tuple(f"{joint}.command" for joint in JOINTS)
    assert contract.action.offset == (0.1, 0.9, -1.8) * 4
    assert contract.action.scale == (0.25,) * 12
    assert {(g.kp, g.kd) for g in contract.gains.values()} == {(20.0, 0.015)}
    assert contract.conventions.action_feedback == "raw"
    angles, speeds = contract.terms[2:4]
    assert (angles.history, speeds.history) == (3, 1)
    assert speeds.clip == 5.0  # ±100 before a scale of 0.05
    assert list(contract.inputs) == ["command.forward", "command.left", "command.turn"]


def test_an_observation_by_the_draft_is_what_mjlab_computes(tmp_path, quadruped):
    contract = assist(write_mjlab(tmp_path / "walk.onnx"), quadruped).contract
    assert contract is not None
    signals = {
        **{f"imu_gyro.{axis}": i for i, axis in enumerate("xyz", start=1)},
        **{f"imu_orientation.{axis}": float(axis == "w") for axis in "wxyz"},
        **{f"{joint}.position": 0.1 * i for i, joint in enumerate(JOINTS)},
        **{f"{joint}.velocity": 10.0 * i for i, joint in enumerate(JOINTS)},
        **{f"{joint}.command.action": -i for i, joint in enumerate(JOINTS)},
        **dict(zip(contract.inputs, (0.5, -0.25, 1.0), strict=True)),
    }
    observer = Observer(contract.terms, contract.action, tuple(signals))
    found = observer.observe(np.array([*signals.values()], float))
    index = np.arange(12)
    wanted = [
        *(0.2 * np.array([1, 2, 3])),
        *(0, 0, -1),
        *np.tile(0.1 * index - [*([0.1, 0.9, -1.8] * 4)], 3),
        *np.minimum(0.05 * 10.0 * index, 5.0),
        *-index,
        *(0.5, -0.5, 0.25),
    ]
    assert found == pytest.approx(np.array(wanted))


def test_rounded_numbers_are_flagged_with_what_they_may_hide(tmp_path, quadruped):
    draft = assist(write_mjlab(tmp_path / "walk.onnx"), quadruped)
    notes = " ".join(note.about for note in draft.assumed if note.key == "gains")
    assert "joint_damping is rounded to three decimals" in notes
    assert "up to 3.3 %" in notes  # 0.0005 of 0.015
    exact = ",".join(["0.0152"] * 12)
    draft = assist(write_mjlab(tmp_path / "b.onnx", joint_damping=exact), quadruped)
    notes = " ".join(note.about for note in draft.assumed if note.key == "gains")
    assert "joint_damping" not in notes


def test_terms_that_are_not_understood_are_named_with_their_width(tmp_path, quadruped):
    names = METADATA["observation_names"].replace("base_ang_vel", "base_lin_vel")
    path = write_mjlab(
        tmp_path / "walk.onnx",
        observation_names=names.replace("command", "height_scan"),
        observation_terms_scale=None,
    )
    draft = assist(path, quadruped)
    assert draft.contract is None
    missing = say(draft, "terms")
    assert "'base_lin_vel' is made of. Robots seldom measure" in missing
    assert "'height_scan' is made of" in missing
    path = write_mjlab(
        tmp_path / "b.onnx", observation_names=names, observation_terms_scale=None
    )
    assert "Say which signals 'base_lin_vel'" in say(assist(path, quadruped), "terms")


def test_widths_that_do_not_add_up_are_named(tmp_path, quadruped):
    names = METADATA["observation_names"].removesuffix(",command")
    path = write_mjlab(tmp_path / "walk.onnx", observation_names=names)
    assert "add up to 66 numbers and the graph takes 69" in (
        say(assist(path, quadruped), "terms")
    )


def test_a_clip_that_no_term_can_hold_is_named(tmp_path, quadruped):
    clips = METADATA["observation_terms_clip"].replace("-100.000", "-50.000")
    path = write_mjlab(tmp_path / "walk.onnx", observation_terms_clip=clips)
    assert "'joint_vel' is cut to -50 … 100" in say(assist(path, quadruped), "terms")


def test_joints_that_the_twin_lacks_are_named(tmp_path, quadruped):
    joints = METADATA["joint_names"].replace("FL_hip_joint", "tail")
    draft = assist(write_mjlab(tmp_path / "walk.onnx", joint_names=joints), quadruped)
    assert "The task has no joint 'tail'" in say(draft, "joints")
    assert draft.contract is None


def test_a_joint_that_nothing_drives_is_seen_and_not_moved(tmp_path, quadruped):
    """mjlab names all joints, and gains of driven ones only."""
    joints = (*quadruped.joints, "tail")
    expected = msgspec.structs.replace(quadruped, joints=joints)
    path = write_mjlab(
        tmp_path / "walk.onnx",
        width=WIDTH + 4,
        joint_names=METADATA["joint_names"] + ",tail",
        default_joint_pos=METADATA["default_joint_pos"] + ",0.700",
    )
    contract = assist(path, expected).contract
    assert contract is not None
    assert contract.action.width == 12
    angles = contract.terms[2]
    assert isinstance(angles, Linear)
    assert (angles.signals[-1], angles.offset[-1]) == ("tail.position", 0.7)


def test_a_foreign_policy_is_held_against_the_twin(tmp_path, walking, quadruped):
    policy = load(write_mjlab(tmp_path / "walk.onnx"), quadruped)
    found = check_interface(policy, walking)
    marks = {f.name: f.mark for f in found if f.mark is not Mark.OK}
    assert marks == {
        Aspect.GAINS: Mark.FAILED,  # 20 and 0.015 beside 40 and 1
        Aspect.OFFSETS: Mark.WARNING,  # another default pose
        Aspect.PARITY: Mark.WARNING,
    }


def test_a_draft_is_written_once_and_read_back(tmp_path, quadruped):
    path = write_mjlab(tmp_path / "walk.onnx")
    draft = assist(path, quadruped)
    sidecar = draft.write()
    assert sidecar == tmp_path / "walk.contract.yaml"
    assert read_sidecar(sidecar) == draft.contract
    assert load_policy(path).contract == draft.contract
    with pytest.raises(Unwritable, match="exists already"):
        draft.write()


def test_a_draft_with_gaps_says_so_in_the_file_and_does_not_load(tmp_path):
    path = write_mjlab(tmp_path / "walk.onnx")
    sidecar = assist(path).write()
    lines = sidecar.read_text("utf-8").splitlines()
    place = lines.index("# period:")
    assert lines[place - 1] == (
        "# MISSING: Say how many seconds lie between two actions."
    )
    with pytest.raises(BadFile, match="6 keys are missing: twin"):
        load_policy(path)


def test_a_policy_of_ours_needs_no_help(tmp_path):
    write(tmp_path / "leg.onnx", actor())
    draft = assist(tmp_path / "leg.onnx")
    assert draft.origin is Origin.REALWORTHY
    assert draft.contract == load_policy(tmp_path / "leg.onnx").contract


def change(path: Path, edit) -> Path:
    model = onnx.load(path)
    edit(model)
    onnx.save(model, path)
    return path


def test_a_motion_inside_the_file_is_refused_with_what_to_do(tmp_path, quadruped):
    """whole_body_tracking's exporter adds an input `time_step`."""

    def add(model):
        port = helper.make_tensor_value_info("time_step", TensorProto.FLOAT, (1, 1))
        model.graph.input.append(port)

    path = change(write_mjlab(tmp_path / "walk.onnx"), add)
    with pytest.raises(BadFile, match="'time_step'") as caught:
        assist(path, quadruped)
    assert "holds a motion" in caught.value.hint


def test_an_open_width_is_refused(tmp_path, quadruped):
    def open_width(model):
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "width"

    path = change(write_mjlab(tmp_path / "walk.onnx"), open_width)
    with pytest.raises(BadFile, match=r"width of 'obs' is left open"):
        assist(path, quadruped)


@pytest.mark.parametrize("worlds", [1, 3])
def test_actions_that_are_not_numbers_are_refused(tmp_path, quadruped, worlds: int):
    path = tmp_path / "walk.onnx"
    weights = np.full((quadruped.width, 12), np.nan, np.float32)
    write_linear(path, weights)
    with pytest.raises(BadFile, match="not numbers"):
        load(path, quadruped, worlds)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04zip of torch", b"\x80\x05pickle"])
def test_other_files_are_refused_by_name(tmp_path, content: bytes):
    path = tmp_path / "policy.onnx"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=r"policy.onnx: it is (empty|not a whole ONNX)"):
        assist(path)


def test_the_contract_on_the_page_is_one_and_fits_its_task(tmp_path, walking):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "walk.contract.yaml"
    path.write_text(text)
    contract = read_sidecar(path)
    found = check_interface(contract, walking)
    assert not [f for f in found if f.mark is Mark.FAILED]
    save(tmp_path / "linear.contract.yaml", contract)
    policy, weights = load_linear(tmp_path, contract)
    assert policy.act(np.ones(contract.width)) == pytest.approx(
        weights.sum(axis=0), rel=1e-4
    )
