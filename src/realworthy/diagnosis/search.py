"""The search for causes: which suspects, together, explain the recordings best?"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fitting import (
    PRICE,
    Tried,
    Xs,
    find_slopes,
    fit,
    try_out,
)
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.suspects import Suspect

Floats = NDArray[np.float64]
Progress = Callable[[float, str], None]
_ALONG = np.array([0.15, 0.4, 1.0, 2.0, 4.0])
"""Shares of a look to which its answer is scaled."""
_FARTHEST = 3.0
"""How far numbers of causes give way to a new suspect, in their scales."""
_SEEN, _FEWEST = 1.0, 3
"""A cause gains that much in that many pieces; one piece alone may be chance."""
_CHUNK = 64
"""Looks that are judged at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """When a suspect is believed."""

    significance: float = 4.0
    """Mean gain over its standard error, over pieces, that a cause must reach."""
    material: float = 0.3
    """Fall of a joint's mean squared residual, in noise variances, that matters."""
    quiet: float = 1.3
    """Mean squared residual, in noise variances, below which nothing is looked for."""
    least_promise: float = 0.3
    """Of the best one's: what promises less at the first look is not fitted."""
    least_share: float = 0.03
    """Of all gains: what adds less is no cause of its own."""
    most_causes: int = 6
    leaders: int = 8
    """Suspects that are fitted after the first look, and as many of other kinds."""
    iterations: int = 4
    seconds: float = 60.0
    """After which no further cause is looked for."""
    loudest: int = 4
    """Joints, those furthest off, whose suspects are looked at next."""
    looked_at: int = 12
    """Pieces at which suspects are looked at first."""


@dataclass(slots=True)
class Found:
    """What a search has come to so far."""

    start: Tried
    now: Tried
    rivals: list[list[Tried]] = field(default_factory=list)
    """For each cause the others that were fitted in its place, best first."""
    is_out_of_time: bool = False

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        return self.now.suspects


def search(
    judge: Judge,
    suspects: Sequence[Suspect],
    settings: SearchSettings | None = None,
    *,
    found: Found | None = None,
    progress: Progress | None = None,
) -> Found:
    """Adds causes one by one while each explains what chance cannot.

    `found` is filled on the way, so that an interrupted search leaves what it had.
    """
    settings = settings or SearchSettings()
    until = time.perf_counter() + settings.seconds
    if found is None:
        start = try_out(judge, (), ())
        found = Found(start, start)
    while len(found.suspects) < settings.most_causes and suspects:
        if float(found.now.square.mean(0).max()) < settings.quiet:
            break
        if progress:
            said = found.suspects[-1].label if found.suspects else "suspects"
            progress(len(found.suspects) / settings.most_causes, said)
        if time.perf_counter() > until:
            found.is_out_of_time = True
            break
        if found.suspects:
            judge.settle(found.now.case)
            found.now = try_out(judge, found.suspects, found.now.xs)
        tried = _try_next(judge, found.now, suspects, settings, until)
        best = next((t for t in tried if is_gain(found.now, t, settings)), None)
        if best is None or not _adds(found, best, settings):
            break
        found.rivals.append([t for t in tried if t is not best])
        found.now = best
    if len(found.suspects) > 1 and not found.is_out_of_time:
        _reconsider(judge, found, settings, until)
    return found


def is_gain(before: Tried, after: Tried, settings: SearchSettings) -> bool:
    """Whether a fall of the loss is more than chance, and matters.

    Chance gains here and loses there. A true cause gains nearly everywhere, or, if it
    shows in few pieces only, a lot there and loses nowhere.
    """
    gain = (before.loss - after.loss).sum(1)
    spread = gain.std(ddof=1) / np.sqrt(len(gain)) + 1e-12
    won, lost = float(gain[gain > 0].sum()), float(-gain[gain < 0].sum())
    surety = float(gain.mean() / spread)
    is_steady = surety > settings.significance
    is_sparse = won > 16.0 and lost < 0.06 * won
    is_large = won > 60.0 and lost < 0.3 * won and surety > 0.6 * settings.significance
    in_pieces = int((gain > _SEEN).sum())
    fall = float((before.square - after.square).mean(0).max())
    cost = PRICE * (1 + len(after.newest.numbers))
    return bool(
        (is_steady or is_sparse or is_large)
        and in_pieces >= _FEWEST
        and fall > settings.material
        and won - lost > cost
    )


def is_as_good(best: Tried, other: Tried, before: Tried) -> bool:
    """Whether another set explains the recordings as well as the best one.

    Either nearly as much of what the best explains, or so that the pieces do not agree
    on which of the two is better.
    """
    worse = (other.loss - best.loss).sum(1)
    gain = float((before.loss - best.loss).sum())
    total = float(worse.sum()) + PRICE * (
        sum(map(len, other.xs)) - sum(map(len, best.xs))
    )
    spread = float(worse.std(ddof=1) * np.sqrt(len(worse)))
    return total < 0.02 * gain or (total < 2 * spread and total < 0.15 * gain)


def _adds(found: Found, best: Tried, settings: SearchSettings) -> bool:
    whole = float((found.start.loss - best.loss).sum())
    return float((found.now.loss - best.loss).sum()) > settings.least_share * whole


def _try_next(
    judge: Judge,
    now: Tried,
    suspects: Sequence[Suspect],
    settings: SearchSettings,
    until: float,
) -> list[Tried]:
    """Leaders of a first look, each fitted beside the causes so far, best first."""
    taken = {(s.name, s.joints, s.owner) for s in now.suspects if s.numbers}
    fresh = [
        s
        for s in suspects
        if (s.name, s.joints, s.owner) not in taken and s not in now.suspects
    ]
    fresh = [s for s in fresh if _is_near(s, judge, now, settings)]
    if not fresh:
        return []
    leaders = look(judge, now, fresh, settings)
    if not leaders:
        return []
    sets = [((*now.suspects, suspect), (*now.xs, x)) for suspect, x in leaders]
    tried = fit(judge, sets, iterations=settings.iterations, until=until)
    return sorted(tried, key=lambda t: t.total)


def _is_near(
    suspect: Suspect, judge: Judge, now: Tried, settings: SearchSettings
) -> bool:
    """Whether a suspect touches one of the joints that are furthest off now."""
    loud = judge.losses(now.square).sum(0)
    order = np.argsort(-loud)[: settings.loudest]
    names = {judge.bench.joints[i] for i in order}
    touched = suspect.touches or suspect.joints
    return not touched or bool(names & set(touched))


def look(
    judge: Judge, now: Tried, suspects: Sequence[Suspect], settings: SearchSettings
) -> list[tuple[Suspect, tuple[float, ...]]]:
    """The suspects that promise most, each with the x to begin a fit at."""
    asked = [(k, x) for k, suspect in enumerate(suspects) for x in suspect.looks]
    places = _spread_out(judge.piece_count, settings.looked_at)
    sight = _Sight(judge, now, places)
    promises: dict[int, tuple[float, tuple[float, ...]]] = {}
    for first in range(0, len(asked), _CHUNK):
        chunk = asked[first : first + _CHUNK]
        answers = judge.bench.evaluate(
            [now.case + suspects[k].case(x) for k, x in chunk], places
        )
        for (k, x), answer in zip(chunk, answers, strict=True):
            suspect = suspects[k]
            loss, factor = sight.promise(answer, may_scale=bool(suspect.grows))
            loss += PRICE * len(suspect.numbers)
            if k not in promises or loss < promises[k][0]:
                start = [
                    factor * v if i in suspect.grows else v for i, v in enumerate(x)
                ]
                promises[k] = (loss, tuple(start))
    chosen = _choose(promises, suspects, float(now.loss[places].sum()), settings)
    return [(suspects[k], promises[k][1]) for k in chosen]


def _spread_out(count: int, wanted: int) -> list[int]:
    """Numbers of pieces, evenly over all of them."""
    return sorted({int(i) for i in np.linspace(0, count - 1, min(count, wanted))})


class _Sight:
    """What a look at a suspect promises, if the causes so far may give way to it."""

    def __init__(self, judge: Judge, now: Tried, places: Sequence[int]) -> None:
        self._judge, self._places = judge, places
        self._base = judge.bench.evaluate([now.case], places)[0]
        slopes = judge.clean(find_slopes(judge, now, places), places)
        self._weight = np.sqrt(judge.weights(now.square[places]))
        shape = (len(slopes), self._base.size)
        self._slopes = slopes.reshape(shape).T
        weighted = (slopes * self._weight).reshape(shape)
        self._give = np.linalg.pinv(weighted.T, rcond=1e-6)  # (numbers, residuals)

    def promise(self, answer: Floats, *, may_scale: bool) -> tuple[float, float]:
        """Least loss along the line from the present to an answer, and where on it."""
        along = _ALONG if may_scale else np.array([1.0])
        line = self._base + along[:, None, None] * (answer - self._base)
        clean = self._judge.clean(line, self._places)
        moved = self._give @ (clean * self._weight).reshape(len(along), -1).T
        moved = np.clip(moved, -_FARTHEST, _FARTHEST)
        clean = clean - (self._slopes @ moved).T.reshape(clean.shape)
        losses = self._judge.losses(self._judge.square(clean)).sum((1, 2))
        best = int(np.argmin(losses))
        return float(losses[best]), float(along[best])


def _choose(
    promises: dict[int, tuple[float, tuple[float, ...]]],
    suspects: Sequence[Suspect],
    loss: float,
    settings: SearchSettings,
) -> list[int]:
    """The leaders, then the best of every other kind while there is room."""
    order = sorted(promises, key=lambda k: promises[k][0])
    best = loss - promises[order[0]][0]
    chosen: list[int] = []
    for k in order:
        gain = loss - promises[k][0]
        wanted = settings.least_promise * best * (1.0 if suspects[k].grows else 0.3)
        if gain <= max(wanted, 0.0):
            continue
        is_new = all(suspects[k].name != suspects[c].name for c in chosen)
        if len(chosen) < settings.leaders or (
            is_new and len(chosen) < 2 * settings.leaders
        ):
            chosen.append(k)
    return chosen


def _reconsider(
    judge: Judge, found: Found, settings: SearchSettings, until: float
) -> None:
    """Tries the rivals of each cause beside all the others, now that they are known."""
    judge.settle(found.now.case)
    found.now = try_out(judge, found.suspects, found.now.xs)
    for place in range(len(found.suspects)):
        suspects, xs = list(found.suspects), list(found.now.xs)
        sets: list[tuple[tuple[Suspect, ...], Xs]] = []
        for rival in found.rivals[place][: settings.leaders]:
            if rival.newest in suspects:
                continue
            others = [*suspects[:place], rival.newest, *suspects[place + 1 :]]
            numbers = (*xs[:place], rival.xs[-1], *xs[place + 1 :])
            sets.append((tuple(others), numbers))
        if not sets:
            found.rivals[place] = []
            continue
        tried = fit(judge, sets, iterations=settings.iterations, until=until)
        tried.sort(key=lambda t: t.total)
        if tried[0].total < found.now.total - PRICE:
            found.now, tried = tried[0], [found.now, *tried[1:]]
        found.rivals[place] = tried
