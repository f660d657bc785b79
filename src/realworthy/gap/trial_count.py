"""How many more trials an answer takes."""

from collections.abc import Callable

MOST_TRIALS = 1_000_000
"""Trials beyond which nobody waits for an answer."""


def find_fewest_trials(is_enough: Callable[[int], bool]) -> int | None:
    """Fewest further trials that are enough; None where `MOST_TRIALS` would not do.

    `is_enough` must stay true once it is; it is asked some twenty times.
    """
    if is_enough(0):
        return 0
    low, high = 0, 1
    while not is_enough(high):
        low, high = high, 2 * high
        if high > MOST_TRIALS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
