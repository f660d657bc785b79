"""Numbers of several suspects at once, each beside the causes found before."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.suspects import Case, Suspect, combine

Floats = NDArray[np.float64]
Xs = tuple[tuple[float, ...], ...]
PRICE = 3.0
"""Fall of the loss that one more number must bring."""
_FACTORS = (0.3, 1.0, 2.0)
"""Shares of a step that are tried."""
_DAMPING = 1e-2
_FARTHEST = 3.0
"""Most that a number moves in a step, in its scale."""
_NOTHING = 0.05
"""Fall of the loss that is no progress."""
_ENOUGH = 0.002
"""Share of the loss below which a fall ends a fit."""
_NUDGE, _SMALLEST = 0.1, 0.05


@dataclass(frozen=True, slots=True)
class Tried:
    """Suspects with their numbers, and how badly they predict."""

    suspects: tuple[Suspect, ...]
    xs: Xs
    square: Floats
    """(pieces, joints) mean squared residual, in noise variances."""
    loss: Floats
    """(pieces, joints)"""

    @property
    def total(self) -> float:
        """Loss of all pieces, and what the numbers cost."""
        return float(self.loss.sum()) + PRICE * sum(map(len, self.xs))

    @property
    def case(self) -> Case:
        return combine(self.suspects, self.xs)

    @property
    def newest(self) -> Suspect:
        return self.suspects[-1]


def try_out(judge: Judge, suspects: Sequence[Suspect], xs: Xs) -> Tried:
    """Suspects with given numbers, as they are."""
    square = judge.squares([combine(suspects, xs)])[0]
    return Tried(tuple(suspects), xs, square, judge.losses(square))


@dataclass(slots=True)
class _Attempt:
    """One fit on its way."""

    suspects: tuple[Suspect, ...]
    x: Floats
    residual: Floats
    square: Floats
    loss: float
    nudge: float = _NUDGE
    is_done: bool = False

    def case(self, x: Floats) -> Case:
        return combine(self.suspects, self.split(x))

    def split(self, x: Floats) -> list[Floats]:
        if not self.suspects:
            return []
        ends = np.cumsum([len(s.numbers) for s in self.suspects])[:-1]
        return np.split(x, ends)


def fit(
    judge: Judge,
    sets: Sequence[tuple[tuple[Suspect, ...], Xs]],
    *,
    iterations: int,
    until: float = np.inf,
) -> list[Tried]:
    """Gauss–Newton for every set of suspects from given numbers, all sets at once.

    No iteration is begun after `until`, on the performance counter.
    """
    attempts = _begin(judge, sets)
    for _ in range(iterations):
        if time.perf_counter() > until:
            break
        going = [a for a in attempts if not a.is_done and len(a.x)]
        if not going:
            break
        _advance(judge, going)
    return [
        Tried(
            a.suspects,
            tuple(tuple(part.tolist()) for part in a.split(a.x)),
            a.square,
            judge.losses(a.square),
        )
        for a in attempts
    ]


def estimate_spread(judge: Judge, tried: Tried) -> Floats:
    """(numbers,) sd of x, from how pieces disagree; inf where nothing tells."""
    attempt = _begin(judge, [(tried.suspects, tried.xs)])[0]
    if not len(attempt.x):
        return np.empty(0)
    slope = _slopes(judge, [attempt])[0]
    weight = np.sqrt(judge.weights(attempt.square))
    flat = judge.clean(np.concatenate([attempt.residual[None], slope])) * weight
    r, jacobian = flat[0], np.moveaxis(flat[1:], 0, -1)  # (P, M), (P, M, d)
    normal = np.einsum("pmi,pmj->ij", jacobian, jacobian)
    size = np.sqrt(np.diag(normal))
    told = size > 1e-9 * size.max() if size.max() > 0 else size > 0
    sd = np.full(len(attempt.x), np.inf)
    if told.any():
        pushes = np.einsum("pmi,pm->pi", jacobian, r)[:, told]
        inverse = np.linalg.pinv(normal[np.ix_(told, told)], rcond=1e-10)
        middle = pushes.T @ pushes + np.diag(np.diag(normal)[told])
        sd[told] = np.sqrt(np.maximum(np.diag(inverse @ middle @ inverse), 0.0))
    return sd


def find_slopes(judge: Judge, tried: Tried, places: Sequence[int]) -> Floats:
    """(numbers, pieces, M) derivatives of residuals by the numbers of a set."""
    x = np.array([v for part in tried.xs for v in part])
    attempt = _Attempt(tried.suspects, x, np.empty(0), np.empty(0), np.inf)
    cases = [tried.case, *(attempt.case(x + _NUDGE * row) for row in np.eye(len(x)))]
    answers = judge.bench.evaluate(cases, places)
    return (answers[1:] - answers[0]) / _NUDGE


def _begin(
    judge: Judge, sets: Sequence[tuple[tuple[Suspect, ...], Xs]]
) -> list[_Attempt]:
    empty = np.empty(0)
    attempts = [
        _Attempt(suspects, np.array([v for x in xs for v in x]), empty, empty, np.inf)
        for suspects, xs in sets
    ]
    outcomes = judge.bench.evaluate([a.case(a.x) for a in attempts])
    squares = judge.condense(outcomes)
    for attempt, outcome, square in zip(attempts, outcomes, squares, strict=True):
        attempt.residual, attempt.square = outcome, square
        attempt.loss = float(judge.losses(square).sum())
    return attempts


def _slopes(judge: Judge, attempts: Sequence[_Attempt]) -> list[Floats]:
    """(numbers, pieces, M) derivatives of residuals, of all attempts in one go."""
    nudged = [a.case(a.x + a.nudge * row) for a in attempts for row in np.eye(len(a.x))]
    moved, place, slopes = judge.bench.evaluate(nudged), 0, []
    for a in attempts:
        slopes.append((moved[place : place + len(a.x)] - a.residual) / a.nudge)
        place += len(a.x)
    return slopes


def _advance(judge: Judge, attempts: Sequence[_Attempt]) -> None:
    """One step of every attempt."""
    trials: list[list[Floats]] = []
    for a, slope in zip(attempts, _slopes(judge, attempts), strict=True):
        step = _newton(judge, a, slope)
        trials.append([a.x + factor * step for factor in _FACTORS])
    cases = [a.case(x) for a, xs in zip(attempts, trials, strict=True) for x in xs]
    outcomes = judge.bench.evaluate(cases)
    squares = judge.condense(outcomes)
    totals = judge.losses(squares).sum((1, 2)).reshape(len(attempts), -1)
    for k, (a, xs) in enumerate(zip(attempts, trials, strict=True)):
        winner = int(np.argmin(totals[k]))
        gained = a.loss - totals[k, winner]
        if gained < _NOTHING:
            a.is_done = a.nudge < _SMALLEST
            a.nudge *= 0.3
            continue
        at = k * len(_FACTORS) + winner
        a.is_done = bool(gained < _ENOUGH * a.loss)
        a.x, a.residual, a.square = xs[winner], outcomes[at], squares[at]
        a.loss = float(totals[k, winner])


def _newton(judge: Judge, attempt: _Attempt, slope: Floats) -> Floats:
    """Weighted least squares over what starts cannot explain."""
    weight = np.sqrt(judge.weights(attempt.square))
    clean = judge.clean(np.concatenate([attempt.residual[None], slope]))
    flat = (clean * weight).reshape(len(clean), -1)
    jacobian, r = flat[1:].T, flat[0]
    normal = jacobian.T @ jacobian
    size = np.diag(normal)
    damped = normal + np.diag(_DAMPING * size + 1e-6 * size.mean() + 1e-12)
    step = -np.linalg.solve(damped, jacobian.T @ r)
    return np.clip(step, -_FARTHEST, _FARTHEST)
