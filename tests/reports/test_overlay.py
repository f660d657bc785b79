"""Which stretch of a long recording is worth a closer look."""

from dataclasses import replace

import numpy as np
import pytest

from realworthy.gap import Gap, RecordingGap
from realworthy.reports.measure.overlay import draw_overlay, find_stretches


def test_a_short_recording_is_shown_whole(gap: Gap):
    (whole,) = find_stretches(gap.recordings[0])
    assert whole.start == 0
    assert whole.end == pytest.approx(gap.recordings[0].track.time[-1])


def test_a_closer_look_is_where_the_error_is(long: RecordingGap):
    simulated = long.simulated.copy()
    simulated[3200:4000] += 0.5  # from 32 s to 40 s
    close, whole = find_stretches(replace(long, simulated=simulated))
    assert close.start <= 32 <= close.end - 5
    assert close.end - close.start == pytest.approx(8)
    assert (whole.start, whole.end) == (0, pytest.approx(60))


def test_a_twin_that_flies_away_is_looked_at_where_it_leaves(long: RecordingGap):
    simulated = long.simulated.copy()
    simulated[2000:] += 1e6 * np.arange(4001)[:, None]
    simulated[5000:] = np.nan
    close, _ = find_stretches(replace(long, simulated=simulated))
    assert close.start <= 20 <= close.end


def test_a_closer_look_draws_only_its_rows(long: RecordingGap):
    close, whole = find_stretches(replace(long, simulated=long.simulated + 0.1))
    sizes = [
        len(draw_overlay(long, s, point_count=5000).figure) for s in (close, whole)
    ]
    assert sizes[0] < sizes[1] / 3
