"""`realworthy tour` as a process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from realworthy.tours import ROBOTS

from .conftest import Run


@pytest.mark.slow
def test_ctrl_c_ends_a_tour_with_all_its_processes(tmp_path: Path):
    """To the whole group, as a terminal sends it, while others train."""
    process = subprocess.Popen(
        [sys.executable, "-m", "realworthy", "tour", "--output", "t"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        assert process.stdout is not None
        assert "record" in process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert err == "Stopped.\n"
        assert is_empty(process.pid)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def is_empty(group: int) -> bool:
    """Whether a group of processes is gone, within 5 s."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_help_names_every_robot(run: Run):
    told = " ".join(run("tour", "--help").out.split())
    *names, last = sorted(ROBOTS)
    assert f"Which robot: {', '.join(names)} or {last}." in told


def test_a_stopped_tour_says_what_stays(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def stop(_robot: str, *, output: Path, **_: object) -> None:
        (output / "recordings").mkdir(parents=True)
        (output / "motion.csv").write_text("time\n")
        raise KeyboardInterrupt

    monkeypatch.setattr("realworthy.tours.tour", stop)
    told = run("tour", "--output", "t")
    assert told.status == 130
    assert told.out == "t keeps motion.csv, recordings. You may remove it.\n"
    assert told.err == "Stopped.\n"
