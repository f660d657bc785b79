"""`realworthy train` and `realworthy show tasks`."""

import json
from pathlib import Path

import pytest

from realworthy.policies.policy import load_contract

from .conftest import Run

SHORT = ("--worlds", "8", "--steps", "512", "--target", "2")


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


def test_tasks_are_shown(run: Run):
    told = run("show", "tasks")
    assert told.status == 0, told.err
    assert "pendulum" in told.out
    told = run("show", "task", "pendulum")
    assert "joint.command.action" in told.out
