"""What a least-squares fit asks of a problem."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.identification.problem.coordinates import FitCoordinates

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Residuals:
    """Residuals of several candidates."""

    values: Floats
    """(n, N) whitened: simulated minus measured, over the noise's sd."""
    diverged: NDArray[np.bool_]
    """(n,) whether any of a candidate's worlds diverged; its residuals are large."""


class SumOfSquares(ABC):
    """N residuals of z, in pieces that each have `start_count` numbers of their own.

    These numbers are expected to be 0 with standard deviation 1; a residual depends on
    those of its own piece alone.
    """

    coordinates: FitCoordinates
    start_count: int
    runs: Sequence[slice]
    """Place of each piece among the residuals."""
    series: Sequence[slice]
    """Place of each signal of each piece among them: one number per row of time."""
    labels: NDArray[np.intp]
    """(N,) number of the joint that a residual is about."""

    @abstractmethod
    def residuals(self, z: ArrayLike, starts: Floats | None = None) -> Residuals:
        """Residuals of n candidates: (n, d) coordinates and (n, pieces, k) starts.

        Starts are zero where not given.
        """


@dataclass(frozen=True, slots=True)
class Point:
    """Where a search stands: (d,) z, (pieces, k) starts and (N,) residuals."""

    z: Floats
    starts: Floats
    residuals: Floats


def evaluate_at(
    problem: SumOfSquares, z: Floats, starts: Floats | None = None
) -> Point:
    """z with every start as measured, or where (pieces, k) `starts` say."""
    if starts is None:
        starts = np.zeros((len(problem.runs), problem.start_count))
    return Point(z, starts, problem.residuals(z[None], starts[None]).values[0])
