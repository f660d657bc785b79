"""Recordings of a robot as residuals of a twin: what a fit makes small."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadRecording, RealworthyError, UnknownName
from realworthy.identification.problem.batch import PieceBatch, ReplayerPool
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.identification.problem.pieces import (
    Piece,
    PieceHorizon,
    choose_horizon,
    cut_liveliest,
    cut_pieces,
    equalise_lengths,
)
from realworthy.identification.problem.preparation import (
    Channel,
    prepare_recordings,
)
from realworthy.identification.problem.residuals import Residuals, SumOfSquares
from realworthy.parameters import ParameterSpace
from realworthy.recordings import Recording, distinct_names
from realworthy.simulators.replay import Track, lay_out_all
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_LEVELLED_SHARE = 0.8
"""Share of the longest piece from which pieces are of nearly one length."""


class Problem(SumOfSquares):
    """How far worlds with given e are from recordings, in units of the noise.

    Residuals are ordered by piece, then signal, then row. Beside e every piece has
    `start_count` numbers of its own: how far its start lies from the measured one, in
    standard deviations of what is known about it.
    """

    def __init__(
        self,
        twin: Twin,
        recordings: Recording | Iterable[Recording],
        space: ParameterSpace | Sequence[str],
        *,
        joints: Sequence[str] | None = None,
        noise: float | Mapping[str, float] | None = None,
        velocities: bool = False,
        horizon: float | None = None,
        skip: float = 0.0,
        estimate_starts: bool = True,
        thread_count: int = 0,
    ) -> None:
        """`joints` count (all by default); `noise` is the sd of their positions [rad].

        `velocities` adds recorded velocities where they are the derivative of the
        positions. Pieces start again every `horizon` [s] (None: chosen from the data,
        inf: never), and `skip` [s] after a start do not count.
        """
        self.twin = twin
        self.space = _check_space(twin, space)
        self.coordinates = FitCoordinates(self.space)
        self.tracks = lay_out_all(twin, _check_recordings(recordings), self.space)
        self._joints = _check_joints(self.tracks, joints)
        self.sources = prepare_recordings(self.tracks, noise)
        """Tracks with what is known of their states and noise."""
        self._velocities, self._skip = velocities, skip
        self._has_short_delays = False
        self._crowds = _gather(self.tracks, thread_count)
        self.start_count = (
            2 * max(len(track.joints) for track in self.tracks) * estimate_starts
        )
        """Numbers per piece that describe its start: positions, then velocities."""
        if horizon is None:
            states = [source.states for source in self.sources]
            e = self.coordinates.from_z(self.start_z)
            self.horizon = choose_horizon(self.tracks, states, e)
        else:
            self.horizon = PieceHorizon(horizon)
        self.evaluation_count = 0
        """Candidates that were simulated so far."""
        self.diverged_count = 0
        """How many of them diverged."""
        self._arrange(self._cut(self.horizon.seconds))

    @property
    def start_z(self) -> Floats:
        """(d,) the twin's nominal values as coordinates."""
        return self.coordinates.to_z(self.space.nominal)

    @property
    def names(self) -> list[str]:
        """One name for each recording."""
        return distinct_names([track.recording for track in self.tracks])

    @property
    def seconds(self) -> float:
        """Recorded time for which one candidate is simulated [s]."""
        rates = [self.tracks[p.recording].recording.rate for p in self.pieces]
        return sum(p.row_count / r for p, r in zip(self.pieces, rates, strict=True))

    @property
    def motion(self) -> float:
        """Root mean square of what was measured around its mean, in sd of the noise."""
        squares = [block.motion_squares for block in self._blocks]
        return float(np.sqrt(np.mean(np.concatenate(squares))))

    def thinned(self, every: int) -> "Problem":
        """The same problem with one piece out of `every`; it counts for itself."""
        first = min(every // 2, len(self.pieces) - 1)
        return self._with_pieces(self.pieces[first::every])

    def with_short_delays(self) -> "Problem":
        """The same problem, delays below a time step being what they are.

        MuJoCo makes them whole steps, so that residuals jump where a delay begins, and
        are flat from there. From afar that helps to notice one; near the answer it
        stands in the way. It counts for itself.
        """
        other = copy.copy(self)
        other._has_short_delays = True
        return other._with_pieces(self.pieces)

    def glimpsed(self, seconds: float) -> "Problem":
        """The same problem with the liveliest so many seconds of each piece alone.

        It counts for itself.
        """
        sources = [self.sources[piece.recording] for piece in self.pieces]
        both = zip(self.pieces, sources, strict=True)
        return self._with_pieces(
            [cut_liveliest(p, s.track, s.noise, seconds) for p, s in both]
        )

    def restricted(self, recordings: Sequence[int]) -> "Problem":
        """The same problem with these recordings alone; it counts for itself."""
        chosen = set(recordings)
        return self._with_pieces([p for p in self.pieces if p.recording in chosen])

    def of_pieces(self, numbers: Sequence[int]) -> "Problem":
        """The same problem with these pieces, each as often as it is named."""
        return self._with_pieces([self.pieces[i] for i in numbers])

    def cut_anew(self, seconds: float) -> "Problem":
        """The same problem in pieces of another length; it counts for itself."""
        present = {piece.recording for piece in self.pieces}
        again = [p for p in self._cut(seconds) if p.recording in present]
        return self._with_pieces(again)

    def fronts(self, share: float) -> "Problem":
        """The same problem with the first rows of each piece alone, a share of them.

        Starts stay where they are; it counts for itself.
        """
        return self._with_pieces(
            [
                replace(p, row_count=max(1, int(share * p.row_count)))
                for p in self.pieces
            ]
        )

    def overlapping(self, apart: float) -> "Problem":
        """The same problem, pieces of the same length beginning every `apart` [s].

        They begin within the pieces of this one, and end with the recording at the
        latest; it counts for itself.
        """
        made = []
        for piece in self.pieces:
            track = self.tracks[piece.recording]
            step = max(1, round(apart * track.recording.rate))
            last = len(track.rows) - 1 - piece.row_count
            ends = min(piece.first + piece.row_count, last + 1)
            firsts = range(piece.first, ends, step)
            made += [replace(piece, first=first) for first in firsts]
        return self._with_pieces(made)

    def sort_starts(self, starts: Floats, other: "Problem") -> Floats:
        """(pieces, k) starts of the same pieces of another problem, in this order."""
        places = {(p.recording, p.first): i for i, p in enumerate(other.pieces)}
        return starts[[places[p.recording, p.first] for p in self.pieces]]

    def spread(self, seconds: float, most: int) -> "Problem":
        """The same problem in about `most` pieces of another length.

        They are spread evenly over all recordings, whichever pieces this one has; it
        counts for itself.
        """
        pieces = self._cut(seconds)
        every = max(1, round(len(pieces) / most))
        return self._with_pieces(pieces[every // 2 :: every] or pieces).levelled()

    def levelled(self) -> "Problem":
        """The same problem, pieces of nearly one length cut to one; quicker so.

        Pieces of one length are simulated together. Shorter ones stay as they are.
        """
        longest = max(piece.row_count for piece in self.pieces)
        alike = [
            p.row_count for p in self.pieces if p.row_count > _LEVELLED_SHARE * longest
        ]
        least = min(alike)
        return self._with_pieces(
            [replace(p, row_count=min(p.row_count, least)) for p in self.pieces]
        )

    def residuals(self, z: ArrayLike, starts: Floats | None = None) -> Residuals:
        """Residuals of n candidates: (n, d) coordinates and (n, pieces, k) starts."""
        z = np.atleast_2d(np.asarray(z, dtype=np.float64))
        e = self.coordinates.from_z(z)
        if starts is None:
            starts = np.zeros((len(z), len(self.pieces), self.start_count))
        parts, diverged, first = [], np.zeros(len(z), dtype=bool), 0
        for block in self._blocks:
            last = first + len(block.pieces)
            values, blown = block.evaluate(e, starts[:, first:last])
            parts.append(values)
            diverged |= blown
            first = last
        self.evaluation_count += len(z)
        self.diverged_count += int(diverged.sum())
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return Residuals(joined, diverged)

    def take_counts(self, other: "Problem") -> None:
        """Adds what another problem simulated."""
        self.evaluation_count += other.evaluation_count
        self.diverged_count += other.diverged_count

    def rmse(self, residuals: Floats) -> dict[str, dict[str, float]]:
        """Recording → joint → root mean square position error [rad or m] of (N,)."""
        return {
            name: {joint: float(np.sqrt(np.mean(e**2))) for joint, e in joints.items()}
            for name, joints in self._gather_errors(residuals).items()
        }

    def mean_absolute_errors(self, residuals: Floats) -> dict[str, dict[str, float]]:
        """Recording → joint → mean absolute position error [rad or m] of (N,)."""
        return {
            name: {joint: float(np.mean(np.abs(e))) for joint, e in joints.items()}
            for name, joints in self._gather_errors(residuals).items()
        }

    def gather_motion(self) -> tuple[Floats, Floats]:
        """(N,) speed and size of the acceleration of the joint that each residual is
        about, at its row."""
        parts = [
            (
                states.velocity[rows, channel.column],
                states.acceleration[rows, channel.column],
            )
            for block in self._blocks
            for piece, channels in zip(block.pieces, block.channels, strict=True)
            for states in [self.sources[piece.recording].states]
            for rows in [block.find_rows(piece)]
            for channel in channels
        ]
        speed, acceleration = (
            np.abs(np.concatenate(own)) for own in zip(*parts, strict=True)
        )
        return speed, acceleration

    def _gather_errors(self, residuals: Floats) -> dict[str, dict[str, Floats]]:
        """Recording → joint → position errors [rad or m] of all its pieces."""
        errors: dict[str, dict[str, list[Floats]]] = {}
        names = self.names
        for rows, (recording, channel) in zip(self.series, self._signals, strict=True):
            if channel.quantity == "position":
                of_recording = errors.setdefault(names[recording], {})
                error = channel.sd * residuals[rows]
                of_recording.setdefault(channel.joint, []).append(error)
        return {
            name: {joint: np.concatenate(parts) for joint, parts in joints.items()}
            for name, joints in errors.items()
        }

    def _cut(self, seconds: float) -> list[Piece]:
        pieces = [
            p for i, t in enumerate(self.tracks) for p in cut_pieces(t, i, seconds)
        ]
        return equalise_lengths(pieces, [id(crowd) for crowd, _ in self._crowds])

    def _with_pieces(self, pieces: Sequence[Piece]) -> "Problem":
        other = copy.copy(self)
        other.evaluation_count = other.diverged_count = 0
        other._arrange(pieces)
        return other

    def _arrange(self, pieces: Sequence[Piece]) -> None:
        """Groups pieces into blocks and gives each its place among the residuals."""
        groups: dict[tuple[object, ...], list[Piece]] = {}
        for piece in pieces:
            crowd, _ = self._crowds[piece.recording]
            signals = [(c.quantity, c.column) for c in self._channels(piece)]
            key = (id(crowd), piece.row_count, *signals)
            groups.setdefault(key, []).append(piece)
        self._blocks = [self._make_block(group) for group in groups.values()]
        self.pieces = [piece for block in self._blocks for piece in block.pieces]
        runs, series, signals, row = [], [], [], 0
        for block in self._blocks:
            for piece, channels in zip(block.pieces, block.channels, strict=True):
                first = row
                for channel in channels:
                    series.append(slice(row, row + block.kept_rows))
                    signals.append((piece.recording, channel))
                    row += block.kept_rows
                runs.append(slice(first, row))
        self.runs, self.series, self._signals = runs, series, signals
        joints = sorted({channel.joint for _, channel in signals})
        numbers = [joints.index(channel.joint) for _, channel in signals]
        self.labels = np.repeat(numbers, [run.stop - run.start for run in series])

    def _make_block(self, pieces: Sequence[Piece]) -> PieceBatch:
        rate = self.tracks[pieces[0].recording].recording.rate
        return PieceBatch(
            pieces,
            [self.sources[piece.recording] for piece in pieces],
            [self._channels(piece) for piece in pieces],
            self._crowds[pieces[0].recording][0],
            places=[self._crowds[piece.recording][1] for piece in pieces],
            skipped_rows=round(self._skip * rate),
            has_short_delays=self._has_short_delays,
        )

    def _channels(self, piece: Piece) -> list[Channel]:
        source = self.sources[piece.recording]
        return source.channels(self._joints, velocities=self._velocities)


def _check_recordings(given: Recording | Iterable[Recording]) -> list[Recording]:
    listed = [given] if isinstance(given, Recording) else list(given)
    if not listed:
        raise BadRecording("No recordings were given.", hint="Name at least one.")
    return listed


def _check_space(twin: Twin, space: ParameterSpace | Sequence[str]) -> ParameterSpace:
    chosen = space if isinstance(space, ParameterSpace) else twin.space.select(space)
    if not len(chosen):
        raise RealworthyError(
            "There is nothing to fit: the parameter space is empty.",
            hint="Choose names from: realworthy show parameters --twin TWIN",
        )
    return chosen


def _check_joints(tracks: Sequence[Track], asked: Sequence[str] | None) -> set[str]:
    present = {joint for track in tracks for joint in track.joints}
    for joint in asked or ():
        if joint not in present:
            raise UnknownName("joint", joint, present, owner="the recordings")
    return present if asked is None else set(asked)


def _gather(
    tracks: Sequence[Track], thread_count: int
) -> list[tuple[ReplayerPool, int]]:
    """For each track: the worlds that can play it, and its number among theirs."""
    alike: dict[tuple[object, ...], list[Track]] = {}
    for track in tracks:
        alike.setdefault((id(track.bound), track.joints), []).append(track)
    crowds = {
        key: ReplayerPool(members, thread_count) for key, members in alike.items()
    }
    places = []
    for track in tracks:
        key = (id(track.bound), track.joints)
        place = next(i for i, other in enumerate(alike[key]) if other is track)
        places.append((crowds[key], place))
    return places
