"""`record` against a robot in a second process: whoever fails, it brakes and is
kept."""

import json
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.identification.excitation import record
from realworthy.realities.stand_in import find_twin
from realworthy.recordings import load_recording
from realworthy.recordings.motion import Motion, save_motion
from realworthy.robots import Mode
from realworthy.twins import load_twin

from ..robots.wires import INFO, Obedient

# Five commands without an answer are 0.2 s: the cores that tests share are busy.
RECORD = (sys.executable, "-m", "realworthy", "record", "sway.csv", "--rate", "25")


def sway(seconds: float = 30.0) -> Motion:
    time = np.arange(round(100 * seconds) + 1) / 100
    return Motion(time, ("joint",), (0.5 * (1 - np.cos(np.pi * time)))[:, None])


def after(seconds: float, work) -> threading.Timer:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()
    return timer


@pytest.mark.parametrize("blow", [signal.SIGSTOP, signal.SIGKILL])
def test_a_robot_that_hangs_or_dies_gets_five_more_commands_at_most(
    start, tmp_path: Path, blow: signal.Signals
):
    process = start("pendulum")
    rows: list[float] = []
    write = process.robot.write

    def note(command) -> None:
        rows.append(process.robot.read().time)
        write(command)

    process.robot.write = note
    after(2.5, lambda: process.send(blow))
    path = tmp_path / "recording.npz"
    done = record(sway(), process.robot, load_twin("pendulum"), rate=25.0, output=path)
    assert "ms old" in done.reason
    last = [row for row in rows if row == rows[-1]]
    assert len(last) <= 5
    kept = load_recording(path)
    assert kept.duration > 0.5
    assert not path.with_suffix(".journal").exists()


def run(folder: Path, address: str, *more: str, **options) -> subprocess.Popen:
    save_motion(sway(), folder / "sway.csv")
    return subprocess.Popen(
        [*RECORD, "--robot", address, *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for_rows(path: Path) -> None:
    """Until most of a second of rows is on the disk."""
    end = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size > 4_000):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 130, marks=pytest.mark.slow),
        (signal.SIGQUIT, 1),
        (signal.SIGKILL, -9),
    ],
)
def test_a_record_that_is_signalled_brakes_and_keeps_what_it_recorded(
    start, tmp_path: Path, number: signal.Signals, status: int
):
    process = start("pendulum")
    child = run(tmp_path, process.address)
    wait_for_rows(tmp_path / "recording.journal")
    child.send_signal(number)
    sent = time.monotonic()
    out, err = child.communicate(timeout=20)
    assert child.returncode == status, (out, err)
    assert "Traceback" not in err
    name = "recording.journal" if number == signal.SIGKILL else "recording.csv"
    kept = load_recording(tmp_path / name)
    assert kept.duration > 0.3
    assert np.ptp(kept.signals["joint.position"]) > 0
    if number == signal.SIGQUIT:
        assert "emergency stop by the operator" in out
    time.sleep(max(0.0, sent + 1.3 - time.monotonic()))  # its lease is over
    if number != signal.SIGQUIT:
        process.robot.connect()
        assert process.robot.read().mode is Mode.DAMP


def test_a_disk_that_is_full_brakes_and_what_reached_it_is_kept(start, tmp_path: Path):
    """No file may grow beyond 8 kB, as on a disk without room.

    That is two seconds of rows. On busy cores the guard may end a recording earlier,
    for a loop that was late; such a run says nothing of the disk: another follows.
    """

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, 8_192))

    attempts = [tmp_path / str(number) for number in range(4)]
    process, folder, status, out, err = start("pendulum"), tmp_path, -1, "", ""
    for folder in attempts:
        folder.mkdir()
        child = run(folder, process.address, preexec_fn=confine)
        out, err = child.communicate(timeout=30)
        status = child.returncode
        if "the loop was late" not in out:
            break
        process.end()
        process = start("pendulum")
    assert "Traceback" not in err
    assert status in (1, 2), (out, err)
    files = {path.name for path in folder.iterdir()} - {"sway.csv"}
    assert files & {"recording.csv", "recording.journal"}
    name = "recording.csv" if "recording.csv" in files else "recording.journal"
    assert load_recording(folder / name).duration > 0.1
    assert "cannot be kept" in out or "recording.journal" in err, (out, err)
    # The robot was told to brake; it did not have to find out by itself.
    assert "Braked by itself 0 times" in process.end()


def test_a_robot_that_brakes_by_itself_is_told_marked_and_a_negative_verdict(
    start, tmp_path: Path
):
    """A deadline of 60 ms, and a third of the commands lost on their way."""
    process = start("pendulum", "--deadline", "0.06", "--loss", "0.3")
    child = run(tmp_path, process.address, "--json", "done.json")
    out, err = child.communicate(timeout=60)
    assert child.returncode == 1, (out, err)
    assert "The robot braked by itself in" in out
    done = json.loads((tmp_path / "done.json").read_text())
    marked = load_recording(tmp_path / "recording.csv").signals["robot.braking"]
    assert 0 < marked.sum() <= done["braked"]


def test_a_name_from_the_network_is_no_path(tmp_path: Path):
    """A robot that calls itself like a file of ours."""
    place = tmp_path / "leg.twin.yaml"
    place.write_text("schema: 1\nname: leg\nmodel: pendulum\n")
    for name in (str(place), "../leg", "leg.xml", "menagerie:unitree_go2"):
        robot = Obedient(replace(INFO, name=name))
        with pytest.raises(RealworthyError, match="no built-in twin has that name"):
            find_twin(robot, "")
        assert find_twin(robot, "pendulum").name == "pendulum"
    robot = Obedient(replace(INFO, name="pendulum"))
    assert find_twin(robot, "").name == "pendulum"
