"""How far apart two signals are, in ways that forgive time, phase or order."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadRecording, RealworthyError

Floats = NDArray[np.float64]
_FEWEST_ROWS = 20
"""Rows of a segment of the spectrum at least: ten frequencies."""


@dataclass(frozen=True, slots=True, eq=False)
class Warping:
    """How two signals look alike once time may stretch."""

    distance: float
    """Root mean square along the best path, in the signal's unit; forgives delay."""
    shift_rows: Floats
    """(T,) rows by which each measured row is later than the simulated it matches."""


def compute_warping(
    simulated: ArrayLike, measured: ArrayLike, *, band: float = 0.1
) -> Warping:
    """Dynamic time warping within `band` of the rows (Sakoe and Chiba, 1978).

    Read the shift with the distance. Time and memory grow as rows² · band: thin out
    recordings beyond some ten thousand rows.
    """
    sim, real = check_pair(simulated, measured)
    count = len(sim)
    width = max(1, math.ceil(band * count))
    moves = np.zeros((count, 2 * width + 1), dtype=np.int8)
    before = np.full(count + 1, np.inf)  # cost by measured row + 1, one diagonal back
    before_that = before.copy()
    for diagonal in range(2 * count - 1):
        low = max(0, diagonal - count + 1, -((width - diagonal) // 2))
        i = np.arange(low, min(count - 1, diagonal, (diagonal + width) // 2) + 1)
        j = diagonal - i
        steps = np.stack([before_that[i], before[i], before[i + 1]])
        best = np.argmin(steps, axis=0)
        cost = steps[best, np.arange(len(i))] if diagonal else np.zeros(1)
        moves[i, j - i + width] = best
        before_that, before = before, np.full(count + 1, np.inf)
        before[i + 1] = cost + (real[i] - sim[j]) ** 2
    path = _walk_back(moves, width)
    matched = np.bincount(path[:, 0], path[:, 1], count) / np.bincount(path[:, 0])
    distance = math.sqrt(before[count] / len(path))
    return Warping(distance, np.arange(count) - matched)


def _walk_back(moves: NDArray[np.int8], width: int) -> NDArray[np.intp]:
    """(steps, 2) measured and simulated rows on the best path, from the end."""
    i = j = len(moves) - 1
    path = [(i, j)]
    while i or j:
        move = moves[i, j - i + width]
        i, j = i - (move != 2), j - (move != 1)
        path.append((i, j))
    return np.array(path, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyRatio:
    """Measured over simulated by frequency; to be read where coherence is near 1."""

    frequency: Floats
    """[Hz]"""
    gain: Floats
    phase: Floats
    """[rad], negative where measured is later."""
    coherence: Floats
    """0 to 1: what part of measured is a linear answer to simulated; low where it is
    noise, not linear, or was not excited."""


def compute_frequency_ratio(
    simulated: ArrayLike, measured: ArrayLike, rate: float, *, window_count: int = 8
) -> FrequencyRatio:
    """Ratio of the two responses to one chirp or noise (Welch, half overlapping)."""
    from scipy.signal import csd, welch

    sim, real = check_pair(simulated, measured)
    length = max(_FEWEST_ROWS, 2 * len(sim) // (window_count + 1))
    settings = {"fs": rate, "nperseg": min(length, len(sim))}
    frequency, own = welch(sim, **settings)
    _, other = welch(real, **settings)
    _, cross = csd(sim, real, **settings)
    own, other = (
        np.maximum(part, 1e-30 * part.max() + 1e-300) for part in (own, other)
    )
    coherence = np.abs(cross) ** 2 / (own * other)
    return FrequencyRatio(
        frequency, np.abs(cross) / own, np.angle(cross), np.minimum(coherence, 1.0)
    )


def compute_wasserstein(simulated: ArrayLike, measured: ArrayLike) -> float:
    """Distance of the two sets of values, in the signal's unit; time does not enter.

    For rows that cannot be aligned; blind to order, so only a lower bound of the gap.
    """
    from scipy.stats import wasserstein_distance

    return float(wasserstein_distance(np.ravel(simulated), np.ravel(measured)))


def compute_contact_f1(simulated: ArrayLike, measured: ArrayLike) -> float:
    """Agreement of contact schedules (T, feet), 0 to 1; 1 where neither ever touches.

    Row by row: contacts that come a row late count as wrong in that row.
    """
    sim, real = np.asarray(simulated, bool), np.asarray(measured, bool)
    total = int(sim.sum()) + int(real.sum())
    return 2 * int((sim & real).sum()) / total if total else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PointErrors:
    """Mean distances of points on two bodies in motion (the MPJPE family)."""

    global_mm: float
    root_relative_mm: float
    velocity_mm_per_row: float
    acceleration_mm_per_row2: float


def compute_point_errors(
    simulated: ArrayLike, measured: ArrayLike, *, root: int = 0
) -> PointErrors:
    """Of (T, points, 3) positions [m] in one frame; `root` is the point at the origin.

    The last two grow with the time between rows: compare them at equal rates only.
    """
    sim, real = np.asarray(simulated, np.float64), np.asarray(measured, np.float64)
    if sim.shape != real.shape or sim.ndim != 3 or len(sim) < 3:
        raise RealworthyError(
            f"Points of shape {sim.shape} and {real.shape} cannot be compared.",
            hint="Both need shape (rows, points, 3), with three rows or more.",
        )
    error = 1000 * (sim - real)
    parts = (error, error - error[:, root : root + 1])
    parts += (np.diff(error, axis=0), np.diff(error, n=2, axis=0))
    means = [float(np.mean(np.linalg.norm(part, axis=-1))) for part in parts]
    return PointErrors(
        global_mm=means[0],
        root_relative_mm=means[1],
        velocity_mm_per_row=means[2],
        acceleration_mm_per_row2=means[3],
    )


def check_pair(simulated: ArrayLike, measured: ArrayLike) -> tuple[Floats, Floats]:
    sim, real = np.asarray(simulated, np.float64), np.asarray(measured, np.float64)
    if sim.shape != real.shape or sim.ndim != 1 or len(sim) < 2:
        raise BadRecording(
            f"Signals of shape {sim.shape} and {real.shape} cannot be compared.",
            hint="Resample both to the same times first.",
        )
    if not np.isfinite(real).all():
        raise BadRecording("The measured signal has values that are not numbers.")
    return sim, real
