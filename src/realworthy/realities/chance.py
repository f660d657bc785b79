"""Everything random about a stand-in, as a pure function of seed, trial and tick."""

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import Draws

Floats = NDArray[np.float64]


class Chance:
    """Draws by name for the present trial (counted by `connect`) and tick (`wait`)."""

    def __init__(self, seed: int) -> None:
        self.seed, self.trial, self.tick = seed, 0, 0

    def normal(self, stream: str, sd: float | Floats, width: int) -> Floats:
        """(width,) normal numbers of standard deviation `sd`, a number or (width,)."""
        if not np.any(sd):
            return np.zeros(width)
        draws = Draws(self.seed, stream)
        return sd * draws.normal(self.trial, width, episode=self.tick)[0]

    def happens(self, stream: str, probability: float) -> bool:
        """Whether something of this probability happens now."""
        if not probability:
            return False
        draws = Draws(self.seed, stream).uniform(self.trial, 1, episode=self.tick)
        return bool(draws[0, 0] < probability)
