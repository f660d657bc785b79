"""Paired comparisons from the same starts: another engine, the last accepted policy.

Few episodes in another engine, since witnesses are slow: they look for disagreement and
prove no agreement. Before blaming an engine look at the cells with stiffer and softer
contacts: most of what engines differ by is how they let bodies sink into each other.
"""

import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.certification.certificate.results import (
    CellResult,
    Divergence,
    Regression,
    count_codes,
    to_share,
)
from realworthy.certification.certificate.statistics import (
    CertificateVerdict,
    ComparisonVerdict,
    compare_paired,
)
from realworthy.certification.examination.cells import skip_cell
from realworthy.certification.limits.validity import find_box, spread_evenly
from realworthy.certification.rollouts.episodes import Rollouts, play_condition
from realworthy.certification.subject import CannotPlay, Subject, build_subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import Cell
from realworthy.errors import RealworthyError

_APART = 0.1
"""Share of a signal's own spread from which two engines count as apart."""


def examine_engine(
    subject: Subject, cell: Cell, *, seed: int, is_asked: bool = False
) -> CellResult:
    """Whether a witness contradicts MuJoCo; skipped where it cannot be had.

    Where it `is_asked` for by name, not to have it is the user's mistake.
    """
    began = time.perf_counter()
    engine = cell.condition.engine
    if not is_asked and (reason := find_hindrance(engine)):
        return skip_cell(cell, reason)
    ours = msgspec.structs.replace(cell.condition, engine="mujoco")
    try:
        theirs = _play(subject, cell.condition, cell.episodes, seed)
    except RealworthyError as problem:
        if is_asked and not isinstance(problem, CannotPlay):
            raise
        return skip_cell(cell, problem.problem)
    reference = _play(subject, ours, cell.episodes, seed)
    both = ~theirs.invalid & ~reference.invalid
    paired = compare_paired(
        theirs.success[both].astype(float), reference.success[both].astype(float)
    )
    lost = int((reference.success & ~theirs.success & both).sum())
    contradicts = paired.change is ComparisonVerdict.WORSE or lost > 0.5 * both.sum()
    is_lost = 2 * int(both.sum()) < len(both)  # most diverged: nothing is shown
    first = find_divergence(subject, reference, theirs)
    return CellResult(
        name=cell.name,
        group=cell.group,
        required=cell.required,
        verdict=CertificateVerdict.FAIL
        if contradicts or is_lost
        else CertificateVerdict.PASS,
        about=_describe(engine, theirs, reference, first, both),
        share=to_share(int(theirs.success[both].sum()), int(both.sum())),
        invalid=int(theirs.invalid.sum()),
        codes=count_codes(theirs.failure[both]),
        divergence=first,
        seconds=time.perf_counter() - began,
    )


def find_hindrance(engine: str) -> str:
    """Why an engine cannot be used here without being asked for; empty: it can."""
    if engine == "warp":
        import torch

        if not torch.cuda.is_available():
            return "there is no CUDA device; --engines warp runs it on the CPU."
    if engine in ("drake", "sapien"):
        from realworthy.simulators.witnesses import is_installed

        if not is_installed(engine):
            return "it is not installed: pip install 'realworthy[sim2sim]'."
    return ""


def check_installed(names: Iterable[str]) -> None:
    """Raises for the first engine that is not here, before any work is done."""
    libraries = {"warp": "mujoco_warp", "drake": "pydrake", "sapien": "sapien"}
    extras = {"warp": "gpu"}
    for name in names:
        if find_spec(libraries[name]) is None:
            extra = extras.get(name, "sim2sim")
            raise RealworthyError(
                f"The engine '{name}' is not installed.",
                hint=f"Try: pip install 'realworthy[{extra}]'",
            )


def find_divergence(
    subject: Subject, ours: Rollouts, theirs: Rollouts
) -> Divergence | None:
    """The signal that leaves the other engine's first, by the median world."""
    assert ours.signals is not None
    assert theirs.signals is not None
    steps = min(ours.signals.shape[1], theirs.signals.shape[1])
    a, b = ours.signals[:, :steps], theirs.signals[:, :steps]
    spread = a.reshape(-1, a.shape[-1]).std(axis=0)
    moves = spread > 1e-6
    apart = np.abs(a - b) > _APART * np.where(moves, spread, np.inf)
    apart &= _is_playing(ours, theirs, steps, subject.contract.period)[..., None]
    ever = apart.any(axis=1)
    first = np.where(ever, apart.argmax(axis=1), steps)
    median = np.median(first, axis=0)
    if median.min() >= steps:
        return None
    place = int(median.argmin())
    step = int(median[place])
    names = subject.build_worlds(Condition(), 1, seed=0).simulator.signals
    world = int(np.abs(first[:, place] - step).argmin())
    at = min(int(first[world, place]), steps - 1)
    return Divergence(
        signal=names[place],
        seconds=step * subject.contract.period,
        ours=float(a[world, at, place]),
        theirs=float(b[world, at, place]),
    )


def _is_playing(
    ours: Rollouts, theirs: Rollouts, steps: int, period: float
) -> NDArray[np.bool_]:
    """(worlds, steps) before either episode ended and began anew."""
    last = np.minimum(ours.seconds, theirs.seconds) / period
    return np.arange(steps) < np.round(last)[:, None]


def _play(subject: Subject, condition: Condition, count: int, seed: int) -> Rollouts:
    numbers = np.arange(count)
    return play_condition(
        subject, condition, count, seed=seed, numbers=numbers, with_signals=True
    )


def _describe(
    engine: str,
    theirs: Rollouts,
    ours: Rollouts,
    first: Divergence | None,
    both: NDArray[np.bool_],
) -> str:
    said = (
        f"{int(theirs.success[both].sum())} of {int(both.sum())} succeed in {engine}, "
        f"{int(ours.success[both].sum())} in MuJoCo from the same starts."
    )
    if first is None:
        return f"{said} No signal diverges by more than {_APART:.0%} of its spread."
    return f"{said} '{first.signal}' diverges first, after {first.seconds:.2f} s."


_PAIRS = 256
"""Episodes on which two policies are compared."""
_WORDS = {
    ComparisonVerdict.BETTER: "better than",
    ComparisonVerdict.WORSE: "worse than",
    ComparisonVerdict.EQUAL: "as good as",
    ComparisonVerdict.INSUFFICIENT: "not clearly better or worse than",
}


def compare_policies(subject: Subject, against: Path, *, seed: int) -> Regression:
    """New against old on the same episodes; to be worse beyond doubt is to fail."""
    old = build_subject(
        against,
        task=subject.task,
        twin=subject.twin,
        thread_count=subject.thread_count,
    )
    names, lower, upper = find_box(subject)
    u = spread_evenly(_PAIRS, len(names), seed=seed + 31)
    rows = lower + u * (upper - lower)
    played = [
        play_condition(
            one,
            Condition(),
            _PAIRS,
            seed=seed + 31,
            rows=rows if names else None,
            names=names,
            numbers=np.arange(_PAIRS),
        )
        for one in (subject, old)
    ]
    both = ~played[1].invalid  # where the new one diverges, it has not succeeded
    new, last = (episodes.success[both].astype(float) for episodes in played)
    found = compare_paired(new, last)
    about = f"Nothing can be compared: all episodes of {against.name} diverged."
    verdict = (
        CertificateVerdict.FAIL
        if found.change is ComparisonVerdict.WORSE
        else CertificateVerdict.PASS
    )
    if len(new):
        about = (
            f"It is {_WORDS[found.change]} {against.name}: {new.mean():.1%} against "
            f"{last.mean():.1%} of {len(new)} episodes."
        )
    return Regression(
        against=str(against),
        change=str(found.change),
        difference=found.difference,
        lower=found.interval.lower,
        upper=found.interval.upper,
        count=found.count,
        about=about,
        verdict=verdict if len(new) else CertificateVerdict.INSUFFICIENT,
    )
