"""`realworthy view`: serves, ends by itself or when told, and says what is wrong."""

import builtins
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from .conftest import Run

pytest.importorskip("viser", reason="viser is not installed: pip install -e '.[view]'")
HERE = re.compile(r"http://127\.0\.0\.1:(\d+)  pendulum  \(Ctrl-C ends it\)\n")


def test_it_ends_by_itself(run: Run):
    found = run("view", "pendulum", "--port", "0", "--seconds", "0.2")
    assert HERE.fullmatch(found.out)
    assert (found.status, found.err, found.files) == (0, "", ())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_a_page_to_this_machine_until_it_is_told_to_end(how: signal.Signals):
    process = subprocess.Popen(
        [sys.executable, "-m", "realworthy", "view", "pendulum", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    port = int(HERE.fullmatch(line)[1])  # pyright: ignore
    with urllib.request.urlopen(f"http://127.0.0.1:{port}") as page:
        assert "<title>" in page.read().decode()
    busy = list_listening(port)
    assert busy == {"0100007F"}  # 127.0.0.1 and no other address
    os.kill(process.pid, how)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "Ended.\n", "")
    with socket.socket() as taking:
        taking.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taking.bind(("127.0.0.1", port))


def test_others_are_let_in_only_with_a_warning(run: Run):
    here = ("view", "pendulum", "--port", "0", "--seconds", "0.1")
    told = run(*here, "--host", "0.0.0.0")
    assert told.status == 0
    assert "Warning: anybody who reaches 0.0.0.0 can watch and drag" in told.err


def test_mistakes(run: Run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = run("view", "pendulum", "--port", str(port))
    told.check_mistake(
        f"RealworthyError: Cannot serve on 127.0.0.1:{port}: Address already in use.\n"
        "  Try: --port 0, which takes a free one.\n"
    )
    told = run("view", "pendulum", "--port", "99999")
    assert "there is no such port" in told.err
    for host in ("nope.invalid", "192.0.2.1"):  # no name, and not of this machine
        told = run("view", "pendulum", "--host", host)
        assert told.status == 2
        assert f"Cannot serve on {host}: " in told.err
        assert "Try: --host 127.0.0.1, or 0.0.0.0" in told.err
    told = run("view", "pendulm")
    assert "Nearest: 'pendulum'" in told.err
    told = run("view", "pendulum", "--policy", "none.onnx")
    told.check_mistake("MissingFile: none.onnx: there is no such file.\n")
    told = run("view", "pendulum", "--task", "pendulumm")
    assert "no task 'pendulumm'" in told.err
    told = run("view", "pendulum", "--recording", "none.csv")
    assert "none.csv: there is no such file." in told.err
    told = run("view", "quadruped", "--task", "quadruped")
    assert "Task 'quadruped' has no reference controller." in told.err


def test_a_missing_extra_is_named(run: Run, monkeypatch: pytest.MonkeyPatch):
    found = builtins.__import__

    def refuse(name: str, *rest, **more):
        if name.partition(".")[0] == "mjviser":
            raise ImportError(name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    told = run("view", "pendulum", "--seconds", "0.1")
    told.check_mistake(
        "MissingExtra: The live view needs viser, which is not installed.\n"
        "  Try: pip install 'realworthy[view]'\n"
    )


def list_listening(port: int) -> set[str]:
    """Addresses on which this machine listens at a port, as the kernel writes them."""
    found = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(name):
            pytest.skip("only Linux tells who listens")
        with open(name) as table:
            for line in table.readlines()[1:]:
                address, _, number = line.split()[1].partition(":")
                if int(number, 16) == port and line.split()[3] == "0A":
                    found.add(address)
    return found
