"""Recordings cut into pieces that can be fitted, by what holds a machine to its course.

Servos do: their pieces are long, and forget how they began. Others drift, or part from
a start that is a little wrong.

Which pieces of long recordings to fit: those that tell most, found without a fit.

A drive answers, to first order, with torques that are linear in acceleration, speed,
the sign of speed, gravity and a constant. A piece tells much where these differ from
each other and from what the pieces chosen before it have told already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.calibration.duty_servos import find_duty_servos
from realworthy.identification.problem.problem import Problem
from realworthy.identification.validation.held_out import AHEAD
from realworthy.recordings import Recording
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands

Floats = NDArray[np.float64]

_SWING_PIECE = 1.0
"""[s] of the pieces of long recordings that no servo holds to its course."""
_SERVO_PIECE = 5.0
"""[s] of the pieces of long recordings of servos."""
_SERVO_SETTLED = 0.3
"""[s] after which a servo has forgotten how a piece began."""


@dataclass(frozen=True, slots=True)
class PiecesToFit:
    """Pieces to fit, from which problems over any space are made."""

    recordings: tuple[Recording, ...]
    joints: tuple[str, ...]
    horizon: float | None
    pieces: tuple[int, ...] | None
    is_servo: bool
    grows: bool = False
    """Whether errors of a start grow."""
    is_ahead: bool = False
    """Whether pieces are predictions from measured states."""

    def with_space(self, twin: Twin, names: Sequence[str]) -> Problem:
        cuts = self.pieces is not None and self.is_servo
        problem = Problem(
            twin,
            self.recordings,
            names,
            joints=self.joints,
            horizon=self.horizon,
            estimate_starts=not (cuts or self.is_ahead),
            skip=_SERVO_SETTLED if cuts else 0.0,
        )
        if self.pieces is None:
            return problem
        return problem.of_pieces(self.pieces).levelled()


def choose_pieces_to_fit(
    twin: Twin,
    fitted: tuple[Recording, ...],
    joints: tuple[str, ...],
    names: Sequence[str],
    *,
    seconds: float,
    ahead: bool,
) -> PiecesToFit:
    """Pieces of at most `seconds` in all; `ahead`: predictions from measured states."""
    kinds = {line.joint: line.kind for line in describe_commands(bind(twin))}
    is_servo = all(kinds.get(joint) == "position" for joint in joints)
    whole = np.inf if find_duty_servos(twin) and is_servo else None
    wide = PiecesToFit(fitted, joints, whole, None, is_servo)
    horizon, is_short = _SERVO_PIECE, True
    if ahead:
        wide = replace(wide, horizon=AHEAD, grows=True, is_ahead=True)
        horizon = AHEAD
    elif not is_servo:
        longest = max(fitted, key=lambda recording: recording.duration)
        found = Problem(twin, longest, names, joints=joints).horizon
        horizon = found.seconds if found.grows else _SWING_PIECE
        is_short = found.grows or np.isinf(found.seconds)
    if sum(r.duration for r in fitted) <= seconds:
        if is_short:
            return wide
        return PiecesToFit(fitted, joints, horizon, None, is_servo, grows=True)
    wide = replace(wide, horizon=horizon, grows=horizon != _SERVO_PIECE)
    pieces = choose_informative_pieces(wide.with_space(twin, names), seconds, joints)
    return replace(wide, pieces=tuple(pieces))


_STILL_SHARE = 0.05
"""Share of its largest speed (99 %) below which the sign of a joint's speed fades."""
_SMOOTHING = 0.15
"""[s] over which positions are smoothed before they are differentiated."""
_KNOWN_BEFORE = 1e-3
"""What is known of each regressor before any piece, as a share of all pieces."""


def choose_informative_pieces(
    problem: Problem, seconds: float, joints: Sequence[str]
) -> list[int]:
    """Numbers of pieces of `seconds` in all that tell most of `joints`, in order.

    Greedy D-optimal design: each next piece adds most to the log determinant of the
    information about every joint's regressors.
    """
    grams = _compute_grams(problem, joints)
    total = grams.sum(axis=0)
    size = np.sqrt(np.maximum(np.diagonal(total, axis1=1, axis2=2), 1e-300))
    grams = grams / (size[:, :, None] * size[:, None, :])
    gathered = np.tile(_KNOWN_BEFORE * np.eye(grams.shape[-1]), (grams.shape[1], 1, 1))
    chosen: list[int] = []
    left, spent, last = set(range(len(problem.pieces))), 0.0, 0.0
    while left and spent + 0.5 * last < seconds:
        order = sorted(left)
        gains = np.linalg.slogdet(gathered + grams[order])[1].sum(axis=1)
        best = order[int(np.argmax(gains))]
        gathered = gathered + grams[best]
        chosen.append(best)
        left.remove(best)
        piece = problem.pieces[best]
        last = piece.row_count / problem.tracks[piece.recording].recording.rate
        spent += last
    return sorted(chosen)


def _compute_grams(problem: Problem, joints: Sequence[str]) -> Floats:
    """(pieces, joints, 6, 6) products of the regressors, summed over rows."""
    regressors = [
        _list_regressors(problem, i, joints) for i in range(len(problem.tracks))
    ]
    grams = []
    for piece in problem.pieces:
        rows = slice(piece.first, piece.first + piece.row_count)
        own = regressors[piece.recording][:, rows]
        grams.append(np.einsum("jta,jtb->jab", own, own))
    return np.array(grams)


def _list_regressors(problem: Problem, recording: int, joints: Sequence[str]) -> Floats:
    """(joints, rows, 6) of one recording; zeros for joints that it lacks."""
    from scipy.signal import savgol_filter

    track = problem.tracks[recording]
    rate, rows = track.recording.rate, len(track.rows)
    made = np.zeros((len(joints), rows, 6))
    width = min(max(5, 2 * round(_SMOOTHING * rate / 2) + 1), rows - 1 + rows % 2)
    if width < 5:
        return made
    for j, joint in enumerate(joints):
        if joint not in track.joints:
            continue
        measured = track.position[:, track.joints.index(joint)]
        position, velocity, acceleration = (
            np.asarray(
                savgol_filter(measured, width, 3, deriv=order, delta=1 / rate),
                dtype=np.float64,
            )
            for order in range(3)
        )
        fast = max(float(np.quantile(np.abs(velocity), 0.99)), 1e-9)
        made[j] = np.stack(
            [
                acceleration,
                velocity,
                np.tanh(velocity / (_STILL_SHARE * fast)),
                np.sin(position),
                np.cos(position),
                np.ones_like(position),
            ],
            axis=1,
        )
    return made
