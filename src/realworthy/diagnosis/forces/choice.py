"""Which suspects, together, explain the balances of forces best?

What is left of a balance is disturbance and noise, with a colour of its own: an
autoregression, estimated from what is left itself, whitens it (generalised least
squares, Cochrane and Orcutt 1949). Suspects are then compared by the likelihood of
what no past predicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.forces.balance import Balance
from realworthy.diagnosis.forces.columns import Key, Term

Floats = NDArray[np.float64]

ORDER = 8
"""Rows of the past: about a quarter of a second."""
ROUNDS = 2
"""Of whitening and solving."""
BLOCK_ROWS = 60
"""Of a stretch: longer than a disturbance lasts, short enough that there are dozens."""
FLOOR = 1e-3
"""White part of what is left, in parts of it: nothing is known better than that."""


NARROW = ("slosh", "flexibility")
PLACES, SHAPES = 24, 3
"""Suspects that are fitted after a first look, and shapes of each."""
RARE = {"default_pose": 3.0, "thermal_fade": 2.0, "slosh": 4.0}
"""Logarithm of how much rarer than others."""
SLACK = 0.2
"""Relative error of a number at a first look."""
UNSEEN = 1e-5
"""Of the largest: columns smaller than that show nothing."""


@dataclass(frozen=True)
class Fitted:
    """Terms with their numbers."""

    terms: tuple[Term, ...]
    numbers: Floats
    errors: Floats
    """Standard errors."""
    loss: dict[Key, float]
    """-log likelihood of each balance."""
    usual: float
    """The same of numbers that are known beforehand."""
    left: dict[Key, list[Floats]]

    @property
    def total(self) -> float:
        return sum(self.loss.values()) + self.usual

    def of(self, term: Term) -> tuple[Floats, Floats]:
        """Numbers of one term, and their errors."""
        first = 0
        for other in self.terms:
            if other is term:
                rows = slice(first, first + term.count)
                return self.numbers[rows], self.errors[rows]
            first += other.count
        raise KeyError(term.name)


@dataclass(frozen=True)
class Picked:
    """A suspect that was chosen, and those that would do nearly as well."""

    term: Term
    gain: float
    """Fall of -log likelihood when it joined."""
    rivals: tuple[tuple[Term, float], ...] = ()
    """Others and their gains in its place."""
    share: float = 1.0
    """Of the mean square that was off, on the balance where it explains most."""
    falls: Floats = field(default_factory=lambda: np.ones(1))
    """Fall of -log likelihood in each stretch of `BLOCK_ROWS` rows."""


@dataclass(frozen=True)
class Chosen:
    nothing: Fitted
    now: Fitted
    picked: tuple[Picked, ...] = ()
    promises: dict[tuple[str, tuple[str, ...], str], float] = field(
        default_factory=dict
    )
    """What every suspect alone gains."""


def price(term: Term, rows: int) -> float:
    """What numbers must gain: half the logarithm of rows each (Schwarz 1978).

    And what a cause is rarer than another that looks like it.
    """
    numbers = 0.5 * np.log(max(rows, 2)) * (term.count + term.shaped)
    return numbers + RARE.get(term.name, 0.0)


def fit_terms(
    balance: Balance,
    terms: Sequence[Term],
    start: Fitted | None = None,
    *,
    is_white: bool = False,
) -> Fitted:
    """Generalised least squares of all terms at once.

    `is_white` begins without a colour, which a narrow tone would have hidden in.
    """
    keys = list(balance.targets)
    touched = [k for k in keys if any(k in t.columns for t in terms)]
    count = sum(t.count for t in terms)
    tables = {key: _stack(balance, key, terms, count) for key in touched}
    left = dict(start.left) if start else dict(balance.targets)
    loss = dict(start.loss) if start else {}
    for key in keys:
        if key not in loss:
            loss[key] = _measure_loss(left[key])[0]
    numbers, errors = np.zeros(count), np.full(count, np.inf)
    for turn in range(ROUNDS if count else 0):
        normal, push = np.zeros((count, count)), np.zeros(count)
        for key in touched:
            _, variance, colour = _measure_loss(left[key])
            if is_white and turn == 0:
                colour = np.zeros(ORDER + 1)
                colour[0] = 1.0
                variance = float(np.mean(np.concatenate(left[key]) ** 2)) + 1e-18
            for table, target in zip(tables[key], balance.targets[key], strict=True):
                white = _whiten(colour, np.column_stack([table, target]))
                x, y = white[:, :-1], white[:, -1]
                normal += x.T @ x / variance
                push += x.T @ y / variance
        normal += np.diag([t.spread**-2 for t in terms for _ in range(t.count)])
        size = np.sqrt(np.diag(normal))
        scale = np.where(size > UNSEEN * _largest(size, terms), size, np.inf) + 1e-300
        scaled = normal / scale[:, None] / scale
        inverse = np.linalg.pinv(scaled, rcond=1e-6, hermitian=True)
        numbers = inverse @ (push / scale) / scale
        errors = np.sqrt(np.maximum(np.diag(inverse), 0.0)) / scale
        for key in touched:
            left[key] = [
                target - table @ numbers
                for table, target in zip(tables[key], balance.targets[key], strict=True)
            ]
    for key in touched:
        loss[key] = _measure_loss(left[key])[0]
    spread = np.array([t.spread for t in terms for _ in range(t.count)])
    usual = 0.5 * float(np.sum((numbers / spread) ** 2)) if count else 0.0
    return Fitted(tuple(terms), numbers, errors, loss, usual, left)


def choose(
    balance: Balance,
    terms: Sequence[Term],
    *,
    usual: Sequence[Term] = (),
    most: int = 5,
    least: float = 0.0,
    matters: float = 0.0,
) -> Chosen:
    """Adds suspects one by one while each gains more than its numbers cost.

    `usual` are beside all of them. What explains no more than `matters` of the mean
    square of any balance is passed over, however surely.
    """
    nothing = fit_terms(balance, usual)
    now, picked = nothing, []
    rows = sum(len(part) for part in next(iter(balance.targets.values()), []))
    chosen: list[Term] = []
    promises: dict[tuple[str, tuple[str, ...], str], float] = {}
    while len(chosen) < most:
        tried = []
        fresh = [t for t in terms if all(t.place != c.place for c in chosen)]
        for term in _screen(balance, fresh, now):
            mine = (*usual, *chosen, term)
            after = fit_terms(balance, mine, now)
            if term.name in NARROW:
                other = fit_terms(balance, mine, now, is_white=True)
                after = min(after, other, key=lambda f: f.total)
            first = float(after.of(term)[0][0])
            if not term.low <= first <= term.high or abs(first) < term.least:
                continue
            gain = now.total - after.total - price(term, rows)
            tried.append((gain, term, after))
        best_of: dict[object, tuple[float, Term, Fitted]] = {}
        for one in sorted(tried, key=lambda t: -t[0]):
            best_of.setdefault(one[1].place, one)
        order = sorted(best_of.values(), key=lambda t: -t[0])
        if not chosen:
            promises = {one[1].place: one[0] for one in order}
        order = [one for one in order if one[0] > least]
        weighed = ((weigh(now, one[2], one[1]), one) for one in order)
        enough = ((w, one) for w, one in weighed if w[0] > matters)
        found = next(enough, None)
        if found is None:
            break
        (share, falls), best = found
        gain, term, after = best
        rivals = tuple((t, g) for g, t, _ in order[:13] if t is not term)
        picked.append(Picked(term, gain, rivals, share, falls))
        chosen.append(term)
        now = after
    return Chosen(nothing, now, tuple(picked), promises)


def weigh(before: Fitted, after: Fitted, term: Term) -> tuple[float, Floats]:
    """Largest share of a balance's mean square that a term explains, and its falls."""
    shares, falls = [], []
    for key in term.columns:
        had = sum(float(p @ p) for p in before.left[key])
        has = sum(float(p @ p) for p in after.left[key])
        shares.append(1 - has / max(had, 1e-18))
        _, variance, colour = _measure_loss(before.left[key])
        for one, other in zip(before.left[key], after.left[key], strict=True):
            a = _whiten(colour, one[:, None])[:, 0]
            b = _whiten(colour, other[:, None])[:, 0]
            fall = 0.5 * (a**2 - b**2) / variance
            count = max(1, len(fall) // BLOCK_ROWS)
            falls += [float(x.sum()) for x in np.array_split(fall, count)]
    return max(shares), np.array(falls)


def _screen(balance: Balance, terms: Sequence[Term], now: Fitted) -> list[Term]:
    """Terms that promise most against what is left, with its colour as it is now."""
    white: dict[Key, tuple[list[Floats], float, Floats, float]] = {}
    for key, parts in now.left.items():
        _, variance, colour = _measure_loss(parts)
        y = np.concatenate([_whiten(colour, part[:, None])[:, 0] for part in parts])
        white[key] = ([y], variance, colour, float(y @ y))
    wide: dict[Key, tuple[Floats, list[int]]] = {}
    for key in white:
        mine = [i for i, t in enumerate(terms) if key in t.columns]
        if not mine:
            continue
        colour = white[key][2]
        tables = [
            _whiten(colour, np.concatenate([terms[i].columns[key][k] for i in mine], 1))
            for k in range(len(balance.targets[key]))
        ]
        wide[key] = (np.concatenate(tables), mine)
    columns: list[dict[Key, Floats]] = [{} for _ in terms]
    for key, (table, mine) in wide.items():
        first = 0
        for i in mine:
            columns[i][key] = table[:, first : first + terms[i].count]
            first += terms[i].count
    promises = []
    for term, own in zip(terms, columns, strict=True):
        normal, push = np.zeros((term.count, term.count)), np.zeros(term.count)
        for key, x in own.items():
            normal += x.T @ x / white[key][1]
            push += x.T @ white[key][0][0] / white[key][1]
        numbers = np.linalg.pinv(normal, rcond=1e-9, hermitian=True) @ push
        slack = SLACK * abs(numbers[0])
        if not term.low - slack <= numbers[0] <= term.high + slack:
            promises.append(-np.inf)
            continue
        gain = 0.0
        for key, x in own.items():
            rest = white[key][0][0] - x @ numbers
            had = white[key][3]
            gain += 0.5 * len(rest) * np.log(had / max(float(rest @ rest), 1e-12 * had))
        promises.append(gain - 3.0 * (term.count + term.shaped))
    order = sorted(range(len(terms)), key=lambda i: -promises[i])
    kept: list[Term] = []
    seen: dict[object, int] = {}
    for i in order:
        if promises[i] == -np.inf:
            break
        place = terms[i].place
        is_narrow = terms[i].name in NARROW
        if len(seen) >= PLACES and place not in seen and not is_narrow:
            continue
        if seen.get(place, 0) < SHAPES:
            seen[place] = seen.get(place, 0) + 1
            kept.append(terms[i])
    return kept


def _largest(sizes: Floats, terms: Sequence[Term]) -> Floats:
    """Of every number, the largest size among the numbers of its term."""
    ends = np.cumsum([t.count for t in terms])[:-1]
    parts = [np.full(len(p), max(p.max(), 1e-12)) for p in np.split(sizes, ends)]
    return np.concatenate(parts)


def _stack(
    balance: Balance, key: Key, terms: Sequence[Term], count: int
) -> list[Floats]:
    tables = [np.zeros((len(part), count)) for part in balance.targets[key]]
    first = 0
    for term in terms:
        for table, part in zip(tables, term.columns.get(key, []), strict=False):
            table[:, first : first + term.count] = part
        first += term.count
    return tables


def _measure_loss(parts: Sequence[Floats]) -> tuple[float, float, Floats]:
    """-log likelihood, variance of what no past predicts, and the colour."""
    colour = _find_colour(parts)
    white = [_whiten(colour, part[:, None])[:, 0] for part in parts]
    count = sum(len(part) for part in white)
    variance = sum(float(w @ w) for w in white) / max(count, 1) + 1e-18
    return 0.5 * count * float(np.log(variance)), variance, colour


def _find_colour(parts: Sequence[Floats]) -> Floats:
    """Autoregression 1, -a1, … of what is left (Yule and Walker)."""
    from scipy.linalg import solve_toeplitz

    lags = np.zeros(ORDER + 1)
    for part in parts:
        for k in range(min(ORDER + 1, len(part))):
            lags[k] += float(part[k:] @ part[: len(part) - k])
    if lags[0] <= 1e-18:
        return np.concatenate([[1.0], np.zeros(ORDER)])
    lags[0] *= 1 + FLOOR
    past = np.asarray(solve_toeplitz(lags[:-1], lags[1:]))
    return np.concatenate([[1.0], -past])


def _whiten(colour: Floats, values: Floats) -> Floats:
    """Rows, less what the rows before predict; the first rows are left out."""
    if len(values) <= ORDER:
        return values
    count = len(values) - ORDER
    out = values[ORDER:].copy()
    for k in range(1, ORDER + 1):
        out += colour[k] * values[ORDER - k : ORDER - k + count]
    return out
