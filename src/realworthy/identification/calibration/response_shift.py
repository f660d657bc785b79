"""A recording in which all joints answer later from some moment on.

A bus that falls behind, or a logger that loses rows, leaves time stamps as regular as
before, while every joint answers by the same time later. No number of the robot does
that: delays of drives do not change in the middle of a motion, and not all at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_WINDOW_SECONDS = 1.0
"""[s] over which joints are compared; half of it between two windows."""
_MAX_SHIFT_SECONDS = 0.3
"""[s] that responses are moved at most."""
_MIN_SHIFT_ROWS = 2
"""Rows of a shift: one may be jitter, or a delay that is off by half a row."""
_MIN_WINDOWS = 4
"""Windows before and after it."""
_MAX_SQUARE_LEFT, _MAX_JOINT_SQUARE_LEFT = 0.25, 0.5
"""Shares of the squared error after it that may be left when responses are moved back,
of all joints and of each. Of 37 motions of an SO-101 they find 4 rows in chirp_sweep,
from 111.6 s on, and nothing in the others (2026-11-19)."""
_MIN_HARM = 2.0
"""Times the squared error by which the same move is worse before it."""


@dataclass(frozen=True, slots=True)
class ResponseShift:
    """By how much all joints answer later than before, and from when on."""

    start: float
    """[s] of the recording."""
    seconds: float
    """[s] later; earlier where negative."""
    row: int
    """The first row that it holds for."""

    def to_words(self) -> str:
        how = "later" if self.seconds > 0 else "earlier"
        return (
            f"from {self.start:.1f} s on all joints answer "
            f"{1e3 * abs(self.seconds):.0f} ms {how} than before"
        )


def find_response_shift(
    time: Floats, simulated: Floats, measured: Floats
) -> ResponseShift | None:
    """The shift in (rows, joints) positions that a replay without it shows, if any.

    In windows k the squared error E_k(L) of responses that are moved by L rows is
    compared; a shift of L at window c makes Σ_{k<c} E_k(0) + Σ_{k≥c} E_k(L) small.
    """
    period = float(np.median(np.diff(time)))
    rows = max(4, round(_WINDOW_SECONDS / period))
    reach = round(_MAX_SHIFT_SECONDS / period)
    firsts = np.arange(reach, len(time) - reach - rows + 1, max(1, rows // 2))
    if len(firsts) < 2 * _MIN_WINDOWS or not np.isfinite(simulated).all():
        return None
    moves = np.arange(-reach, reach + 1)
    squares = np.stack(
        [_square_in_windows(simulated, measured, firsts, rows, int(m)) for m in moves]
    )  # (moves, windows, joints)
    each = squares.sum(axis=2)
    before = np.concatenate([[0.0], np.cumsum(each[reach])])[:-1]
    after = np.cumsum(each[:, ::-1], axis=1)[:, ::-1]
    costs = before + after  # (moves, windows that it begins at)
    costs[np.abs(moves) < _MIN_SHIFT_ROWS] = np.inf
    costs[:, :_MIN_WINDOWS] = costs[:, len(firsts) - _MIN_WINDOWS :] = np.inf
    move, at = (int(i) for i in np.unravel_index(np.argmin(costs), costs.shape))
    still, moved = squares[reach], squares[move]
    left = moved[at:].sum(axis=0), still[at:].sum(axis=0)
    is_less = left[0].sum() < _MAX_SQUARE_LEFT * left[1].sum()
    is_common = (left[0] < _MAX_JOINT_SQUARE_LEFT * left[1])[_find_moving(measured)]
    is_new = moved[:at].sum() > _MIN_HARM * still[:at].sum()
    if not (is_less and is_common.all() and is_new):
        return None
    row = int(firsts[at])
    return ResponseShift(
        start=float(time[row] - time[0]),
        seconds=float(moves[move] * period),
        row=row,
    )


def _square_in_windows(
    simulated: Floats,
    measured: Floats,
    firsts: NDArray[np.intp],
    rows: int,
    move: int,
) -> Floats:
    """(windows, joints) mean squares around their mean of measured rows `move` later
    minus simulated ones."""
    off = np.roll(measured, -move, axis=0) - simulated
    sums = np.cumsum(np.concatenate([np.zeros((1, off.shape[1])), off]), axis=0)
    squares = np.cumsum(np.concatenate([np.zeros((1, off.shape[1])), off**2]), axis=0)
    mean = (sums[firsts + rows] - sums[firsts]) / rows
    return (squares[firsts + rows] - squares[firsts]) / rows - mean**2


def _find_moving(measured: Floats) -> NDArray[np.bool_]:
    """(joints,) that travel at least a tenth as far as the one that travels most."""
    travel = np.ptp(measured, axis=0)
    return travel > 0.1 * travel.max()
