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
