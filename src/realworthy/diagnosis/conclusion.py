"""From what was found to a diagnosis for people."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.causes import Named, name_causes
from realworthy.diagnosis.coarse import find_coarse
from realworthy.diagnosis.diagnosis import (
    Cause,
    CauseKind,
    Change,
    Diagnosis,
    Shares,
    Verdict,
)
from realworthy.diagnosis.edits import move_commands
from realworthy.diagnosis.fix import Fix, to_sidecar
from realworthy.diagnosis.forces import Explained
from realworthy.diagnosis.forces.naming import add_by_force, share_by_force
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.log import Finding
from realworthy.diagnosis.mending import put_right
from realworthy.diagnosis.residual import measure_learnable
from realworthy.diagnosis.shares import attribute
from realworthy.diagnosis.words import next_step, times
from realworthy.diagnosis.work import Work, measure_all
from realworthy.errors import BadRecording
from realworthy.gap.measure import Gap
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_LEFT = 0.3
"""Share of the gap that may stay unexplained before it is a cause of its own."""


def conclude(twin: Twin, work: Work, changes: tuple[Change, ...]) -> Diagnosis:
    named: list[Named] = []
    unexplained = 0.0
    judge, found = work.judge, work.found
    forces = work.forces
    if judge is not None and found is not None and found.suspects:
        judge.settle(found.now.case)
        attribution = attribute(judge, found.now)
        if forces is not None and forces.picked:
            attribution = share_by_force(attribution, found.suspects, forces)
        named = name_causes(judge, found, attribution, work.recordings[0])
        unexplained = attribution.unexplained
    if forces is not None and forces.picked:
        named = add_by_force(named, forces)
        unexplained = 0.0
    causes = [n.cause for n in named]
    fixes = [n.fix for n in named if n.fix is not None]
    log_causes, log_fixes, notes = _name_log_faults(work.log)
    causes = _add_up([*log_causes, *causes, *find_coarse(work.gap)])
    learnable: dict[str, float] = {}
    is_loud = False
    if judge is not None and found is not None and not (forces and forces.picked):
        left = found.now.square.mean(0)
        is_loud = bool(left.max() > 2.0) and (not found.suspects or unexplained > _LEFT)
        if is_loud:
            learnable = _measure_learnable(work)
            causes.append(
                _name_unknown(judge, left, unexplained, bool(causes), learnable)
            )
    verdict = _judge_verdict(causes, work, is_loud)
    shares = _sum_shares(causes, unexplained)
    after = _measure_after(twin, work)  # before warnings are told
    return Diagnosis(
        twin=twin.name,
        verdict=verdict,
        summary=_summarise(verdict, causes, unexplained, forces),
        causes=tuple(causes),
        shares=shares,
        detection_limit=_say_limit(judge, forces),
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
    fine: dict[str, list[Finding]] = {}
    for finding, recording in log:
        if not finding.is_fault:
            fine.setdefault(finding.name, []).append(finding)
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
    notes = {name: _say_fine(found) for name, found in fine.items()}
    return list(causes.values()), fixes, notes


def _say_fine(findings: Sequence[Finding]) -> str:
    """The first of several alike, and how many there are."""
    more = len(findings) - 1
    return findings[0].evidence + (
        f" The same for {more} more recording{'s' if more > 1 else ''}." if more else ""
    )


def _measure_learnable(work: Work) -> dict[str, float]:
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
    worst = times(float(np.sqrt(left.max())))
    text = (
        f"Predictions stay {worst} times the noise off, and no cause that was tried "
        "explains it."
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


def _add_up(causes: Sequence[Cause]) -> list[Cause]:
    """Causes whose shares are no more than the whole gap, in the same order."""
    total = sum(cause.share for cause in causes)
    if total <= 1.0 + 1e-9:
        return list(causes)
    return [
        replace(
            cause,
            share=cause.share / total,
            interval=(cause.interval[0] / total, min(1.0, cause.interval[1])),
        )
        for cause in causes
    ]


def _judge_verdict(causes: Sequence[Cause], work: Work, is_loud: bool) -> Verdict:
    if not causes and work.forces is not None and work.forces.resting:
        return Verdict.CANNOT_TELL
    if not causes and work.judge is None and work.forces is None:
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


def _measure_after(twin: Twin, work: Work) -> Gap | None:
    """The gap with causes corrected; None where that changes nothing."""
    found = work.found
    if work.is_partial or found is None or not found.suspects:
        return None
    case = found.now.case
    mended, left = put_right(twin, case)
    if left:
        work.warnings.append(
            f"No model can have {', '.join(left)}: the corrected twin lacks it."
        )
    recordings = []
    for recording in work.recordings:
        for edit in (*case.edits, *move_commands(case)):
            recording = edit.apply(recording)
        recordings.append(recording)
    try:
        gap, _, _ = measure_all(mended, recordings)
    except BadRecording:
        return None
    return gap


def _summarise(
    verdict: Verdict,
    causes: Sequence[Cause],
    unexplained: float,
    forces: Explained | None,
) -> str:
    if verdict is Verdict.HEALTHY:
        text = "The twin predicts these recordings as well as their noise allows"
        if forces is None or not forces.disturbance:
            return f"{text}."
        joint, most = max(forces.disturbance.items(), key=lambda pair: pair[1])
        return f"{text}, with a disturbance of at most {most:.2g} N·m or N ({joint})."
    if not causes and forces is not None and forces.resting:
        return (
            f"Not excited: {', '.join(forces.resting)} hardly move; nothing can be "
            "said of them, and no fault shows in the others."
        )
    if not causes:
        return "These recordings are too short to tell."
    first = causes[0]
    where = f" of {', '.join(first.joints)}" if 0 < len(first.joints) <= 3 else ""
    text = (
        f"{first.name.replace('_', ' ')}{where} accounts for {100 * first.share:.0f} %"
    )
    if len(causes) > 1:
        text += f", the first of {len(causes)} causes"
    rest = f"{100 * unexplained:.0f} % stays unexplained"
    if forces is not None and forces.picked and forces.disturbance:
        joint, most = max(forces.disturbance.items(), key=lambda pair: pair[1])
        rest = f"at most {most:.2g} N·m or N stays unexplained ({joint}, rms)"
    return f"{text[0].upper()}{text[1:]}; {rest}."


def _say_limit(judge: Judge | None, forces: Explained | None) -> str:
    if judge is None and forces is not None:
        limits = ", ".join(f"{j} {x:.2g}" for j, x in forces.disturbance.items())
        return f"Torques well below what no cause explains [N·m or N]: {limits}."
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
