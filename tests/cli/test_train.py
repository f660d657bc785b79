"""`realworthy train` and `realworthy show tasks`."""

import json
import re
import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import realworthy
from realworthy.cli.train import Train
from realworthy.learning import LEARNERS, practice, sweep, train, training
from realworthy.learning.off_policy import OffPolicySettings
from realworthy.learning.presets import find_preset
from realworthy.learning.runs import RunFolder
from realworthy.learning.training import TrainSettings
from realworthy.policies.onnx_file import read_graph
from realworthy.policies.policy import load_contract
from tests.reports.trainings import (
    NO_VARIETY,
    VARIETY,
    make_evaluation,
    make_training,
)

from .conftest import Run

SHORT = ("--worlds", "8", "--steps", "512", "--target", "2")


@pytest.fixture(autouse=True)
def few_episodes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Policies are judged in 8 episodes instead of 256, but where success is asserted.

    Judging took three quarters of each run here (2026-11-19).
    """
    if "slow" not in request.keywords:
        monkeypatch.setattr(training, "EPISODES", 8)


def test_a_run_is_made_and_reported(run: Run, tmp_path: Path):
    told = run("train", "pendulum", "--output", "r", "--json", "r.json", *SHORT)
    assert told.status == 0, told.err
    tree = json.loads((tmp_path / "r.json").read_text())
    assert tree["steps"] >= 512
    assert tree["stopped_by"] == "steps"
    assert tree["policy"] == str(Path("r", "policy.onnx"))
    low, high = tree["evaluation"]["interval"]
    assert 0 <= low <= tree["evaluation"]["success"] <= high <= 1
    contract = load_contract(tmp_path / "r" / "policy.onnx")
    assert contract.task == "pendulum"
    assert "unseen episodes" in told.out
    assert "pendulum.mass" in told.out  # what differed between worlds
    assert "pendulum.mass" in (tmp_path / "r" / "report.html").read_text()


def test_seeds_get_folders_of_their_own(run: Run, tmp_path: Path):
    asked = ("--output", "r", "--seeds", "2", "--json", "r.json", *SHORT)
    told = run("train", "pendulum", *asked)
    assert told.status == 0, told.err
    assert sorted(p.name for p in (tmp_path / "r").iterdir()) == ["seed_0", "seed_1"]
    tree = json.loads((tmp_path / "r.json").read_text())
    successes = [one["evaluation"]["success"] for one in tree["runs"]]
    assert tree["success"]["worst"] == min(successes)


def test_an_unknown_task_names_the_nearest(run: Run, tmp_path: Path):
    told = run("train", "pendulumm", "--output", "r")
    assert told.status == 2
    assert "has no task 'pendulumm'" in told.err
    assert "pendulum" in told.err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("device", ["tpu", "cuda:63"])
def test_a_device_that_is_not_there_leaves_no_folder(
    run: Run, tmp_path: Path, device: str
):
    told = run("train", "pendulum", "--output", "r", "--device", device, *SHORT)
    assert told.status == 2
    assert f"There is no device '{device}'.\n  There" in told.err
    assert "cpu" in told.err.splitlines()[1]
    assert not (tmp_path / "r").exists()


def test_a_folder_in_use_is_not_touched(run: Run, tmp_path: Path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "mine").write_text("")
    told = run("train", "pendulum", "--output", "r", *SHORT)
    assert told.status == 2
    assert "exists already" in told.err


def test_resuming_a_folder_without_a_run_says_so(run: Run):
    told = run("train", "pendulum", "--output", "nothing", "--resume")
    assert told.status == 2
    assert "is not the folder of a run" in told.err


def test_a_run_killed_before_its_last_files_gets_them(run: Run, tmp_path: Path):
    """With the same command and --resume, though its bound is met already."""
    assert run("train", "pendulum", "--output", "r", *SHORT).status == 0
    (tmp_path / "r" / "report.html").unlink()
    told = run("train", "pendulum", "--output", "r", *SHORT, "--resume")
    assert told.status == 0
    assert "r/report.html" in told.files


def test_a_run_goes_on_as_its_own_task_and_further(run: Run, tmp_path: Path):
    assert run("train", "pendulum", "--output", "r", *SHORT).status == 0
    told = run("train", "cartpole_balance", "--output", "r", "--resume")
    assert told.status == 2
    assert "'r' is a run of task 'pendulum', not 'cartpole_balance'" in told.err
    told = run("train", "pendulum", "--output", "r", "--resume", "--seed", "4")
    assert told.status == 2
    assert "--seed 4 was asked for, but the run in 'r' has 0" in told.err
    told = run("train", "pendulum", "--output", "r", "--resume", "--grow", "success")
    assert "--grow success was asked for, but the run in 'r' has at_once" in told.err
    told = run("train", "pendulum", "--output", "r", "--resume", "--steps", "100")
    assert told.status == 2
    assert "has met its steps, 100" in told.err
    more = ("--resume", "--steps", "1024", "--json", "r.json")
    told = run("train", "pendulum", "--output", "r", *more)
    assert told.status == 0, told.err
    assert json.loads((tmp_path / "r.json").read_text())["steps"] >= 1024


def test_what_equals_a_default_is_asked_for_too(run: Run):
    made = ("--seed", "4", "--randomize", "belief", *SHORT)
    assert run("train", "pendulum", "--output", "r", *made).status == 0
    for option, value, has in (("--seed", "0", 4), ("--randomize", "preset", "belief")):
        told = run("train", "pendulum", "--output", "r", "--resume", option, value)
        assert told.status == 2
        assert f"{option} {value} was asked for, but the run in 'r' has {has}" in (
            told.err
        )


def test_all_seeds_go_on(run: Run, tmp_path: Path):
    """One of them was interrupted, and the next not begun."""
    asked = ("train", "pendulum", "--output", "r", "--seeds", "2", *SHORT)
    assert run(*asked).status == 0
    shutil.rmtree(tmp_path / "r" / "seed_1")
    further = ("--resume", "--steps", "1024", "--json", "r.json")
    told = run(*asked[:6], *further, "--worlds", "8", "--target", "2")
    assert told.status == 0, told.err
    tree = json.loads((tmp_path / "r.json").read_text())
    assert [one["steps"] >= 1024 for one in tree["runs"]] == [True, True]
    assert "median" in tree["success"]


def test_who_stops_it_learns_how_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def stop(learner: object, metrics: object, update: int) -> None:
        if update == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(practice, "check_finite", stop)
        told = run("train", "pendulum", "--output", "r", *SHORT)
    assert told.status == 130
    assert "Go on with it: the same command and --resume." in told.err
    told = run("train", "pendulum", "--output", "r", "--resume")
    assert told.status == 0, told.err


def test_learners_are_shown_with_their_settings(run: Run, tmp_path: Path):
    told = run("show", "learners", "--json", "l.json")
    assert told.status == 0, told.err
    for option in ("--horizon", "--directions", "--sigma"):
        assert option in told.out
    tree = json.loads((tmp_path / "l.json").read_text())
    assert [one["name"] for one in tree["learners"]] == [*LEARNERS]
    for one in tree["learners"]:
        assert all(setting["about"] for setting in one["settings"]), one["name"]
    told = run("show", "learner", "es")
    assert "--pairs" in told.out
    assert "--horizon" not in told.out
    told = run("show", "learners", "pppo")
    assert told.status == 2
    assert "Nearest: 'ppo'" in told.err


def test_settings_of_a_learner_are_options(run: Run, tmp_path: Path):
    words = ("--horizon", "16", "--actor-widths", "8", "8", "--no-mirror-samples")
    told = run("train", *words, "pendulum", "--output", "r", "--kl-target=0.5", *SHORT)
    assert told.status == 0, told.err
    learner = RunFolder(tmp_path / "r").read_settings(TrainSettings).learner
    wanted = find_preset("pendulum").learner()
    wanted.horizon, wanted.actor_widths, wanted.kl_target = 16, (8, 8), 0.5
    wanted.mirror_samples = False
    assert learner == wanted
    told = run("train", "pendulum", "--output", "r", "--resume", "--horizon", "32")
    assert told.status == 2
    assert "--horizon 32 was asked for, but the run in 'r' has 16; a" in told.err
    told = run("train", "pendulum", "--output", "r", "--resume", "--learner", "es")
    assert "--learner es was asked for, but the run in 'r' has ppo" in told.err


def test_help_is_about_a_learner_where_one_is_named(run: Run):
    told = run("train", "pendulum", "--learner", "ars", "--help")
    assert told.status == 0
    assert "--directions" in told.out
    assert "--learner" in run("train", "--help").out


def test_no_setting_of_a_learner_hides_an_option():
    for name, learner in LEARNERS.items():
        names = {x.name.replace("_", "-") for x in fields(learner.Settings)}  # pyright: ignore
        assert names.isdisjoint(Train.list_options()), name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--learner", "arss"),
            "UnknownName: Realworthy has no learner 'arss'.\n"
            "  Nearest: 'ars'. Or one of your own: my_file.py:MyLearner. All: "
            "realworthy show learners\n",
        ),
        (
            ("--learner", "ars", "--horizon", "3"),
            "RealworthyError: --horizon is a setting of learner 'ppo', 'sapg', "
            "'fastsac', 'fasttd3', 'fpo' and 'fb', not of 'ars'.\n"
            "  Its settings: realworthy show learners ars\n",
        ),
        (
            ("--pairs", "3"),
            "RealworthyError: --pairs is a setting of learner 'es', not of 'ppo'.\n"
            "  Its settings: realworthy show learners ppo\n",
        ),
        (
            ("--learner", "es", "--worlds", "30"),
            "BadSettings: 30 worlds cannot be shared by 32 directions.\n"
            "  Choose a multiple of 32 worlds, or other directions.\n",
        ),
        (
            ("--from", "nothing"),
            "RealworthyError: 'nothing' is not the folder of a run: it has no "
            "settings.yaml.\n",
        ),
    ],
)
def test_mistakes_about_learners(run: Run, words: tuple[str, ...], said: str):
    told = run("train", "pendulum", "--output", "r", "--json", "r.json", *words)
    told.check_mistake(said)


def test_a_learner_that_the_task_does_not_fit(run: Run):
    told = run("train", "reach", "--output", "r", "--mirror-samples")
    told.check_mistake(
        "BadSettings: Mirrored samples were asked for, but the task has no symmetry.\n"
        "  Set mirror_samples=False and mirror_weight=0.\n"
    )


@pytest.mark.parametrize(
    ("task", "learner", "steps"),
    [("pendulum", "ppo", 8192), ("cartpole_balance", "ars", 32_000), ("reach", "", 1)],
)
def test_python_trains_as_the_command_does(
    run: Run, tmp_path: Path, task: str, learner: str, steps: int
):
    """The same task, settings and seed: the same policy, bit by bit."""
    words = ("--learner", learner) if learner else ()
    asked = ("--output", "r", "--steps", str(steps), "--seed", "3", *words)
    told = run("train", task, *asked)
    assert told.status == 0, told.err
    realworthy.train(task, learner=learner, steps=steps, seed=3, output=tmp_path / "p")
    one, other = (RunFolder(tmp_path / name) for name in "rp")
    assert one.read_settings(TrainSettings) == other.read_settings(TrainSettings)
    graphs = [read_graph(folder.policy) for folder in (one, other)]
    assert graphs[0].constants
    for name, values in graphs[0].constants.items():
        assert values.tobytes() == graphs[1].constants[name].tobytes(), name


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ars", "es"])
def test_searches_learn_to_balance_through_the_command(
    run: Run, tmp_path: Path, learner: str
):
    asked = ("--learner", learner, "--seeds", "3", "--output", "r", "--json", "r.json")
    told = run("train", "cartpole_balance", *asked, "--minutes", "15")
    assert told.status == 0, told.err
    tree = json.loads((tmp_path / "r.json").read_text())
    assert tree["success"]["worst"] >= 0.95


@pytest.mark.parametrize("learner", ["fastsac", "fasttd3"])
def test_learners_with_a_replay_say_what_memory_it_takes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learner: str
):
    """Before it is taken; and numbers below zero are values, not options."""
    monkeypatch.setattr(training, "EPISODES", 8)
    asked = ("--learner", learner, "--support", "-70", "5", "--worlds", "8")
    told = run("train", "pendulum", "--output", "r", "--steps", "300", *asked)
    assert told.status == 0, told.err
    assert "Replay of 65,536 steps of 8 worlds: " in told.err
    learned = RunFolder(tmp_path / "r").read_settings(TrainSettings).learner
    assert isinstance(learned, OffPolicySettings)
    assert learned.support == (-70.0, 5.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--replay-steps", "10000000000"),
            "BadSettings: The replay would take 5.73e+04 GB on 'cpu', of which",
        ),
        (
            ("--support", "-1", "1"),
            "BadSettings: Rewards of 25 steps of random actions come to -22.",
        ),
        (
            ("--support", "3", "-3"),
            "BadSettings: A support of 51 atoms from 3 to -3 holds no values.",
        ),
    ],
)
def test_what_a_replay_or_its_critics_cannot_hold_is_refused_at_once(
    run: Run, tmp_path: Path, words: tuple[str, ...], said: str
):
    asked = ("--learner", "fastsac", "--worlds", "32", "--output", "r")
    told = run("train", "pendulum", *asked, *words)
    assert told.status == 2
    assert said in told.err
    assert not (tmp_path / "r").exists()


def test_worlds_grow_and_differ_by_a_table(run: Run, tmp_path: Path):
    asked = ("--table", "peng_2018", "--grow", "automatic", "--json", "r.json", *SHORT)
    told = run("train", "pendulum", "--output", "r", *asked)
    assert told.status == 0, told.err
    tree = json.loads((tmp_path / "r.json").read_text())
    assert {"pendulum.mass", "joint.damping"} <= tree["variety"]["ranges"].keys()
    assert any("Left out of 'peng_2018'" in warning for warning in tree["warnings"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--worlds", "-4"), "--worlds -4 leaves none to practise in."),
        (("--worlds", "0"), "--worlds 0 leaves none to practise in."),
        (("--ray",), "--ray makes several new runs side by side."),
        (("--target", "90"), "A target is a share of successes, 0 … 1, not 90."),
        (("--worlds", "100000000000"), "Memory ran out with 100000000000 worlds"),
        (("--table", "peng_2081"), "Nearest: 'peng_2018'"),
        (("--table", "peng_2018", "--randomize", "none"), "Choose one."),
        (
            ("--grow", "automatic", "--randomize", "none"),
            "nothing of e differs",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(
    run: Run, tmp_path: Path, asked: tuple[str, ...], said: str
):
    told = run("train", "pendulum", "--output", "r", "--steps", "512", *asked)
    assert told.status == 2
    assert said in told.err
    assert not (tmp_path / "r").exists()


def test_a_file_in_the_way_is_no_run_to_go_on_with(run: Run, tmp_path: Path):
    (tmp_path / "r").write_text("mine")
    told = run("train", "pendulum", "--output", "r", *SHORT)
    assert told.status == 2
    assert "exists already" in told.err
    assert "--resume" not in told.err


def test_published_tables_are_shown(run: Run):
    told = run("show", "tables")
    assert told.status == 0, told.err
    assert "peng_2018" in told.out
    told = run("show", "table", "peng_2018")
    assert "mass ×[0.25, 4]" in told.out
    told = run("show", "tables", "pang_2018")
    assert told.status == 2
    assert "Nearest: 'peng_2018'" in told.err


def test_tasks_are_shown(run: Run):
    told = run("show", "tasks")
    assert told.status == 0, told.err
    assert "pendulum" in told.out
    told = run("show", "task", "pendulum")
    assert "joint.command.action" in told.out


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch):
    """Commands find trainings that are given; they are not learned."""

    def pretend(*found: train.Training) -> None:
        def make_one(settings: Any, *, output: Path, **_: Any) -> train.Training:
            Path(output).mkdir()  # as a run does: refuses what is there
            return found[0]

        def make_many(runs: Any, **_: Any) -> dict[str, train.Training]:
            return dict(zip(runs, found, strict=True))

        monkeypatch.setattr(train, "train", make_one)
        monkeypatch.setattr(sweep, "train_many", make_many)

    return pretend


def test_a_page_may_go_into_the_folder_of_the_run(run: Run, pretend: Any):
    pretend(make_training("r"))
    told = run("train", "quadruped", "--output", "r", "--report", "r/report.html")
    assert told.status == 0, told.err
    assert told.files == ("r", "r/report.html")


def test_a_page_that_cannot_be_written_is_refused_at_once(run: Run, pretend: Any):
    pretend(make_training("r"))
    told = run("train", "quadruped", "--output", "r", "--report", "r.pdf")
    assert told.status == 2
    assert "a report is a page" in told.err
    assert told.files == ()


def test_several_seeds_have_no_page(run: Run):
    told = run(
        "train", "pendulum", "--output", "r", "--seeds", "3", "--report", "r.html"
    )
    told.check_mistake(
        "RealworthyError: --report is the page of one run, and --seeds 3 makes 3.\n"
        "  Leave --report or --seeds out; --json covers all runs.\n"
    )


def test_what_differs_is_printed_and_written(run: Run, pretend: Any, tmp_path: Path):
    pretend(make_training("r"))
    told = run("train", "quadruped", "--output", "r", "--json", "r.json")
    assert told.status == 0, told.err
    assert "Worlds differ in\n" in told.out
    assert re.search(r"torso\.mass +6\.921 +6\.013 … 9\.317 +kg\n", told.out)
    assert "Move within an episode: torso.mass, floor.friction.\n" in told.out
    assert "Noise: standard deviation in SI units: position 0.0123" in told.out
    assert "Pushes: every 2.5 … 4.25 s, from 1.5 s on" in told.out
    assert "Latency: measurements are late by 0 … 0.02 s" in told.out
    assert "The physics of 3 more diverged." in told.out
    assert "more: report.html" not in told.out
    tree = json.loads((tmp_path / "r.json").read_text())
    assert tree["evaluation"]["invalid"] == 3
    assert tree["at_nominal"]["invalid"] == 0
    assert tree["variety"]["ranges"]["torso.mass"] == {
        "unit": "kg",
        "nominal": 6.921,
        "lower": 6.013,
        "median": 7.102,
        "upper": 9.317,
    }
    assert tree["variety"]["moving"] == ["torso.mass", "floor.friction"]
    assert tree["variety"]["noise"] == {".position": 0.0123, ".velocity": 0.317}
    pushes = {"speed": 0.53, "every": [2.5, 4.25], "start": 1.5}
    assert tree["variety"]["pushes"] == pushes
    assert tree["variety"]["latency"] == [0.0, 0.02]
    assert len(tree["looks"]) == 30
    assert tree["looks"][0]["steps"] == 24_576


def test_many_numbers_are_printed_in_part(run: Run, pretend: Any):
    one = VARIETY.ranges[0]
    ranges = tuple(replace(one, name=f"leg_{k}.mass") for k in range(15))
    pretend(make_training("r", variety=replace(VARIETY, ranges=ranges)))
    told = run("train", "quadruped", "--output", "r")
    assert "leg_11.mass" in told.out
    assert "leg_12.mass" not in told.out
    assert "and 3 more: report.html, --json\n" in told.out


def test_worlds_that_do_not_differ_are_said_so(run: Run, pretend: Any, tmp_path: Path):
    pretend(make_training("r", variety=NO_VARIETY))
    told = run("train", "quadruped", "--output", "r", "--json", "r.json")
    assert "Worlds do not differ: all are the nominal model.\n" in told.out
    assert "Worlds differ in" not in told.out
    tree = json.loads((tmp_path / "r.json").read_text())
    assert tree["variety"]["ranges"] == {}
    assert tree["variety"]["pushes"] is None


def test_several_seeds_end_with_median_and_worst(run: Run, pretend: Any):
    shares = (230, 250, 128)
    pretend(*(make_training(evaluation=make_evaluation(n)) for n in shares))
    told = run("train", "quadruped", "--output", "r", "--seeds", "3")
    assert told.status == 0, told.err
    last = told.out.splitlines()[-1]
    assert last == "Success over 3 seeds: median 89.8%, worst 50.0%."
