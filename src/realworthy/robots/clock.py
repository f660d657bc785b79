"""Clocks to wait by: the machine's, or that of a stand-in; and how old a stamp is."""

import math
import time
from abc import ABC, abstractmethod

from realworthy.robots.robot import Robot

_SPIN = 300e-6
"""[s] before a moment that are spun away: sleeping may end late."""
_DRIFT = 2e-4
"""By which two clocks may go differently, at most: a quartz is within 100 ppm."""


class Clock(ABC):
    """Time that never jumps."""

    @abstractmethod
    def now(self) -> float:
        """[s] since some moment."""

    @abstractmethod
    def sleep_until(self, moment: float) -> None:
        """Returns at `moment` or as soon after it as can be; at once if it is past."""


class MonotonicClock(Clock):
    """The machine's: sleeps, then spins the last 0.3 ms.

    It does not spin all the time: under SCHED_FIFO the kernel would then stop the
    process for a twentieth of every second.
    """

    def now(self) -> float:
        return time.monotonic()

    def sleep_until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0:
            if left > _SPIN:
                time.sleep(left - _SPIN)


class SteppedClock(Clock):
    """That of a stand-in in this process: waiting is what moves it, as fast as it can.

    Time that work takes does not pass on it.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._now = robot, 0.0

    def now(self) -> float:
        return self._now

    def sleep_until(self, moment: float) -> None:
        if moment > self._now:
            self._robot.wait(moment - self._now)
            self._now = moment


def find_clock(robot: Robot) -> Clock:
    """The clock to wait by: the machine's, or that of a robot which steps its time."""
    return SteppedClock(robot) if robot.steps_time else MonotonicClock()


class Ages:
    """How old measurements are that a driver stamps by another clock, one way only.

    The clocks are joined at the quickest way seen, and let apart by as much as two
    quartzes may drift, so that what waited in a queue is as old as it is. One way
    cannot tell a delay that grows more slowly than that from drift, nor a delay that is
    there from the first; a wire with an echo can (`packets.Packet.bound_sending`).
    """

    def __init__(self) -> None:
        self._offset, self._joined = math.inf, 0.0

    def join(self, now: float, stamp: float) -> float:
        """[s] since `stamp`, of something that came just now; ∞ of no number."""
        if not math.isfinite(stamp):
            return math.inf
        loose = self._offset + _DRIFT * max(0.0, now - self._joined)
        self._offset, self._joined = min(now - stamp, loose), now
        return self.find(now, stamp)

    def find(self, now: float, stamp: float) -> float:
        """[s] since `stamp`, of something that came earlier."""
        return max(0.0, now - stamp - self._offset)
