"""Trials on a robot, guarded as `deploy` guards them, each scored and paid for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment import DeploySettings, StagingSettings, TrialSettings, deploy
from realworthy.deployment.session import TrialOutcome
from realworthy.deployment.state_machine import Phase
from realworthy.deployment.trial_files import TrialResult
from realworthy.errors import RealworthyError
from realworthy.policies import Policy
from realworthy.recordings import Recording, load_recording
from realworthy.robots import Robot

Floats = NDArray[np.float64]
Score = Callable[[Recording], Floats]
"""(rows,) rewards of a trial's control periods; their sum is its return."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTrial:
    """One trial of a policy."""

    inputs: Mapping[str, float]
    value: float
    """Its return; time after a stop counts as its worst moment."""
    seconds: float
    """[s] for which the robot was commanded, ways there and back included."""
    stopped: str
    """Why a guard ended it; empty: it went through."""
    recording: Path


class RobotLost(RealworthyError):
    """A robot that disappeared in the midst of a search."""


@dataclass(kw_only=True, slots=True)
class RobotTrials:
    """What is tried on a robot: no more than `limit` trials, each kept."""

    robot: Robot
    """Every trial connects anew, and brakes at its end."""
    score: Score
    folder: Path
    seconds: float
    limit: int
    clean_before: int = 0
    """Clean trials that such policies have had on this robot: first ones are slow."""
    confirm: Callable[[str], bool] | None = None
    done: list[ScoredTrial] = field(default_factory=list)

    @property
    def left(self) -> int:
        return self.limit - len(self.done)

    @property
    def real_seconds(self) -> float:
        return sum(trial.seconds for trial in self.done)

    def run(
        self, policy: Policy | Path, inputs: Mapping[str, float] | None = None
    ) -> ScoredTrial:
        """One trial; raises `RobotLost` where the robot did not take it."""
        number = len(self.done) + 1
        if self.left < 1:
            raise RealworthyError(f"All {self.limit} trials were made.")
        try:
            found = deploy(
                policy,
                self.robot,
                self.folder / f"{number}",
                settings=DeploySettings(
                    trial=TrialSettings(seconds=self.seconds),
                    staging=StagingSettings(clean_before=self.clean_before),
                    wiggles=number == 1,
                ),
                inputs=inputs,
                confirm=self.confirm,
                overwrite=True,
            )
        except (RealworthyError, OSError) as error:
            raise RobotLost(
                f"Trial {number} did not run: {error}",
                hint="Look at the robot; what was best so far is kept.",
            ) from error
        if not found.trials or found.trials[0].recording is None:
            failed = [x for x in found.checks if not x.passed]
            why = f"{failed[0].name}: {failed[0].text}" if failed else "nobody agreed"
            raise RobotLost(
                f"Trial {number} did not run: {why}.",
                hint="Look at the robot; what was best so far is kept.",
            )
        trial = self._judge(found.trials[0], inputs or {})
        self.done.append(trial)
        return trial

    def _judge(self, trial: TrialResult, inputs: Mapping[str, float]) -> ScoredTrial:
        assert trial.recording is not None
        led = crop_to_policy(trial.recording)
        rewards = self.score(led) if led is not None else np.zeros(0)
        missing = 1 - (0.0 if led is None else led.duration / self.seconds)
        is_done = trial.outcome is TrialOutcome.DONE
        value = float(rewards.sum())
        if not is_done and len(rewards):
            # a fall must not be worth more for being short
            value += max(0.0, missing) * len(rewards) / (1 - missing) * rewards.min()
        return ScoredTrial(
            inputs=dict(inputs),
            value=value if len(rewards) else float("-inf"),
            seconds=trial.seconds,
            stopped="" if is_done else trial.reason,
            recording=trial.recording,
        )


def crop_to_policy(recording: Path) -> Recording | None:
    """The part of a trial in which the policy led; None: there was none."""
    with np.load(recording.with_suffix(".log.npz")) as kept:
        times = kept["state_time"][kept["phase"] == Phase.RUN]
    if len(times) < 2:
        return None
    return load_recording(recording).crop(float(times[0]), float(times[-1]))
