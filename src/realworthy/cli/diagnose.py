"""`realworthy diagnose`: why a twin and the robot behind some recordings differ."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import (
    BaseName,
    Flag,
    ImporterName,
    JsonFile,
    MoreRecordings,
    RecordingFiles,
    ReportFile,
    Role,
    SidecarFile,
    TwinToUse,
)

if TYPE_CHECKING:
    from realworthy.certification.rollouts.realities import TaskAttempts
    from realworthy.diagnosis.diagnosis import Cause, Change, Diagnosis
    from realworthy.recordings import Recording
    from realworthy.twins import Twin

_STOPPED = 128 + signal.SIGINT
_BAR = 4
"""Columns of the bar of a share."""
_BLOCKS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Why a twin and the robot differ: ranked causes, and what to do about each."""

    twin: TwinToUse
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    recordings: RecordingFiles
    """Files or folders."""
    before: MoreRecordings = ()
    """Recordings of an earlier day: also says what has changed since."""
    task: Annotated[str, tyro.conf.arg(metavar="TASK", help_behavior_hint="")] = ""
    """Also say what each cause costs this task; by default the policy's own."""
    policy: Annotated[
        Path | None,
        Role.READ,
        tyro.conf.arg(metavar="POLICY", help_behavior_hint=""),
    ] = None
    """A policy.onnx that does the task; causes are then ranked by what they cost it."""
    base: BaseName = ""
    """What of the robot floats, where the twin does not know: free lets go a robot
    that its model fixes to the world, such as a URDF's."""
    importer: ImporterName = None
    """Layout of foreign files; realworthy show importers lists them."""
    sidecar: SidecarFile = None
    """YAML with what the files do not say."""
    json: JsonFile = None
    """Also write the findings, for programs."""
    report: ReportFile = None
    """Also write a page with plots, for people."""
    fix: Annotated[
        Path | None,
        Role.WRITTEN,
        tyro.conf.arg(metavar="FOLDER", help_behavior_hint=""),
    ] = None
    """Also write the recordings with faults of their logs corrected."""
    overwrite: Flag = False
    """Replace files of the same names."""

    def run(self) -> int:
        from realworthy.artefacts import check_readable
        from realworthy.cli.output import check_report, json_file
        from realworthy.cli.printing import counted, emit_note
        from realworthy.cli.progress import following, waiting
        from realworthy.diagnosis import diagnose
        from realworthy.twins import load_twin

        for path in (*self.recordings, *self.before):
            check_readable(path)
        check_report(self.report, self.json, overwrite=self.overwrite)
        with json_file(self.json, overwrite=self.overwrite) as save:
            with waiting("Reading"):
                twin = load_twin(self.twin, base=self.base)
                recordings = self._load(self.recordings)
                before = self._load(self.before) if self.before else []
                attempts = self._load_task(twin)
            with following("Diagnosing") as progress:
                found = diagnose(
                    twin,
                    recordings,
                    before=before,
                    attempts=attempts,
                    progress=progress,
                )
            fixed = self._fix(recordings, found)
            if self.report is not None:
                from realworthy.reports import write_diagnosis

                write_diagnosis(found, self.report, overwrite=self.overwrite)
            save(to_tree(found))
        print_diagnosis(found)
        if self.fix is not None:
            emit_note(f"{counted(len(fixed), 'recording')} corrected in {self.fix}")
        return choose_status(found)

    def _load(self, paths: Sequence[Path]) -> "list[Recording]":
        from realworthy.recordings import load_recordings

        return load_recordings(
            paths, self.importer, sidecar=self.sidecar, check_units=False
        )

    def _load_task(self, twin: "Twin") -> "TaskAttempts | None":
        """The policy at its task on this twin; None where none was named."""
        from realworthy.artefacts import check_readable
        from realworthy.errors import RealworthyError

        if self.policy is None:
            if self.task:
                raise RealworthyError(
                    f"Who does task '{self.task}'? No policy was given.",
                    hint=f"Try: --task {self.task} --policy policy.onnx",
                )
            return None
        check_readable(self.policy)
        from realworthy.certification.rollouts.realities import load_attempts

        return load_attempts(self.policy, task=self.task, twin=twin)

    def _fix(
        self, recordings: "Sequence[Recording]", found: "Diagnosis"
    ) -> Sequence[Path]:
        """Corrected files; none where the logs have no faults."""
        if self.fix is None or not found.fixes or found.is_partial:
            return ()
        from realworthy.diagnosis.fix import write_fixed

        return write_fixed(recordings, found.fixes, self.fix, overwrite=self.overwrite)


def choose_status(found: "Diagnosis") -> int:
    """0 for a healthy twin, 1 for any other verdict, 130 where it was interrupted."""
    from realworthy.diagnosis.diagnosis import Verdict

    if found.is_partial:
        return _STOPPED
    return 0 if found.verdict is Verdict.HEALTHY else 1


def to_tree(found: "Diagnosis") -> dict[str, object]:
    """What programs may rely on: `verdict`, `causes`, `changes` and their keys."""
    return {
        "twin": found.twin,
        "verdict": found.verdict,
        "summary": found.summary,
        "causes": [
            {
                "name": cause.name,
                "kind": cause.kind,
                "joints": cause.joints,
                "share": cause.share,
                "interval": cause.interval,
                "evidence": cause.evidence,
                "next_step": cause.next_step,
                "indistinguishable_from": cause.indistinguishable_from,
                "task_loss": cause.task_loss,
                "estimates": cause.estimates,
                "alternatives": cause.alternatives,
                "fix": cause.fix,
            }
            for cause in found.causes
        ],
        "shares": found.shares,
        "changes": found.changes,
        "interactions": found.interactions,
        "warnings": found.warnings,
        "next_experiment": found.next_experiment,
        "detection_limit": found.detection_limit,
        "notes": found.notes,
        "replay": found.gap.replay,
        "replay_after": None if found.after is None else found.after.replay,
        "seconds": found.seconds,
        "is_partial": found.is_partial,
    }


def print_diagnosis(found: "Diagnosis") -> None:
    """Warnings, the verdict, causes in a table and then one by one, what is next."""
    from realworthy.cli.printing import emit_heading, emit_note, emit_table
    from realworthy.reports.elements.wording import describe_verdict

    if found.is_partial:
        emit_note("Interrupted: partial results.", style="yellow")
    for warning in found.warnings:
        emit_note(f"Warning: {warning}", style="yellow")
    emit_heading(f"{describe_verdict(found.verdict)}.", found.summary)
    emit_note("")
    emit_table(
        "",
        ("cause", "joints", "share (90 %)", "task loss", "next step"),
        [
            (c.name, _shorten(c.joints), _draw_share(c), _draw_loss(c), c.next_step)
            for c in found.causes
        ],
    )
    for rank, cause in enumerate(found.causes, start=1):
        _print_cause(rank, cause)
    for change in found.changes:
        _print_change(change)
    for words in found.interactions:
        emit_note(words, style="")
    if found.next_experiment:
        emit_heading("Next experiment:", found.next_experiment)
    if found.detection_limit:
        emit_heading("Detection limit:", found.detection_limit)
    emit_table("Checks passed", ("", ""), list(found.notes.items()))


def _print_cause(rank: int, cause: "Cause") -> None:
    from realworthy.cli.printing import (
        emit_block,
        emit_heading,
        emit_note,
        emit_table,
        span,
    )
    from realworthy.reports.elements.wording import describe_alternative, describe_cause

    joints = ", ".join(cause.joints)
    emit_heading(f"{rank}. {describe_cause(cause.name)}", joints)
    emit_note(cause.evidence, style="")
    if cause.task_loss is not None:
        loss = cause.task_loss
        between = span(loss.interval).plain
        emit_note(f"Costs {loss.mean:.3g} of {loss.measure} ({between}).", style="")
    if cause.alternatives:
        others = "; ".join(map(describe_alternative, cause.alternatives))
        emit_note(f"Not distinguishable from: {others}.", style="")
    if cause.fix:
        emit_block("Put into the sidecar:", cause.fix.rstrip())
    emit_table(
        "",
        ("quantity", "twin", "found", "between", "unit"),
        [
            (e.name, e.nominal, e.value, span(e.interval), e.unit)
            for e in cause.estimates
        ],
    )
    if not cause.estimates:
        emit_note("")


def _print_change(change: "Change") -> None:
    from realworthy.cli.printing import emit_heading, emit_note
    from realworthy.reports.elements.wording import describe_change

    emit_heading(f"Changed: {describe_change(change)}", change.size)
    emit_note(change.evidence, style="")
    emit_note(f"Next step: {change.next_step}", style="")
    rate = f"{100 * change.false_alarm_rate:.2g} %"
    emit_note(f"False-alarm rate: {rate}.\n")


def _shorten(joints: Sequence[str]) -> str:
    """`elbow`, `elbow +2`, `all`; the details name every one."""
    if not joints:
        return "all"
    return joints[0] + (f" +{len(joints) - 1}" if len(joints) > 1 else "")


def _draw_loss(cause: "Cause") -> str:
    """`46 %` of successes, or a number of the task's return; empty where unknown."""
    loss = cause.task_loss
    if loss is None:
        return ""
    text = f"{100 * loss.mean:.0f} %" if loss.measure == "success" else f"{loss.mean:g}"
    return text.replace(" ", "\u00a0")


def _draw_share(cause: "Cause") -> str:
    """`█▊   46 % 41…52`: share of the gap, and its interval."""
    filled = round(8 * _BAR * min(max(cause.share, 0.0), 1.0))
    bar = "█" * (filled // 8) + _BLOCKS[filled % 8].strip()
    low, high = (f"{100 * end:.0f}" for end in cause.interval)
    text = f"{bar:<{_BAR}}{100 * cause.share:3.0f} % {low}…{high}"
    return text.replace(" ", "\u00a0")  # a bar is not prose, and is never folded
