"""The law of a drive, fitted to its own log: no motion needs to be predicted for it.

A position drive asks its motor for

    torque(t) = kp · (command(t - lag) - position(t)) - kd · velocity(t)

whatever the joint carries, rubs or hits. Solved for what the encoder says, because its
noise is the largest beside small tracking errors,

    position = scale · command(t - lag) + offset - torque / kp - (kd / kp) · velocity,

with scale 1 and offset 0 where log and drive mean the same thing, whatever kp and kd
are. A torque drive has torque = scale · command(t - lag) + offset.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.log.drives import Drive, find_command, find_torque
from realworthy.recordings import Recording

Floats = NDArray[np.float64]

MAX_LAG = 0.15
"""[s] to either side that is searched."""
BLOCK = 0.5
"""[s] whose errors are taken for one: disturbance and filters last shorter."""
BLOCKS = 8
"""Fewer independent blocks give no honest error."""
SMOOTH = 0.1
"""[s] over which both sides are averaged for scale and offset; the law is linear, so
it holds for the averages, and the noise of torque sensors falls."""
SATURATED = 0.97
"""Share of the largest torque from which a drive no longer follows its law."""
EXPLAINED = 0.05
"""Spread of what the law leaves, over the spread of the command, from which a log does
not follow the law closely enough to be held against it."""
MOVES = 20.0
"""Times the spread of what is left that a command must move to decide a scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """What the log of one joint says about its drive; with standard errors."""

    joint: str
    scale: float
    scale_sd: float
    offset: float
    """[rad, m or N·m]"""
    offset_sd: float
    lag: float
    """[s] by which the answer comes after the row of its command; negative: before."""
    lag_sd: float
    plain_offset: float
    """[rad or m] with the twin's own gains in place of fitted ones; NaN without."""
    load: float
    """[rad or m] by which the drive sags at its gains, 90 % of the rows below."""
    rest: float
    """Standard deviation of what the law leaves of the position or torque."""
    moved: float
    """Standard deviation of scale · command."""

    @property
    def holds(self) -> bool:
        """Whether the log follows some such law closely."""
        return self.rest < EXPLAINED * self.moved

    @property
    def is_lag_known(self) -> bool:
        """Whether the command changes quickly enough to time the answer."""
        return bool(np.isfinite(self.lag_sd))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of one recording that follow the law, if any do."""

    time: Floats
    command_time: Floats
    command: Floats
    known: Floats
    """(rows, columns) besides the command: torque, velocity, one."""
    answer: Floats
    keep: NDArray[np.bool_]


def fit_law(
    recordings: Sequence[Recording], joint: str, drive: Drive, limit: float = np.inf
) -> Law | None:
    """The law of a joint from all recordings together; None where it cannot be told."""
    pieces = [p for r in recordings if (p := _read(r, joint, drive, limit)) is not None]
    if not pieces:
        return None
    period = float(np.median(np.concatenate([np.diff(p.time) for p in pieces])))
    blocks = _cut_blocks(pieces)
    if len(blocks) < BLOCKS or not any(np.ptp(p.command) > 0 for p in pieces):
        return None
    lag, lag_sd = _find_lag(pieces, period, blocks)
    solved = _solve(pieces, lag, round(SMOOTH / period), blocks)
    if solved is None:
        return None
    values, errors, rest, moved = solved
    plain, load = _measure_offset(pieces, drive, lag)
    return Law(
        plain_offset=plain,
        load=load,
        joint=joint,
        scale=float(values[0]),
        scale_sd=float(errors[0]),
        offset=float(values[-1]),
        offset_sd=float(errors[-1]),
        lag=lag,
        lag_sd=lag_sd,
        rest=rest,
        moved=moved,
    )


def hold_before(time: Floats, values: Floats, at: Floats) -> Floats:
    """The last value that was sent before each moment; the first before all of them.

    What is measured at a row is measured before the row's command is sent.
    """
    slack = 0.02 * float(np.median(np.diff(time)))
    return values[np.clip(np.searchsorted(time, at - slack) - 1, 0, len(time) - 1)]


def _read(recording: Recording, joint: str, drive: Drive, limit: float) -> _Rows | None:
    name, torque = find_command(recording, joint, drive), find_torque(recording, joint)
    position = recording.signals.get(f"{joint}.position")
    if name is None or torque is None or position is None:
        return None
    time, force = recording.time, recording.signals[torque]
    if len(time) < 3 * BLOCKS:
        return None
    largest = limit if torque.endswith(".torque") else np.inf
    keep = np.abs(force) < SATURATED * min(largest, _clipped_at(force))
    ones = np.ones(len(time))
    if drive.kind == "torque":
        known, answer = ones[:, None], force
    else:
        known = np.stack([-force, -_derive(time, position), ones], axis=1)
        answer = position
    return _Rows(time, time, recording.signals[name], known, answer, keep)


def _clipped_at(force: Floats) -> float:
    """The magnitude at which a torque stands again and again; inf where it does not."""
    size = np.abs(force)
    largest = float(size.max())
    return largest if np.mean(size > 0.99 * largest) > 0.02 else np.inf


def _derive(time: Floats, position: Floats) -> Floats:
    """Velocity from positions themselves: no filter and no unit of its own."""
    from scipy.signal import savgol_filter

    period = float(np.median(np.diff(time)))
    window = max(5, 2 * int(0.02 / period) + 1)
    return np.asarray(
        savgol_filter(position, window, 2, deriv=1, delta=period), dtype=np.float64
    )


def _cut_blocks(pieces: Sequence[_Rows]) -> list[NDArray[np.intp]]:
    """Rows, counted over all pieces, of stretches of about half a second."""
    found, first = [], 0
    for piece in pieces:
        count = len(piece.time)
        lasts = piece.time[-1] - piece.time[0]
        parts = max(2, int(lasts / BLOCK))
        found += [
            first + k for k in np.array_split(np.arange(count), parts) if len(k) > 2
        ]
        first += count
    return found


def _find_lag(
    pieces: Sequence[_Rows], period: float, blocks: Sequence[NDArray[np.intp]]
) -> tuple[float, float]:
    """The lag at which the law leaves least, and its standard error [s].

    The error is that of a straight line through the smallest squares, joined over
    blocks: how much another lag would leave in each of them.
    """
    step = 0.25 * period
    reach = int(MAX_LAG / step)
    lags = step * np.arange(-reach, reach + 1)
    weights = np.concatenate([p.keep for p in pieces]).astype(np.float64)
    known = np.concatenate([p.known for p in pieces])
    answer = np.concatenate([p.answer for p in pieces])
    # Known columns are taken out of both sides once (Frisch, Waugh and Lovell).
    basis, _ = np.linalg.qr(known * weights[:, None])
    plain = _take_out(basis, answer * weights)
    left = np.full(len(lags), np.inf)
    for i, lag in enumerate(lags):
        column = _take_out(basis, _commands(pieces, lag) * weights)
        energy = float(column @ column)
        if energy > 1e-12:
            left[i] = float(plain @ plain) - float(column @ plain) ** 2 / energy
    if not np.isfinite(left).any():
        return 0.0, np.inf
    best = float(left.min())
    base = max(best, 1e-12)
    # Held commands give the same for all lags within a row: the middle of those.
    low = high = int(left.argmin())
    while low > 0 and left[low - 1] < best + 0.02 * base:
        low -= 1
    while high < len(left) - 1 and left[high + 1] < best + 0.02 * base:
        high += 1
    lag = float(0.5 * (lags[low] + lags[high]))
    if low == 0 or high == len(lags) - 1:
        return lag, np.inf
    column = _take_out(basis, _commands(pieces, lag) * weights)
    slope = float(column @ plain) / max(float(column @ column), 1e-12)
    rest = plain - slope * column
    later = _commands(pieces, lag + 1.5 * period)
    sooner = _commands(pieces, lag - 1.5 * period)
    move = _take_out(basis, slope * (later - sooner) / (3 * period) * weights)
    move -= column * float(column @ move) / max(float(column @ column), 1e-12)
    energy = float(move @ move)
    if energy < 1e-12:
        return lag, np.inf
    spread = np.sqrt(sum(float(move[k] @ rest[k]) ** 2 for k in blocks)) / energy
    return lag, float(np.hypot(spread, 0.25 * period))


def _take_out(basis: Floats, values: Floats) -> Floats:
    return values - basis @ (basis.T @ values)


def _commands(pieces: Sequence[_Rows], lag: float) -> Floats:
    return np.concatenate(
        [hold_before(p.command_time, p.command, p.time - lag) for p in pieces]
    )


def _solve(
    pieces: Sequence[_Rows],
    lag: float,
    window: int,
    blocks: Sequence[NDArray[np.intp]],
) -> tuple[Floats, Floats, float, float] | None:
    """Coefficients, their errors over blocks, what is left, how far commands move."""
    columns, answers, kept = [], [], []
    for piece in pieces:
        command = hold_before(piece.command_time, piece.command, piece.time - lag)
        both = np.column_stack([command, piece.known, piece.answer])
        smooth = _average(both, window)
        keep = _average(piece.keep[:, None].astype(np.float64), window)[:, 0] > 0.999
        half = window // 2 + 1
        keep[:half] = keep[-half:] = False
        columns.append(smooth[:, :-1])
        answers.append(smooth[:, -1])
        kept.append(keep)
    keep = np.concatenate(kept)
    table = np.concatenate(columns) * keep[:, None]
    answer = np.concatenate(answers) * keep
    if np.count_nonzero(keep) < 10 * table.shape[1]:
        return None
    scales = np.sqrt(np.mean(table**2, axis=0))
    if np.any(scales < 1e-12):
        return None
    normal = (table / scales).T @ (table / scales)
    if np.linalg.cond(normal) > 1e10:
        return None
    inverse = np.linalg.inv(normal)
    values = inverse @ ((table / scales).T @ answer)
    rest = answer - (table / scales) @ values
    scores = np.stack([(table[k] / scales).T @ rest[k] for k in blocks])
    # White 1980, clusters of Liang and Zeger 1986: V = A⁻¹ (Σ s sᵀ) A⁻¹
    variance = inverse @ (scores.T @ scores) @ inverse
    errors = np.sqrt(np.clip(np.diag(variance), 0, None)) / scales
    values = values / scales
    moved = float(abs(values[0]) * np.std(table[keep, 0]))
    return values, errors, float(np.std(rest[keep])), moved


def _measure_offset(
    pieces: Sequence[_Rows], drive: Drive, lag: float
) -> tuple[float, float]:
    """Mean of position - command + torque / kp + (kd / kp) · velocity, and the sag."""
    if drive.kind != "position" or drive.kp <= 0 or not pieces:
        return np.nan, 0.0
    offsets, sags = [], []
    for piece in pieces:
        command = hold_before(piece.command_time, piece.command, piece.time - lag)
        sag = piece.known[:, :2] @ np.array([1.0, drive.kd]) / drive.kp
        offsets.append((piece.answer - command - sag)[piece.keep])
        sags.append(np.abs(sag[piece.keep]))
    return float(np.mean(np.concatenate(offsets))), float(
        np.quantile(np.concatenate(sags), 0.9)
    )


def _average(values: Floats, window: int) -> Floats:
    """Running means of columns over `window` rows."""
    from scipy.ndimage import uniform_filter1d

    return np.asarray(uniform_filter1d(values, max(1, window), axis=0), np.float64)
