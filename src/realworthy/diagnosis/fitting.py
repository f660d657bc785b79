"""Numbers of several suspects at once, each beside the causes found before.

Iteratively reweighted least squares with Marquardt's damping, by the equations of
`identification.solver`, for many sets of suspects side by side.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.suspects import Case, Suspect, combine
from realworthy.identification.solver.jacobian import Jacobian
from realworthy.identification.solver.linearisation import NormalEquations, Prior

Floats = NDArray[np.float64]
Xs = tuple[tuple[float, ...], ...]
PRICE = 3.0
"""Fall of the loss that one more number must bring."""
_STEP_FACTORS = (0.3, 1.0, 2.0)
"""Shares of a step that are tried."""
_DAMPING = 1e-2
"""μ: a hundredth of the diagonal, nearly Gauss–Newton's step; its shares are tried."""
_MAX_STEP = 3.0
"""Most that a number moves in a step, in its scale."""
_NO_PROGRESS = 0.05
"""Fall of the loss, in units of log likelihood, that is no progress."""
_NO_PROGRESS_SHARE = 0.002
"""Share of the loss below which a fall ends a fit."""
_FIRST_DIFFERENCE, _MIN_DIFFERENCE = 0.1, 0.05
"""Of derivatives, in scales of a number: at first, and the least at which a fit that
makes no progress tries once more, three times finer."""
_FINER = 0.3
_MIN_SENSITIVITY_SHARE = 1e-9
"""Of the most sensitive number's; below this a number is not identified at all."""


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
    difference: float = _FIRST_DIFFERENCE
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
    """(numbers,) sd of x, from how pieces disagree; inf where not identified."""
    attempt = _begin(judge, [(tried.suspects, tried.xs)])[0]
    if not len(attempt.x):
        return np.empty(0)
    slope = _slopes(judge, [attempt])[0]
    weight = np.sqrt(judge.weights(attempt.square))
    flat = judge.clean(np.concatenate([attempt.residual[None], slope])) * weight
    r, jacobian = flat[0], np.moveaxis(flat[1:], 0, -1)  # (P, M), (P, M, d)
    normal = np.einsum("pmi,pmj->ij", jacobian, jacobian)
    size = np.sqrt(np.diag(normal))
    least = _MIN_SENSITIVITY_SHARE * size.max()
    identified = size > least
    sd = np.full(len(attempt.x), np.inf)
    if identified.any():
        # H⁻¹ (Σ_p g_p g_pᵀ) H⁻¹ with g_p = J_pᵀ r_p: pieces are independent clusters
        # (Liang and Zeger 1986); diag H is what white noise alone would add
        gradients = np.einsum("pmi,pm->pi", jacobian, r)[:, identified]
        inverse = np.linalg.pinv(normal[np.ix_(identified, identified)], rcond=1e-10)
        middle = gradients.T @ gradients + np.diag(np.diag(normal)[identified])
        variance = np.diag(inverse @ middle @ inverse)
        sd[identified] = np.sqrt(np.maximum(variance, 0.0))
    return sd


def find_slopes(judge: Judge, tried: Tried, places: Sequence[int]) -> Floats:
    """(numbers, pieces, M) derivatives of residuals by the numbers of a set."""
    x = np.array([v for part in tried.xs for v in part])
    attempt = _Attempt(tried.suspects, x, np.empty(0), np.empty(0), np.inf)
    cases = [
        tried.case,
        *(attempt.case(x + _FIRST_DIFFERENCE * row) for row in np.eye(len(x))),
    ]
    answers = judge.bench.evaluate(cases, places)
    return (answers[1:] - answers[0]) / _FIRST_DIFFERENCE


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
    moved = [
        a.case(a.x + a.difference * row) for a in attempts for row in np.eye(len(a.x))
    ]
    answers, place, slopes = judge.bench.evaluate(moved), 0, []
    for a in attempts:
        slopes.append((answers[place : place + len(a.x)] - a.residual) / a.difference)
        place += len(a.x)
    return slopes


def _advance(judge: Judge, attempts: Sequence[_Attempt]) -> None:
    """One step of every attempt."""
    trials: list[list[Floats]] = []
    for a, slope in zip(attempts, _slopes(judge, attempts), strict=True):
        step = _newton(judge, a, slope)
        trials.append([a.x + factor * step for factor in _STEP_FACTORS])
    cases = [a.case(x) for a, xs in zip(attempts, trials, strict=True) for x in xs]
    outcomes = judge.bench.evaluate(cases)
    squares = judge.condense(outcomes)
    totals = judge.losses(squares).sum((1, 2)).reshape(len(attempts), -1)
    for k, (a, xs) in enumerate(zip(attempts, trials, strict=True)):
        winner = int(np.argmin(totals[k]))
        gained = a.loss - totals[k, winner]
        if gained < _NO_PROGRESS:
            a.is_done = a.difference < _MIN_DIFFERENCE
            a.difference *= _FINER
            continue
        at = k * len(_STEP_FACTORS) + winner
        a.is_done = bool(gained < _NO_PROGRESS_SHARE * a.loss)
        a.x, a.residual, a.square = xs[winner], outcomes[at], squares[at]
        a.loss = float(totals[k, winner])


def _newton(judge: Judge, attempt: _Attempt, slope: Floats) -> Floats:
    """A damped step of weighted least squares over what starts cannot explain."""
    count = len(attempt.x)
    clean = judge.clean(np.concatenate([attempt.residual[None], slope]))
    flat = clean.reshape(len(clean), -1)
    rows, none = flat.shape[1], np.zeros((1, 0))
    equations = NormalEquations(
        Jacobian(flat[1:].T, np.zeros((rows, 0)), ()),
        flat[0],
        judge.weights(attempt.square).reshape(-1),
        [slice(0, rows)],
        none,
        Prior(attempt.x, np.zeros((count, count))),  # numbers are bounded, not believed
        attempt.x,
    )
    reach = np.full(count, _MAX_STEP)
    return equations.step(_DAMPING, -reach, reach)[0]
