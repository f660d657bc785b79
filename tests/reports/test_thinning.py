"""Fewer points, the same picture."""

import numpy as np
import pytest

from realworthy.reports.elements.plots import thin


@pytest.mark.parametrize("count", [10, 121, 700])
def test_no_more_points_than_asked(count: int):
    values = np.random.default_rng(0).normal(size=10_001)
    rows = thin(values, count)
    assert len(rows) <= count
    assert rows[0] == 0
    assert rows[-1] == len(values) - 1
    assert (np.diff(rows) > 0).all()


def test_a_single_peak_survives():
    values = np.zeros(10_000)
    values[4321], values[8765] = 1.0, -1.0
    assert {4321, 8765} <= set(thin(values, 50).tolist())


def test_the_envelope_of_a_fast_swing_survives():
    """Every 100th row of this sine is zero: plain strides would draw a flat line."""
    values = np.sin(2 * np.pi * np.arange(20_000) / 100)
    shown = values[thin(values, 400)]
    assert shown.max() > 0.99
    assert shown.min() < -0.99
    assert np.abs(np.diff(shown)).mean() > 1.0


def test_short_signals_stay_as_they_are():
    assert thin(np.arange(7.0), 100).tolist() == list(range(7))


def test_a_gap_stays_a_gap():
    values = np.arange(1000.0)
    values[400:600] = np.nan
    rows = thin(values, 100)
    shown = values[rows]
    assert np.isnan(shown[(rows > 420) & (rows < 580)]).all()
    assert np.isfinite(shown[(rows < 400) | (rows >= 600)]).all()
