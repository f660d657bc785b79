"""Within which limits a policy works: boxes of e, tried by realities drawn inside.

The widest box holds the middle 90 % of what is believed of each parameter. Realities
are spread evenly over a box, so its corners count as much as its middle; where too few
of them do well, the box is drawn in about the nominal values, and fresh realities
decide again. The lower bound of a certificate is one of realities, not of episodes: at
least 90 % of those within the limits show it, with 95 % confidence.
"""

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.certificate.results import (
    FailureCase,
    Validity,
    ValidityRange,
    ValidityResult,
    count_codes,
    make_case,
)
from realworthy.certification.certificate.statistics import (
    CertificateVerdict,
    compute_cvar,
)
from realworthy.certification.limits.tolerance import Tolerance, bound_realities
from realworthy.certification.rollouts.episodes import Rollouts, play_condition
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import Coverage
from realworthy.policies.terms import list_signals
from realworthy.tasks.task import Task

Floats = NDArray[np.float64]
_ENDS = (0.05, 0.95)
"""Quantiles of the belief between which the widest box lies."""
_CHUNK = 256
"""Worlds that are played at once."""


def examine_validity(
    subject: Subject, coverage: Coverage, *, bar: float, seed: int
) -> ValidityResult:
    """The widest of the boxes within which the lower bound reaches the bar."""
    began = time.perf_counter()
    names, lower, upper = find_box(subject)
    nominal = subject.twin.space.select(names).nominal
    tried: list[tuple[float, float]] = []
    played: _Realities | None = None
    scales = coverage.scales if names else (1.0,)
    for attempt, scale in enumerate(scales):
        is_last = attempt == len(scales) - 1
        low = nominal + scale * (lower - nominal)
        high = nominal + scale * (upper - nominal)
        played = _Realities(
            subject,
            coverage,
            names,
            low,
            high,
            seed=seed + 101 * (attempt + 1),
            wanted=0.0 if is_last else bar,
        )
        tried.append((scale, played.bound.lower))
        if played.bound.lower >= bar:
            break
    assert played is not None
    scale, reached = tried[-1]
    return ValidityResult(
        verdict=CertificateVerdict.PASS if reached >= bar else CertificateVerdict.FAIL,
        about=_describe(scale, played, bar),
        validity=played.describe(scale, nominal),
        tried=tuple(tried),
        codes=count_codes(played.episodes.failure),
        failures=played.name_failures(),
        seconds=time.perf_counter() - began,
    )


def find_box(subject: Subject) -> tuple[tuple[str, ...], Floats, Floats]:
    """Parameters that are not known exactly, and the ends of their middle 90 %.

    The nominal value is always inside, also where a belief ends there.
    """
    belief = subject.belief
    if belief is None:
        return (), np.zeros(0), np.zeros(0)
    low, high = np.quantile(belief.sample(4096, seed=0), _ENDS, axis=0)
    nominal = subject.twin.space.select(belief.space.names).nominal
    return belief.space.names, np.minimum(low, nominal), np.maximum(high, nominal)


def find_confidence(coverage: Coverage) -> float:
    """Of each box, so that the one that is chosen holds with the confidence asked for.

    The first that reaches the bar is taken: every attempt is a chance to be lucky.
    """
    return 1 - (1 - coverage.confidence) / len(coverage.scales)


def spread_evenly(count: int, width: int, *, seed: int) -> Floats:
    """(count, width) in (0, 1): a scrambled Sobol sequence, cut to `count`."""
    from scipy.stats.qmc import Sobol

    if not width:
        return np.zeros((count, 0))
    power = math.ceil(math.log2(max(count, 2)))
    return Sobol(width, rng=np.random.default_rng(seed)).random_base2(power)[:count]


class _Realities:
    """Realities within one box, and how the policy fared in each."""

    def __init__(
        self,
        subject: Subject,
        coverage: Coverage,
        names: tuple[str, ...],
        lower: Floats,
        upper: Floats,
        *,
        seed: int,
        wanted: float,
    ) -> None:
        """Stops where the bound cannot reach `wanted` any more."""
        self._subject, self._names, self._seed = subject, names, seed
        self._lower, self._upper = lower, upper
        self._coverage, self._each = coverage, coverage.episodes
        u = spread_evenly(coverage.realities, len(names), seed=seed)
        self.e = lower + u * (upper - lower)
        self.episodes = _join(list(self._play(wanted)))
        # an episode whose physics diverged shows nothing, so it is no success either
        success = self.episodes.success.reshape(-1, self._each).sum(axis=1)
        self._share = success / self._each
        best = np.full(coverage.realities, self._each)
        best[: len(success)] = success
        self.bound = self._bound(best)
        """Where it stopped: what it could still have reached."""

    def _play(self, wanted: float) -> Iterator[Rollouts]:
        """Some realities at a time."""
        count, each = self._coverage.realities, self._each
        size = max(1, _CHUNK // each)
        best = np.full(count, each)
        for first in range(0, count, size):
            e = self.e[first : first + size]
            numbers = np.arange(first * each, (first + len(e)) * each)
            part = play_condition(
                self._subject,
                Condition(),
                len(numbers),
                seed=self._seed,
                rows=np.repeat(e, each, axis=0),
                names=self._names,
                numbers=numbers,
            )
            yield part
            best[first : first + size] = part.success.reshape(-1, each).sum(axis=1)
            if wanted > 0 and self._bound(best).lower < wanted:
                return

    def _bound(self, success: NDArray[np.integer]) -> Tolerance:
        return bound_realities(
            success,
            np.full(len(success), self._each),
            content=self._coverage.content,
            confidence=find_confidence(self._coverage),
        )

    @property
    def confidence(self) -> float:
        """Of the whole choice among boxes."""
        return self._coverage.confidence

    @property
    def mean(self) -> float:
        return float(self._share.mean())

    @property
    def worst(self) -> float:
        return float(self._share.min())

    def describe(self, scale: float, nominal: Floats) -> Validity:
        subject = self._subject
        space, task = subject.twin.space, subject.build_task()
        ranges = {
            name: ValidityRange(
                lower=float(self._lower[i]),
                upper=float(self._upper[i]),
                nominal=float(nominal[i]),
                unit=space[name].unit,
            )
            for i, name in enumerate(self._names)
        }
        inputs = {
            one.name: ValidityRange(
                lower=one.lower, upper=one.upper, nominal=one.default, unit=one.unit
            )
            for one in task.inputs
        }
        return Validity(
            scale=scale,
            parameters=ranges,
            noise=_list_noise(task),
            rate=1 / task.period,
            inputs=inputs,
            lower=self.bound.lower,
            content=self._coverage.content,
            confidence=self._coverage.confidence,
            reality_count=len(self._share),
            episode_count=len(self.episodes.success),
            mean=self.mean,
            worst=self.worst,
            worst_tenth=compute_cvar(self._share, share=0.1),
        )

    def name_failures(self) -> tuple[FailureCase, ...]:
        """One of the worst reality."""
        failed = (self.episodes.failure != 0) & ~self.episodes.invalid
        if not failed.any():
            return ()
        reality = int(self._share.argmin())
        places = np.arange(reality * self._each, (reality + 1) * self._each)
        world = next((w for w in places if failed[w]), int(np.flatnonzero(failed)[0]))
        e = dict(zip(self._names, self.e[world // self._each], strict=True))
        return (
            make_case(
                int(self.episodes.failure[world]),
                cell="validity",
                e=e,
                seed=self._seed,
                number=int(world),
                seconds=self.episodes.seconds[world],
            ),
        )


def _list_noise(task: Task) -> dict[str, float]:
    """Of every measured signal that the policy sees."""
    given = {*(one.name for one in task.inputs), *task.action.names}
    return {
        signal: _find_noise(task, signal)
        for signal in list_signals(task.terms)
        if signal not in given
    }


def _find_noise(task: Task, signal: str) -> float:
    """Sd of the task's own noise; a component has its sensor's."""
    names = (signal, signal.rpartition(".")[0])
    sds = (sd for end, sd in task.noise.items() if any(n.endswith(end) for n in names))
    return max(sds, default=0.0)


def _join(parts: list[Rollouts]) -> Rollouts:
    def join(name: str) -> NDArray:
        return np.concatenate([getattr(part, name) for part in parts])

    return Rollouts(
        success=join("success"),
        invalid=join("invalid"),
        failure=join("failure"),
        score=join("score"),
        seconds=join("seconds"),
        trace=None,
        observed=None,
        signals=None,
    )


def _describe(scale: float, played: _Realities, bar: float) -> str:
    bound = played.bound
    where = "all" if scale == 1 else f"{scale:.0%}"
    return (
        f"Over {where} of the belief's ranges {played.mean:.1%} of episodes succeed, "
        f"{played.worst:.1%} on the worst of {bound.reality_count} sampled robots; "
        f"{bound.content:.0%} of robots succeed at least {bound.lower:.1%} of the time "
        f"({played.confidence:.0%} confidence, required {bar:.0%})."
    )
