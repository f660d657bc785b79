"""Recordings cut into pieces, each simulated from a start of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.states import States
from realworthy.simulators.replay import Replayer, Track

Floats = NDArray[np.float64]
_UNCUT_SECONDS = 20.0
"""[s] beyond which a recording is cut although nothing grows in it."""
_CUT_SECONDS = 10.0
"""[s] of the pieces of a long recording."""
_GROWTH_SECONDS = 4.0
"""[s] over which the growth of a wrong start is watched."""
_UNSTABLE_GROWTH, _E_FOLD = 10.0, float(np.e)
"""Growth over `_GROWTH_SECONDS` that is no accident (less over less time), and one
fold."""
_GROWTH_STARTS = 12
"""Starts from which growth is watched; the median of fewer turns on one of them."""
_MIN_ROWS = 10
"""Rows per piece: fewer do not outnumber its own start, position and velocity of each
joint, by much."""
_EQUALISED_SHARE = 0.97
"""Share of a piece's rows that must be left when pieces are made equally long."""


@dataclass(frozen=True, slots=True)
class PieceHorizon:
    """After how long pieces start again, and why."""

    seconds: float
    why: str = "Pieces are as long as was asked for."
    grows: bool = False
    """Whether an error of the start grows, by e within this time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one recording that are simulated from a start of their own."""

    recording: int
    first: int
    """Row of the start."""
    row_count: int
    """Rows after the start."""


def cut_pieces(track: Track, recording: int, horizon: float) -> list[Piece]:
    """Pieces of equal length near `horizon` [s]; one that is infinite leaves it whole.

    A few rows at the end that fill no piece are left out.
    """
    rows = len(track.rows) - 1
    wanted = min(rows, max(_MIN_ROWS, horizon * track.recording.rate))
    count = max(1, round(rows / wanted))
    length = rows // count
    return [Piece(recording, k * length, length) for k in range(count)]


def equalise_lengths(pieces: Sequence[Piece], crowds: Sequence[int]) -> list[Piece]:
    """The same pieces, those of one crowd and nearly one length made equally long.

    Equal pieces are simulated together; a few rows at their ends are left out. `crowds`
    says which worlds play each recording.
    """
    made, lengths = [], {}
    for piece in sorted(pieces, key=lambda p: p.row_count):
        crowd = crowds[piece.recording]
        length = lengths.get(crowd, 0)
        if length < _EQUALISED_SHARE * piece.row_count:
            length = lengths[crowd] = piece.row_count
        made.append(Piece(piece.recording, piece.first, length))
    return sorted(made, key=lambda p: (p.recording, p.first))


def cut_liveliest(piece: Piece, track: Track, noise: Floats, seconds: float) -> Piece:
    """The part of a piece in which joints move most, beside (joints,) `noise`."""
    rows = max(_MIN_ROWS, round(seconds * track.recording.rate))
    if rows >= piece.row_count:
        return piece
    positions = track.position[piece.first : piece.first + piece.row_count + 1]
    way = np.abs(np.diff(positions, axis=0) / noise).sum(axis=1).cumsum()
    firsts = np.arange(0, piece.row_count - rows + 1, max(1, rows // 4))
    moved = way[firsts + rows - 1] - way[firsts]
    first = int(firsts[np.argmax(moved)])
    return Piece(piece.recording, piece.first + first, rows)


def choose_horizon(
    tracks: Sequence[Track], states: Sequence[States], e: Floats
) -> PieceHorizon:
    """When pieces should start again, watching how wrong starts grow at (d,) e."""
    growth = [
        _watch_growth(track, state, e)
        for track, state in zip(tracks, states, strict=True)
    ]
    folds = [fold for fold in growth if fold is not None]
    if folds:
        fold = min(folds)
        why = (
            f"A small error of the start grows e-fold in {fold:.2g} s, so recordings "
            "are simulated in pieces, of that length at first."
        )
        return PieceHorizon(fold, why, grows=True)
    longest = max(track.recording.duration for track in tracks)
    if longest > _UNCUT_SECONDS:
        why = (
            f"Recordings of up to {longest:.0f} s are simulated in pieces of "
            f"{_CUT_SECONDS:g} s, each from a start of its own."
        )
        return PieceHorizon(_CUT_SECONDS, why)
    return PieceHorizon(np.inf, "Every recording is simulated as a whole.")


def _watch_growth(track: Track, states: States, e: Floats) -> float | None:
    """[s] in which an error of the start grows e-fold; None where it never grows."""
    rate, rows = track.recording.rate, len(track.rows)
    length = int(min(_GROWTH_SECONDS * rate, 2 * rows / 3))
    if length < _MIN_ROWS:
        return None
    starts = np.unique(
        np.linspace(0, rows - 1 - length, _GROWTH_STARTS).astype(np.intp)
    )
    player = Replayer(track, 2 * len(starts))
    player.simulator.write(e)
    first = np.concatenate([starts, starts])
    position, velocity = states.position[first], states.velocity[first]
    kick = 1e-3 * np.ptp(track.position, axis=0) + 1e-6
    position[len(starts) :] += kick
    played = player.play(first, length + 1, position=position, velocity=velocity)
    apart = (played.position[len(starts) :] - played.position[: len(starts)]) / kick
    size = np.sqrt(np.mean(apart**2, axis=2))  # (starts, rows), 1 at the start
    typical = np.median(np.nan_to_num(size, nan=np.inf), axis=0)
    watched = length / (_GROWTH_SECONDS * rate)
    if typical.max() < max(_E_FOLD, _UNSTABLE_GROWTH**watched):
        return None
    folded = int(np.argmax(typical > _E_FOLD))
    return max(folded, _MIN_ROWS) / rate
