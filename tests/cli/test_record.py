"""`realworthy record`."""

import json
from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import load_recording
from realworthy.recordings.motion import Motion, save_motion

from .conftest import Run, Write

EASY = ("--robot", "sim:pendulum_1_easy")


def sway(path: Path, *, joint: str = "joint", size: float = 0.6) -> Path:
    time = np.arange(201) / 100
    position = size * (1 - np.cos(np.pi * time))
    save_motion(Motion(time, (joint,), position[:, None]), path)
    return path


def test_a_motion_is_played_and_kept(run: Run, tmp_path: Path):
    sway(tmp_path / "sway.csv")
    told = run("record", "sway.csv", *EASY, "--json", "done.json")
    assert told.status == 0
    assert told.out == "recording.csv  251 rows, 2.00 s at 125 Hz\n"
    assert set(told.files) == {"recording.csv", "recording.yaml", "done.json"}
    recording = load_recording(tmp_path / "recording.csv")
    assert recording.sidecar.command_kind == "torque"
    assert np.ptp(recording.signals["joint.position"]) == pytest.approx(1.2, abs=0.1)
    assert recording.signals["joint.command"].std() > 0.1  # as sent
    tree = json.loads((tmp_path / "done.json").read_text())
    assert tree["outcome"] == "done"
    assert tree["rows"] == 251


def test_a_reality_in_a_file_and_a_recording_in_one_file(
    run: Run, write: Write, tmp_path: Path
):
    sway(tmp_path / "sway.csv")
    write("mine.reality.yaml", "schema: 1\ntwin: pendulum\n")
    robot = ("--robot", "sim:mine.reality.yaml", "--output", "run.npz")
    told = run("record", "sway.csv", *robot)
    assert told.status == 0
    assert told.files == ("run.npz",)


def test_a_robot_that_the_guard_stops_is_a_negative_verdict(
    run: Run, write: Write, tmp_path: Path
):
    """A twin with a weak motor: commands stay within what that would stand, and a
    motion that leans on the limit is no motion for it."""
    sway(tmp_path / "sway.csv", size=0.7)
    write(
        "weak.twin.yaml",
        "schema: 1\nname: weak\nmodel: pendulum\n"
        "parameters: {joint.torque_limit: {value: 2.0}}\n",
    )
    told = run("record", "sway.csv", *EASY, "--twin", "weak.twin.yaml")
    assert told.status == 1
    assert "Stopped by the guard: the limit of torque acted in 2" in told.out
    recording = load_recording(tmp_path / "recording.csv")
    assert np.abs(recording.signals["joint.command"]).max() <= 2.0
    assert 2 <= len(recording.time) < 251  # until then


def test_an_address_that_nobody_can_reach(run: Run, tmp_path: Path):
    sway(tmp_path / "sway.csv")
    run("record", "sway.csv", "--robot", "tcp://10.0.0.1:7000").check_mistake(
        "RealworthyError: 'tcp://10.0.0.1:7000' is not an address of a robot.\n"
        "  Try sim:REALITY, such as sim:pendulum_1_easy (realworthy show realities), "
        "or udp://HOST:PORT or zenoh:NAME of a robot on the wire (realworthy robot).\n"
    )
    told = run("record", "sway.csv", "--robot", "sim:pendulum_1_esy")
    assert told.status == 2
    assert "Nearest: 'pendulum_1_easy'" in told.err


def test_a_robot_that_does_not_answer(run: Run, tmp_path: Path):
    sway(tmp_path / "sway.csv")
    run("record", "sway.csv", "--robot", "udp://127.0.0.1:9").check_mistake(
        "RobotSilent: No robot answered within 2 s.\n"
        "  Is it on, and is the address right? A robot with a key answers only who has "
        "the same one.\n"
    )


def test_a_motion_of_another_robot(run: Run, tmp_path: Path):
    sway(tmp_path / "sway.csv", joint="knee")
    told = run("record", "sway.csv", *EASY)
    assert told.err.startswith(
        "UnknownName: twin 'pendulum' has no driven joint 'knee'."
    )
    assert (told.status, told.files) == (2, ())


def test_a_motion_that_is_not_safe(run: Run, tmp_path: Path):
    sway(tmp_path / "sway.csv", size=3.0)
    run("record", "sway.csv", *EASY).check_mistake(
        "RealworthyError: This motion is not safe: joint at 6.000 rad is outside "
        "-3.142 … 3.142 rad.\n"
        "  Design one for this twin: realworthy excite TWIN\n"
    )


def test_files_that_are_not_there_or_not_motions(run: Run, write: Write):
    told = run("record", "none.csv", *EASY)
    assert told.err == "MissingFile: none.csv: there is no such file.\n"
    write("bad.csv", "time,joint.command\n0,1\n1,2\n")
    run("record", "bad.csv", *EASY).check_mistake(
        "BadFile: bad.csv: it has no column such as 'elbow.position'.\n"
        "  It has: time, joint.command.\n"
    )


def test_an_existing_recording_is_not_replaced(run: Run, write: Write, tmp_path: Path):
    sway(tmp_path / "sway.csv")
    write("recording.yaml", "mine: 1\n")
    told = run("record", "sway.csv", *EASY)
    assert told.status == 2
    assert "recording.yaml: it exists already" in told.err


def test_a_stand_in_has_no_key(run: Run, tmp_path: Path):
    sway(tmp_path / "sway.csv")
    run("record", "sway.csv", *EASY, "--key", "nope").check_mistake(
        "RealworthyError: sim:pendulum_1_easy is a stand-in in this process, which has "
        "no key.\n  Leave out --key; robots on the wire have one.\n"
    )
