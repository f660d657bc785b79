"""`realworthy measure`."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.realities import RealityFile, StandIn, load_reality
from realworthy.realities.reality import make_reality
from realworthy.recordings import Recording, save_recording
from realworthy.residuals import save_residual
from realworthy.twins import load_twin
from tests.residuals.examples import damper

from .conftest import Run, Write, swing_csv


@pytest.fixture
def swing(tmp_path: Path) -> Path:
    robot = StandIn(load_reality("pendulum_1_easy"))
    torque = 1.5 * np.sin(2 * np.pi * 0.8 * np.arange(400) / robot.info.rate)
    path = tmp_path / "swing.csv"
    save_recording(play(robot, {"joint.command": torque}), path)
    return path


def test_figures_are_written_for_programs(run: Run, swing: Path, tmp_path: Path):
    told = run("measure", "pendulum", str(swing), "--json", str(tmp_path / "gap.json"))
    assert told.status == 0
    assert "root mean square error of replaying 1 recording in pendulum" in told.out
    tree = json.loads((tmp_path / "gap.json").read_text())
    assert 0.01 < tree["replay"]["position_rmse"] < 1.0
    assert tree["replay"]["position_mae"] <= tree["replay"]["position_rmse"]
    assert set(tree["replay"]["per_joint"]) == {"joint"}
    assert tree["one_step"]["error"] > tree["one_step"]["floor"] > 0
    assert {"0.01", "0.1", "1"} <= set(tree["horizons"])
    assert tree["noise_floor"]["joint"] == pytest.approx(0.0005, rel=0.3)


def test_a_twin_with_a_residual_is_measured_with_it(
    run: Run, write: Write, tmp_path: Path
):
    """Of a robot with more damping, which a learned force makes up for."""
    told = {"joint.damping": 0.147}  # 0.1 more than the twin's
    file = RealityFile(schema=1, twin="pendulum", parameters=told)
    robot = StandIn(make_reality("damped", file))
    torque = 0.8 * np.sin(2 * np.pi * 0.5 * np.arange(400) / robot.info.rate)
    save_recording(play(robot, {"joint.command": torque}), tmp_path / "slow.csv")
    made = damper(joints=("joint",))
    described = msgspec.structs.replace(
        made.description,
        gain=0.2,
        twin="pendulum",
        fingerprint=load_twin("pendulum").fingerprint,
    )
    save_residual(tmp_path / "more.residual.yaml", replace(made, description=described))
    model = "schema: 1\nname: more\nmodel: pendulum\n"
    write("more.twin.yaml", f"{model}residual: more.residual.yaml\n")
    errors = []
    for twin in ("pendulum", "more.twin.yaml"):
        assert run("measure", twin, "slow.csv", "--json", f"{twin}.json").status == 0
        tree = json.loads((tmp_path / f"{twin}.json").read_text())
        errors.append(tree["replay"]["position_rmse"])
    assert errors[1] < 0.1 * errors[0]
    shown = run("show", "more.twin.yaml").out
    assert "Residual: a learned force on joint." in shown
    write(
        "other.twin.yaml",
        f"{model.replace('pendulum', 'arm')}residual: more.residual.yaml\n",
    )
    other = run("measure", "other.twin.yaml", "slow.csv", "--json", "other.json")
    assert (other.status, other.files) == (2, ())
    assert "was fitted on another twin than 'more': on 'pendulum'" in other.err


def test_a_recording_without_commands_is_refused(run: Run, tmp_path: Path):
    time = np.arange(200) / 100
    recording = Recording(time, {"joint.position": np.sin(time)})
    save_recording(recording, tmp_path / "mute.csv")
    told = run("measure", "pendulum", str(tmp_path / "mute.csv"))
    assert told.status == 2
    assert "has nothing that could drive twin 'pendulum'" in told.err
    assert "command_kind" in told.err


def test_a_recording_of_another_robot_is_refused(run: Run, swing: Path):
    told = run("measure", "arm", str(swing))
    assert told.status == 2
    assert "have no joint in common" in told.err


def test_a_bad_recording_among_good_ones_is_left_out_and_said(
    run: Run, swing: Path, tmp_path: Path
):
    time = np.arange(200) / 100
    mute = tmp_path / "mute.csv"
    save_recording(Recording(time, {"joint.position": np.sin(time)}), mute)
    told = run("measure", "pendulum", str(swing), str(mute))
    assert told.status == 0
    assert "replaying 1 recording in pendulum" in told.out
    assert "Left out: recording 'mute' has nothing that could drive" in told.out


def test_a_report_under_another_ending_is_refused_before_the_work(
    run: Run, write: Write
):
    write("swing.csv", swing_csv())
    told = run("measure", "pendulum", "swing.csv", "--report", "gap.pdf")
    told.check_mistake(
        "Unwritable: Cannot write gap.pdf: a report is a page.\n  Try: gap.html\n"
    )
