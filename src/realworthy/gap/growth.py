"""How a gap grows with the horizon, and which kind of error grows that way.

From one known state on, a wrong velocity moves positions apart as t, a wrong force as
t², and an unstable system multiplies whatever is wrong by e^{λt}. Where something holds
positions together (a servo, a limit), growth ends, and later horizons say no more.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError
from realworthy.gap.intervals import Interval, compute_limits

Floats = NDArray[np.float64]
GrowthKind = Literal[
    "velocity_bias", "force_bias", "instability", "saturated", "noise_floor", "mixed"
]

VISIBLE = 1.3
"""Gap over noise floor from which a horizon tells of more than noise."""
MIN_GAP_OVER_NOISE = 2.0
"""Gap over noise floor that noise alone does not reach: the rms of as few as ten
samples stays below 1 + 3/√(2·10) = 1.7, three standard errors."""
MIN_HORIZONS = 4
"""Horizons above the noise floor: two free numbers of a shape, and two to check it."""
AGREEING = 0.5
"""Share of resampled curves that must be of the same kind, else it is mixed."""
_SPREAD = 0.03
"""Standard deviation of log gap, at least: no curve is known better."""
_EXPONENT_TOLERANCE = 0.15
"""Distance of an exponent from 1 or 2 within which it counts as it: less than half of
what separates the two, so that 1.15 … 1.85 is `mixed`."""
_STEP = 0.03
"""Between the logarithms of two rates that are tried."""
_RESAMPLE_COUNT = 300
"""Bootstrap curves; a share of half of them is known to 3 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The kind of a gap curve of positions (those of velocities lose one power of t).

    `mixed`: none of the simple kinds, or several equally. `saturated`: no growth within
    the horizons. `noise_floor`: nothing but noise. None of these tells a cause.
    """

    kind: GrowthKind
    exponent: float | None = None
    """Slope of log gap over log time while it grows; None where noise hides it."""
    rate: float | None = None
    """[1/s] λ of an instability, else None."""
    interval: Interval | None = None
    """Of the rate of an instability, else of the exponent."""
    support: float = 1.0
    """Share of resampled curves that are of the likeliest kind; low where mixed."""
    saturates_at: float | None = None
    """[s] horizon beyond which growth ends, where it does."""


def classify_growth(
    times: ArrayLike,
    gap: ArrayLike,
    floor: ArrayLike,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Growth:
    """Kind of growth of a position gap over horizons `times` (K,) [s].

    `gap` is the curve (K,), or one row of errors per start or trajectory (n, K), whose
    root mean square is the curve and which are then resampled; rows that overlap in
    time make the interval too narrow. `floor` is what noise alone gives, in the unit of
    the gap, for all horizons or for each. Kinds are compared by their corrected Akaike
    information on log gap. Spread horizons over at least one decade.
    """
    horizons, errors, noise = _check(times, gap, floor)
    curve = errors if errors.ndim == 1 else np.sqrt(np.mean(errors**2, axis=0))
    seen = np.isfinite(curve) & (curve > VISIBLE * noise) & (curve > 0)
    if np.count_nonzero(seen) < MIN_HORIZONS:
        is_clear = bool((curve[seen] > MIN_GAP_OVER_NOISE * noise[seen]).any())
        return Growth(kind="mixed" if is_clear else "noise_floor")
    t, visible = horizons[seen], 1 - (noise[seen] / curve[seen]) ** 2
    shapes, weights = _list_shapes(tuple(t)), visible**2
    logs = np.log(curve[seen]) + 0.5 * np.log(visible)
    best = _choose(shapes, logs[None], weights)[0]
    rng = np.random.default_rng(seed)
    if errors.ndim == 1:
        drawn = _resample_residuals(shapes[best], logs, weights, rng)
    else:
        drawn = _resample_rows(errors[:, seen], noise[seen], rng)
    others = _choose(shapes, drawn, weights)
    shape = shapes[best]
    alike = [shapes[other] for other in others if shapes[other].kind == shape.kind]
    kind = shape.kind if len(alike) >= AGREEING * len(others) else "mixed"
    kept = t <= (math.inf if shape.end is None else max(shape.end, t[MIN_HORIZONS - 2]))
    slopes = _fit_slopes(t[kept], np.vstack([logs, drawn])[:, kept], weights[kept])
    count = len(logs) if errors.ndim == 1 else max(len(errors), 2)
    interval = compute_limits(slopes, level=level, count=count)
    if kind == "instability":
        rates = np.array([each.rate for each in alike])
        lower, upper = compute_limits(rates, level=level, count=count)
        half = math.exp(_STEP / 2)  # rates between those that are tried
        interval = Interval(lower / half, upper * half)
    return Growth(
        kind=kind,
        exponent=float(slopes[0]),
        rate=shape.rate if kind == "instability" else None,
        interval=interval,
        support=len(alike) / len(others),
        saturates_at=shape.end,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """One curve of log gap, but for its height."""

    kind: GrowthKind
    logs: Floats
    count: int
    """Free numbers, the height included."""
    rate: float = 0.0
    end: float | None = None


@lru_cache(maxsize=16)
def _list_shapes(times: tuple[float, ...]) -> list[_Shape]:
    """Curves to choose from; grids replace a search in one or two numbers."""
    t = np.array(times)
    log, last = np.log(t), t[-1]
    shapes = [
        _Shape("velocity_bias", log, 1),
        _Shape("force_bias", 2 * log, 1),
        _Shape("saturated", 0 * log, 1),
    ]
    exponents = np.linspace(-1, 4, 101)
    others = exponents[np.abs(exponents[:, None] - [1, 2]).min(1) > _EXPONENT_TOLERANCE]
    shapes += [_Shape("mixed", p * log, 2) for p in others]
    for end in np.geomspace(max(t[1], 0.02 * last), 2 * last, 40):
        ends = None if end > last else float(end)
        bend = np.log1p((end / t) ** 2)
        shapes.append(_Shape("velocity_bias", -np.log1p(end / t), 2, end=ends))
        shapes.append(_Shape("velocity_bias", -bend / 2, 2, end=ends))
        shapes.append(_Shape("force_bias", -bend, 2, end=ends))
        # A wrong force on a damped joint ends at a wrong speed.
        logs = np.log(np.expm1(-t / end) + t / end)
        shapes.append(_Shape("force_bias", logs, 2))
    for rate in np.exp(np.arange(math.log(1.5), math.log(40), _STEP / 3)) / last:
        x = rate * t
        curves = x, _log_sinh(x), 2 * _log_sinh(x / 2)  # the last: cosh x − 1
        shapes += [_Shape("instability", logs, 2, rate=rate) for logs in curves]
    for rate in np.exp(np.arange(math.log(3), math.log(40), _STEP)) / last:
        for end in np.linspace(0.3, 0.95, 27) * last:
            logs = -np.logaddexp(0, rate * (end - t))
            shapes.append(_Shape("instability", logs, 3, rate=rate, end=float(end)))
    return shapes


def _log_sinh(x: Floats) -> Floats:
    return x + np.log(-np.expm1(-2 * x) / 2)


def _choose(shapes: list[_Shape], logs: Floats, weights: Floats) -> NDArray[np.intp]:
    """(n,) index of the shape with the least information lost on each row of (n, K)."""
    share = weights / weights.sum()
    curves = np.stack([shape.logs for shape in shapes])
    curves = curves - (curves @ share)[:, None]
    centred = logs - (logs @ share)[:, None]
    power = (centred**2 @ share)[:, None] + (curves**2 @ share)
    left = np.maximum(power - 2 * (centred * share) @ curves.T, 0.0)
    n, free = logs.shape[1], np.array([shape.count + 1 for shape in shapes])
    room = n - free - 1
    penalty = 2 * free + 2 * free * (free + 1) / np.maximum(room, 1)
    penalty = np.where(room > 0, penalty, np.inf)
    return np.argmin(n * np.log(left + _SPREAD**2) + penalty, axis=1)


def _fit_slopes(t: Floats, logs: Floats, weights: Floats) -> Floats:
    share = weights / weights.sum()
    x = np.log(t) - np.log(t) @ share
    return logs @ (share * x) / float(x**2 @ share)


def _resample_residuals(
    shape: _Shape, logs: Floats, weights: Floats, rng: np.random.Generator
) -> Floats:
    """Curves around a shape with pairs of neighbouring residuals drawn anew."""
    fitted = shape.logs + np.average(logs - shape.logs, weights=weights)
    n = len(logs)
    residuals = (logs - fitted) * math.sqrt(n / max(n - shape.count, 1))
    starts = rng.integers(n, size=(_RESAMPLE_COUNT, (n + 1) // 2))
    places = (starts[:, :, None] + np.arange(2)).reshape(_RESAMPLE_COUNT, -1) % n
    noise = rng.normal(0, _SPREAD, (_RESAMPLE_COUNT, n))
    return fitted + residuals[places[:, :n]] + noise


def _resample_rows(errors: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    """Curves of rows drawn anew; where one sinks into the noise it is held there."""
    drawn = rng.integers(len(errors), size=(_RESAMPLE_COUNT, len(errors)))
    power = np.stack([np.mean(errors[rows] ** 2, axis=0) for rows in drawn])
    least = (VISIBLE**2 - 1) * noise**2 + 1e-300
    logs = 0.5 * np.log(np.maximum(power - noise**2, least))
    return logs + rng.normal(0, _SPREAD, logs.shape)


def _check(
    times: ArrayLike, gap: ArrayLike, floor: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    horizons, errors = np.asarray(times, np.float64), np.asarray(gap, np.float64)
    is_rising = horizons.ndim == 1 and (np.diff(horizons, prepend=0.0) > 0).all()
    if not is_rising or errors.shape[-1:] != horizons.shape:
        raise RealworthyError(
            f"A gap of shape {errors.shape} over horizons of shape {horizons.shape} is "
            "no curve.",
            hint="Horizons rise from above zero, with one gap each.",
        )
    return horizons, errors, np.broadcast_to(np.asarray(floor, float), horizons.shape)
