"""Stand-in robots in processes of their own, and a policy that does as it is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from realworthy.policies import Contract, Policy
from realworthy.policies.runner import Floats32, Runner
from realworthy.robots.address import parse_address, reach
from realworthy.robots.remote import RemoteRobot


class Process:
    """`realworthy robot …`, and the robot that can be reached in it."""

    def __init__(self, *arguments: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "realworthy", "robot", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.child.stdout is not None
        self.address = self.child.stdout.readline().split()[0]
        self.robot: RemoteRobot = reach(parse_address(self.address))

    def send(self, number: signal.Signals) -> None:
        os.kill(self.child.pid, number)

    def end(self) -> str:
        """Ends it; what it said of its time."""
        self.robot.release()
        if self.child.poll() is None:
            self.send(signal.SIGCONT)
            self.send(signal.SIGTERM)
        assert self.child.stdout is not None
        try:
            return self.child.communicate(timeout=20)[0]
        finally:
            self.child.kill()


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """Starts robots, and ends those that a test leaves."""
    started: list[Process] = []

    def start(twin: str, *arguments: str) -> Process:
        listen = ("--listen", "udp://127.0.0.1:0")
        started.append(Process(twin, *listen, *arguments))
        return started[-1]

    yield start
    for process in started:
        if process.child.poll() is None:
            process.end()


class Told(Runner):
    """Answers with what a test says, by step; None: the last number."""

    def __init__(self, say: Callable[[int, np.ndarray], np.ndarray | float]) -> None:
        self._say, self.step = say, 0

    def run(self, observations: Floats32, *others: Floats32) -> Floats32:
        said = self._say(self.step, observations[0])
        self.step += 1
        return np.atleast_2d(np.asarray(said, dtype=np.float32))

    def reset(self, worlds: np.ndarray | None = None) -> None:
        self.step = 0


def make_policy(
    path: Path, contract: Contract, say: Callable[[int, np.ndarray], np.ndarray | float]
) -> Policy:
    """A policy that a test speaks through."""
    path.write_bytes(b"not a network")
    return Policy(
        path=path,
        contract=contract,
        engine="numpy",
        worlds=1,
        recurrent=False,
        _runner=Told(say),
    )
