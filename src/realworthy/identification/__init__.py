"""Identification: what recordings say about e.

Here live `Problem` (recordings of a robot as residuals of a twin), identifiability
(which numbers these recordings can tell, and which only together), fits that turn
recordings into a `Belief`, their validation, and experiments that tell one number each.

Here do not live measures of the gap that need no fit (`gap`) and the reasons for it
(`diagnosis`). May import `gap`, `simulators` and what they may; numpy, scipy and cmaes,
torch in `networks/train.py` alone, and `mujoco` only through `simulators` and `twins`.
"""

from realworthy.identification.base import BaseParameters, Combination, find_base
from realworthy.identification.baselines import (
    LbfgsSettings,
    RandomSettings,
    fit_lbfgs,
    fit_random,
)
from realworthy.identification.calibrate import CalibrateSettings, calibrate
from realworthy.identification.calibration import Calibration, Estimate, Outcome
from realworthy.identification.choice import choose_parameters
from realworthy.identification.evolution import EvolutionSettings, fit_cmaes
from realworthy.identification.fit import Fit
from realworthy.identification.frictions import FRICTIONS, describe_drive, frictions
from realworthy.identification.identifiability import check_identifiability
from realworthy.identification.least_squares import fit_least_squares
from realworthy.identification.levenberg import Ending, LeastSquaresSettings
from realworthy.identification.methods import Method
from realworthy.identification.problem import Problem
from realworthy.identification.resampling import bootstrap
from realworthy.identification.structure import (
    Contender,
    Selection,
    Structure,
    select_structure,
)
from realworthy.identification.validation import (
    CrossValidation,
    Fold,
    cross_validate,
    validate,
)
from realworthy.identification.verdicts import Finding, Identifiability, Verdict

__all__ = [
    "FRICTIONS",
    "BaseParameters",
    "CalibrateSettings",
    "Calibration",
    "Combination",
    "Contender",
    "CrossValidation",
    "Ending",
    "Estimate",
    "EvolutionSettings",
    "Finding",
    "Fit",
    "Fold",
    "Identifiability",
    "LbfgsSettings",
    "LeastSquaresSettings",
    "Method",
    "Outcome",
    "Problem",
    "RandomSettings",
    "Selection",
    "Structure",
    "Verdict",
    "bootstrap",
    "calibrate",
    "check_identifiability",
    "choose_parameters",
    "cross_validate",
    "describe_drive",
    "find_base",
    "fit_cmaes",
    "fit_lbfgs",
    "fit_least_squares",
    "fit_random",
    "frictions",
    "select_structure",
    "validate",
]
