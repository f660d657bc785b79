"""Does something carry the robot that its model lacks: a table, a floor?

An arm that is told to go where it never gets presses on something. Its model, free to
go there, is then off by what no gain and no friction explains. Heights of a smooth,
level surface are tried in the whole twin; it is there if recordings that had no part in
the choice of its height are predicted better with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.joint_by_joint import PositionServo
from realworthy.identification.problem.pieces import Piece
from realworthy.identification.problem.problem import Problem
from realworthy.simulators.clearance import find_lowest, has_ground
from realworthy.simulators.replay import Track
from realworthy.twins import Twin

Floats = NDArray[np.float64]
SURFACE_HEIGHT = "table.height"
_LOOK_SECONDS = 0.2
"""[s] between the poses that are looked at."""
_PRESSED_DEPTH, _LOW_HEIGHT = 0.005, 0.06
"""Shares of the robot's size: how far goals lie below a pose that is pressed down, and
how far above the lowest pose that is."""
_TRIED_HEIGHTS = np.array([0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
"""Heights that are tried first, in that unit, above the lowest pose."""
_FINER_STEPS = (0.005, 0.0025)
"""Steps either way from the best, in that unit."""
_MAX_PIECES, _MAX_PIECES_PER_RECORDING = 16, 3
"""Pieces that are simulated, in all and of one recording."""
_MIN_RECORDINGS = 3
"""Recordings that must press on it."""
_OUT_OF_REACH = 10.0
"""Sizes of the robot below which nothing is ever touched."""
_MIN_STANDARD_ERRORS, _MAX_ERROR_LEFT = 1.0, 0.8
"""Standard errors by which recordings must be predicted better, and share of their
error that may be left."""


@dataclass(frozen=True, slots=True)
class SupportSurface:
    """A surface that recordings ask for."""

    height: float
    """[m]"""
    without: float
    """[rad or m] error of pressing pieces without it, mean over recordings."""
    with_it: float
    """The same with it, at heights that other recordings chose."""
    recordings: tuple[str, ...]
    """Those that press on it."""

    def to_words(self) -> str:
        return (
            f"In {len(self.recordings)} recordings the robot is held up by something "
            f"that its model lacks. A smooth table at {self.height:.3f} m explains it: "
            f"where it presses, errors fall from {self.without:.3g} to "
            f"{self.with_it:.3g} rad at heights that other recordings chose."
        )


def find_support_surface(
    twin: Twin, problem: Problem, servos: Sequence[PositionServo], joints: Sequence[str]
) -> SupportSurface | None:
    """The surface under a robot with servos; None where nothing speaks for one.

    `twin` has drives that are about right; `problem` holds recordings in pieces.
    """
    bound = problem.tracks[0].bound
    if twin.base is not None or (has_ground(bound) and twin.table is None):
        return None
    looks = [_look(track, servos) for track in problem.tracks]
    lowest = min(look.low.min() for look in looks)
    if not np.isfinite(lowest):
        return None
    size = float(bound.model.stat.extent)
    pieces = _find_pressed(problem.pieces, looks, lowest, size)
    which = sorted({piece.recording for piece in pieces})
    if len(which) < _MIN_RECORDINGS:
        return None
    trial = Problem(
        twin.with_table(lowest),
        [problem.tracks[i].recording for i in which],
        [SURFACE_HEIGHT],
        joints=joints,
        horizon=problem.horizon.seconds,
        estimate_starts=False,
    )
    places = [(which.index(p.recording), p.first) for p in pieces]
    own = [k for k, p in enumerate(trial.pieces) if (p.recording, p.first) in places]
    return _choose_height(trial.of_pieces(own).levelled(), lowest, size)


@dataclass(frozen=True, slots=True)
class _Look:
    """Heights of the lowest part at rows of one recording, and where it should be."""

    rows: NDArray[np.intp]
    low: Floats
    goal: Floats


def _look(track: Track, servos: Sequence[PositionServo]) -> _Look:
    stride = max(1, round(_LOOK_SECONDS * track.recording.rate))
    rows = np.arange(0, len(track.rows), stride)
    position = track.position[rows]
    goal = position.copy()
    for servo in servos:
        sent = track.control[track.rows[rows], servo.column]
        goal[:, track.joints.index(servo.joint)] = sent
    bound = track.bound
    return _Look(
        rows,
        find_lowest(bound, track.joints, position),
        find_lowest(bound, track.joints, goal),
    )


def _find_pressed(
    pieces: Sequence[Piece], looks: Sequence[_Look], lowest: float, size: float
) -> list[Piece]:
    """Pieces in which the robot is low and its goals are lower, the most pressed."""
    counts: list[tuple[int, Piece]] = []
    for piece in pieces:
        look = looks[piece.recording]
        inside = (look.rows >= piece.first) & (
            look.rows < piece.first + piece.row_count
        )
        low = look.low < lowest + _LOW_HEIGHT * size
        pressed = look.low - look.goal > _PRESSED_DEPTH * size
        counts.append((int((inside & low & pressed).sum()), piece))
    counts.sort(key=lambda pair: -pair[0])
    chosen: list[Piece] = []
    for count, piece in counts:
        same = sum(other.recording == piece.recording for other in chosen)
        if count and same < _MAX_PIECES_PER_RECORDING and len(chosen) < _MAX_PIECES:
            chosen.append(piece)
    return chosen


def _choose_height(trial: Problem, lowest: float, size: float) -> SupportSurface | None:
    heights = lowest + size * _TRIED_HEIGHTS
    errors = _measure(trial, np.append(heights, lowest - _OUT_OF_REACH * size))
    without, errors = errors[-1], errors[:-1]
    for step in _FINER_STEPS:
        best = heights[int(np.argmin(errors.mean(axis=1)))]
        finer = best + step * size * np.array([-1.0, 1.0])
        heights = np.append(heights, finer)
        errors = np.concatenate([errors, _measure(trial, finer)])
    unseen = np.array(
        [
            errors[np.argmin(np.delete(errors, r, axis=1).mean(axis=1)), r]
            for r in range(len(without))
        ]
    )
    gain = np.log(without / unseen)
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    if (
        gain.mean() <= _MIN_STANDARD_ERRORS * error
        or unseen.mean() > _MAX_ERROR_LEFT * without.mean()
    ):
        return None
    return SupportSurface(
        height=float(heights[int(np.argmin(errors.mean(axis=1)))]),
        without=float(without.mean()),
        with_it=float(unseen.mean()),
        recordings=tuple(trial.names),
    )


def _measure(trial: Problem, heights: Floats) -> Floats:
    """(heights, recordings) root mean square error [rad or m] over pieces."""
    values = trial.residuals(heights[:, None]).values
    rows = []
    for row in values:
        by_joint = trial.rmse(row)
        squares = [np.square(list(by_joint[n].values())) for n in trial.names]
        rows.append([np.sqrt(np.mean(own)) for own in squares])
    return np.array(rows)
