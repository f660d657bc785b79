"""Steps of a formula are found where the formula has them."""

import numpy as np

from realworthy.recordings.motion import Motion
from realworthy.retargeting.contacts import drop_short, find_contacts, find_slope

from .conftest import STEP


def test_steps_are_found_where_they_are(person: Motion):
    assert person.bodies is not None
    stands, height = find_contacts(person.time, person.bodies["LeftFoot"], 0.83)
    expected = (person.time / STEP) % 1.0 < 0.6
    assert height == np.float64(0.08)
    assert (stands == expected).mean() > 0.93  # edges are slow and low, too


def test_short_pauses_and_steps_are_none():
    time = np.arange(40) / 100
    flags = np.zeros(40, dtype=bool)
    flags[10:30] = True
    flags[15] = False
    flags[39] = True
    found = drop_short(time, flags)
    assert found[10:30].all()
    assert not found[39]


def test_a_tilted_ground_is_measured(person: Motion):
    assert person.bodies is not None
    tracks = []
    for name in ("LeftFoot", "RightFoot", "LeftToeBase", "RightToeBase"):
        track = person.bodies[name].copy()
        track[:, 2] += 0.03 * track[:, 1]
        tracks.append(track)
    slope = find_slope(person.time, tracks, 0.83)
    np.testing.assert_allclose(slope, [0, 0.03], atol=2e-3)


def test_the_top_of_a_jump_is_no_ground():
    t = np.arange(300) / 100
    up = np.where((t > 1) & (t < 1.6), 4.9 * (t - 1) * (1.6 - t), 0.0)
    place = np.stack([0 * t, np.clip(t - 1, 0, 0.6), up], axis=1)
    np.testing.assert_allclose(find_slope(t, [place], 0.9), 0.0, atol=1e-3)


def test_stairs_are_not_levelled():
    t = np.arange(200) / 100
    place = np.stack([0.4 * np.floor(t * 2), 0 * t, 0.17 * np.floor(t * 2)], axis=1)
    np.testing.assert_array_equal(find_slope(t, [place], 0.9), 0.0)
