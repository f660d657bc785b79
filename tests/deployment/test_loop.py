"""The loop keeps its beat, counts what is late and never bursts."""

import gc
import os

import numpy as np
import pytest

from realworthy.deployment.loop import Loop, RealTimeSettings, real_time
from realworthy.errors import RealworthyError
from realworthy.robots.clock import Clock, MonotonicClock


class Told(Clock):
    """A clock that stands still but for sleeping and what a test adds."""

    def __init__(self) -> None:
        self.time = 5.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep_until(self, moment: float) -> None:
        self.slept.append(moment)
        self.time = max(self.time, moment)


def test_beats_do_not_drift_with_the_work():
    clock = Told()
    loop = Loop(0.01, clock)
    beats = []
    for _ in range(1000):
        beats.append(loop.wait())
        clock.time += 0.004  # work
    assert [beat.time for beat in beats[:3]] == pytest.approx([5.0, 5.01, 5.02])
    assert beats[-1].time == pytest.approx(5 + 999 * 0.01)
    profile = loop.profile()
    assert profile.overruns == 0
    assert profile.period_error == pytest.approx(0, abs=1e-9)
    assert profile.max_us == pytest.approx(0, abs=1e-3)


def test_a_late_step_is_an_overrun_and_the_beat_is_kept():
    clock = Told()
    loop = Loop(0.01, clock)
    loop.wait()
    clock.time += 0.017
    late = loop.wait()
    assert (late.overrun, late.skipped) == (True, 0)
    assert late.late == pytest.approx(0.007)
    after = loop.wait()
    assert after.time == pytest.approx(5.02)
    assert not after.overrun


def test_missed_beats_are_skipped_not_made_up_for():
    clock = Told()
    loop = Loop(0.01, clock)
    loop.wait()
    clock.time += 0.057
    late = loop.wait()
    assert (late.index, late.skipped, late.overrun) == (5, 4, True)
    following = loop.wait()
    assert following.index == 6
    assert clock.slept[-1] == pytest.approx(5.06)
    profile = loop.profile()
    assert (profile.overruns, profile.skipped) == (1, 4)
    assert profile.max_us == pytest.approx(47_000)


def test_a_little_late_is_not_an_overrun():
    clock = Told()
    loop = Loop(0.01, clock)
    loop.wait()
    clock.time += 0.0149
    assert not loop.wait().overrun


def test_the_machines_clock_ends_its_sleep_on_time():
    clock = MonotonicClock()
    early = []
    for _ in range(20):
        moment = clock.now() + 0.003
        clock.sleep_until(moment)
        early.append(moment - clock.now())
    assert max(early) <= 0  # never before
    clock.sleep_until(clock.now() - 1)


@pytest.mark.parametrize("period", [0.0, -1.0, float("nan"), float("inf")])
def test_a_period_that_is_none(period: float):
    with pytest.raises(RealworthyError, match="cannot beat"):
        Loop(period, Told())


def test_what_the_system_refuses_is_said_and_all_is_put_back():
    cores, policy = os.sched_getaffinity(0), os.sched_getscheduler(0)
    wanted = RealTimeSettings(fifo_priority=500, core=100_000)
    with real_time(wanted) as refused:
        assert not gc.isenabled()
    assert [text.partition(":")[0] for text in refused] == ["core 100000", "FIFO 500"]
    with real_time(RealTimeSettings(core=min(cores))) as refused:
        assert os.sched_getaffinity(0) == {min(cores)}
    assert refused == ()
    assert (os.sched_getaffinity(0), os.sched_getscheduler(0)) == (cores, policy)
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("seconds", "error", "late_us"),
    [(2, 0.01, None), pytest.param(60, 1e-3, 5000, marks=pytest.mark.slow)],
)
def test_a_real_loop_keeps_its_rate(seconds: int, error: float, late_us: float | None):
    """50 Hz with some work in it; FIFO where it is allowed."""
    loop = Loop(0.02, MonotonicClock())
    wanted = RealTimeSettings(fifo_priority=50) if late_us else RealTimeSettings()
    with real_time(wanted) as refused:
        for _ in range(50 * seconds):
            loop.wait()
            sum(range(20_000))
    found = loop.profile()
    assert abs(found.period_error) < error
    late = np.array(loop.lates)
    assert found.overruns == int((late > 0.01).sum())
    assert found.skipped == int((late / 0.02).astype(int).sum())
    if late_us is not None and not refused:
        assert found.p999_us < late_us
