"""Signals of the operating system during a trial: when they may cut in, and when not.

Ctrl-C, SIGTERM and SIGHUP end a trial; Ctrl-\\ (SIGQUIT) is an emergency stop. They are
raised only where somebody is ready for them, and once: never between two steps of the
way out, so that braking cannot be skipped by a second Ctrl-C. What comes at another
time waits.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class EmergencyStop(KeyboardInterrupt):
    """The operator pressed Ctrl-\\, or sent SIGQUIT."""


class Signals:
    """Holds signals back until a block lets them in."""

    def __init__(self) -> None:
        self.waiting: int | None = None
        """The number of a signal that came while nobody was ready."""
        self._is_open = False

    @contextlib.contextmanager
    def let_in(self) -> Iterator[None]:
        """Within the block the first signal is raised, also one that waited."""
        self._is_open = True
        try:
            if self.waiting is not None:
                self._raise(self.waiting)
            yield
        finally:
            self._is_open = False

    def take(self, number: int, frame: FrameType | None) -> None:
        """The handler."""
        if self._is_open:
            self._raise(number)
        elif self.waiting != signal.SIGQUIT:  # nothing is more urgent
            self.waiting = number

    def to_error(self) -> KeyboardInterrupt | None:
        """What still waits, to be raised once the robot brakes."""
        if self.waiting is None:
            return None
        is_stop = self.waiting == signal.SIGQUIT
        return EmergencyStop() if is_stop else KeyboardInterrupt()

    def _raise(self, number: int) -> None:
        self._is_open, self.waiting = False, None
        if number == signal.SIGQUIT:
            raise EmergencyStop
        raise KeyboardInterrupt


@contextlib.contextmanager
def holding_signals() -> Iterator[Signals]:
    """Takes over the signals for a block, in the main thread; puts them back."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, signals.take) for number in _NUMBERS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
