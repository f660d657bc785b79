"""Repeatable random numbers."""

import numpy as np
import pytest
from scipy import stats

from realworthy.parameters import Draws
from realworthy.parameters.draws import philox


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_published_answers(counter, key, expected):
    words = philox(np.array([counter], dtype=np.uint64), key)[0]
    assert " ".join(f"{int(word):08x}" for word in words) == expected


def test_a_world_gets_the_same_numbers_in_any_company():
    draws = Draws(7, "belief")
    together = draws.uniform(np.arange(100), 5)
    alone = draws.uniform([42], 5)
    shuffled = draws.uniform([9, 42, 3], 5)
    np.testing.assert_array_equal(together[42], alone[0])
    np.testing.assert_array_equal(together[42], shuffled[1])


def test_a_longer_draw_begins_like_a_shorter_one():
    draws = Draws(7, "belief")
    np.testing.assert_array_equal(draws.uniform([3], 9)[:, :4], draws.uniform([3], 4))


def test_seed_stream_world_and_episode_all_matter():
    rows = [
        Draws(1, "a").uniform([0], 4),
        Draws(2, "a").uniform([0], 4),
        Draws(1 + 2**32, "a").uniform([0], 4),
        Draws(1, "b").uniform([0], 4),
        Draws(1, "a").uniform([1], 4),
        Draws(1, "a").uniform([0], 4, episode=1),
    ]
    assert len({row.tobytes() for row in rows}) == len(rows)


def test_uniforms_are_uniform_within_and_across_worlds():
    many = Draws(3, "test").uniform(np.arange(20_000), 4)
    assert many.min() > 0
    assert many.max() < 1
    for column in many.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    assert np.abs(np.corrcoef(many.T) - np.eye(4)).max() < 0.03


def test_normals_are_normal():
    normal = Draws(3, "test").normal(np.arange(20_000), 1)[:, 0]
    assert stats.kstest(normal, "norm").pvalue > 1e-3
