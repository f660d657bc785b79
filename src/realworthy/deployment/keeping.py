"""What is left of a trial: its recording, its log, and a summary."""

from dataclasses import dataclass
from pathlib import Path

from realworthy import __version__
from realworthy.deployment.guarded import Guarded
from realworthy.deployment.trial import Ended, Outcome
from realworthy.policies import Policy
from realworthy.recordings import Recording, Sidecar, save_recording
from realworthy.recordings.sidecar import Gains
from realworthy.robots import RobotInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """One trial."""

    recording: Path | None
    """None where it ended before two commands were sent."""
    outcome: Outcome
    reason: str
    interventions: dict[str, int]
    """Filter stage or watchdog → steps in which it acted."""
    seconds: float
    """For which commands were sent."""
    speed_share: float
    retreated: bool
    """Whether the robot was led back to its safe pose."""


def trial_paths(folder: Path, number: int) -> tuple[Path, Path]:
    return folder / f"trial_{number}.npz", folder / f"trial_{number}.log.npz"


def describe_trial(
    policy: Policy,
    info: RobotInfo,
    guarded: Guarded,
    ended: Ended,
    share: float,
) -> Sidecar:
    """What a recording cannot say by itself: header of a trial."""
    contract = policy.contract
    changes = [
        f"{change.time:.3f} {change.before} → {change.after} {change.reason}".rstrip()
        for change in guarded.machine.changes
    ]
    run_from = next(
        (e.state.time for e in guarded.log.entries if e.phase == "run"), None
    )
    return Sidecar(
        twin=contract.twin.reference,
        command_kind=contract.command_kind,
        rate=1 / contract.period,
        gains={
            name: Gains(kp=gains.kp, kd=gains.kd)
            for name, gains in contract.gains.items()
        },
        notes={
            "robot": info.name,
            "task": contract.task,
            "policy": policy.path.name,
            "outcome": ended.outcome.value,
            "reason": ended.reason,
            "speed_share": share,
            "run_from": run_from,
            "phases": changes,
            "interventions": _count(guarded),
            "realworthy": __version__,
        },
    )


def keep_trial(
    guarded: Guarded,
    ended: Ended,
    share: float,
    folder: Path,
    number: int,
    sidecar: Sidecar,
    overwrite: bool,
) -> TrialResult:
    path, log_path = trial_paths(folder, number)
    recording: Recording | None = guarded.log.to_recording(guarded.robot.info, sidecar)
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
    )


def _count(guarded: Guarded) -> dict[str, int]:
    filtered = {f"filter.{name}": n for name, n in guarded.filter.counts.items()}
    return {**filtered, **guarded.watchdogs.counts}
