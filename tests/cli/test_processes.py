"""The command as a process: real exit statuses, pipes, signals."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import list_files, swing_csv

COMMAND = [sys.executable, "-m", "realworthy"]


def start(folder: Path, *arguments: str, **more: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        **more,  # pyright: ignore
    )


def test_done_is_0(tmp_path: Path):
    done = start(tmp_path, "show", "importers")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rosbag" in done.stdout


def test_a_mistake_is_2_and_goes_to_stderr(tmp_path: Path):
    done = start(tmp_path, "show", "run.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "MissingFile: run.csv: there is no such file.\n"
    assert list_files(tmp_path) == set()


def test_a_usage_error_is_2(tmp_path: Path):
    done = start(tmp_path, "show", "--nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_reader_that_stops_reading_is_no_failure(tmp_path: Path):
    command = f"{sys.executable} -m realworthy show parameters . --twin quadruped"
    script = f"set -o pipefail; {command} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout == "666 parameters of quadruped\n"
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_an_output_that_is_full_is_2(tmp_path: Path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "show", "importers"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr == "Failed: output: No space left on device.\n"


def test_a_model_with_a_flaw_leaves_no_log_of_mujoco(tmp_path: Path):
    nan = '<mujoco><worldbody><geom name="g" size="nan"/></worldbody></mujoco>'
    (tmp_path / "nan.xml").write_text(nan)
    done = start(tmp_path, "show", "nan.xml")
    assert done.returncode == 2
    assert "WARNING" not in done.stderr
    assert list_files(tmp_path) == {"nan.xml"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_stopped_leaves_nothing(tmp_path: Path, number: int):
    """Stopped while it waits in the middle of a write, which is made to last."""
    (tmp_path / "run.csv").write_text(swing_csv())
    script = (
        "import os, time\n"
        "from realworthy.cli import main\n"
        "os.fsync = lambda descriptor: (print('now', flush=True), time.sleep(30))\n"
        "import sys\n"
        "sys.argv = ['realworthy', 'convert', 'run.csv', '--output', 'out']\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    assert len(list_files(tmp_path)) > 2
    time.sleep(0.1)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "Stopped.\n"
    assert list_files(tmp_path) == {"run.csv"}
