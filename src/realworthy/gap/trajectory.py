"""One simulated signal beside one measured: how far apart, and late, weak or shifted?

What sets two signals apart is fitted as measured(t) ≈ gain · simulated(t − lag) + bias,
and an effect is named where the others cannot stand in for it. Below are distances for
what rows cannot say: warped or shuffled time, frequencies, contacts, sets of points.
"""

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import BadRecording, RealworthyError
from realworthy.gap.intervals import compute_effective_count
from realworthy.recordings import estimate_delay

Floats = NDArray[np.float64]
EffectName = Literal["delay", "gain", "bias"]
Free = frozenset[EffectName]

LONGEST_LAG = 0.5
"""[s] looked for either way, and never more than a quarter of the rows."""
CHANCE = 1e-4
"""Probability, at most, of naming an effect that is only noise."""
MATERIAL = 0.02
"""Share that an effect must take from the mean square that is left without it."""
NEGLIGIBLE = 1e-3
"""Difference over the spread of the measured signal that counts as none."""
RANDOM = 0.2
"""Share of rows that must be worth an independent one in what counts as noise."""
_FEWEST_ROWS = 20
_SMOOTHING = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One way in which the measured signal differs from the simulated one."""

    name: EffectName
    value: float
    """Delay: seconds that measured is later. Gain: measured over simulated. Bias: in
    the signal's unit. Fitted together with the other effects that are named."""
    share: float
    """Part of the mean square error that correcting this effect alone takes away."""
    p_value: float
    """Probability of so much improvement by chance, given the other named effects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalComparison:
    """Errors of one channel in its unit; not finite where the simulation was not."""

    rmse: float
    mae: float
    max: float
    nrmse_by_range: float
    """Over the range of the measured signal; infinite where that never moves."""
    nrmse_by_increment: float
    """Over the spread of the measured row-to-row steps."""
    lag: float
    """[s] by which measured is later than simulated; negative where it leads."""
    gain: float
    bias: float
    """Fitted together with lag and gain: not the mean error where gain is not 1."""
    lag_compensated_rmse: float
    """After moving simulated by the lag alone: a large drop means delay, not dynamics.

    Rows at the ends, for which there is no partner, are left out."""
    effects: tuple[Effect, ...] = ()
    """Those needed to explain the difference, the largest share first."""
    remaining: float = 1.0
    """Part of the mean square error that the named effects together leave."""
    is_rest_random: bool = False
    """Whether what they leave looks like noise; else something else is amiss too."""
    command_lags: tuple[float, float] | None = None
    """[s] of simulated and of measured after the command, where one is given."""

    @property
    def causes(self) -> tuple[str, ...]:
        """Names of the effects; else `none`, equal within noise, or `unknown`."""
        named = tuple(effect.name for effect in self.effects)
        return named or (("none",) if self.is_rest_random else ("unknown",))


def compare_signals(
    simulated: ArrayLike,
    measured: ArrayLike,
    rate: float,
    *,
    command: ArrayLike | None = None,
) -> SignalComparison:
    """Errors of (T,) rows at `rate` [Hz], and which effects explain them.

    Simulated counts as free of noise: noise of its own looks like a gain below 1. What
    is neither delay, gain nor bias, such as missing dynamics, stays in `remaining`. A
    motion that repeats within the longest lag has several lags; the nearest is told.
    """
    sim, real = _check_pair(simulated, measured)
    if not np.abs(sim).max() < 1e100:  # its squares must stay finite, too
        lost = dict.fromkeys(("rmse", "mae", "max", "lag_compensated_rmse"), math.inf)
        lost |= dict.fromkeys(("nrmse_by_range", "nrmse_by_increment"), math.inf)
        return SignalComparison(**lost, lag=math.nan, gain=math.nan, bias=math.nan)
    error = real - sim
    rmse, negligible = _rms(error), NEGLIGIBLE * float(np.std(real))
    fits = _fit_effects(sim, real, rate)
    full = fits[max(fits, key=len)]
    chances = _choose_effects(fits, negligible)
    fit = fits[frozenset(chances)]
    values = {"delay": fit.rows / rate, "gain": fit.gain, "bias": fit.bias}

    def compute_remaining(fit: _Fit) -> float:
        return _divide(_rms(_compute_rest(sim, real, fit)), rmse) ** 2

    effects = [
        Effect(
            name=name,
            value=values[name],
            share=max(0.0, 1 - compute_remaining(fits[_list_sets(name)[1]])),
            p_value=chance,
        )
        for name, chance in chances.items()
    ]
    rest = _compute_rest(sim, real, fit)
    is_random = compute_effective_count(rest) > RANDOM * len(rest)
    return SignalComparison(
        rmse=rmse,
        mae=float(np.mean(np.abs(error))),
        max=float(np.max(np.abs(error))),
        nrmse_by_range=_divide(rmse, float(np.ptp(real))),
        nrmse_by_increment=_divide(rmse, float(np.std(np.diff(real)))),
        lag=full.rows / rate,
        gain=full.gain,
        bias=full.bias,
        lag_compensated_rmse=_rms(_compute_rest(sim, real, _Fit(rows=full.rows))),
        effects=tuple(sorted(effects, key=lambda effect: -effect.share)),
        remaining=compute_remaining(fit) if effects else 1.0,
        is_rest_random=is_random or _rms(rest) <= negligible,
        command_lags=_find_command_lags(command, sim, real, rate),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """measured(t) ≈ gain · simulated(t − rows) + bias."""

    rows: float = 0.0
    gain: float = 1.0
    bias: float = 0.0
    residual: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def mean_square(self) -> float:
        return float(np.mean(self.residual**2))


def _fit_effects(sim: Floats, real: Floats, rate: float) -> dict[Free, _Fit]:
    """Least squares with every set of effects free, all on the same measured rows."""
    from scipy.interpolate import CubicSpline
    from scipy.optimize import minimize_scalar

    if len(sim) < _FEWEST_ROWS or np.ptp(sim) == 0:
        return {free: _regress(0.0, sim, real, free) for free in _list_sets("bias")}
    # Equal smoothing leaves the effects as they are; without it, noise of simulated
    # would favour lags between rows, where interpolation averages it.
    x, y = (np.convolve(part, _SMOOTHING, "valid") for part in (sim, real))
    nearest = _find_lag_rows(x, y, rate) if np.ptp(y) > 0 else 0
    rows = np.arange(abs(nearest) + 2, len(x) - abs(nearest) - 2)
    curve = CubicSpline(np.arange(len(x)), x)

    def solve(lag: float, free: Free) -> _Fit:
        return _regress(lag, curve(rows - lag), y[rows], free)

    def fit(free: Free) -> _Fit:
        if "delay" not in free:
            return solve(0.0, free)
        found = minimize_scalar(
            lambda lag: solve(lag, free).mean_square,
            bounds=(nearest - 1.5, nearest + 1.5),
            method="bounded",
            options={"xatol": 1e-4},
        )
        return solve(float(found.x), free)

    moving: tuple[EffectName, ...] = ("delay",) if np.ptp(y) > 0 else ()
    return {free: fit(free) for free in _list_sets(*moving, "gain", "bias")}


def _list_sets(*names: EffectName) -> list[Free]:
    counts = range(len(names) + 1)
    return [frozenset(some) for n in counts for some in combinations(names, n)]


def _regress(lag: float, x: Floats, y: Floats, free: Free) -> _Fit:
    gain, bias = 1.0, 0.0
    if "gain" in free:
        centred = x - x.mean() if "bias" in free else x
        gain = float(centred @ y) / max(float(centred @ centred), 1e-300)
    if "bias" in free:
        bias = float(np.mean(y - gain * x))
    return _Fit(lag, gain, bias, y - gain * x - bias)


def _find_lag_rows(x: Floats, y: Floats, rate: float) -> int:
    """Whole rows of lag that leave least, gain and bias free.

    Of lags that leave as little as another but for noise, one without a change of sign
    comes first, then the nearest.
    """
    from scipy.signal import correlate

    widest = int(min(LONGEST_LAG * rate, len(x) // 4))
    x, core = x - x.mean(), y[widest : len(y) - widest]
    core = core - core.mean()
    lags = np.arange(widest, -widest - 1, -1)  # of the windows of x, first to last
    alike = correlate(x, core, "valid")
    power = _sum_windows(x * x, len(core)) - _sum_windows(x, len(core)) ** 2 / len(core)
    total = float(core @ core)
    left = total - alike**2 / np.maximum(power, 1e-12 * float(x @ x))
    best = int(np.argmin(left))
    window = x[best : best + len(core)]
    residual = _regress(0.0, window, core, frozenset({"gain", "bias"})).residual
    slack = 12 / compute_effective_count(residual)  # chi-square of one, at 5e-4
    lowest = _find_lowest(left)
    limit = min(lowest.values()) * (1 + slack) + NEGLIGIBLE * total
    near = [k for k, value in lowest.items() if value <= limit]
    return int(lags[min(near, key=lambda k: (alike[k] < 0, abs(lags[k])))])


def _find_lowest(values: Floats) -> dict[int, float]:
    """Places of local minima, and how low the parabola through each would reach."""
    padded = np.pad(values, 1, mode="reflect")
    before, after = padded[:-2], padded[2:]
    bend = before - 2 * values + after
    is_low = (values <= before) & (values <= after) & (bend > 0)
    depth = (before - after) ** 2 / (8 * np.where(is_low, bend, 1.0))
    found = np.flatnonzero(is_low)
    if not len(found):
        found = np.array([np.argmin(values)])
    return {int(k): max(0.0, float(values[k] - depth[k])) for k in found}


def _sum_windows(values: Floats, width: int) -> Floats:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[width:] - total[:-width]


def _choose_effects(
    fits: dict[Free, _Fit], negligible: float
) -> dict[EffectName, float]:
    """The smallest set of effects that explains as much as all of them, by F-tests.

    Each with the probability of its improvement by chance.
    """
    from scipy.stats import f

    floor = negligible**2 + 1e-300
    left = {free: fit.mean_square + floor for free, fit in fits.items()}
    full = max(fits, key=len)
    rest = fits[full].residual
    # What is negligible counts as white noise, however smooth it is.
    repeats = len(rest) / compute_effective_count(rest)
    repeats += (1 - repeats) * floor / left[full]
    freedom = max(len(rest) / repeats - len(full) - 1, 1.0)

    def compute_chance(few: Free, many: Free) -> float:
        steps = len(many) - len(few)
        extra = max(left[few] / left[many] - 1, 0.0)
        return float(f.sf(extra * freedom / steps, steps, freedom)) if steps else 1.0

    def is_enough(few: Free) -> bool:
        is_slight = left[few] - left[full] <= MATERIAL * left[few]
        return is_slight or compute_chance(few, full) > CHANCE

    chosen = min(filter(is_enough, fits), key=lambda free: (len(free), left[free]))
    return {name: compute_chance(chosen - {name}, chosen) for name in chosen}


def _compute_rest(sim: Floats, real: Floats, fit: _Fit) -> Floats:
    """What a fit leaves of measured, in the rows that have a partner."""
    from scipy.interpolate import CubicSpline

    if fit.rows == 0:
        return real - fit.gain * sim - fit.bias
    reach = math.ceil(abs(fit.rows))
    rows = np.arange(reach, len(sim) - reach)
    moved = CubicSpline(np.arange(len(sim)), sim)(rows - fit.rows)
    return real[rows] - fit.gain * moved - fit.bias


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
    sim, real = _check_pair(simulated, measured)
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

    sim, real = _check_pair(simulated, measured)
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


def _check_pair(simulated: ArrayLike, measured: ArrayLike) -> tuple[Floats, Floats]:
    sim, real = np.asarray(simulated, np.float64), np.asarray(measured, np.float64)
    if sim.shape != real.shape or sim.ndim != 1 or len(sim) < 2:
        raise BadRecording(
            f"Signals of shape {sim.shape} and {real.shape} cannot be compared.",
            hint="Resample both to the same times first.",
        )
    return sim, real


def _find_command_lags(
    command: ArrayLike | None, sim: Floats, real: Floats, rate: float
) -> tuple[float, float] | None:
    if command is None:
        return None
    sent = np.asarray(command, np.float64)
    if min(np.ptp(sent), np.ptp(sim), np.ptp(real)) < 1e-12:
        return None
    return estimate_delay(sent, sim, rate), estimate_delay(sent, real, rate)


def _rms(values: Floats) -> float:
    return math.sqrt(np.mean(values**2))


def _divide(error: float, scale: float) -> float:
    return error / scale if scale > 0 else (math.inf if error > 0 else 0.0)
