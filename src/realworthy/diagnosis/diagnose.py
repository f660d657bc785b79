"""From a twin and recordings to the reasons why they differ."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.bench import Bench, BenchSettings
from realworthy.diagnosis.bookkeeping import Finding, inspect, read_limits
from realworthy.diagnosis.causes import Named, name_causes
from realworthy.diagnosis.changes import find_changes
from realworthy.diagnosis.coarse import find_coarse
from realworthy.diagnosis.diagnosis import (
    Cause,
    CauseKind,
    Change,
    Diagnosis,
    Shares,
    Verdict,
)
from realworthy.diagnosis.fix import Fix, apply_fix, to_sidecar
from realworthy.diagnosis.interface import list_edits, list_offsets
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.missing import list_missing
from realworthy.diagnosis.parametric import list_parametric, parameter_names
from realworthy.diagnosis.residual import measure_learnable
from realworthy.diagnosis.scales import Scale, find_scales
from realworthy.diagnosis.search import Found, SearchSettings, search
from realworthy.diagnosis.shares import attribute
from realworthy.diagnosis.suspects import Suspect
from realworthy.diagnosis.words import next_step
from realworthy.errors import BadRecording
from realworthy.gap.measure import Gap, measure_recording
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]
Progress = Callable[[float, str], None]
_FINENESSES = (1, 2, 4)
_CLEARLY = 0.1
"""Share of the loss by which finer time steps must be better to be used."""
_NUMERICS = 0.3
"""Share of what half the time step changes that counts as noise."""
_FEWEST_PIECES = 4
_LEFT = 0.3
"""Share of the gap that may stay unexplained before it is a cause of its own."""


@dataclass(slots=True)
class _Work:
    """What is known so far; an interrupted diagnosis is made of it."""

    began: float
    gap: Gap
    recordings: list[Recording]
    log: list[tuple[Finding, Recording]] = field(default_factory=list)
    judge: Judge | None = None
    found: Found | None = None
    warnings: list[str] = field(default_factory=list)
    is_partial: bool = False


def diagnose(
    twin: Twin,
    recordings: Recording | Iterable[Recording],
    *,
    before: Sequence[Recording] = (),
    progress: Progress | None = None,
    settings: SearchSettings | None = None,
) -> Diagnosis:
    """Ranked causes of the gap between a twin and the robot behind recordings.

    Faults of the log come first, then what replays of short pieces tell apart. `before`
    are recordings of an earlier day: then what changed since is named too. Interrupted,
    it returns what it has (`is_partial`).
    """
    began = time.perf_counter()
    listed = [recordings] if isinstance(recordings, Recording) else list(recordings)
    if not listed:
        raise BadRecording("No recordings were given.", hint="Name at least one.")
    tell = progress or (lambda done, what: None)
    tell(0.0, "the log itself")
    log = _inspect(twin, listed)
    mended = [_mend(recording, log) for recording in listed]
    tell(0.05, "the gap")
    gap, kept, warnings = _measure(twin, mended)
    work = _Work(began, gap, kept, log, warnings=warnings)
    changes: tuple[Change, ...] = ()
    try:
        _examine(twin, work, settings or SearchSettings(), tell)
        if before:
            tell(0.9, "what changed")
            changes = find_changes(twin, list(before), listed)
    except KeyboardInterrupt:
        work.is_partial = True
    return _conclude(twin, work, changes)


def _inspect(
    twin: Twin, recordings: Sequence[Recording]
) -> list[tuple[Finding, Recording]]:
    limits = read_limits(twin)
    return [(f, r) for r in recordings for f in inspect(r, twin, limits=limits)]


def _mend(recording: Recording, log: Sequence[tuple[Finding, Recording]]) -> Recording:
    for finding, owner in log:
        if owner is recording and finding.is_fault and finding.fix is not None:
            recording = apply_fix(recording, finding.fix)
    return recording


def _measure(
    twin: Twin, recordings: Sequence[Recording]
) -> tuple[Gap, list[Recording], list[str]]:
    """The gap on what can be replayed; the rest is named."""
    found, kept, warnings = [], [], []
    first: BadRecording | None = None
    for recording in recordings:
        try:
            found.append(measure_recording(twin, recording))
            kept.append(recording)
        except BadRecording as error:
            first = first or error
            warnings.append(f"Left out: {error.problem}")
    if first is not None and not found:
        raise first
    return Gap(twin=twin.name, recordings=tuple(found)), kept, warnings


def _examine(twin: Twin, work: _Work, settings: SearchSettings, tell: Progress) -> None:
    group = _choose_rate(work)
    bench = _build_bench(twin, group, work, 1)
    if bench is None:
        return
    tell(0.15, "how fine the clock must be")
    bench = _choose_clock(twin, group, work, bench)
    scales = find_scales(bench)
    judge = Judge(bench)
    work.judge = judge
    quiet = search(judge, [], settings)
    work.found = quiet
    loud = _find_loud(judge, quiet.now.square, settings)
    if not loud:
        return
    suspects = _list_suspects(twin, bench, scales, loud)
    bench.allow(parameter_names(suspects))

    def report(done: float, what: str) -> None:
        tell(0.2 + 0.65 * done, what)

    work.found = search(judge, suspects, settings, found=quiet, progress=report)
    if work.found.is_out_of_time:
        work.warnings.append(
            f"The search ended after {settings.seconds:.0f} s; there may be more "
            "causes."
        )


def _choose_rate(work: _Work) -> list[Recording]:
    """Recordings of one rate: the one with most rows; others are only measured."""
    groups: dict[int, list[Recording]] = {}
    for recording in work.recordings:
        groups.setdefault(round(100 * np.log(recording.rate)), []).append(recording)
    best = max(groups.values(), key=lambda group: sum(len(r.time) for r in group))
    if len(groups) > 1:
        work.warnings.append(
            f"Recordings have {len(groups)} different rates; causes were looked for in "
            f"the {len(best)} at {best[0].rate:.4g} Hz."
        )
    joints = best[0].joints
    same = [r for r in best if r.joints == joints]
    if len(same) < len(best):
        work.warnings.append(
            f"Causes were looked for in {len(same)} of {len(best)} recordings, which "
            "have the same joints."
        )
    return same


def _build_bench(
    twin: Twin, recordings: Sequence[Recording], work: _Work, fineness: int
) -> Bench | None:
    length = _choose_length(work.gap, recordings)
    while length > 0.1:
        settings = BenchSettings(length=length, warm_up=min(0.5, length / 3))
        bench = Bench(twin, recordings, (), settings, fineness=fineness)
        if len(bench.pieces) >= _FEWEST_PIECES:
            return bench
        length *= 0.6
    longest = max(recording.duration for recording in recordings)
    work.warnings.append(
        "Too little data to look for causes: the longest recording has "
        f"{longest:.2g} s."
    )
    return None


def _choose_length(gap: Gap, recordings: Sequence[Recording]) -> float:
    """[s] of half a typical swing, and at least a dozen rows."""
    periods = []
    for part in gap.recordings:
        q, v = part.states.position.std(0), part.states.velocity.std(0)
        moving = v > 1e-6
        periods += (2 * np.pi * q[moving] / v[moving]).tolist()
    swing = float(np.median(periods)) if periods else 1.0
    return max(float(np.clip(0.5 * swing, 0.4, 2.5)), 12 / recordings[0].rate)


def _choose_clock(
    twin: Twin, recordings: Sequence[Recording], work: _Work, coarse: Bench
) -> Bench:
    """The bench whose time steps fit the recordings best, numerics in its noise.

    Robots have no time step. Where finer ones predict clearly better they are used;
    part of what the next finer one changes counts as noise.
    """
    benches, losses, played = {1: coarse}, {}, {}
    for fineness in _FINENESSES:
        if fineness > 1:
            benches[fineness] = Bench(
                twin, recordings, (), coarse.settings, fineness=fineness
            )
        played[fineness] = benches[fineness].play_plainly()
        judge = Judge(benches[fineness])
        losses[fineness] = float(search(judge, []).now.loss.sum())
        if fineness > 1 and losses[fineness] > losses[fineness // 2]:
            break
    best = min(losses, key=lambda f: losses[f])
    if losses[1] - losses[best] < max(10.0, _CLEARLY * losses[1]):
        best = 1
    other = 2 * best if 2 * best in played else best // 2
    (one, sound), (two, also) = played[best], played[other]
    use = sound & also
    change = (one - two)[use] if use.any() else np.zeros((1, *one.shape[1:]))
    bench = benches[best]
    bench.set_numerics(_NUMERICS * np.sqrt(np.mean(change**2, axis=(0, 1))))
    return bench


def _find_loud(
    judge: Judge, square: Floats, settings: SearchSettings
) -> tuple[str, ...]:
    """Joints whose predictions are off by more than noise."""
    mean = square.mean(0)
    return tuple(
        joint
        for joint, value in zip(judge.bench.joints, mean, strict=True)
        if value >= settings.quiet
    )


def _list_suspects(
    twin: Twin, bench: Bench, scales: Mapping[str, Scale], loud: tuple[str, ...]
) -> list[Suspect]:
    ours = {joint: scale for joint, scale in scales.items() if joint in loud}
    duration = max(s.recording.duration for s in bench.sources(()))
    return [
        *list_edits(twin, bench.layout, loud, bench.rate),
        *list_offsets(twin, bench.layout, ours),
        *list_parametric(twin, bench.layout, ours),
        *list_missing(bench.layout, ours, duration),
    ]


def _conclude(twin: Twin, work: _Work, changes: tuple[Change, ...]) -> Diagnosis:
    named: list[Named] = []
    unexplained = 0.0
    judge, found = work.judge, work.found
    if judge is not None and found is not None and found.suspects:
        judge.settle(found.now.case)
        attribution = attribute(judge, found.now)
        named = name_causes(judge, found, attribution, work.recordings[0])
        unexplained = attribution.unexplained
    causes = [n.cause for n in named]
    fixes = [n.fix for n in named if n.fix is not None]
    log_causes, log_fixes, notes = _name_log_faults(work.log)
    causes = [*log_causes, *causes, *find_coarse(work.gap)]
    learnable: dict[str, float] = {}
    is_loud = False
    if judge is not None and found is not None:
        left = found.now.square.mean(0)
        is_loud = bool(left.max() > 2.0) and (not found.suspects or unexplained > _LEFT)
        if is_loud:
            learnable = _measure_learnable(work)
            causes.append(
                _name_unknown(judge, left, unexplained, bool(causes), learnable)
            )
    verdict = _judge_verdict(causes, judge, is_loud)
    shares = _sum_shares(causes, unexplained)
    after = _measure_after(twin, work)
    return Diagnosis(
        twin=twin.name,
        verdict=verdict,
        summary=_summarise(verdict, causes, unexplained),
        causes=tuple(causes),
        shares=shares,
        detection_limit=_say_limit(judge),
        gap=work.gap,
        after=after,
        changes=changes,
        warnings=tuple(work.warnings),
        next_experiment=_say_experiment(causes),
        seconds=time.perf_counter() - work.began,
        is_partial=work.is_partial,
        notes=notes,
        fixes=(*log_fixes, *fixes),
    )


def _name_log_faults(
    log: Sequence[tuple[Finding, Recording]],
) -> tuple[list[Cause], list[Fix], dict[str, str]]:
    """Faults that the log itself shows, one cause a kind, and what is in order."""
    causes: dict[tuple[str, tuple[str, ...]], Cause] = {}
    fixes: list[Fix] = []
    notes: dict[str, str] = {}
    for finding, recording in log:
        where = f" ({', '.join(finding.joints)})" if finding.joints else ""
        if not finding.is_fault:
            notes.setdefault(finding.name + where, finding.evidence)
            continue
        key = (finding.name, finding.joints)
        if finding.fix is not None and finding.fix not in fixes:
            fixes.append(finding.fix)
        if key not in causes:
            lines = "" if finding.fix is None else to_sidecar(finding.fix, recording)
            causes[key] = Cause(
                name=finding.name,
                kind=CauseKind.INTERFACE,
                joints=finding.joints,
                share=1.0,
                interval=(1.0, 1.0),
                evidence=finding.evidence,
                next_step=finding.next_step or next_step(finding.name),
                fix=lines,
            )
    return list(causes.values()), fixes, notes


def _measure_learnable(work: _Work) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in work.gap.recordings[:3]:
        for joint, share in measure_learnable(part).items():
            found[joint] = max(found.get(joint, 0.0), share)
    return found


def _name_unknown(
    judge: Judge,
    left: Floats,
    unexplained: float,
    has_causes: bool,
    learnable: dict[str, float],
) -> Cause:
    joints = tuple(
        j
        for j, v in zip(judge.bench.joints, left, strict=True)
        if v > max(2.0, 0.2 * left.max())
    )
    share = unexplained if has_causes else 1.0
    known = [learnable[j] for j in joints if j in learnable]
    text = (
        f"Predictions stay {np.sqrt(left.max()):.2g} times the noise off, and no cause "
        "that was tried explains it."
    )
    if known:
        text += (
            f" State and command predict {100 * max(known):.0f} % of the torque that "
            "is missing: there is something to learn."
            if max(known) > 0.2
            else " State and command do not predict it either: it may be chance, such "
            "as pushes."
        )
    return Cause(
        name="unknown",
        kind=CauseKind.MISSING,
        joints=joints,
        share=share,
        interval=(0.0, 1.0),
        evidence=text,
        next_step=next_step("unknown"),
    )


def _judge_verdict(
    causes: Sequence[Cause], judge: Judge | None, is_loud: bool
) -> Verdict:
    if judge is None and not causes:
        return Verdict.CANNOT_TELL
    named = [cause for cause in causes if cause.name != "unknown"]
    if not causes:
        return Verdict.HEALTHY
    if any(cause.kind is CauseKind.MISSING for cause in named):
        return Verdict.MISSING_EFFECT
    if not named:
        return Verdict.CANNOT_TELL
    return Verdict.MISSING_EFFECT if is_loud else Verdict.EXPLAINED


def _sum_shares(causes: Sequence[Cause], unexplained: float) -> Shares:
    by_kind = dict.fromkeys(CauseKind, 0.0)
    for cause in causes:
        if cause.name != "unknown":
            by_kind[cause.kind] += cause.share
    total = sum(by_kind.values())
    left = unexplained if total else (1.0 if causes else 0.0)
    scale = (1 - left) / total if total else 0.0
    return Shares(
        interface=scale * by_kind[CauseKind.INTERFACE],
        parametric=scale * by_kind[CauseKind.PARAMETRIC],
        missing=scale * by_kind[CauseKind.MISSING],
        unexplained=left,
    )


def _measure_after(twin: Twin, work: _Work) -> Gap | None:
    """The gap with numbers and log put right; None where that changes nothing."""
    found = work.found
    if work.is_partial or found is None or not found.suspects:
        return None
    case = found.now.case
    if not case.values and not case.edits:
        return None
    recordings = []
    for recording in work.recordings:
        for edit in case.edits:
            recording = edit.apply(recording)
        recordings.append(recording)
    try:
        gap, _, _ = _measure(twin.with_values(dict(case.values)), recordings)
    except BadRecording:
        return None
    return gap


def _summarise(verdict: Verdict, causes: Sequence[Cause], unexplained: float) -> str:
    if verdict is Verdict.HEALTHY:
        return "The twin predicts these recordings as well as their noise allows."
    if not causes:
        return "These recordings are too short to tell."
    first = causes[0]
    where = f" of {', '.join(first.joints)}" if 0 < len(first.joints) <= 3 else ""
    text = (
        f"{first.name.replace('_', ' ')}{where} accounts for {100 * first.share:.0f} %"
    )
    if len(causes) > 1:
        text += f", the first of {len(causes)} causes"
    return (
        text[0].upper() + text[1:] + f"; {100 * unexplained:.0f} % stays unexplained."
    )


def _say_limit(judge: Judge | None) -> str:
    if judge is None:
        return ""
    bench = judge.bench
    seconds = bench.settings.warm_up + bench.settings.length
    limits = ", ".join(
        f"{joint} {1e3 * value:.2g}"
        for joint, value in zip(bench.joints, bench.resolution(), strict=True)
    )
    return (
        f"Whatever moves a joint by less than this within {seconds:.2g} s [mrad or "
        f"mm]: {limits}."
    )


def _say_experiment(causes: Sequence[Cause]) -> str:
    open_ones = [c for c in causes if c.alternatives]
    if open_ones:
        cause = open_ones[0]
        others = ", ".join(dict.fromkeys(a.name for a in cause.alternatives[:3]))
        return f"To tell {cause.name} from {others}: {cause.next_step}"
    return causes[0].next_step if causes else ""
