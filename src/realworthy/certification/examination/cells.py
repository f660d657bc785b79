"""Plays a policy in one cell until it is judged, or up a margin until it fails."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.certificate.results import (
    CellResult,
    FailureCase,
    Level,
    MarginResult,
    count_codes,
    make_case,
    to_share,
)
from realworthy.certification.certificate.statistics import (
    CertificateVerdict,
    Judgement,
    judge_share,
)
from realworthy.certification.rollouts.detectors import classify
from realworthy.certification.rollouts.episodes import Rollouts, play_condition
from realworthy.certification.rollouts.trace import (
    Trace,
    compute_action_rate,
    compute_heat,
    compute_power,
)
from realworthy.certification.subject import CannotPlay, Subject
from realworthy.certification.suite.suite import Cell, Margin
from realworthy.tasks.failures import Failure

Floats = NDArray[np.float64]
_SEEN = (
    Failure.JOINT_LIMIT,
    Failure.TORQUE_SATURATION,
    Failure.OVER_SPEED,
    Failure.OSCILLATION,
)
"""What detectors look for beside the task's own codes."""
_THERMAL = 60.0
"""[s] in which a motor's winding takes on its heat."""


def examine_cell(
    subject: Subject, cell: Cell, *, bar: float, seed: int, batch: int = 64
) -> CellResult:
    """How the policy fares; a cell that cannot be had is skipped with its reason."""
    began = time.perf_counter()
    try:
        batches = list(
            _play_until_settled(subject, cell, bar=bar, seed=seed, batch=batch)
        )
    except CannotPlay as reason:
        return skip_cell(cell, reason.problem)
    valid = sum(batch.valid_count for batch in batches)
    invalid = sum(len(batch.success) for batch in batches) - valid
    successes = sum(b.success_count for b in batches)
    judged = judge_episodes(successes, valid, invalid, bar)
    return CellResult(
        name=cell.name,
        group=cell.group,
        required=cell.required,
        verdict=judged.verdict,
        about=describe(judged, invalid),
        bar=bar,
        more=judged.more,
        share=to_share(judged.successes, valid),
        invalid=invalid,
        codes=count_codes(np.concatenate([b.failure[~b.invalid] for b in batches])),
        seen=_count_seen([b.trace for b in batches if b.trace is not None]),
        budgets=_spend([b.trace for b in batches if b.trace is not None]),
        failures=tuple(_name_failures(subject, cell, batches, seed=seed)),
        seconds=time.perf_counter() - began,
    )


def skip_cell(cell: Cell, reason: str) -> CellResult:
    """A cell that could not be played, and why."""
    return CellResult(
        name=cell.name,
        group=cell.group,
        required=False,
        verdict=CertificateVerdict.INSUFFICIENT,
        about=f"Skipped: {reason}",
        skipped=reason,
    )


def judge_episodes(successes: int, valid: int, invalid: int, bar: float) -> Judgement:
    """Of the valid ones; those that diverged may have failed, so they can only delay
    that the policy passes."""
    judged = judge_share(successes, valid, bar)
    cautious = judge_share(successes, valid + invalid, bar)
    if (
        judged.verdict is CertificateVerdict.PASS
        and cautious.verdict is not CertificateVerdict.PASS
    ):
        return replace(
            judged, verdict=CertificateVerdict.INSUFFICIENT, more=cautious.more
        )
    return judged


def describe(judged: Judgement, invalid: int = 0) -> str:
    """One sentence."""
    text = f"{judged}."
    text = text[0].upper() + text[1:]
    if invalid:
        text += f" The physics of {invalid} more diverged."
    return text


def _play_until_settled(
    subject: Subject, cell: Cell, *, bar: float, seed: int, batch: int
) -> Iterator[Rollouts]:
    """Batches of fresh starts until a verdict is there or the cell's episodes are."""
    successes = count = played = 0
    while played < cell.episodes:
        size = min(batch, cell.episodes - played)
        numbers = np.arange(played, played + size)
        rollouts = play_condition(
            subject, cell.condition, size, seed=seed, numbers=numbers, with_trace=True
        )
        yield rollouts
        played += size
        successes, count = (
            successes + rollouts.success_count,
            count + rollouts.valid_count,
        )
        judged = judge_episodes(successes, count, played - count, bar)
        if judged.verdict is not CertificateVerdict.INSUFFICIENT:
            return


def _count_seen(traces: list[Trace]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for trace in traces:
        outcomes = classify(trace, hard=(), soft=_SEEN)
        for code in _SEEN:
            if code in outcomes.seen:
                total[code.name.lower()] += outcomes.count_seen(code)
    return {name: n for name, n in total.items() if n}


def _spend(traces: list[Trace]) -> dict[str, float]:
    """95 % quantiles over episodes."""
    if not traces:
        return {}
    spent: dict[str, list[Floats]] = {}
    for trace in traces:
        mean, peak = compute_power(trace)
        heat = compute_heat(trace, time_constant_s=_THERMAL) / trace.torque_limit
        for name, values in (
            ("action_rate", compute_action_rate(trace)),
            ("mean_power", mean),
            ("peak_power", peak),
            ("heat", heat.max(axis=1)),
        ):
            spent.setdefault(name, []).append(values)
    joined = {name: np.concatenate(values) for name, values in spent.items()}
    finite = {name: x[np.isfinite(x)] for name, x in joined.items()}
    return {name: float(np.quantile(x, 0.95)) for name, x in finite.items() if len(x)}


def _name_failures(
    subject: Subject, cell: Cell, batches: list[Rollouts], *, seed: int
) -> Iterator[FailureCase]:
    """The first failure of each kind."""
    first, named, e = 0, set(), subject.find_e(cell.condition)
    for batch in batches:
        for world in np.flatnonzero((batch.failure != 0) & ~batch.invalid):
            code = int(batch.failure[world])
            if code not in named:
                named.add(code)
                yield make_case(
                    code,
                    cell=cell.name,
                    e=e,
                    seed=seed,
                    number=first + int(world),
                    seconds=batch.seconds[world],
                )
        first += len(batch.success)


def examine_margin(
    subject: Subject, margin: Margin, *, bar: float, seed: int
) -> MarginResult:
    """Goes up until fewer than a share `bar` of episodes succeed."""
    began = time.perf_counter()
    largest: float | None = None
    failing: float | None = None
    levels: list[Level] = []
    skipped = ""
    for step in margin.steps:
        try:
            rollouts = play_condition(
                subject,
                step.condition,
                margin.episodes,
                seed=seed,
                numbers=np.arange(margin.episodes),
            )
        except CannotPlay as reason:
            skipped = reason.problem if not levels else ""
            break
        share = to_share(rollouts.success_count, rollouts.valid_count)
        levels.append(Level(value=step.value, share=share))
        if share.mean < bar:
            failing = step.value
            break
        largest = step.value
    return MarginResult(
        name=margin.name,
        unit=margin.unit,
        largest=largest,
        failing=failing,
        levels=tuple(levels),
        skipped=skipped,
        seconds=time.perf_counter() - began,
    )
