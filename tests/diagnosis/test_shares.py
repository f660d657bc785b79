"""Shapley values against hand arithmetic."""

import numpy as np

from realworthy.diagnosis.diagnosis import CauseKind
from realworthy.diagnosis.fitting import Tried
from realworthy.diagnosis.shares import attribute
from realworthy.diagnosis.suspects import Number, Suspect

WORTH = {(): 13.0, ("a",): 7.0, ("b",): 9.0, ("a", "b"): 1.0}
"""Loss with each set of causes corrected; noise alone would leave 1."""


class Table:
    """A judge that looks squares up."""

    def losses(self, squares):
        return squares

    def squares(self, cases):
        return np.array(
            [np.full((4, 1), WORTH[tuple(sorted(case.values))]) for case in cases]
        )


def suspect(name):
    number = Number(name, 0.0, 1.0, "", (name,))
    return Suspect(name, CauseKind.PARAMETRIC, (), (number,))


def test_shares_are_the_mean_over_both_orders():
    both = Tried(
        (suspect("a"), suspect("b")), ((1.0,), (1.0,)), np.ones((4, 1)), np.ones((4, 1))
    )
    found = attribute(Table(), both)  # pyright: ignore[reportArgumentType]
    # a first: 6 of 12, a second: 8 of 12; b first: 4, b second: 6
    np.testing.assert_allclose(found.shares, [7 / 12, 5 / 12])
    assert found.unexplained == 0.0
    np.testing.assert_array_equal(found.without[0], np.full((4, 1), 9.0))
    for (low, high), share in zip(found.intervals, found.shares, strict=True):
        assert low <= share <= high
