"""What counts as seen, against hand arithmetic."""

import numpy as np
import pytest

from realworthy.residuals.envelope import Envelope, surround


def square() -> Envelope:
    """Box ±1 by ±2; ellipsoid of radius 3 standard deviations of 1."""
    return Envelope(
        lower=np.array([-1.0, -2.0]),
        upper=np.array([1.0, 2.0]),
        mean=np.zeros(2),
        whitening=np.eye(2),
        reach=3.0,
    )


def test_the_edge_of_the_box_is_at_distance_one():
    x = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.0], [2.0, 0.0], [0.0, -5.0]])
    assert square().distance(x) == pytest.approx([1.0, 1.0, 0.5, 2.0, 2.5])


def test_the_gate_is_whole_inside_and_closes_outside():
    gate = square().gate(np.array([[0.9, 0.0], [1.5, 0.0], [3.0, 0.0]]))
    assert gate[0] == 1.0
    assert gate[1] == pytest.approx(np.exp(-3.0))  # 6 × (1.5 − 1)
    assert gate[2] < 1e-5


def test_room_moves_every_edge_away_from_its_middle():
    wide = square().widen(1.5)
    x = np.array([[1.5, 0.0], [0.0, 3.0], [0.75, 0.0]])
    assert wide.distance(x) == pytest.approx([1.0, 1.0, 0.5])
    assert wide.reach == pytest.approx(4.5)


def test_inputs_never_seen_together_are_outside():
    random = np.random.default_rng(0)
    first = random.normal(size=4000)
    together = np.stack([first, first + 0.05 * random.normal(size=4000)], axis=1)
    envelope = surround(together)
    apart = np.array([[1.5, -1.5]])  # each alone is ordinary
    assert np.all(envelope.lower < apart)
    assert np.all(apart < envelope.upper)
    assert envelope.gate(apart)[0] < 1e-6
    assert envelope.gate(np.array([[1.5, 1.5]]))[0] == 1.0


def test_nearly_all_that_was_seen_is_inside():
    x = np.random.default_rng(1).normal(size=(5000, 3)) * [1.0, 5.0, 0.1]
    inside = surround(x).distance(x) <= 1.0 + 1e-9
    assert 0.99 < inside.mean() < 1.0


def test_an_input_that_never_moved_closes_the_gate_when_it_does():
    x = np.random.default_rng(2).normal(size=(500, 2)) * [1.0, 0.0]
    envelope = surround(x)
    assert envelope.gate(np.array([[0.3, 0.0]]))[0] == 1.0
    assert envelope.gate(np.array([[0.3, 0.1]]))[0] < 1e-6
