"""What is left of a trial: its recording, its log, and a summary."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from realworthy import __version__
from realworthy.artefacts import check_free, locked_file
from realworthy.deployment.guarded_robot import GuardedRobot
from realworthy.deployment.session import Ended, TrialOutcome
from realworthy.deployment.state_machine import Phase
from realworthy.deployment.trial_log import TrialLog
from realworthy.errors import Unwritable
from realworthy.policies import Policy
from realworthy.recordings import Recording, Sidecar, save_recording
from realworthy.recordings.formats import find_format
from realworthy.recordings.journal import SUFFIX, make_way
from realworthy.recordings.sidecar import Gains, plain_name, sidecar_path
from realworthy.robots import RobotInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """One trial."""

    recording: Path | None
    """None where it ended before two commands were sent."""
    outcome: TrialOutcome
    reason: str
    interventions: dict[str, int]
    """Filter stage or watchdog → steps in which it acted."""
    seconds: float
    """For which commands were sent."""
    speed_share: float
    retreated: bool
    """Whether the robot was led back to its safe pose."""
    braked: int
    """Steps in which the robot braked by itself though it was commanded."""


def trial_paths(folder: Path, number: int) -> tuple[Path, Path, Path]:
    """The recording of a trial, its log, and the journal that both come from."""
    names = (f"trial_{number}{end}" for end in (".npz", ".log.npz", SUFFIX))
    recording, log, journal = (folder / name for name in names)
    return recording, log, journal


def describe_trial(
    policy: Policy, info: RobotInfo, share: float, notes: Mapping[str, object]
) -> Sidecar:
    """What a recording cannot say by itself: header of a trial that begins."""
    contract = policy.contract
    return Sidecar(
        twin=contract.twin.reference,
        command_kind=contract.command_kind,
        rate=1 / contract.period,
        gains={
            name: Gains(kp=gains.kp, kd=gains.kd)
            for name, gains in contract.gains.items()
        },
        notes={
            **notes,
            "robot": info.name,
            "task": contract.task,
            "policy": policy.path.name,
            "outcome": "cut short",
            "speed_share": share,
            "realworthy": __version__,
        },
    )


def keep_trial(
    guarded: GuardedRobot,
    ended: Ended,
    share: float,
    folder: Path,
    number: int,
    sidecar: Sidecar,
    overwrite: bool,
) -> TrialResult:
    """Turns the journal into a recording and a log; it stays where that fails."""
    path, log_path, _ = trial_paths(folder, number)
    sidecar = _conclude(sidecar, guarded, ended)
    recording = guarded.log.to_recording(sidecar)
    with _keeping(guarded.log, path):
        if recording is not None:
            save_recording(recording, path, overwrite=overwrite)
            guarded.log.save(log_path, overwrite=overwrite)
    return TrialResult(
        recording=None if recording is None else path,
        outcome=ended.outcome,
        reason=ended.reason,
        interventions=_count(guarded),
        seconds=0.0 if recording is None else recording.duration,
        speed_share=share,
        retreated=ended.retreated,
        braked=guarded.braked,
    )


@contextlib.contextmanager
def logging_to(
    output: Path | None, info: RobotInfo, *, sidecar: Sidecar, overwrite: bool
) -> Iterator[TrialLog]:
    """A log whose journal lies beside the recording that it will become, for one run
    alone; in memory without an output."""
    if output is None:
        yield TrialLog(info, sidecar=sidecar)
        return
    with locked_file(output):
        check_recording_free(output, overwrite=overwrite)
        journal = name_journal(output)
        make_way(journal)
        yield TrialLog(info, journal, sidecar=sidecar)


def name_journal(output: Path) -> Path:
    """Beside a recording, by its name: `run.journal` of `run.csv.gz`."""
    return output.with_name(plain_name(output) + SUFFIX)


def check_recording_free(output: Path, *, overwrite: bool) -> None:
    """Raises, before a robot moves, where a recording of it could not be kept."""
    if not find_format(output).embeds:
        check_free(sidecar_path(output), overwrite=overwrite)
    check_free(output, overwrite=overwrite)
    check_free(name_journal(output), overwrite=True)


def keep_recording(
    guarded: GuardedRobot,
    ended: Ended,
    sidecar: Sidecar,
    output: Path | None,
    phase: Phase,
    overwrite: bool,
) -> Recording | None:
    """The recording of one phase, in its file where there is one; None: too few
    rows."""
    sidecar = _conclude(sidecar, guarded, ended) if ended.reason else sidecar
    recording = guarded.log.to_recording(sidecar, phase)
    if output is None:
        return recording
    with _keeping(guarded.log, output):
        if recording is not None:
            save_recording(recording, output, overwrite=overwrite)
    return recording


@contextlib.contextmanager
def _keeping(log: TrialLog, output: Path) -> Iterator[None]:
    """Removes the journal once what it held is kept elsewhere; else it stays."""
    log.journal.close()
    try:
        yield
    except Unwritable as error:
        hint = f"What reached the disk is in {log.journal.path}. {error.hint}"
        raise Unwritable(output, error.why, hint=hint) from error
    log.journal.remove()


def _conclude(sidecar: Sidecar, guarded: GuardedRobot, ended: Ended) -> Sidecar:
    changes = [
        f"{change.time:.3f} {change.before} → {change.after} {change.reason}".rstrip()
        for change in guarded.machine.changes
    ]
    notes = {
        "outcome": ended.outcome.value,
        "reason": ended.reason,
        "run_from": guarded.log.run_from,
        "phases": changes,
        "interventions": _count(guarded),
    }
    return msgspec.structs.replace(sidecar, notes={**sidecar.notes, **notes})


def _count(guarded: GuardedRobot) -> dict[str, int]:
    filtered = {f"filter.{name}": n for name, n in guarded.filter.counts.items()}
    braked = {"robot.braked": guarded.braked} if guarded.braked else {}
    return {**filtered, **guarded.watchdogs.counts, **braked}
