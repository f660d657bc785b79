"""Everything random about worlds of a reality: a pure function of seed and moment."""

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import Draws

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
_EPISODE = 1_000_003
"""Numbers of draws that are kept for one episode; a tick takes one."""


class RealityChance:
    """Draws of worlds by name, in their present episodes (`begin`) and ticks."""

    def __init__(self, seed: int, world_count: int) -> None:
        self.numbers = np.arange(world_count)
        """(worlds,) whose draws a world has; of a single robot, those of its trial."""
        self.everywhere = np.arange(world_count)
        self.tick = np.zeros(world_count, dtype=np.int64)
        self._episode = np.zeros_like(self.tick)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        self._seed = seed
        self._episode[:] = -1

    def begin(self, worlds: Ids) -> None:
        """Another episode of some worlds."""
        self._episode[worlds] += 1
        self.tick[worlds] = 0

    def normal(
        self, stream: str, sd: float | Floats, width: int, worlds: Ids
    ) -> Floats:
        """(n, width) normal numbers; `sd` is a number or (n, width)."""
        if not np.any(sd):
            return np.zeros((len(worlds), width))
        draws, now = Draws(self._seed, stream), self._find_now(worlds)
        return sd * draws.normal(self.numbers[worlds], width, episode=now)

    def uniform(self, stream: str, worlds: Ids) -> Floats:
        """(n,) numbers between 0 and 1."""
        draws, now = Draws(self._seed, stream), self._find_now(worlds)
        return draws.uniform(self.numbers[worlds], 1, episode=now)[:, 0]

    def happens(self, stream: str, probability: float) -> NDArray[np.bool_]:
        """(worlds,) whether something of this probability happens now."""
        if not probability:
            return np.zeros(len(self.tick), dtype=np.bool_)
        return self.uniform(stream, self.everywhere) < probability

    def _find_now(self, worlds: Ids) -> NDArray[np.int64]:
        return self._episode[worlds] * _EPISODE + self.tick[worlds]
