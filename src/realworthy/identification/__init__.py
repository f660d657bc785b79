"""Identification: what recordings say about e.

Here live `Problem` (recordings of a robot as residuals of a twin), identifiability
(which numbers these recordings can tell, and which only together), and fits that turn
recordings into a `Belief`.

Here do not live measures of the gap that need no fit (`gap`) and the reasons for it
(`diagnosis`). May import `gap`, `simulators` and what they may; numpy and scipy, no
torch, and `mujoco` only through `simulators` and `twins`.
"""

from realworthy.identification.fit import Fit
from realworthy.identification.identifiability import check_identifiability
from realworthy.identification.least_squares import fit_least_squares
from realworthy.identification.levenberg import Ending, LeastSquaresSettings
from realworthy.identification.problem import Problem
from realworthy.identification.verdicts import Finding, Identifiability, Verdict

__all__ = [
    "Ending",
    "Finding",
    "Fit",
    "Identifiability",
    "LeastSquaresSettings",
    "Problem",
    "Verdict",
    "check_identifiability",
    "fit_least_squares",
]
