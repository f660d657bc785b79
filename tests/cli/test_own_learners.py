"""A user's own learner, `my_file.py:MyLearner`, through the commands; and mistakes."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import realworthy
from realworthy.learning import training
from realworthy.learning.catalogue import find_learner
from realworthy.learning.runs import BEST, LATEST, RunFolder
from realworthy.learning.training import choose_settings
from realworthy.policies import load_policy

from .conftest import Run, Write

RECIPE = Path(__file__).parents[2] / "recipes" / "own_learner.py"
OWN = "own_learner.py:Cem"
UPDATE = 8 * 250
"""Steps of one update of 8 worlds, whole episodes of `pendulum`."""
TRAIN = ("train", "pendulum", "--learner", OWN, "--worlds", "8")
SHORT = ("--candidates", "4", "--target", "2", "--steps", str(UPDATE))
LEARNER = RECIPE.read_text().partition("def main(")[0]


@pytest.fixture(autouse=True)
def few_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "EPISODES", 8)


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Nothing that another test has named is known."""
    place = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(place))
    return place


def load_weights(folder: Path) -> dict[str, torch.Tensor]:
    best = RunFolder(folder).load(BEST)
    return {name: best[name] for name in ("mean", "deviation")}


def test_a_command_and_python_train_the_same_policy(run: Run, tmp_path: Path):
    shutil.copy(RECIPE, tmp_path)
    told = run(*TRAIN, *SHORT, "--elite", "0.5", "--seed", "3", "--output", "one")
    assert told.status == 0, told.err
    settings = realworthy.load_policy(tmp_path / "one" / "policy.onnx")
    assert settings.contract.task == "pendulum"
    text = RunFolder(tmp_path / "one").settings.read_text()
    assert f"name: {OWN}" in text
    assert "elite: 0.5" in text
    kind = find_learner(OWN)
    own = kind.Settings(candidates=4, elite=0.5)
    options = {"world_count": 8, "target": 2, "steps": UPDATE, "seed": 3}
    realworthy.train("pendulum", learner=own, output="other", **options)
    first, second = (load_weights(tmp_path / name) for name in ("one", "other"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    one, other = (load_policy(tmp_path / x / "policy.onnx") for x in ("one", "other"))
    assert one.contract.parity == other.contract.parity


def test_a_run_goes_on_as_if_nothing_had_interrupted_it(run: Run, tmp_path: Path):
    shutil.copy(RECIPE, tmp_path)
    assert run(*TRAIN, *SHORT, "--output", "cut").status == 0
    further = ("--steps", str(3 * UPDATE), "--target", "2")
    told = run(*TRAIN, "--resume", "--output", "cut", *further)
    assert told.status == 0, told.err
    whole = (*TRAIN, *SHORT[:2], *further, "--output", "whole")
    assert run(*whole).status == 0
    first, second = (
        RunFolder(tmp_path / name).load(LATEST)["learner"] for name in ("cut", "whole")
    )
    assert first["update_count"] == second["update_count"] > 1
    assert torch.equal(first["mean"], second["mean"])
    assert torch.equal(first["generator"], second["generator"])


def test_a_run_alone_never_runs_a_program(run: Run, tmp_path: Path, state: Path):
    shutil.copy(RECIPE, tmp_path)
    assert run(*TRAIN, *SHORT, "--output", "r").status == 0
    shutil.rmtree(state / "realworthy")
    further = ("train", "pendulum", "--resume", "--output", "r")
    further = (*further, "--steps", str(2 * UPDATE))
    run(*further).check_mistake(
        "RealworthyError: own_learner.py is a program that was never run here, or has "
        "changed since.\n  Read it; then name it yourself: own_learner.py:Cem\n"
    )
    assert run(*further, "--learner", OWN).status == 0
    (tmp_path / "own_learner.py").unlink()
    told = run(*further)
    assert told.status == 2
    assert "MissingFile: own_learner.py: there is no such file." in told.err


def test_show_lists_its_settings(run: Run, tmp_path: Path):
    shutil.copy(RECIPE, tmp_path)
    told = run("show", "learners", OWN, "--json", "l.json")
    assert told.status == 0, told.err
    tree = json.loads((tmp_path / "l.json").read_text())
    assert tree["settings"][0] == {
        "option": "--candidates",
        "default": 32,
        "about": "Policies tried in each update; divides the number of worlds.",
    }


def test_a_class_is_its_name(run: Run, write: Write):
    """Its preset comes first, where the task has one for it."""
    write("mine.py", LEARNER)
    found = choose_settings("pendulum", learner="mine.py:Cem", steps=1)
    kind = find_learner("mine.py:Cem")
    assert choose_settings("pendulum", learner=kind, steps=1) == found
    assert found.learner == kind.Settings()


# mistakes


def check_refused(run: Run, name: str, err: str) -> None:
    """By every command that takes a learner: one message, status 2, nothing written."""
    for words in (
        ("train", "pendulum", "--learner", name, "--output", "r"),
        ("show", "learners", name),
    ):
        run(*words).check_mistake(err)


@pytest.mark.parametrize(
    ("old", "new", "err"),
    [
        (
            "class Cem(Learner):",
            "class Cem:",
            "BadFile: mine.py: 'Cem' is no learner.\n"
            "  A learner is a class that derives from "
            "realworthy.learning.learner.Learner.\n",
        ),
        (
            "class Cem(Learner):",
            "class Cems(Learner):",
            "UnknownName: mine.py has no learner 'Cem'.\n  Nearest: 'Cems'.\n",
        ),
        (
            "    def export(self)",
            "    def exprot(self)",
            "RealworthyError: Learner 'mine.py:Cem' does not say export.\n"
            "  realworthy.learning.learner.Learner explains each; "
            "recipes/own_learner.py is a whole one.\n",
        ),
        (
            '    remedy = "begin with a smaller deviation"\n',
            "",
            "RealworthyError: Learner 'mine.py:Cem' does not say remedy.\n"
            "  realworthy.learning.learner.Learner explains each; "
            "recipes/own_learner.py is a whole one.\n",
        ),
        (
            "candidates: int = 32",
            "candidates: int",
            "RealworthyError: Settings of learner 'mine.py:Cem' have no default for "
            "candidates.\n  Give each a value that is good for something.\n",
        ),
        (
            "@dataclass(kw_only=True, slots=True)\n",
            "",
            "RealworthyError: Settings of learner 'mine.py:Cem' are no dataclass.\n"
            "  Write @dataclass(kw_only=True, slots=True) above the class.\n",
        ),
        (
            "    Settings = CemSettings\n",
            "    Settings = int\n",
            "RealworthyError: `Settings` of learner 'mine.py:Cem' is <class 'int'>.\n"
            "  It is a class that derives from "
            "realworthy.learning.learner.LearnerSettings.\n",
        ),
        (
            "    def build(\n",
            "    def biuld(\n",
            "RealworthyError: Settings of learner 'mine.py:Cem' do not say build.\n"
            "  realworthy.learning.learner.LearnerSettings explains each.\n",
        ),
        (
            "import math\n",
            "import math\n\n1 / 0\n",
            "BadFile: mine.py: running it raised ZeroDivisionError in line 26: division"
            " by zero.\n  The file runs when it is loaded: correct it, and put what a "
            'script does under `if __name__ == "__main__":`.\n',
        ),
    ],
)
def test_a_learner_that_is_none(run: Run, write: Write, old: str, new: str, err: str):
    assert LEARNER.count(old) == 1
    write("mine.py", LEARNER.replace(old, new))
    check_refused(run, "mine.py:Cem", err)


def test_a_learner_that_does_not_fit_leaves_nothing(run: Run, write: Write):
    write("mine.py", LEARNER)
    words = ("train", "pendulum", "--learner", "mine.py:Cem", "--output", "r")
    run(*words, "--worlds", "33").check_mistake(
        "BadSettings: 33 worlds cannot be shared by 32 candidates.\n"
        "  Choose a multiple of --candidates worlds.\n"
    )
    told = run(*words, "--elit", "0.5")
    assert told.status == 2
    assert "--elit" in told.err
    assert told.files == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "        elite = weights[returns.topk(elite_count).indices]\n",
            "        elite = weights[returns.topk(1_000).indices]\n",
            "raised RuntimeError in line",
        ),
        (
            "        self.policy = FlatPolicy(",
            "        self.policy = seen.policy(",
            "raised AttributeError in line 122: 'NetworkInput' object has no attribute"
            " 'policy'.",
        ),
    ],
)
def test_a_learner_that_raises_is_one_message_and_leaves_nothing(
    run: Run, write: Write, old: str, new: str, said: str
):
    assert LEARNER.count(old) == 1
    write("mine.py", LEARNER.replace(old, new))
    words = ("train", "pendulum", "--learner", "mine.py:Cem", *TRAIN[4:])
    told = run(*words, *SHORT, "--output", "r")
    assert told.status == 2
    [message, hint] = told.err.strip().splitlines()[-2:]
    assert message.startswith("RealworthyError: Learner 'mine.py:Cem' ")
    assert said in message
    assert hint == "  Correct the learner."
    assert told.files == ()
