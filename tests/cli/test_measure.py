"""`realworthy measure`."""

import json
from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.realities import StandIn, load_reality
from realworthy.recordings import Recording, save_recording

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
