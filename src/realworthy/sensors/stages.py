"""The measuring law: what becomes of a true signal x until somebody reads it.

    x_d = x(t − delay)                           1  `recall` from a history
    x_f = x_f' + (1 − e^(−dt/τ)) (x_d − x_f')    2  `follow`, a first-order filter
    y   = scale · x_f + bias + σ n               3  `compute_reading`
    y_q = q · round(y / q)                       4  `quantise`, steps of an encoder
    r   = y_q where it arrives, else r'          5  `hold`

x_f' and r' are of the step before, n is standard normal. Whoever measures takes these
steps in this order and leaves out those that he lacks. A link that carries finished
numbers, readings or commands, has steps of its own behind them: it loses some (5), then
delays the others (1), and a drive that follows a command lags behind it (2).

Steps 3 to 5 have no memory of the signal, so a delay of readings is one of the truth
with the noise of that time: keep truths where noise is drawn when a reading is sent,
readings where it is drawn when they are made.

Arrays are (worlds, …), numpy or torch, and keep their library, dtype and device.
Histories are (worlds, count, …), the newest first. Chance comes from outside.
"""

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import array_api_compat as api

Array: TypeAlias = Any
"""A numpy array or a torch tensor."""


def fill(value: Array, count: int) -> Array:
    """(worlds, count, …) a history in which `value` (worlds, …) has always been."""
    xp = api.array_namespace(value)
    return xp.concat([value[:, None]] * count, axis=1)


def restart(history: Array, value: Array, worlds: Array) -> Array:
    """The history, but in `worlds` (worlds,) of bool `value` has always been."""
    xp = api.array_namespace(history)
    fresh = xp.reshape(worlds, (-1, *[1] * (history.ndim - 1)))
    return xp.where(fresh, value[:, None], history)


def remember(history: Array, value: Array) -> Array:
    """The history a step on, with `value` (worlds, …) and without the oldest."""
    xp = api.array_namespace(history)
    return xp.concat([value[:, None], history[:, :-1]], axis=1)


def recall(history: Array, age: Array, worlds: Array | None = None) -> Array:
    """(n, …) x_d, what was `age` (n,) whole steps ago (eq. 1), in all worlds or some.

    `worlds` (n,) are their numbers.
    """
    if worlds is None:
        xp = api.array_namespace(history)
        worlds = xp.arange(len(history), device=api.device(history))
    return history[worlds, age]


def find_share(timestep: float, time_constant: float) -> float:
    """1 − e^(−dt/τ), the share of the way that a filter goes in a step; 1 for τ = 0."""
    return 1.0 - math.exp(-timestep / time_constant) if time_constant else 1.0


def follow(last: Array, value: Array, share: Array | float) -> Array:
    """x_f, from what it was in the last step (eq. 2)."""
    return last + share * (value - last)


def compute_reading(
    true: Array,
    *,
    scale: Array | None = None,
    bias: Array | None = None,
    noise: Iterable[Array] = (),
) -> Array:
    """y; `noise` are σ n of independent sources, each as large as `true` (eq. 3)."""
    reading = true if scale is None else scale * true
    reading = reading if bias is None else reading + bias
    for part in noise:
        reading = reading + part
    return reading


def quantise(reading: Array, quantum: Array) -> Array:
    """y_q; a `quantum` of 0 has no steps (eq. 4)."""
    xp = api.array_namespace(reading)
    step = xp.where(quantum > 0.0, quantum, 1.0)
    return xp.where(quantum > 0.0, step * xp.round(reading / step), reading)


def hold(arrives: Array, reading: Array, last: Array) -> Array:
    """r; `arrives` (worlds,) of bool (eq. 5)."""
    xp = api.array_namespace(reading)
    fresh = xp.reshape(arrives, (-1, *[1] * (reading.ndim - 1)))
    return xp.where(fresh, reading, last)
