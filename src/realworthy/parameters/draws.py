"""Random numbers that depend on who asks, not on when or in which order.

A draw is a pure function of (seed, stream, world, episode, index): Philox-4x32 with ten
rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). World 7
gets the same numbers whether it is one of 8 worlds or of 4,096, on any thread count.
"""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


def philox(counter: NDArray[np.uint64], key: tuple[int, int]) -> NDArray[np.uint64]:
    """Four 32-bit words for each row of `counter` (n, 4), as uint64 below 2³²."""
    c0, c1, c2, c3 = (counter[:, column] & _LOW for column in range(4))
    k0, k1 = key
    for _ in range(10):
        product0, product1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (
            (product1 >> _WORD) ^ c1 ^ np.uint64(k0),
            product1 & _LOW,
            (product0 >> _WORD) ^ c3 ^ np.uint64(k1),
            product0 & _LOW,
        )
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1)


@dataclass(frozen=True, slots=True)
class Draws:
    """The random numbers of one named stream, such as `Draws(7, "belief")`."""

    seed: int
    stream: str

    def uniform(
        self, worlds: ArrayLike, width: int, *, episode: ArrayLike = 0
    ) -> NDArray[np.float64]:
        """(worlds, width) numbers in the open interval (0, 1), 53 bits each."""
        ids = np.atleast_1d(np.asarray(worlds, dtype=np.uint64))
        episodes = np.broadcast_to(np.asarray(episode, dtype=np.uint64), ids.shape)
        blocks = (width + 1) // 2  # one Philox block makes two doubles
        counter = np.empty((len(ids), blocks, 4), dtype=np.uint64)
        counter[..., 0] = np.arange(blocks, dtype=np.uint64)
        counter[..., 1] = ids[:, None]
        counter[..., 2] = episodes[:, None]
        counter[..., 3] = zlib.crc32(self.stream.encode())
        key = (self.seed & 0xFFFFFFFF, (self.seed >> 32) & 0xFFFFFFFF)
        words = philox(counter.reshape(-1, 4), key).reshape(len(ids), blocks * 2, 2)
        mantissa = (words[..., 0] >> np.uint64(5)) * 2.0**26 + (
            words[..., 1] >> np.uint64(6)
        )
        return np.asarray((mantissa + 0.5) * 2.0**-53, dtype=np.float64)[:, :width]

    def normal(
        self, worlds: ArrayLike, width: int, *, episode: ArrayLike = 0
    ) -> NDArray[np.float64]:
        """(worlds, width) independent standard normal numbers."""
        from scipy.special import ndtri

        return ndtri(self.uniform(worlds, width, episode=episode))
