"""`deploy`: a policy on a robot, guarded, trial by trial, each kept as a recording."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from realworthy.artefacts import check_free, locked_folder
from realworthy.deployment.adaptive import (
    AdaptiveGoals,
    AdaptiveSettings,
    check_adaptive,
)
from realworthy.deployment.decision import FINE, Decision
from realworthy.deployment.drives import Drives, build_drives
from realworthy.deployment.guarded_robot import GuardedRobot, GuardSettings
from realworthy.deployment.loop import (
    Loop,
    LoopTiming,
    RealTimeSettings,
    pool,
    real_time,
)
from realworthy.deployment.motions import hold, move_to
from realworthy.deployment.preflight import (
    PreflightCheck,
    WiggleSettings,
    check_states,
    wiggle,
)
from realworthy.deployment.session import Ended, TrialOutcome, run_session
from realworthy.deployment.staging import Staging, StagingSettings
from realworthy.deployment.trial import TrialSettings, find_pose, run_trial
from realworthy.deployment.trial_files import (
    TrialResult,
    describe_trial,
    keep_trial,
    trial_paths,
)
from realworthy.deployment.trial_log import TrialLog
from realworthy.errors import RealworthyError
from realworthy.policies import Pilot, Policy, load_policy
from realworthy.progress import Progress, ignore
from realworthy.recordings import Sidecar
from realworthy.recordings.journal import make_way
from realworthy.robots import Robot
from realworthy.robots.address import open_robot
from realworthy.robots.clock import Clock

Confirm = Callable[[str], bool]
"""Asks a person; whether the answer was yes."""
SOFTWARE_STOP = (
    "Software stops are never the only stop: keep a hand on the robot's own "
    "emergency stop."
)


@dataclass(kw_only=True, slots=True)
class DeploySettings:
    """Of all trials together."""

    trials: int = 1
    trial: TrialSettings = field(default_factory=TrialSettings)
    staging: StagingSettings = field(default_factory=StagingSettings)
    guards: GuardSettings = field(default_factory=GuardSettings)
    wiggles: bool = True
    """Whether every joint is moved a little alone before the first trial."""
    wiggle: WiggleSettings = field(default_factory=WiggleSettings)
    real_time: RealTimeSettings = field(default_factory=RealTimeSettings)
    speed: float | None = None
    """[rad/s] largest speed of every joint, where it is less than the contract's."""
    notes: str = ""
    """Of the operator: payload, firmware, weather."""
    adaptive: AdaptiveSettings | None = None
    """A loop inside the guards that learns what joints carry; None: no such loop."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Deployment:
    """What came of it."""

    checks: tuple[PreflightCheck, ...]
    """Before the first trial."""
    trials: tuple[TrialResult, ...]
    loop: LoopTiming
    refused: tuple[str, ...]
    """What the operating system did not give."""
    declined: bool
    """Whether the operator said no."""

    def __repr__(self) -> str:
        ended = ", ".join(trial.outcome for trial in self.trials) or "not begun"
        return f"<deployment of {len(self.trials)} trials: {ended}>"

    @property
    def is_clean(self) -> bool:
        """Whether everything was allowed to happen and did."""
        good = all(
            trial.outcome is TrialOutcome.DONE and not trial.braked
            for trial in self.trials
        )
        checked = all(check.passed for check in self.checks)
        return good and checked and not self.declined and bool(self.trials)


def deploy(
    policy: Policy | Path | str,
    robot: Robot | str,
    output: Path | str = "trials",
    *,
    settings: DeploySettings | None = None,
    inputs: Mapping[str, float] | None = None,
    confirm: Confirm | None = None,
    clock: Clock | None = None,
    heartbeat: Callable[[], float] | None = None,
    overwrite: bool = False,
    progress: Progress = ignore,
) -> Deployment:
    """Runs guarded trials; the folder `output` gets `trial_1.npz`, `trial_1.log.npz`, …

    A policy is one, or its file; a robot is one, or its address. `confirm` asks a
    person before first trials; None goes on without asking, for tests and stand-ins.
    `clock` is by default the machine's, or that of a stand-in in this process.
    `heartbeat` says how long ago [s] the operator was last heard; None: nobody has to
    be. What happens is in `trial_1.journal` while it does; errors and Ctrl-C are raised
    again once the robot brakes and the trial is saved.
    """
    settings = settings or DeploySettings()
    folder = Path(output)
    _check(settings, folder, overwrite)
    policy, robot = load_policy(policy), open_robot(robot)
    fingerprint = hashlib.sha256(policy.path.read_bytes()).hexdigest()
    pilot = Pilot(policy, robot.info)
    pilot.set_inputs(inputs or {})
    drives = build_drives(policy.contract, robot.info, speed=settings.speed)
    trials = _Trials(
        policy=policy,
        robot=robot,
        folder=folder,
        settings=settings,
        pilot=pilot,
        drives=drives,
        adaptive=_build_adaptive(settings, drives, robot, policy),
        staging=Staging(settings.staging),
        notes={"policy_sha256": fingerprint, "operator": settings.notes},
        confirm=confirm,
        clock=clock,
        heartbeat=heartbeat,
        progress=progress,
        overwrite=overwrite,
    )
    trials.tell(SOFTWARE_STOP)
    trials.warn_of_unlimited_speed()
    with locked_folder(folder), real_time(settings.real_time) as refused:
        if trials.check_robot():
            trials.run()
    return trials.summarise(refused)


def _build_adaptive(
    settings: DeploySettings, drives: Drives, robot: Robot, policy: Policy
) -> AdaptiveGoals | None:
    """One loop for all trials: what it learns in the first it knows in the second."""
    if settings.adaptive is None:
        return None
    joints = robot.info.joints
    check_adaptive(drives, joints, settings.adaptive, policy.contract.period)
    return AdaptiveGoals(drives, joints, settings.adaptive)


@dataclass(kw_only=True, slots=True)
class _Trials:
    """The trials of one `deploy`: what they share, and what has come of them so far."""

    policy: Policy
    robot: Robot
    folder: Path
    settings: DeploySettings
    pilot: Pilot
    drives: Drives
    adaptive: AdaptiveGoals | None
    staging: Staging
    notes: dict[str, str]
    confirm: Confirm | None
    clock: Clock | None
    heartbeat: Callable[[], float] | None
    progress: Progress
    overwrite: bool
    checks: list[PreflightCheck] = field(default_factory=list)
    results: list[TrialResult] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    declined: bool = False
    """Whether the operator has said no."""

    def tell(self, stage: str) -> None:
        self.progress(len(self.results) / self.settings.trials, stage)

    def warn_of_unlimited_speed(self) -> None:
        """Stages of speed mean nothing to a joint whose speed nothing limits."""
        if self.staging.speed_share < 1 and (free := _list_free(self.drives)):
            them = "it" if len(free) == 1 else "them"
            self.tell(
                f"No limit of speed is known for {', '.join(free)}: first trials do not"
                f" slow {them}. Give --speed."
            )

    def check_robot(self) -> bool:
        """Whether the operator agrees and the robot is the one the policy is for."""
        if not self._agrees("look at it and move each joint a little"):
            return False
        self.checks = _check_robot(self._guard(), self.pilot, self.settings)
        for check in self.checks:
            self.tell(f"{'ok' if check.passed else 'NO'}  {check.name}: {check.text}")
        return all(check.passed for check in self.checks)

    def run(self) -> None:
        """Trial after trial, each agreed to; an error or a stop ends them."""
        for number in range(1, self.settings.trials + 1):
            share = self._choose_speed_share()
            if not self._agrees(f"run trial {number} at {share:.0%} of its speed"):
                return
            ended = self._run_trial(number, share)
            if ended.error is not None:
                raise ended.error
            if ended.outcome is TrialOutcome.STOPPED:
                return

    def summarise(self, refused: tuple[str, ...]) -> Deployment:
        return Deployment(
            checks=tuple(self.checks),
            trials=tuple(self.results),
            loop=pool(self.loops),
            refused=refused,
            declined=self.declined,
        )

    def _agrees(self, wish: str) -> bool:
        """Whether a person agrees, where one must be asked."""
        if self.confirm is None or not self.staging.needs_agreement:
            return True
        agrees = self.confirm(f"The robot will {wish}. Go on?")
        self.declined |= not agrees
        return agrees

    def _choose_speed_share(self) -> float:
        """κ of the next trial; 1 where no drive has a speed to take a share of."""
        return 1.0 if np.isinf(self.drives.speed).all() else self.staging.speed_share

    def _guard(self, log: TrialLog | None = None) -> GuardedRobot:
        """A fresh connection: filter, watchdogs and phases start anew each trial."""
        contract, info = self.policy.contract, self.robot.info
        guarded = GuardedRobot(
            self.robot,
            self.drives,
            contract.period,
            self.clock,
            self.settings.guards,
            limits=build_drives(contract, info).limits(info),
            log=log,
        )
        guarded.is_slowed = self.settings.speed is not None
        guarded.beat = self.heartbeat or guarded.beat
        return guarded

    def _run_trial(self, number: int, share: float) -> Ended:
        """One trial, kept whatever its end, told and counted."""
        sidecar = describe_trial(self.policy, self.robot.info, share, self.notes)
        guarded = self._guard(self._open_log(number, sidecar))
        ended = run_trial(
            guarded,
            self.pilot,
            self.settings.trial,
            speed_share=share,
            adaptive=self.adaptive,
        )
        self.loops.append(guarded.loop)
        if self.adaptive is not None:
            learned = {**sidecar.notes, "adaptive": self.adaptive.describe()}
            sidecar = msgspec.structs.replace(sidecar, notes=learned)
        result = keep_trial(
            guarded, ended, share, self.folder, number, sidecar, self.overwrite
        )
        self.results.append(result)
        self.tell(f"trial {number}: {result.outcome}  {result.reason}".rstrip())
        self.staging.count(is_clean=ended.outcome is TrialOutcome.DONE)
        return ended

    def _open_log(self, number: int, sidecar: Sidecar) -> TrialLog:
        """The journal of a trial, on the disk from its first step."""
        journal = trial_paths(self.folder, number)[-1]
        make_way(journal)
        return TrialLog(
            self.robot.info,
            journal,
            sidecar=sidecar,
            observation=self.policy.contract.width,
            action=self.policy.contract.action.width,
        )


def _check_robot(
    guarded: GuardedRobot, pilot: Pilot, settings: DeploySettings
) -> list[PreflightCheck]:
    """Looks at the robot, moves its joints a little, and brakes in any case."""
    pose = find_pose(guarded, pilot)
    checks: list[PreflightCheck] = []

    def look() -> Decision:
        checks.extend(check_states(guarded))
        if settings.wiggles and all(check.passed for check in checks):
            guarded.start_from(guarded.robot.read())
            checks.extend(_wiggle(guarded, pose, settings))
        return FINE

    ended = run_session(guarded, look)
    if ended.error is not None:
        raise ended.error
    if ended.outcome is TrialOutcome.STOPPED or (
        ended.reason and all(check.passed for check in checks)
    ):
        checks.append(PreflightCheck("robot", False, ended.reason))
    return checks


def _wiggle(
    guarded: GuardedRobot, pose: np.ndarray | None, settings: DeploySettings
) -> list[PreflightCheck]:
    if pose is not None:
        decision = move_to(guarded, pose, least=settings.trial.move_seconds)
        if decision.is_fault:
            return [PreflightCheck("default pose", False, decision.reason)]
    target = np.zeros(guarded.drives.width) if pose is None else pose
    seconds = settings.trial.hold_seconds if pose is not None else 0.0
    decision = hold(guarded, target, seconds=seconds)
    if decision.is_fault:
        return [PreflightCheck("default pose", False, decision.reason)]
    return wiggle(guarded, settings.wiggle)


def _list_free(drives: Drives) -> list[str]:
    """Joints whose speed nothing limits."""
    both = zip(drives.commands, drives.speed, strict=True)
    return [name.removesuffix(".command") for name, v in both if np.isinf(v)]


def _check(settings: DeploySettings, folder: Path, overwrite: bool) -> None:
    """Raises before anything moves where results could not be kept."""
    if settings.trials < 1:
        raise RealworthyError(f"{settings.trials} trials are none.")
    if not 0 < settings.trial.seconds < 1e6:
        raise RealworthyError(f"A trial cannot last {settings.trial.seconds:g} s.")
    if folder.exists() and not folder.is_dir():
        raise RealworthyError(f"'{folder}' is a file, not a folder.")
    for number in range(1, settings.trials + 1):
        *kept, journal = trial_paths(folder, number)
        for path in kept:
            check_free(path, overwrite=overwrite)
        check_free(journal, overwrite=True)
