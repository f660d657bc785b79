"""Pieces of equal length, simulated together for many candidates at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.states import States
from realworthy.identification.problem.pieces import Piece
from realworthy.simulators.replay import Played, Replayer, Track, is_sound

Floats = NDArray[np.float64]
DIVERGED = 1e5
"""Residual of every row of a world that diverged: large, and finite."""
_MAX_WORLDS = 768
"""Most worlds that are simulated at once."""
_KEPT_SIZES = 4
"""Sizes of a crowd of worlds that are kept for another use."""


@dataclass(frozen=True, slots=True)
class PreparedRecording:
    """A recording on the physics clock, with what is known of its states and noise."""

    track: Track
    states: States
    noise: Floats
    """(joints,) sd of measured positions [rad or m]."""

    def channels(self, joints: Collection[str], *, velocities: bool) -> list["Channel"]:
        """What counts: positions, and velocities where recorded ones can be trusted."""
        own = [(i, joint) for i, joint in enumerate(self.track.joints)]
        chosen = [
            Channel(joint, "position", i, float(self.noise[i]))
            for i, joint in own
            if joint in joints
        ]
        for i, joint in own:
            trusted = self.states.velocity_source[joint] == "recorded"
            sd = float(self.states.velocity_sd[i])
            if velocities and trusted and joint in joints and sd > 0:
                chosen.append(Channel(joint, "velocity", i, sd))
        return chosen

    @property
    def velocity_spread(self) -> Floats:
        """(joints,) sd of the start's velocity: wide, since later rows tell it too."""
        states = self.states
        return 5 * states.velocity_sd + 0.05 * states.velocity.std(0) + 1e-9


@dataclass(frozen=True, slots=True)
class Channel:
    """One signal of one recording that counts."""

    joint: str
    quantity: str
    """`position` or `velocity`."""
    column: int
    sd: float


class ReplayerPool:
    """Worlds that play the tracks of one bound twin, by how many there are."""

    def __init__(self, tracks: Sequence[Track], thread_count: int) -> None:
        self._tracks, self._thread_count = tracks, thread_count
        self._players: dict[int, Replayer] = {}

    def get(self, world_count: int) -> Replayer:
        player = self._players.pop(world_count, None)
        if player is None:
            player = Replayer(
                self._tracks, world_count, thread_count=self._thread_count
            )
        self._players[world_count] = player  # the last used is the last to go
        while len(self._players) > _KEPT_SIZES:
            self._players.pop(next(iter(self._players)))
        return player


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
        self._position = np.array([s.track.position[p.first] for s, p in by_piece])
        self._smooth = np.array([s.states.position[p.first] for s, p in by_piece])
        self._velocity = np.array([s.states.velocity[p.first] for s, p in by_piece])
        self._position_sd = np.array([s.noise for s, _ in by_piece])
        self._velocity_sd = np.array([s.velocity_spread for s, _ in by_piece])

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
        count, piece_count = len(e), len(self.pieces)
        pairs = count * piece_count
        slab = -(
            -pairs // -(-pairs // _MAX_WORLDS)
        )  # slabs of equal size, few idle worlds
        out = np.empty((pairs, len(self._columns), self.kept_rows))
        blown = np.zeros(pairs, dtype=bool)
        player = self._crowd.get(slab)
        player.has_short_delays = self._has_short_delays
        for begin in range(0, pairs, slab):
            index = np.minimum(np.arange(begin, begin + slab), pairs - 1)
            candidate, piece = np.divmod(index, piece_count)
            player.simulator.write(e[candidate])
            played = self._play(player, starts[candidate, piece], piece)
            fresh = slice(0, min(slab, pairs - begin))
            out[begin : begin + slab] = self._compare(played, piece)[fresh]
            blown[begin : begin + slab] = ~is_sound(played)[fresh]
        out[blown] = DIVERGED
        np.clip(out, -DIVERGED, DIVERGED, out=out)
        lost = np.asarray(blown.reshape(count, piece_count).any(axis=1))
        return out.reshape(count, -1), lost

    def _play(
        self, player: Replayer, starts: Floats, piece: NDArray[np.intp]
    ) -> Played:
        joint_count = self._position.shape[1]
        middle = starts.shape[1] // 2
        position, velocity = self._smooth[piece], self._velocity[piece]
        if middle:
            off = starts[:, :joint_count], starts[:, middle : middle + joint_count]
            position = self._position[piece] + self._position_sd[piece] * off[0]
            velocity = velocity + self._velocity_sd[piece] * off[1]
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
