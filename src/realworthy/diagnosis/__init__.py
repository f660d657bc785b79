"""Diagnosis: why a twin and a robot differ, and what to do about it.

Here live hypotheses (faults of the log, wrong numbers, effects that the twin lacks),
the trials that they are put through, and `Diagnosis`: causes, ranked, each with its
share of the gap, the evidence and the cheapest next step.

Here do not live measures of the gap (`gap`) and full fits of e (`identification`). May
import these and what they may; no torch, no plotting.
"""

from realworthy.diagnosis.diagnose import diagnose
from realworthy.diagnosis.diagnosis import (
    Alternative,
    Cause,
    CauseKind,
    Change,
    Diagnosis,
    Estimate,
    Shares,
    TaskLoss,
    Verdict,
)

__all__ = [
    "Alternative",
    "Cause",
    "CauseKind",
    "Change",
    "Diagnosis",
    "Estimate",
    "Shares",
    "TaskLoss",
    "Verdict",
    "diagnose",
]
