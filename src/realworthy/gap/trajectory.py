"""One simulated signal beside one measured: how far apart, and late, weak or shifted?

What sets two signals apart is fitted as measured(t) ≈ gain · simulated(t − lag) + bias,
and an effect is named where the others cannot stand in for it. Below are distances for
what rows cannot say: warped or shuffled time, frequencies, contacts, sets of points.
"""

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.gap.distances import check_pair
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
"""Rows for a fit of delay, gain and bias: three numbers from fewer fit chance."""
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
    sim, real = check_pair(simulated, measured)
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
        minimum = minimize_scalar(
            lambda lag: solve(lag, free).mean_square,
            bounds=(nearest - 1.5, nearest + 1.5),
            method="bounded",
            options={"xatol": 1e-4},
        )
        return solve(float(cast(Any, minimum).x), free)  # SciPy is not typed

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
    lows = np.flatnonzero(is_low)
    if not len(lows):
        lows = np.array([np.argmin(values)])
    return {int(k): max(0.0, float(values[k] - depth[k])) for k in lows}


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
