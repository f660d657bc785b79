"""Identification: e from recordings.

Here live `Problem` (recordings of a robot as residuals of a twin), identifiability
(which parameters the recordings identify, and which only in combination), fits that
turn recordings into a `Belief`, their validation, and experiments for one parameter
each.

Here do not live measures of the gap that need no fit (`gap`) and the reasons for it
(`diagnosis`). May import `gap`, `simulators` and what they may; numpy, scipy and cmaes,
torch in `networks/train.py` alone, and `mujoco` only through `simulators` and `twins`.
"""

from realworthy.identification.calibration.calibrate import CalibrateSettings, calibrate
from realworthy.identification.calibration.parameter_choice import choose_parameters
from realworthy.identification.calibration.result import Calibration, ParameterEstimate
from realworthy.identification.identifiability.analysis import check_identifiability
from realworthy.identification.identifiability.base_parameters import (
    BaseParameters,
    Combination,
    find_base,
)
from realworthy.identification.identifiability.verdicts import (
    Identifiability,
    ParameterFinding,
    ParameterVerdict,
)
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.candidate_search import (
    EvolutionSettings,
    LbfgsSettings,
    RandomSettings,
    fit_cmaes,
    fit_lbfgs,
    fit_random,
)
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.least_squares import fit_least_squares
from realworthy.identification.solver.levenberg_marquardt import (
    Ending,
    LeastSquaresSettings,
)
from realworthy.identification.solver.methods import Method
from realworthy.identification.validation.cross_validation import (
    CrossValidation,
    ValidationFold,
    cross_validate,
    validate,
)
from realworthy.identification.validation.friction_models import (
    FRICTIONS,
    describe_drive,
    frictions,
)
from realworthy.identification.validation.held_out import CalibrationOutcome
from realworthy.identification.validation.resampling import bootstrap
from realworthy.identification.validation.structures import (
    Contender,
    Selection,
    Structure,
    select_structure,
)

__all__ = [
    "FRICTIONS",
    "BaseParameters",
    "CalibrateSettings",
    "Calibration",
    "CalibrationOutcome",
    "Combination",
    "Contender",
    "CrossValidation",
    "Ending",
    "EvolutionSettings",
    "Fit",
    "Identifiability",
    "LbfgsSettings",
    "LeastSquaresSettings",
    "Method",
    "ParameterEstimate",
    "ParameterFinding",
    "ParameterVerdict",
    "Problem",
    "RandomSettings",
    "Selection",
    "Structure",
    "ValidationFold",
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
