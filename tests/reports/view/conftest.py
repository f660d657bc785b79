"""Things to watch."""

from collections.abc import Callable
from pathlib import Path

import pytest

from realworthy.recordings import Recording
from realworthy.reports.view.session import Session
from tests.reports.view.examples import record_pendulum, write_balancer

Play = Callable[[Session, float], None]


@pytest.fixture(scope="session")
def balancer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that keeps a pole upright."""
    return write_balancer(tmp_path_factory.mktemp("view") / "balancer.onnx")


@pytest.fixture(scope="session")
def swing() -> Recording:
    """A pendulum with a friction of 0.5 N·m, which its twin has not."""
    return record_pendulum()


@pytest.fixture
def play() -> Play:
    """Steps a session for so many simulated seconds, or until an episode ends."""

    def play(session: Session, seconds: float) -> None:
        session.advance(0.0)
        session.restart()
        while session.clock < seconds and session.verdict is None:
            session.step()

    return play
