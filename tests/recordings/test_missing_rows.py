"""Across a long gap nothing is made up; recordings are cut there."""

import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.recordings import Recording, cut_at_gaps


def make(*starts: float, rows: int = 150, rate: float = 100.0) -> Recording:
    """Stretches of rows at `rate`, each from one of `starts` [s]."""
    time = np.concatenate([start + np.arange(rows) / rate for start in starts])
    return Recording(time, {"joint.position": np.sin(time), "joint.command": time})


def test_a_clock_that_jumps_cuts_a_recording():
    parts, said = cut_at_gaps([make(0.0, 1e6)])
    assert [len(part.time) for part in parts] == [150, 150]
    assert parts[1].time[0] == 1e6
    assert said == (
        "A recording lacks rows after 1.49 s for 1e+06 s, and was cut there: 2 parts, "
        "2.98 s in all.",
    )


@pytest.mark.parametrize(
    ("gap", "rate", "count"), [(0.9, 100.0, 1), (1.1, 100.0, 2), (2.0, 10.0, 1)]
)
def test_a_gap_is_long_in_seconds_and_in_rows(gap: float, rate: float, count: int):
    end = 149 / rate
    parts, said = cut_at_gaps([make(0.0, end + gap, rate=rate)])
    assert (len(parts), len(said)) == (count, count - 1)


def test_short_parts_are_left_out():
    parts, _ = cut_at_gaps([make(0.0, 10.0, 20.0, rows=150), make(0.0)])
    assert len(parts) == 4
    whole = make(0.0, 1e3).crop(0.0, 1000.5)
    parts, said = cut_at_gaps([whole])
    assert len(parts) == 1
    assert "1 part, 1.49 s in all" in said[0]


def test_nothing_but_short_parts_is_refused():
    with pytest.raises(BadRecording, match=r"no rows from 0\.09 to 10 s"):
        cut_at_gaps([make(0.0, 10.0, rows=10)])


def test_no_rows_are_made_up_over_a_long_gap():
    with pytest.raises(BadRecording, match=r"no rows from 1\.49 to 1000000 s"):
        make(0.0, 1e6).resample(100.0)
    even = make(0.0, 2.0).resample(100.0)  # half a second
    assert len(even.time) == 350


def braked(*spans: tuple[float, float], seconds: float = 10.0) -> Recording:
    """At 100 Hz; the robot braked by itself within some spans of time."""
    time = np.arange(round(100 * seconds)) / 100
    marked = np.zeros(len(time))
    for first, last in spans:
        marked[(time >= first) & (time < last)] = 1.0
    signals = {"joint.position": np.sin(time), "robot.braking": marked}
    return Recording(time, signals)


def test_rows_in_which_the_robot_braked_by_itself_are_left_out():
    parts, said = cut_at_gaps([braked((2.0, 2.1), (5.0, 6.0), (6.2, 6.3))])
    spans = [(part.time[0], part.time[-1]) for part in parts]
    ends = [end for span in spans for end in span]
    assert ends == pytest.approx([0.0, 1.99, 2.1, 4.99, 6.3, 9.99])
    assert all("robot.braking" not in part.signals for part in parts)
    assert said == (
        "The robot braked by itself in 120 of 1000 rows of A recording, which are left "
        "out: 3 parts, 8.57 s in all.",
    )


def test_a_robot_that_never_braked_is_left_whole():
    whole = braked()
    (part,), said = cut_at_gaps([whole])
    assert said == ()
    np.testing.assert_array_equal(part.time, whole.time)


def test_a_robot_that_braked_all_the_time_is_no_evidence():
    spans = [(0.2 * k - 1e-9, 0.2 * k + 0.05 - 1e-9) for k in range(50)]
    with pytest.raises(BadRecording, match="braked by itself in 250 of 1000 rows"):
        cut_at_gaps([braked(*spans)])
