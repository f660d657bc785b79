"""How much of the gap each cause accounts for: Shapley values over all their sets.

The gap is the loss above that of noise, which grows with the logarithm of the error: a
cause that takes a joint from a hundred times the noise to ten counts as much as one
that takes another from ten to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fitting import Tried
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.suspects import combine

Floats = NDArray[np.float64]
_RESAMPLED = 400
_ENDS = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class Attribution:
    """Shares of the gap above noise."""

    shares: tuple[float, ...]
    """Of each cause."""
    intervals: tuple[tuple[float, float], ...]
    """90 %, over pieces."""
    unexplained: float
    without: tuple[Floats, ...]
    """(pieces, joints) squares with all causes but one corrected."""


def attribute(judge: Judge, found: Tried, seed: int = 0) -> Attribution:
    """Shares of causes, with every subset of them corrected and replayed."""
    count = len(found.suspects)
    sets = [s for k in range(count + 1) for s in combinations(range(count), k)]
    cases = [
        combine([found.suspects[i] for i in s], [found.xs[i] for i in s]) for s in sets
    ]
    squares = judge.squares(cases)
    worth = dict(zip(sets, judge.losses(squares).sum(2), strict=True))  # (pieces,)
    nothing, everything = worth[()], worth[tuple(range(count))]
    noise = judge.losses(np.minimum(1.0, squares[-1])).sum(1)
    floor = np.minimum(noise, everything)
    whole = nothing - floor
    gains = np.array([_shapley(i, count, worth) for i in range(count)])  # (causes, P)
    total = max(float(whole.sum()), 1e-12)
    draws = np.random.default_rng(seed).integers(
        0, len(whole), (_RESAMPLED, len(whole))
    )
    sums = np.maximum(whole[draws].sum(1), 1e-12)
    sampled = gains[:, draws].sum(2) / sums  # (causes, draws)
    ends = np.quantile(sampled, _ENDS, axis=1) if count else np.empty((2, 0))
    unexplained = float(np.clip((everything - floor).sum() / total, 0, 1))
    shares = _share_out(gains.sum(1) / total, 1 - unexplained)
    return Attribution(
        shares=tuple(shares),
        intervals=tuple(
            (float(np.clip(low, 0, share)), float(np.clip(high, share, 1)))
            for low, high, share in zip(*ends, shares, strict=True)
        ),
        unexplained=unexplained,
        without=tuple(
            squares[sets.index(tuple(k for k in range(count) if k != i))]
            for i in range(count)
        ),
    )


def _share_out(shares: Floats, explained: float) -> list[float]:
    """Shares that add up to what is explained; what only harms alone has none."""
    kept = np.maximum(shares, 0.0)
    scale = explained / kept.sum() if kept.sum() > 0 else 0.0
    return [float(share) for share in scale * kept]


def _shapley(i: int, count: int, worth: dict[tuple[int, ...], Floats]) -> Floats:
    """(pieces,) mean fall of the loss when cause i joins others, in any order."""
    gain = np.zeros_like(worth[()])
    others = [k for k in range(count) if k != i]
    for size in range(count):
        weight = factorial(size) * factorial(count - size - 1) / factorial(count)
        for chosen in combinations(others, size):
            gain += weight * (worth[chosen] - worth[tuple(sorted((*chosen, i)))])
    return gain


def sum_by_kind(kinds: Sequence[str], shares: Sequence[float]) -> dict[str, float]:
    """Kind of cause → its shares together."""
    found: dict[str, float] = {}
    for kind, share in zip(kinds, shares, strict=True):
        found[kind] = found.get(kind, 0.0) + share
    return found
