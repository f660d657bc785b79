"""How badly a world predicts the recordings, whatever its starts were."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.bench import Bench
from realworthy.diagnosis.suspects import Case
from realworthy.identification.solver.covariance import follow_starts

Floats = NDArray[np.float64]


class Judge:
    """Losses of cases on a bench, with what wrong starts could explain taken out."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.settle(Case())

    @property
    def piece_count(self) -> int:
        return len(self.bench.pieces)

    def settle(self, base: Case) -> None:
        """Learns how starts act around a base case."""
        self._by_start = self.bench.shift_starts(base)  # (pieces, M, k)

    def squares(self, cases: Sequence[Case]) -> Floats:
        """(cases, pieces, joints) mean squared residuals, in noise variances."""
        return self.condense(self.bench.evaluate(cases))

    def condense(
        self, residuals: Floats, places: Sequence[int] | None = None
    ) -> Floats:
        """(n, pieces, joints) of (n, pieces, M) residuals, at some pieces or all."""
        return self.square(self.clean(residuals, places))

    def square(self, clean: Floats) -> Floats:
        """(n, pieces, joints) mean squares of (n, pieces, M) cleaned residuals."""
        count, pieces, _ = clean.shape
        shape = (count, pieces, -1, len(self.bench.joints))
        return np.mean(clean.reshape(shape) ** 2, axis=2)

    def clean(self, residuals: Floats, places: Sequence[int] | None = None) -> Floats:
        """Residuals (n, pieces, M) without what wrong starts explain."""
        by_start = self._by_start if places is None else self._by_start[list(places)]
        columns = np.moveaxis(residuals, 0, -1)  # (pieces, M, n)
        left = columns - by_start @ follow_starts(by_start, columns)
        return np.moveaxis(left, -1, 0)

    def losses(self, squares: Floats) -> Floats:
        """(…, pieces, joints): −log likelihood where the noise's size is not known.

        Grows with the logarithm of the residuals, so that no piece and no joint
        outweighs all others, and hardly changes below the noise.
        """
        return 0.5 * self.bench.block_count * np.log1p(squares)

    def weights(self, square: Floats) -> Floats:
        """(pieces, M) of squared residuals around (pieces, joints) squares."""
        return np.tile(1 / (1 + square), (1, self.bench.block_count))
