"""Which pieces of long recordings to fit: those that tell most, found without a fit.

A drive answers, to first order, with torques that are linear in acceleration, speed,
the sign of speed, gravity and a constant. A piece tells much where these differ from
each other and from what the pieces chosen before it have told already.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem import Problem

Floats = NDArray[np.float64]
_STILL = 0.05
"""Share of its largest speed (99 %) below which the sign of a joint's speed fades."""
_SMOOTH = 0.15
"""[s] over which positions are smoothed before they are differentiated."""
_KNOWN = 1e-3
"""What is known of each regressor before any piece, as a share of all pieces."""


def choose_pieces(problem: Problem, seconds: float, joints: Sequence[str]) -> list[int]:
    """Numbers of pieces of `seconds` in all that tell most of `joints`, in order.

    Greedy D-optimal design: each next piece adds most to the log determinant of the
    information about every joint's regressors.
    """
    grams = _compute_grams(problem, joints)
    total = grams.sum(axis=0)
    size = np.sqrt(np.maximum(np.diagonal(total, axis1=1, axis2=2), 1e-300))
    grams = grams / (size[:, :, None] * size[:, None, :])
    gathered = np.tile(_KNOWN * np.eye(grams.shape[-1]), (grams.shape[1], 1, 1))
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
    width = min(max(5, 2 * round(_SMOOTH * rate / 2) + 1), rows - 1 + rows % 2)
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
                np.tanh(velocity / (_STILL * fast)),
                np.sin(position),
                np.cos(position),
                np.ones_like(position),
            ],
            axis=1,
        )
    return made
