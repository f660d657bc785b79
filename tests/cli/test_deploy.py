"""`realworthy deploy` on stand-ins in this process."""

import json
from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import load_recording

from ..deployment import examples
from .conftest import Run, Write

EASY = ("--robot", "sim:pendulum_1_easy", "--seconds", "1")


def test_trials_are_run_and_kept(run: Run, tmp_path: Path):
    examples.swinging(tmp_path / "p.onnx")
    told = run("deploy", "p.onnx", *EASY, "--trials", "2", "--json", "d.json")
    assert told.status == 0, told.err
    assert told.out.startswith("Software stops are never the only stop")
    assert "trials/trial_2.npz  done     50%" in told.out
    assert "Loop: 126 steps" in told.out
    assert set(told.files) == {
        "d.json",
        "trials",
        *(f"trials/trial_{n}.{end}" for n in (1, 2) for end in ("npz", "log.npz")),
    }
    tree = json.loads((tmp_path / "d.json").read_text())
    assert [trial["outcome"] for trial in tree["trials"]] == ["done", "done"]
    assert tree["trials"][0]["success"] is None  # of task 'sway', which nobody has
    assert "no task 'sway'" in tree["trials"][0]["success_unseen"]
    assert "cannot be seen on the robot" in told.out
    assert tree["trials"][0]["recording"] == "trials/trial_1.npz"
    assert tree["trials"][0]["interventions"].keys() <= {"filter.speed", "speed.warn"}
    for key in ("p50_us", "p99_us", "max_us", "overruns"):
        assert tree["loop"][key] == 0  # a stand-in waits for us
    recording = load_recording(tmp_path / "trials" / "trial_1.npz")
    assert np.ptp(recording.signals["joint.position"]) > 0.1


def test_a_guard_that_ends_a_trial_is_a_negative_verdict(run: Run, tmp_path: Path):
    """The contract's limit of torque lies below what the policy asks all the time."""
    from realworthy.policies.contract import JointLimits

    weak = {"joint": JointLimits(lower=-3, upper=3, velocity=8.0, effort=1.0)}
    examples.swinging(tmp_path / "p.onnx", limits=weak)
    told = run("deploy", "p.onnx", *EASY, "--no-wiggle", "--json", "d.json")
    assert told.status == 1
    tree = json.loads((tmp_path / "d.json").read_text())
    assert tree["trials"][0]["outcome"] == "fault"
    assert "limit of torque acted in" in tree["trials"][0]["reason"]
    recording = load_recording(tmp_path / "trials" / "trial_1.npz")
    assert np.abs(recording.signals["joint.command"]).max() <= 1.0


def test_a_policy_of_another_robot(run: Run, tmp_path: Path):
    examples.reaching(tmp_path / "p.onnx")
    told = run("deploy", "p.onnx", *EASY)
    assert told.status == 2
    assert "does not fit robot 'pendulum'" in told.err
    assert told.files == ()


def test_a_robot_on_the_wire_needs_a_person_or_a_yes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from realworthy.realities import StandIn, load_reality
    from realworthy.robots import address

    def opened(place: str | StandIn, **_: object) -> StandIn:
        is_open = isinstance(place, StandIn)
        return place if is_open else StandIn(load_reality("pendulum_1_easy"))

    monkeypatch.setattr(address, "open_robot", opened)
    examples.swinging(tmp_path / "p.onnx")
    wire = ("deploy", "p.onnx", "--robot", "udp://10.0.0.9:7000", "--seconds", "0.5")
    run(*wire).check_mistake(
        "RealworthyError: A person must agree to the first trials, and there is no "
        "terminal to ask.\n  Where you stand beside the robot and agree to all: --yes\n"
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter(["y", "no"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    told = run(*wire)
    assert told.status == 1
    assert "Not started: the operator said no." in told.out
    told = run(*wire, "--yes", "--overwrite")
    assert told.status == 0


def test_inputs_that_are_none(run: Run, write: Write, tmp_path: Path):
    examples.swinging(tmp_path / "p.onnx")
    run("deploy", "p.onnx", *EASY, "--input", "goal").check_mistake(
        "RealworthyError: --input takes NAME=VALUE, not 'goal'.\n"
        "  Try: --input goal.x=1.5\n"
    )
    told = run("deploy", "p.onnx", *EASY, "--input", "goal.x=1")
    assert told.status == 2
    assert "the policy has no input 'goal.x'" in told.err


def test_existing_trials_are_not_replaced(run: Run, write: Write, tmp_path: Path):
    examples.swinging(tmp_path / "p.onnx")
    write("trials/trial_1.npz", "mine")
    told = run("deploy", "p.onnx", *EASY)
    assert told.status == 2
    assert "trial_1.npz: it exists already" in told.err
    assert (tmp_path / "trials" / "trial_1.npz").read_text() == "mine"


def test_joints_may_learn_what_they_carry(run: Run, tmp_path: Path):
    examples.reaching(tmp_path / "p.onnx")
    loaded = ("deploy", "p.onnx", "--robot", "sim:arm_1_soft", "--seconds", "1")
    told = run(*loaded, "--adaptive", "shoulder_pan", "--no-wiggle")
    assert told.status == 0, told.err + told.out
    notes = load_recording(tmp_path / "trials" / "trial_1.npz").sidecar.notes
    learned = notes["adaptive"]
    assert isinstance(learned, dict)
    assert learned["joints"] == ["shoulder_pan"]


def test_what_cannot_adapt_is_refused_and_nothing_is_written(run: Run, tmp_path: Path):
    examples.reaching(tmp_path / "p.onnx")
    told = run("deploy", "p.onnx", "--robot", "sim:arm_1_soft", "--adaptive", "knee")
    assert told.err.startswith("UnknownName: the policy has no joint 'knee'.")
    assert (told.status, told.files) == (2, ())
    told = run("deploy", "p.onnx", "--robot", "sim:arm_1_soft", "--twin", "arm")
    assert "no joint is adaptive" in told.err
    assert (told.status, told.files) == (2, ())
    examples.swinging(tmp_path / "s.onnx")
    told = run("deploy", "s.onnx", *EASY, "--adaptive", "joint")
    assert "An adaptive loop moves goals of position drives" in told.err
    assert told.status == 2
