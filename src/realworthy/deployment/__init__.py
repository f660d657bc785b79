"""Deployment: what may reach a motor, and everything that happens when it may not.

`CommandFilter` bounds every command, `Watchdogs` judge every measurement, `Machine`
says which phase a trial is in, `Loop` keeps the beat. `GuardedRobot.step` joins them
and is the one place from which a `Robot` is written to; `run_session` is the one way
out. On them stand `deploy` (trials of a policy), `follow` (a motion) and `play` and
`drive` (commands as they are). Guards do not raise: they return a `Decision` with its
reason, and the safe answer is the default. `adaptive` learns what joints carry while a
policy runs, before the filter: it moves targets and bounds nothing.

Here do not live transports (`robots`), policies (`policies`) or stand-in robots
(`realities`). Needs neither torch nor mujoco. May import: `parameters`, `recordings`,
`robots`, `policies`, `actuators`, `sensors`.
"""

from realworthy.deployment.adaptive import AdaptiveSettings
from realworthy.deployment.decision import Decision, GuardVerdict
from realworthy.deployment.drives import Drives, make_drives
from realworthy.deployment.filter import CommandFilter, Filtered, FilterSettings
from realworthy.deployment.follow import Followed, follow
from realworthy.deployment.guarded_robot import GuardedRobot, GuardSettings
from realworthy.deployment.loop import Loop, LoopTiming, RealTimeSettings, real_time
from realworthy.deployment.play import GuardStop, drive, lenient, play
from realworthy.deployment.runtime import Deployment, DeploySettings, deploy
from realworthy.deployment.session import Ended, TrialOutcome, run_session
from realworthy.deployment.staging import StagingSettings
from realworthy.deployment.state_machine import Machine, Phase
from realworthy.deployment.trial import TrialSettings
from realworthy.deployment.trial_files import TrialResult
from realworthy.deployment.watchdogs import Watchdogs, WatchdogSettings

__all__ = [
    "AdaptiveSettings",
    "CommandFilter",
    "Decision",
    "DeploySettings",
    "Deployment",
    "Drives",
    "Ended",
    "FilterSettings",
    "Filtered",
    "Followed",
    "GuardSettings",
    "GuardStop",
    "GuardVerdict",
    "GuardedRobot",
    "Loop",
    "LoopTiming",
    "Machine",
    "Phase",
    "RealTimeSettings",
    "StagingSettings",
    "TrialOutcome",
    "TrialResult",
    "TrialSettings",
    "WatchdogSettings",
    "Watchdogs",
    "deploy",
    "drive",
    "follow",
    "lenient",
    "make_drives",
    "play",
    "real_time",
    "run_session",
]
