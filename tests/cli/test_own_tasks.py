"""A user's own task, `my_file.py:MyTask`, through the commands; and mistakes in it."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

import realworthy
from realworthy.learning import training
from realworthy.learning.runs import BEST, RunFolder
from realworthy.learning.training import TrainSettings, choose_settings
from realworthy.policies import load_contract, load_policy
from realworthy.realities import RealityFile, save_reality
from realworthy.reports.view.session import build_session
from realworthy.reports.view.task_play import TaskPlay
from realworthy.residuals import save_residual
from realworthy.tasks.catalogue import find_task
from realworthy.twins import load_twin
from tests.residuals.examples import damper

from .conftest import Run, Write

RECIPE = Path(__file__).parents[2] / "recipes" / "own_task.py"
OWN = "own_task.py:DoublePole"
SHORT = ("--worlds", "16", "--steps", "1024", "--target", "2")
SUITE = """
schema: 1
name: ours
bar: 0.75
cells:
  - {name: everyday, group: everyday, episodes: 16}
coverage: null
"""
CERTIFY = ("certify", "r/policy.onnx", "--suite", "our.suite.yaml")
TASK = """
import torch
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear
from realworthy.tasks.task import Start, Task
from realworthy.twins import load_twin


class Still(Task):
    name, period, seconds = "still", 0.02, 1.0
    weights = {"still": 1.0}

    def __init__(self, twin=None):
        self.twin = twin or load_twin("pendulum")
        self.terms = (Linear(name="angle", signals=("joint.position",)),)
        self.action = ActionMap(
            commands=("joint.command",), offset=(0.0,), scale=(1.0,)
        )

    def prepare(self, scene):
        pass

    def begin(self, scene, worlds, chance):
        return Start(qpos=scene.zeros(1), qvel=scene.zeros(1))

    def compute_rewards(self, scene):
        return {"still": -scene.qvel[:, 0].abs()}

    def is_success(self, scene):
        return scene.qvel[:, 0].abs() < 0.1
"""
"""The least that a task has to say."""
IMAGE = """

    groups = (TaskGroup(name="eye", shape=(1, 8, 8), purpose=Purpose.DEPLOYABLE),)

    def observe_groups(self, scene):
        return {"eye": scene.zeros(1, 8, 8)}
"""
GROUPS = (
    "from realworthy.tasks.environment.environment import Purpose\n"
    "from realworthy.tasks.environment.environment import TaskGroup\n"
)


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Nothing that another test has named is known; few episodes judge policies."""
    place = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(place))
    monkeypatch.setattr(training, "EPISODES", 8)
    return place


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recipe and a run of its task, which learned next to nothing."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copy(RECIPE, folder)
    (folder / "our.suite.yaml").write_text(SUITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        options = {"world_count": 16, "steps": 1024, "target": 2}
        realworthy.train(OWN, output="r", evaluation_episodes=8, **options)
    shutil.rmtree(folder / "state")
    return folder


@pytest.fixture
def learned(run: Run, trained: Path, tmp_path: Path) -> None:
    """The same in the folder where commands run, with the file named once before."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    find_task(OWN)


def test_the_policy_says_which_file_and_class_it_learned(learned: None, tmp_path: Path):
    contract = load_contract(tmp_path / "r" / "policy.onnx")
    assert contract.task == "double_pole"
    assert contract.task_file is not None
    assert (contract.task_file.path, contract.task_file.name) == tuple(OWN.split(":"))
    content = (tmp_path / "own_task.py").read_bytes()
    assert contract.task_file.sha256 == hashlib.sha256(content).hexdigest()
    assert RunFolder(tmp_path / "r").read_settings(TrainSettings).task == OWN
    assert set(contract.envelope) == {"cart.damping", "lower.mass", "all.delay"}


def test_it_is_certified_by_its_own_task(learned: None, run: Run, tmp_path: Path):
    told = run(*CERTIFY, "--json", "c.json", "--output", "kept")
    assert told.status == 1, told.err  # it has learned nothing
    tree = json.loads((tmp_path / "c.json").read_text())
    assert tree["task"] == OWN
    assert tree["twin"] == "double_pole"
    assert 0 <= tree["success"]["mean"] < 0.5
    found = {one["name"]: one["mark"] for one in tree["interface"]}
    assert found["twin"] == found["terms"] == "ok"


def test_it_is_watched_with_its_own_task_as_judge(learned: None, tmp_path: Path):
    policy = tmp_path / "r" / "policy.onnx"
    twin = realworthy.load_twin(write_model(tmp_path))
    session = build_session(twin, policy=policy)
    assert isinstance(session.play, TaskPlay)
    assert session.play.name == "double_pole by policy.onnx"
    while session.verdict is None:
        session.step()
    assert session.verdict.is_good is False


def write_model(folder: Path) -> Path:
    """The recipe's model, as a file that other programs can read."""
    text = RECIPE.read_text()
    model = folder / "double_pole.xml"
    model.write_text(text.split('MODEL = """\n')[1].split('"""')[0])
    return model


def test_it_is_deployed_without_its_file_and_without_torch(
    learned: None, tmp_path: Path
):
    write_model(tmp_path)
    hidden = RealityFile(schema=1, twin="double_pole.xml")
    save_reality(hidden, tmp_path / "hidden.reality.yaml")
    (tmp_path / "own_task.py").unlink()
    words = ["deploy", "r/policy.onnx", "--robot", "sim:hidden.reality.yaml"]
    words += ["--seconds", "1", "--json", "d.json"]
    script = f"""
import sys
from realworthy.cli import main
try:
    main({words!r})
finally:
    assert "torch" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode in (0, 1), done.stderr
    trial = json.loads((tmp_path / "d.json").read_text())["trials"][0]
    assert trial["seconds"] > 0
    assert (tmp_path / trial["recording"]).is_file()


def test_a_file_that_has_changed_is_refused_until_it_is_named(
    learned: None, run: Run, tmp_path: Path
):
    path = tmp_path / "own_task.py"
    then = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text() + "\n# another thought\n")
    run(*CERTIFY).check_mistake(
        "RealworthyError: policy.onnx learned task 'DoublePole' of own_task.py, which "
        f"has changed since (SHA-256 {then[:12]}… then).\n"
        "  Train again, or bring the file back. Where the task is meant as it is now: "
        "--task own_task.py:DoublePole\n"
    )
    told = run(*CERTIFY, "--task", OWN, "--json", "c.json")
    assert told.status == 1, told.err
    found = json.loads((tmp_path / "c.json").read_text())["interface"]
    changed = [one for one in found if one["name"] == "twin"]
    assert [one["mark"] for one in changed] == ["warning"]
    assert "own_task.py has changed since the policy learned" in changed[0]["about"]


def test_a_file_that_is_not_there_is_asked_for(learned: None, run: Run, tmp_path: Path):
    (tmp_path / "own_task.py").unlink()
    run(*CERTIFY).check_mistake(
        "RealworthyError: policy.onnx learned task 'DoublePole' of own_task.py, which "
        "is not there.\n"
        "  Say where it is: --task FILE.py:DoublePole\n"
    )
    twin = load_twin(write_model(tmp_path))
    with pytest.warns(UserWarning, match="Successes are not counted: .* not there"):
        session = build_session(twin, policy=tmp_path / "r" / "policy.onnx")
    assert not isinstance(session.play, TaskPlay)


def test_a_file_that_moved_with_the_policy_is_found(
    learned: None, run: Run, tmp_path: Path
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("own_task.py", "r"):
        shutil.move(tmp_path / name, elsewhere / name)
    told = run("certify", "elsewhere/r/policy.onnx", "--suite", "our.suite.yaml")
    assert told.status == 1, told.err


def test_a_policy_alone_never_runs_a_program(
    learned: None, run: Run, tmp_path: Path, state: Path
):
    """As with a policy and its file from elsewhere: nobody has named the file here."""
    shutil.rmtree(state / "realworthy")
    told = run(*CERTIFY)
    told.check_mistake(
        "RealworthyError: policy.onnx learned task 'DoublePole' of own_task.py, a "
        "program that was never run here. A policy's word does not run programs.\n"
        "  Read it; then name it once: --task own_task.py:DoublePole\n"
    )
    assert run(*CERTIFY, "--task", OWN).status == 1
    assert run(*CERTIFY).status == 1


def test_a_run_goes_on_as_long_as_its_file_stays(
    learned: None, run: Run, tmp_path: Path
):
    further = ("train", OWN, "--output", "r", "--resume", "--steps")
    told = run(*further, "2048")
    assert told.status == 0, told.err
    path = tmp_path / "own_task.py"
    path.write_text(path.read_text().replace('"calm": 1.0', '"calm": 2.0'))
    told = run(*further, "4096")
    assert told.status == 2
    assert "The worlds of 'r' were others" in told.err


def test_settings_of_a_task_are_kept_with_the_policy(run: Run, tmp_path: Path):
    shutil.copy(RECIPE, tmp_path)
    (tmp_path / "our.suite.yaml").write_text(SUITE)
    told = run("train", OWN, "--set", "force=6", "--output", "r", *SHORT)
    assert told.status == 0, told.err
    contract = load_contract(tmp_path / "r" / "policy.onnx")
    assert contract.task_settings == {"force": 6}
    assert contract.action.scale == (6.0,)
    told = run(*CERTIFY, "--json", "c.json", "--task", OWN)
    found = json.loads((tmp_path / "c.json").read_text())["interface"]
    assert {one["mark"] for one in found if one["name"] == "twin"} == {"ok"}
    wrong = run("train", OWN, "--set", "forse=6", "--output", "x")
    wrong.check_mistake(
        "UnknownName: Task 'own_task.py:DoublePole' has no setting 'forse'.\n"
        "  Nearest: 'force'.\n"
    )
    run("train", OWN, "--set", "force", "--output", "x").check_mistake(
        "RealworthyError: --set takes NAME=VALUE, not 'force'.\n"
        "  Try: --set torque=1.5\n"
    )


def test_tasks_of_ours_have_settings_too(run: Run, tmp_path: Path):
    told = run("train", "pendulum", "--set", "torque=1.5", "--output", "r", *SHORT)
    assert told.status == 0, told.err
    contract = load_contract(tmp_path / "r" / "policy.onnx")
    assert contract.task_settings == {"torque": 1.5}
    assert contract.action.scale == (1.5,)
    assert contract.task_file is None


def test_show_says_what_it_is_made_of(run: Run, tmp_path: Path):
    shutil.copy(RECIPE, tmp_path)
    told = run("show", "tasks", OWN, "--json", "t.json")
    assert told.status == 0, told.err
    tree = json.loads((tmp_path / "t.json").read_text())
    assert tree["name"] == "double_pole"
    assert tree["commands"] == ["cart.command"]
    assert tree["inputs"] == ["goal.x"]


@pytest.mark.parametrize("task", ["pendulum", "cartpole_balance", OWN])
def test_a_command_and_python_train_the_same_policy(
    run: Run, tmp_path: Path, task: str
):
    """The same bits: of what was learned, and of what the policy answers."""
    shutil.copy(RECIPE, tmp_path)
    told = run("train", task, "--output", "one", "--seed", "5", *SHORT)
    assert told.status == 0, told.err
    options = {"world_count": 16, "steps": 1024, "target": 2, "seed": 5}
    realworthy.train(task, output="other", **options)
    first, second = (RunFolder(tmp_path / x).load(BEST) for x in ("one", "other"))
    assert set(first) == set(second)
    compare(first, second)
    one, other = (load_policy(tmp_path / x / "policy.onnx") for x in ("one", "other"))
    parity = one.contract.parity
    assert parity is not None
    assert parity == other.contract.parity
    for row in parity.observations:
        seen = np.array(row, np.float32)
        assert np.array_equal(one.act(seen), other.act(seen))


def compare(one: object, other: object) -> None:
    """Nests of tensors whose bits are the same."""
    if isinstance(one, torch.Tensor):
        assert isinstance(other, torch.Tensor)
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert isinstance(other, dict)
        for key, value in one.items():
            compare(value, other[key])
    else:
        assert one == other


def test_a_class_in_python_is_the_task_in_its_file(run: Run, write: Write):
    write("mine.py", TASK)
    found = choose_settings("mine.py:Still", steps=1)
    assert found.task == "mine.py:Still"
    assert found.world_count == 256  # nobody has chosen anything
    kind = realworthy.Task.__subclasses__()[-1]
    assert kind.__name__ == "Still"
    assert choose_settings(kind, steps=1) == found


# mistakes


def check_refused(run: Run, name: str, err: str) -> None:
    """By every command that takes a task: one message, status 2, nothing written."""
    for words in (
        ("train", name, "--output", "r"),
        ("show", "tasks", name),
        ("view", "pendulum", "--task", name, "--seconds", "0.1", "--port", "0"),
    ):
        run(*words).check_mistake(err)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "x = 1\ny = x / 0\n",
            "running it raised ZeroDivisionError in line 2: division by zero.",
        ),
        (
            "x = 1\nraise SystemExit(3)\n",
            "running it raised SystemExit in line 2: 3.",
        ),
        (
            "def f(:\n",
            "running it raised SyntaxError in line 1: invalid syntax (mine.py, "
            "line 1).",
        ),
        (
            "import no_such_module\n",
            "running it raised ModuleNotFoundError in line 1: No module named "
            "'no_such_module'.",
        ),
    ],
)
def test_a_file_that_raises(run: Run, write: Write, text: str, said: str):
    write("mine.py", text)
    check_refused(
        run,
        "mine.py:Mine",
        f"BadFile: mine.py: {said}\n"
        "  The file runs when it is loaded: correct it, and put what a script does "
        'under `if __name__ == "__main__":`.\n',
    )


def test_a_file_that_is_missing(run: Run, write: Write):
    write("mine.py", TASK)
    check_refused(
        run,
        "mein.py:Still",
        "MissingFile: mein.py: there is no such file.\n  Nearest: 'mine.py'.\n",
    )


def test_a_class_that_is_no_task(run: Run, write: Write):
    write("mine.py", TASK + "\n\nclass Robot:\n    pass\n")
    check_refused(
        run,
        "mine.py:Robot",
        "BadFile: mine.py: 'Robot' is no task.\n"
        "  A task is a class that derives from realworthy.Task; there are: Still.\n",
    )
    check_refused(
        run,
        "mine.py:Stil",
        "UnknownName: mine.py has no task 'Stil'.\n  Nearest: 'Still'.\n",
    )
    check_refused(
        run,
        "mine.py",
        "RealworthyError: mine.py is a file, and not yet a task.\n"
        "  Name a class in it: mine.py:Still.\n",
    )


def test_a_class_that_leaves_something_open(run: Run, write: Write):
    write("mine.py", TASK.partition("    def compute_rewards")[0])
    check_refused(
        run,
        "mine.py:Still",
        "RealworthyError: Task 'mine.py:Still' does not say compute_rewards, "
        "is_success.\n"
        "  Write these methods: realworthy.tasks.task.Task explains each.\n",
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "self.action = ActionMap(",
            "_ = ActionMap(",
            "Task 'mine.py:Still' has nothing as `action`.",
        ),
        ("0.02, 1.0", "0.02, -1.0", "`seconds` of task 'mine.py:Still' is -1.0 s."),
        (
            '{"still": 1.0}',
            "{}",
            "Task 'mine.py:Still' rewards 'still' and gives it no weight.",
        ),
        (
            "-scene.qvel[:, 0].abs()}",
            "-scene.qvel.abs()}",
            "reward 'still' of task 'mine.py:Still' is (3, 1) of torch.float32; it "
            "should be (3,), one value for each world.",
        ),
        (
            "-scene.qvel[:, 0].abs()}",
            "1 / scene.zeros()}",
            "Reward 'still' of task 'mine.py:Still' is not finite.",
        ),
        (
            "return scene.qvel[:, 0].abs() < 0.1",
            "return scene.qvel[:, 0].abs()",
            "`is_success` of task 'mine.py:Still' is (3,) of torch.float32; it should "
            "be (3,), one value for each world, of torch.bool.",
        ),
        (
            "return scene.qvel[:, 0].abs() < 0.1",
            "return scene.speed",
            "Task 'mine.py:Still': playing it raised AttributeError in line 30: "
            "'Scene' object has no attribute 'speed'.",
        ),
        (
            "self.twin = twin or",
            "self.twin = 1 / 0 or",
            "Task 'mine.py:Still': building it raised ZeroDivisionError in line 14: "
            "division by zero.",
        ),
    ],
)
def test_a_task_that_cannot_be_played(
    run: Run, write: Write, old: str, new: str, said: str
):
    assert old in TASK
    write("mine.py", TASK.replace(old, new))
    for words in (
        ("train", "mine.py:Still", "--output", "r"),
        ("show", "tasks", "mine.py:Still"),
        ("view", "pendulum", "--task", "mine.py:Still", "--port", "0"),
    ):
        told = run(*words)
        assert told.status == 2
        assert told.err.startswith(f"RealworthyError: {said}\n  ")
        assert told.err.count("\n") == 2
        assert told.files == ()


def test_two_groups_of_one_name(run: Run, write: Write):
    twice = IMAGE.replace("DEPLOYABLE),)", "DEPLOYABLE),) * 2")
    write("mine.py", GROUPS + TASK + twice)
    check_refused(
        run,
        "mine.py:Still",
        "RealworthyError: 2 groups of observations are called 'eye'.\n"
        "  Give each a name of its own.\n",
    )


def test_a_learner_that_the_task_does_not_fit(run: Run, write: Write):
    """Linear policies see no images."""
    write("mine.py", GROUPS + TASK + IMAGE)
    told = run("train", "mine.py:Still", "--learner", "ars", "--output", "r")
    assert told.status == 2
    assert told.err.startswith("BadSettings: ")
    assert "'eye'" in told.err
    assert told.files == ()


def test_a_twin_that_the_task_does_not_fit(run: Run, write: Write):
    write("mine.py", TASK)
    told = run("train", "mine.py:Still", "--twin", "cartpole", "--output", "r")
    assert told.status == 2
    assert "joint" in told.err
    assert told.files == ()


def test_presets_that_are_none(run: Run, write: Write):
    write("mine.py", TASK + '\n    presets = {"ppo": {"minutes": 3}}\n')
    run("train", "mine.py:Still", "--output", "r").check_mistake(
        "RealworthyError: `presets` of task 'mine.py:Still' is {'ppo': {'minutes': "
        "3}}.\n"
        "  It maps names of learners to realworthy.learning.presets.Preset.\n"
    )


def test_a_task_that_raises_later_is_one_message(run: Run, write: Write):
    later = "        if scene.step_count.max() > 9:\n            raise OSError('wet')\n"
    write(
        "mine.py",
        TASK.replace('        return {"still"', later + '        return {"still"'),
    )
    told = run("train", "mine.py:Still", "--output", "r", *SHORT)
    assert told.status == 2
    assert told.err.splitlines()[-2:] == [
        "RealworthyError: Task 'mine.py:Still': it raised OSError in line 28: wet.",
        "  Correct the task.",
    ]


def test_a_residual_of_another_twin_is_refused_everywhere(run: Run, tmp_path: Path):
    made = damper(joints=("joint",))
    fingerprint = load_twin("pendulum").fingerprint
    described = msgspec.structs.replace(
        made.description, twin="pendulum", fingerprint=fingerprint
    )
    path = tmp_path / "some.residual.yaml"
    save_residual(path, replace(made, description=described))
    (tmp_path / "more.twin.yaml").write_text(
        "schema: 1\nname: more\nmodel: pendulum\nresidual: some.residual.yaml\n"
        "parameters: {pendulum.mass: {value: 0.9}}\n"
    )
    twin = "more.twin.yaml"
    for words in (
        ("show", twin),
        ("train", "pendulum", "--twin", twin, "--output", "r"),
        ("view", twin, "--seconds", "0.1", "--port", "0"),
        ("excite", twin, "--output", "m.csv"),
        ("robot", twin, "--listen", "udp://127.0.0.1:0"),
    ):
        told = run(*words)
        assert told.status == 2, words
        assert "was fitted on another twin than 'more': on 'pendulum'" in told.err
        assert "Fit it again, on this twin" in told.err
        assert told.files == (), words
