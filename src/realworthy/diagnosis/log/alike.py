"""How alike two signals are: over windows, over lags, and in matched pairs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WINDOWS = (1, 4, 16, 64)
"""Rows over which motion is added up, so that coarse encoders do not hide it."""
FEW_ROWS = 40
ROWS = 6000
"""Rows that a correlation over lags looks at, thinned out where there are more."""
POOR = 0.6
"""Likeness of what surely does not belong together."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A set of signals that stand under each other's names."""

    sources: dict[int, int]
    """Place → place where its signal is found."""
    own: float
    """Best likeness of any of them with what stands under its own name."""
    found: float
    """Worst likeness, among those that move, with what was found elsewhere."""


def compute_integral(time: Floats, rate: Floats) -> Floats:
    """Trapezoidal integral from the first row on."""
    steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(time)
    return np.concatenate([[0.0], np.cumsum(steps)])


def compare_motions(first: Floats, second: Floats) -> float:
    """Cosine between the moves of two signals, at the window that shows it best."""
    best = 0.0
    for window in WINDOWS:
        if 4 * window > len(first):
            break
        x, y = first[window:] - first[:-window], second[window:] - second[:-window]
        size = float(np.sqrt((x @ x) * (y @ y)))
        if size > 1e-12:
            found = float(x @ y) / size
            best = found if abs(found) > abs(best) else best
    return best


def compare_over_lags(
    commands: Floats, answers: Floats, rate: float, *, max_lag: float
) -> tuple[Floats, Floats]:
    """(commands, answers) lowest and highest correlation over the lags.

    Answers come after commands, by up to `max_lag` [s]; rows go down.
    """
    thin = max(1, len(commands) // ROWS)
    x, y = (_standardise(v[::thin]) for v in (commands, answers))
    lags = max(1, min(int(max_lag * rate / thin), len(x) // 4))
    size = 1 << (len(x) + lags).bit_length()
    spectrum_x, spectrum_y = np.fft.rfft(x, size, axis=0), np.fft.rfft(y, size, axis=0)
    product = np.conj(spectrum_x)[:, :, None] * spectrum_y[:, None, :]
    over = np.fft.irfft(product, size, axis=0)[:lags] / len(x)
    return over.min(axis=0), over.max(axis=0)


def find_exchange(likeness: Floats, *, clear: float) -> Exchange | None:
    """The exchange that explains likeness[i, j] clearly better than no exchange.

    From `clear` on two signals belong together. Every place in it must be a poor match
    of its own, and every place that matches anything must match what was found for it;
    None where that is not so.
    """
    from scipy.optimize import linear_sum_assignment

    strength = np.abs(likeness)
    _, columns = linear_sum_assignment(-strength)
    moved = {i: int(j) for i, j in enumerate(columns) if i != j}
    sure = {i for i, j in moved.items() if strength[i, j] > clear}
    kept = {
        i: j for i, j in moved.items() if sure & _cycle(i, moved)
    }  # others only change places because nothing of theirs moves
    for i, j in kept.items():
        resembles = strength[i].max() > POOR
        if strength[i, i] > POOR or (resembles and strength[i, j] <= clear):
            return None
    if not kept:
        return None
    return Exchange(
        sources=kept,
        own=max(float(strength[i, i]) for i in kept),
        found=min(float(strength[i, j]) for i, j in kept.items() if i in sure),
    )


def _cycle(start: int, moved: dict[int, int]) -> set[int]:
    cycle, at = {start}, moved[start]
    while at != start:
        cycle.add(at)
        at = moved[at]
    return cycle


def _standardise(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    spread = values.std(axis=0)
    return centred / np.where(spread > 1e-9, spread, np.inf)
