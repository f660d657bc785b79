"""A loop at a fixed rate, on a clock that never jumps.

The next beat is one period after the last, not after the work, so the period does not
drift. Waiting sleeps to shortly before the beat and spins the rest. A step that begins
late by more than half a period is an overrun and counted; one later than a period skips
beats: missed steps are never made up for in a burst.
"""

import contextlib
import ctypes
import gc
import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.robots.clock import Clock

Floats = NDArray[np.float64]
_LOCK_ALL = 3
"""MCL_CURRENT | MCL_FUTURE of mlockall(2)."""


@dataclass(frozen=True, slots=True)
class Beat:
    """One step of a loop."""

    index: int
    time: float
    """[s] when it should begin, on the loop's clock."""
    late: float
    """[s] by which it began after that."""
    overrun: bool
    skipped: int
    """Beats that were left out before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTiming:
    """How punctual a loop was; microseconds of lateness."""

    beats: int
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    overruns: int
    skipped: int
    period_error: float
    """Mean period over the one asked for, less 1; of the worst loop."""


@dataclass(slots=True)
class Loop:
    """Beats of a fixed period; `wait` for the next one."""

    period: float
    clock: Clock
    overruns: int = 0
    skipped: int = 0
    _index: int = 0
    _first: float = 0.0
    _next: float | None = None
    _late: "array[float]" = field(default_factory=lambda: array("d"))
    """Eight bytes a beat: six megabytes an hour at 200 Hz."""

    def __post_init__(self) -> None:
        if not 0 < self.period < 10:
            raise RealworthyError(f"A loop cannot beat every {self.period:g} s.")

    def wait(self) -> Beat:
        """Waits for the next beat; the first comes at once."""
        if self._next is None:
            self._first = self._next = self.clock.now()
        else:
            self._next += self.period
            self.clock.sleep_until(self._next)
        late = max(0.0, self.clock.now() - self._next)
        skipped = int(late / self.period)
        if skipped:
            self._next += skipped * self.period
        overrun = late > self.period / 2
        self.overruns += overrun
        self.skipped += skipped
        self._late.append(late)
        self._index += skipped
        beat = Beat(self._index, self._next, late, overrun, skipped)
        self._index += 1
        return beat

    @property
    def lates(self) -> tuple[float, ...]:
        """[s] of every beat so far."""
        return tuple(self._late)

    @property
    def period_error(self) -> float:
        """Mean period over the one asked for, less 1."""
        if self._next is None or self._index < 2:
            return 0.0
        last = self._next + self._late[-1] % self.period
        passed = last - self._first - self._late[0]
        return passed / ((self._index - 1) * self.period) - 1

    def profile(self) -> LoopTiming:
        """Of every beat so far."""
        return pool([self])


def pool(loops: Sequence[Loop]) -> LoopTiming:
    """How punctual some loops were together."""
    late = 1e6 * np.array([value for loop in loops for value in loop.lates] or [0.0])
    p50, p99, p999 = np.percentile(late, [50, 99, 99.9])
    errors = [loop.period_error for loop in loops]
    return LoopTiming(
        beats=sum(len(loop.lates) for loop in loops),
        p50_us=float(p50),
        p99_us=float(p99),
        p999_us=float(p999),
        max_us=float(late.max()),
        overruns=sum(loop.overruns for loop in loops),
        skipped=sum(loop.skipped for loop in loops),
        period_error=max(errors, key=abs, default=0.0),
    )


@dataclass(kw_only=True, slots=True)
class RealTimeSettings:
    """What the operating system is asked for; none of it by default."""

    fifo_priority: int = 0
    """1 … 99 for SCHED_FIFO; 0: as it is."""
    core: int | None = None
    """Processor to stay on."""
    lock_memory: bool = False
    """Keep all memory resident (mlockall)."""


@contextlib.contextmanager
def real_time(settings: RealTimeSettings) -> Iterator[tuple[str, ...]]:
    """Runs a block as asked, without collecting garbage; gives what was refused.

    What the system refuses, often for want of rights, is said and not fatal. All is put
    back at the end, but for locked memory.
    """
    refused: list[str] = []
    cores = policy = parameter = None
    if settings.core is not None:
        try:
            cores = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {settings.core})
        except (OSError, AttributeError, ValueError) as error:
            cores = None
            refused.append(f"core {settings.core}: {error}")
    if settings.fifo_priority:
        try:
            policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
            wanted = os.sched_param(settings.fifo_priority)
            os.sched_setscheduler(0, os.SCHED_FIFO, wanted)
        except (OSError, AttributeError, ValueError) as error:
            policy = None
            refused.append(f"FIFO {settings.fifo_priority}: {error}")
    if settings.lock_memory and not _lock_memory():
        refused.append("memory: mlockall was refused")
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield tuple(refused)
    finally:
        if collects:
            gc.enable()
        if policy is not None and parameter is not None:
            os.sched_setscheduler(0, policy, parameter)
        if cores is not None:
            os.sched_setaffinity(0, cores)


def _lock_memory() -> bool:
    try:
        library = ctypes.CDLL(None, use_errno=True)
        return library.mlockall(_LOCK_ALL) == 0
    except (OSError, AttributeError):
        return False
