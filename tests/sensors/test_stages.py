"""The measuring law, step by step, against hand arithmetic."""

import math

import numpy as np
import pytest
import torch

from realworthy.sensors.stages import (
    compute_reading,
    fill,
    find_share,
    follow,
    hold,
    quantise,
    recall,
    remember,
    restart,
)

LIBRARIES = [np.array, torch.tensor]
HALF_WAY = 1 / math.log(2)
"""[s] time constant of a filter that goes half of the way in a second."""


def test_the_order_of_effects():
    """By hand: a second late, half of the way, × 2 + 1, noise, steps of 0.5, one lost.

    true   0 (for ever)   4             8             8
    late   0              0             4             8
    filter 0              0             2             5
    y      –              1 + 0.1       5 − 0.2       11 + 0.1
    steps  –              1             5             11 (lost: 5)
    """
    truths = fill(np.zeros(1), 2)
    filtered, read = np.zeros(1), np.zeros(1)
    readings = []
    for true, n, u in ((4.0, 1.0, 0.9), (8.0, -2.0, 0.9), (8.0, 1.0, 0.1)):
        truths = remember(truths, np.array([true]))
        late = recall(truths, np.array([1]))
        filtered = follow(filtered, late, find_share(1.0, HALF_WAY))
        y = compute_reading(filtered, scale=2.0, bias=1.0, noise=[np.array([0.1 * n])])
        read = hold(np.array([u >= 0.3]), quantise(y, np.array([0.5])), read)
        readings.append(float(read[0]))
    assert readings == [1.0, 5.0, 5.0]


@pytest.mark.parametrize("make", LIBRARIES)
def test_scale_and_bias_come_before_noise(make):
    true = make([[3.0, 1.0]])
    noise = [make([[0.25, 0.5]]), make([[0.125, -1.0]])]
    reading = compute_reading(
        true, scale=make([[2.0, 1.0]]), bias=make([[0.5, -0.5]]), noise=noise
    )
    assert reading.tolist() == [[6.875, 0.0]]
    assert compute_reading(true) is true


@pytest.mark.parametrize("make", LIBRARIES)
def test_an_encoder_has_steps_where_it_has_a_quantum(make):
    reading = quantise(make([0.26, 0.24, 0.26]), make([0.1, 0.1, 0.0]))
    assert reading.tolist() == pytest.approx([0.3, 0.2, 0.26])


@pytest.mark.parametrize("make", LIBRARIES)
def test_a_history_tells_what_was(make):
    history = fill(make([[1.0], [2.0]]), 3)
    for value in (3.0, 4.0):
        history = remember(history, make([[value], [10 * value]]))
    assert history[:, :, 0].tolist() == [[4.0, 3.0, 1.0], [40.0, 30.0, 2.0]]
    assert recall(history, make([1, 2])).tolist() == [[3.0], [2.0]]
    assert recall(history, make([1]), make([1])).tolist() == [[30.0]]
    begun = restart(history, make([[7.0], [8.0]]), make([False, True]))
    assert begun[:, :, 0].tolist() == [[4.0, 3.0, 1.0], [8.0, 8.0, 8.0]]
    assert history[1, 0, 0] == 40.0  # the one before is as it was


@pytest.mark.parametrize("make", LIBRARIES)
def test_what_is_lost_leaves_the_last_one(make):
    rows, last = make([[1.0, 2.0], [3.0, 4.0]]), make([[5.0, 6.0], [7.0, 8.0]])
    found = hold(make([True, False]), rows, last)
    assert found.tolist() == [[1.0, 2.0], [7.0, 8.0]]


def test_a_filter_goes_its_share_of_the_way():
    share = find_share(1.0, HALF_WAY)
    assert share == pytest.approx(0.5)
    assert find_share(0.02, 0.0) == 1.0
    value = np.zeros(1)
    for _ in range(3):
        value = follow(value, np.ones(1), share)
    assert value == pytest.approx([1 - 0.5**3])
