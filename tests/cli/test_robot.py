"""`realworthy robot`, and `record` over the wire to it."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import load_recording

from .conftest import Run, Write
from .test_record import sway


@contextmanager
def robot(*arguments: str) -> Iterator[tuple[str, subprocess.Popen]]:
    """Its address, and the process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "realworthy", "robot", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[0], process
    finally:
        process.kill()
        process.communicate()


def test_a_motion_is_recorded_over_the_wire(run: Run, write: Write, tmp_path: Path):
    """With a key; without it nobody answers."""
    sway(tmp_path / "sway.csv")
    write("robot.key", "0123456789abcdef0123456789abcdef")
    key = ("--key", str(tmp_path / "robot.key"))
    listen = ("--listen", "udp://127.0.0.1:0")
    with robot("pendulum", *listen, *key) as (address, process):
        told = run("record", "sway.csv", "--robot", address)
        assert told.status == 2
        assert "RobotSilent: No robot answered" in told.err
        told = run("record", "sway.csv", "--robot", address, *key)
        assert told.status == 0, told.err
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err == "Stopped.\n"
    assert "1 connect" in out
    recording = load_recording(tmp_path / "recording.csv")
    assert recording.sidecar.twin == "pendulum"
    assert np.ptp(recording.signals["joint.position"]) == pytest.approx(1.2, abs=0.2)


def test_a_robot_serves_as_long_as_it_is_told(tmp_path: Path):
    listen = ("--listen", "udp://127.0.0.1:0", "--seconds", "0.2")
    with robot("pendulum", *listen) as (address, process):
        out, err = process.communicate(timeout=20)
    assert address.startswith("udp://127.0.0.1:")
    assert (process.returncode, err) == (0, "")
    assert out.startswith("Used: nothing. Refused: nothing. Cut to its range: 0.")
    assert out.endswith(" Braked by itself 0 times.\n")


def test_a_robot_that_anybody_could_command_says_so(run: Run):
    told = run("robot", "pendulum", "--listen", "udp://0.0.0.0:0", "--seconds", "0.1")
    assert told.status == 0
    assert told.err == (
        "Warning: without --key anybody on the network can command this robot.\n"
    )


def test_mistakes(run: Run):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        told = run("robot", "pendulum", "--listen", f"udp://127.0.0.1:{port}")
    told.check_mistake(
        f"RealworthyError: Cannot listen on udp://127.0.0.1:{port}: Address already in "
        "use.\n  Is another robot listening there? Port 0 takes a free one.\n"
    )
    here = ("--listen", "udp://127.0.0.1:0")
    told = run("robot", "arm", *here, "--reality", "pendulum_1_easy")
    told.check_mistake(
        "RealworthyError: Reality 'pendulum_1_easy' is one of 'pendulum', not of 'arm'."
        "\n  All: realworthy show realities\n"
    )
    told = run("robot", "pendulum", *here, "--deadline", "-1")
    assert told.status == 2
    assert "brake after -1 s" in told.err
    told = run("robot", "pendulum", *here, "--loss", "1.5")
    assert "cannot lose 1.5 of its packets" in told.err
    told = run("robot", "pendulum", *here, "--stick", "knee")
    assert "robot 'pendulum' has no joint 'knee'" in told.err
    told = run("robot", "pendulum", "--listen", "sim:pendulum_1_easy")
    assert "A robot listens on the wire." in told.err
