"""Worst-case parameters within a belief, how near they are, and why they fail."""

import time

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.certificate.results import (
    ParameterEffect,
    WorstResult,
    make_case,
    to_share,
)
from realworthy.certification.limits.search import (
    CubeSearchSettings,
    find_smallest_deviation,
    measure_sensitivity,
    search_worst,
)
from realworthy.certification.limits.validity import find_box
from realworthy.certification.rollouts.episodes import Rollouts, play_condition
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import WorstCaseSearch

Floats = NDArray[np.float64]
_GRADE = 0.1
"""Weight of the return beside the share of successes."""
_FRESH = 64
"""Episodes that repeat the worst case with other starts."""
_CHUNK = 512
"""Worlds that are played at once."""
_LEVELS = 5
"""Of each parameter around the worst case."""
_MOST_TURNS = 12
"""Parameters beyond which no sensitivity is measured."""


def examine_worst(
    subject: Subject, search: WorstCaseSearch, *, bar: float, seed: int
) -> WorstResult:
    """Searches the middle 90 % of the belief for an e at which the policy fails.

    It has failed where fewer than a share `bar` of fresh episodes succeed as well.
    """
    began = time.perf_counter()
    names, lower, upper = find_box(subject)
    if not names:
        return WorstResult(
            about="Nothing about this twin is uncertain.",
            margin=0.0,
            evaluations=0,
            is_failure=False,
            skipped="there is no belief to search",
        )
    score = _Score(subject, search, names, lower, upper, bar=bar, seed=seed)
    settings = CubeSearchSettings(evaluations=search.evaluations)
    worst = search_worst(score, len(names), settings, seed=seed)
    e = dict(zip(names, score.place(worst.point), strict=True))
    result = WorstResult(
        about="",
        margin=worst.margin,
        evaluations=len(worst.margins),
        is_failure=worst.is_failure,
        e={name: float(value) for name, value in e.items()},
        turns=_find_turns(score, names, worst.point),
    )
    if worst.is_failure:
        result = _look_closer(score, result, worst.point, bar)
    return _with(
        result, about=_describe(result, bar), seconds=time.perf_counter() - began
    )


class _Score:
    """Margin of points of the unit cube: successes less the bar, graded by return."""

    def __init__(
        self,
        subject: Subject,
        search: WorstCaseSearch,
        names: tuple[str, ...],
        lower: Floats,
        upper: Floats,
        *,
        bar: float,
        seed: int,
    ) -> None:
        self.subject, self.names, self.seed = subject, names, seed
        self.lower, self.upper = lower, upper
        self._each, self._bar = search.episodes, bar
        nominal = subject.twin.space.select(names).nominal
        width = np.where(upper > lower, upper - lower, 1.0)
        self.nominal = np.clip((nominal - lower) / width, 0.0, 1.0)
        everyday = self.play(self.place(self.nominal)[None], self._each)
        self._score = float(everyday.score.mean())
        self._unit = max(abs(self._score), 1e-6)

    def place(self, point: Floats) -> Floats:
        """e of a point of the cube."""
        return self.lower + point * (self.upper - self.lower)

    def play(self, e: Floats, each: int, *, seed: int | None = None) -> Rollouts:
        """`each` episodes of every row, with starts in common."""
        return play_condition(
            self.subject,
            Condition(),
            len(e) * each,
            seed=self.seed if seed is None else seed,
            rows=np.repeat(e, each, axis=0),
            names=self.names,
            numbers=np.tile(np.arange(each), len(e)),
        )

    def __call__(self, points: Floats) -> Floats:
        shares = []
        size = max(1, _CHUNK // self._each)
        for first in range(0, len(points), size):
            e = np.array([self.place(p) for p in points[first : first + size]])
            episodes = self.play(e, self._each)
            shape = (len(e), self._each)
            success = episodes.success.reshape(shape).mean(axis=1)
            score = episodes.score.reshape(shape).mean(axis=1)
            grade = np.clip((score - self._score) / self._unit, -1.0, 1.0)
            shares.append(success - self._bar + _GRADE * grade)
        return np.concatenate(shares)


def _find_turns(
    score: _Score, names: tuple[str, ...], point: Floats
) -> tuple[ParameterEffect, ...]:
    if len(names) > _MOST_TURNS:
        return ()
    sensitivity = measure_sensitivity(score, point, level_count=_LEVELS)
    values = score.place(point)
    turns = [
        ParameterEffect(
            name=name, worst=float(values[i]), effect=float(sensitivity.effect[i])
        )
        for i, name in enumerate(names)
    ]
    return tuple(sorted(turns, key=lambda turn: -turn.effect))


def _look_closer(
    score: _Score, result: WorstResult, point: Floats, bar: float
) -> WorstResult:
    """Whether the failure repeats itself with fresh starts, and how near it is."""
    again = score.play(score.place(point)[None], _FRESH, seed=score.seed + 7919)
    failed = np.flatnonzero((again.failure != 0) & ~again.invalid)
    cases = ()
    if len(failed):
        world = int(failed[0])
        cases = (
            make_case(
                int(again.failure[world]),
                cell="worst case",
                e=result.e,
                seed=score.seed + 7919,
                number=world,
                seconds=again.seconds[world],
            ),
        )
    share = to_share(again.success_count, again.valid_count)
    result = _with(result, is_failure=share.mean < bar, repeated=share, failures=cases)
    ends = np.stack([score.nominal, point])
    if not result.is_failure or score(ends)[1] > 0:
        return result
    near = find_smallest_deviation(score, score.nominal, point, tolerance=0.01)
    nearest = dict(zip(score.names, score.place(near.point).tolist(), strict=True))
    return _with(result, safe_fraction=near.safe, nearest=nearest)


def _with(result: WorstResult, **changes: object) -> WorstResult:
    import msgspec

    return msgspec.structs.replace(result, **changes)


def _describe(found: WorstResult, bar: float) -> str:
    if not found.is_failure and found.repeated is not None:
        again = found.repeated
        return (
            f"The worst of {found.evaluations} samples passes when retested: "
            f"{again.mean:.0%} of {again.count} new episodes succeed."
        )
    if not found.is_failure:
        return (
            f"None of {found.evaluations} parameter samples brings the success rate "
            f"below {bar:.0%}; that is no proof that none exists."
        )
    parts = [f"The policy fails at one of {found.evaluations} parameter samples."]
    if found.turns:
        first = found.turns[0]
        parts.append(f"'{first.name}' = {first.worst:.4g} has the largest effect.")
    if found.repeated is not None:
        share = found.repeated
        parts.append(f"Retested, {share.successes} of {share.count} episodes succeed.")
    if found.safe_fraction is not None:
        parts.append(
            f"The policy passes on the first {found.safe_fraction:.0%} of the way "
            "there from nominal."
        )
    return " ".join(parts)
