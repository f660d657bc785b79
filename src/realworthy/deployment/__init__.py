"""Deployment: what may reach a motor, and everything that happens when it may not.

`CommandFilter` bounds every command, `Watchdogs` judge every measurement, `Machine`
says which phase a trial is in, `Loop` keeps the beat, and `deploy` runs a policy on a
`Robot` through all of them, one recording per trial. Guards do not raise: they return a
`Decision` with its reason, and the safe answer is the default. `mrac` adapts a joint's
drive while it runs.

Here do not live transports (`robots`), policies (`policies`) or stand-in robots
(`realities`). Needs neither torch nor mujoco. May import: `parameters`, `recordings`,
`robots`, `policies`, `actuators`, `sensors`.
"""

from realworthy.deployment.decision import Decision, Verdict
from realworthy.deployment.drives import Drives, make_drives
from realworthy.deployment.filter import CommandFilter, Filtered, FilterSettings
from realworthy.deployment.guarded import Guarded, GuardSettings
from realworthy.deployment.keeping import TrialResult
from realworthy.deployment.loop import Jitter, Loop, RealTimeSettings, real_time
from realworthy.deployment.runtime import Deployment, DeploySettings, deploy
from realworthy.deployment.staging import StagingSettings
from realworthy.deployment.state_machine import Machine, Phase
from realworthy.deployment.trial import Outcome, TrialSettings
from realworthy.deployment.watchdogs import Watchdogs, WatchdogSettings

__all__ = [
    "CommandFilter",
    "Decision",
    "DeploySettings",
    "Deployment",
    "Drives",
    "FilterSettings",
    "Filtered",
    "GuardSettings",
    "Guarded",
    "Jitter",
    "Loop",
    "Machine",
    "Outcome",
    "Phase",
    "RealTimeSettings",
    "StagingSettings",
    "TrialResult",
    "TrialSettings",
    "Verdict",
    "WatchdogSettings",
    "Watchdogs",
    "deploy",
    "make_drives",
    "real_time",
]
