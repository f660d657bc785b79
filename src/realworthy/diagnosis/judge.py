"""How badly a world predicts the recordings, whatever its starts were."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.bench import Bench
from realworthy.diagnosis.suspects import Case

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
        self._shift = self.bench.shift_starts(base)  # (pieces, M, k)
        gram = np.einsum("pmk,pml->pkl", self._shift, self._shift)
        self._solve = np.linalg.inv(gram + np.eye(gram.shape[1]))

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
        own = slice(None) if places is None else list(places)
        shift, solve = self._shift[own], self._solve[own]
        known = np.einsum("pmk,npm->npk", shift, residuals)
        off = np.einsum("pkl,npl->npk", solve, known)
        return residuals - np.einsum("pmk,npk->npm", shift, off)

    def losses(self, squares: Floats) -> Floats:
        """(…, pieces, joints): −log likelihood where the noise's size is not known.

        Grows with the logarithm of the residuals, so that no piece and no joint
        outweighs all others, and hardly changes below the noise.
        """
        return 0.5 * self.bench.pieces[0].block_count * np.log1p(squares)

    def weights(self, square: Floats) -> Floats:
        """(pieces, M) of squared residuals around (pieces, joints) squares."""
        return np.tile(1 / (1 + square), (1, self.bench.pieces[0].block_count))
