"""The fewest trials that are enough, against trying all of them."""

import pytest

from realworthy.gap.intervals import MOST_TRIALS, find_fewest_trials


@pytest.mark.parametrize("enough", [0, 1, 2, 3, 7, 64, 1000, MOST_TRIALS // 2])
def test_it_is_the_first_number_that_is_enough(enough: int):
    asked: list[int] = []

    def is_enough(more: int) -> bool:
        asked.append(more)
        return more >= enough

    assert find_fewest_trials(is_enough) == enough
    assert len(asked) <= 45


def test_nobody_waits_for_ever():
    assert find_fewest_trials(lambda more: more > 2 * MOST_TRIALS) is None
