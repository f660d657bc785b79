"""Processes beside this one: one thread each, none left behind."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from realworthy.certification.examination.parts import start_processes
from realworthy.errors import RealworthyError

HINT = "Try fewer."


def count_threads() -> tuple[int, int, str | None]:
    import torch

    from realworthy.simulators.mujoco_cpu import read_thread_count

    return torch.get_num_threads(), read_thread_count(), os.getenv("OMP_NUM_THREADS")


def interrupt_itself() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "alive"


def test_each_has_one_thread_and_this_one_keeps_its_own(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("REALWORTHY_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with start_processes(1, hint=HINT, nice=3) as pool:
        assert pool.submit(os.nice, 0).result() == os.nice(0) + 3
        assert pool.submit(count_threads).result() == (1, 1, "1")
        assert pool.submit(interrupt_itself).result() == "alive"
        assert os.environ["OMP_NUM_THREADS"] == "2"
        assert "REALWORTHY_THREADS" not in os.environ
    assert not active_children()


def test_one_that_dies_is_a_mistake_with_a_hint():
    with (
        pytest.raises(RealworthyError, match="One of 1 processes died") as raised,
        start_processes(1, hint=HINT) as pool,
    ):
        pool.submit(os._exit, 1).result()
    assert raised.value.hint == HINT


def test_a_script_without_a_guard_is_told_of_it(tmp_path: Path):
    """Its processes load it anew, and would start processes themselves."""
    script = tmp_path / "script.py"
    script.write_text(
        "from realworthy.certification.examination.parts import start_processes\n"
        "with start_processes(2, hint='Close other programs.') as pool:\n"
        "    print(pool.submit(abs, -1).result())\n"
    )
    told = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=600
    )
    assert told.returncode == 1
    assert told.stdout == ""
    lines = told.stderr.splitlines()  # Python's own may come after ours
    ours = max(i for i, line in enumerate(lines) if "could not begin" in line)
    assert 'if __name__ == "__main__":' in lines[ours + 1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_ends_what_is_under_way(error: type[BaseException]):
    def go_wrong() -> None:
        with start_processes(1, hint=HINT) as pool:
            for _ in range(3):
                pool.submit(time.sleep, 60)
            raise error

    began = time.monotonic()
    with pytest.raises(error):
        go_wrong()
    assert time.monotonic() - began < 30
    assert not active_children()
