"""Pieces of equal length, simulated together for many candidates at once.

A candidate is a point of a fit, or a suspect of a diagnosis: anything that can be put
into worlds. Candidates × pieces are spread over worlds, and every world that diverges
has the same large residual.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.pieces import Piece
from realworthy.identification.problem.preparation import Channel, PreparedRecording
from realworthy.simulators.replay import Played, Replayer, Track, is_sound

Floats = NDArray[np.float64]
DIVERGED = 1e5
"""Residual of every row of a world that diverged: large, and finite."""
MAX_WORLDS = 768
"""Most worlds that are simulated at once."""
_KEPT_SIZES = 4
"""Sizes of a crowd of worlds that are kept for another use."""
Player = TypeVar("Player")


@dataclass(frozen=True, slots=True)
class PieceStarts:
    """Where pieces start, (pieces, joints) each: values and how well they are known."""

    position: Floats
    velocity: Floats
    position_sd: Floats
    velocity_sd: Floats

    def shift(
        self, piece: NDArray[np.intp], position: Floats, velocity: Floats
    ) -> tuple[Floats, Floats]:
        """Positions and velocities of (worlds,) pieces, moved by so many sd."""
        return (
            self.position[piece] + self.position_sd[piece] * position,
            self.velocity[piece] + self.velocity_sd[piece] * velocity,
        )


class WorldPool(Generic[Player]):
    """Worlds that were made, by what they can play; the last used are kept."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._players: dict[Hashable, Player] = {}

    def get(self, key: Hashable, make: Callable[[], Player]) -> Player:
        """The worlds of a key, made where there are none."""
        player = self._players.pop(key, None)
        player = make() if player is None else player
        self._players[key] = player  # the last used is the last to go
        while len(self._players) > self._kept:
            self._players.pop(next(iter(self._players)))
        return player


class ReplayerPool:
    """Worlds that play the tracks of one bound twin, by how many there are."""

    def __init__(self, tracks: Sequence[Track], thread_count: int) -> None:
        self._tracks, self._thread_count = tracks, thread_count
        self._pool: WorldPool[Replayer] = WorldPool(_KEPT_SIZES)

    def get(self, world_count: int) -> Replayer:
        return self._pool.get(
            world_count,
            lambda: Replayer(
                self._tracks, world_count, thread_count=self._thread_count
            ),
        )


def count_worlds(pair_count: int, multiple: int = 1) -> int:
    """Worlds for so many pairs, in slabs of equal size: few idle worlds, few sizes."""
    slabs = -(-pair_count // MAX_WORLDS)
    return -(-pair_count // (slabs * multiple)) * multiple


def evaluate_pairs(
    candidate_count: int,
    pieces: NDArray[np.intp],
    world_count: int,
    simulate: Callable[
        [NDArray[np.intp], NDArray[np.intp]], tuple[Floats, NDArray[np.bool_]]
    ],
) -> tuple[Floats, NDArray[np.bool_]]:
    """(candidates, pieces, …) residuals, and which (candidates, pieces) diverged.

    `simulate` takes candidate and piece of every world, and gives residuals by world
    and which worlds got through. Worlds that are left over repeat the last pair.
    """
    pairs = candidate_count * len(pieces)
    out, lost = np.empty(0), np.zeros(pairs, dtype=bool)
    for begin in range(0, pairs, world_count):
        index = np.minimum(np.arange(begin, begin + world_count), pairs - 1)
        candidate, place = np.divmod(index, len(pieces))
        values, sound = simulate(candidate, pieces[place])
        if begin == 0:
            out = np.empty((pairs, *values.shape[1:]))
        slab = slice(begin, min(begin + world_count, pairs))
        out[slab] = values[: slab.stop - begin]
        lost[slab] = ~sound[: slab.stop - begin]
    out[lost] = DIVERGED
    np.clip(out, -DIVERGED, DIVERGED, out=out)
    shape = (candidate_count, len(pieces))
    return out.reshape(*shape, *out.shape[1:]), lost.reshape(shape)


class PieceBatch:
    """Pieces of equal length and channels; worlds are candidates × pieces."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        sources: Sequence[PreparedRecording],
        channels: Sequence[Sequence[Channel]],
        crowd: ReplayerPool,
        *,
        places: Sequence[int],
        skipped_rows: int,
        has_short_delays: bool,
    ) -> None:
        """`sources`, `channels` and `places` (which track of the crowd) by piece."""
        self.pieces, self._crowd = tuple(pieces), crowd
        self._has_short_delays = has_short_delays
        self.row_count = pieces[0].row_count
        # the start row itself is no residual: it enters as the prior of the start
        self._kept = slice(
            1 + min(skipped_rows, self.row_count - 1), self.row_count + 1
        )
        self._places = np.array(places, dtype=np.intp)
        self._firsts = np.array([piece.first for piece in pieces], dtype=np.intp)
        self.channels = tuple(tuple(own) for own in channels)
        self._columns = [(c.quantity, c.column) for c in self.channels[0]]
        self._sd = np.array([[c.sd for c in own] for own in channels])
        self._measured = np.array(
            [
                self._cut(source.track, piece.first)
                for source, piece in self._both(sources)
            ]
        )
        by_piece = list(self._both(sources))
        self._smooth = np.array([s.states.position[p.first] for s, p in by_piece])
        self._starts = PieceStarts(
            position=np.array([s.track.position[p.first] for s, p in by_piece]),
            velocity=np.array([s.states.velocity[p.first] for s, p in by_piece]),
            position_sd=np.array([s.noise for s, _ in by_piece]),
            velocity_sd=np.array([s.velocity_spread for s, _ in by_piece]),
        )

    def find_rows(self, piece: Piece) -> slice:
        """Rows of its recording that a piece's residuals are about."""
        return slice(piece.first + self._kept.start, piece.first + self._kept.stop)

    @property
    def kept_rows(self) -> int:
        """Residuals per channel and piece."""
        return self._kept.stop - self._kept.start

    @property
    def motion_squares(self) -> Floats:
        """(N,) what was measured around the mean of its series, over the sd."""
        moved = self._measured - self._measured.mean(axis=2, keepdims=True)
        return np.ravel((moved / self._sd[..., None]) ** 2)

    def evaluate(self, e: Floats, starts: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """(n, pieces · channels · rows) residuals, and which of n candidates diverged.

        `starts` is (n, pieces, k); with k = 0 pieces start from smoothed measurements.
        """
        pieces = np.arange(len(self.pieces))
        player = self._crowd.get(count_worlds(len(e) * len(pieces)))
        player.has_short_delays = self._has_short_delays

        def simulate(
            candidate: NDArray[np.intp], piece: NDArray[np.intp]
        ) -> tuple[Floats, NDArray[np.bool_]]:
            player.simulator.write(e[candidate])
            played = self._play(player, starts[candidate, piece], piece)
            return self._compare(played, piece), is_sound(played)

        values, diverged = evaluate_pairs(
            len(e), pieces, player.simulator.world_count, simulate
        )
        return values.reshape(len(e), -1), np.asarray(diverged.any(axis=1))

    def _play(
        self, player: Replayer, starts: Floats, piece: NDArray[np.intp]
    ) -> Played:
        joints, middle = self._smooth.shape[1], starts.shape[1] // 2
        position, velocity = self._smooth[piece], self._starts.velocity[piece]
        if middle:
            position, velocity = self._starts.shift(
                piece, starts[:, :joints], starts[:, middle : middle + joints]
            )
        return player.play(
            self._firsts[piece],
            self.row_count + 1,
            tracks=self._places[piece],
            position=position,
            velocity=velocity,
        )

    def _compare(self, played: Played, piece: NDArray[np.intp]) -> Floats:
        """(worlds, channels, rows) simulated minus measured over the noise's sd."""
        out = np.empty((len(piece), len(self._columns), self.kept_rows))
        for k, (quantity, column) in enumerate(self._columns):
            simulated = getattr(played, quantity)[:, self._kept, column]
            out[:, k] = simulated - self._measured[piece, k]
        return out / self._sd[piece][..., None]

    def _cut(self, track: Track, first: int) -> list[Floats]:
        rows = slice(first + self._kept.start, first + self._kept.stop)
        return [getattr(track, q)[rows, column] for q, column in self._columns]

    def _both(
        self, sources: Sequence[PreparedRecording]
    ) -> list[tuple[PreparedRecording, Piece]]:
        return list(zip(sources, self.pieces, strict=True))
