"""Predictions ahead, fitted once more from starts that lie close together.

Beside an unstable rest, such as a pendulum upright, a small error of the twin becomes a
large one. Pieces that follow each other pass most of these moments by, and a loss that
holds large residuals back takes the others for accidents; yet they are what a
controller that balances there lives by.
"""

from dataclasses import dataclass, replace

import numpy as np

from realworthy.identification.calibration.checkpoint import FitPart
from realworthy.identification.calibration.full_fits import find_colouring
from realworthy.identification.calibration.priors import make_prior
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.least_squares import polish
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.identification.solver.linearisation import Prior

_START_SPACING = 0.1
"""[s] between starts."""
_GROSS_OUTLIER = 100.0
"""Residuals beyond this many of their usual size are accidents: a push, a jam."""


@dataclass(frozen=True, slots=True)
class OverlappingFit:
    """A fit to pieces that overlap, and what it was made from."""

    problem: Problem
    fit: Fit
    prior: Prior
    outlier: float


def fit_overlapping(
    problem: Problem, near: Fit | FitPart, settings: LeastSquaresSettings
) -> OverlappingFit:
    """The fit of a twin that lacks something, from many starts within its pieces.

    Rows that several pieces share say a thing once: beliefs and the covariance count
    them so.
    """
    dense = problem.overlapping(_START_SPACING)
    times = len(dense.pieces) / len(problem.pieces)
    prior = make_prior(dense, dense.start_z, times * near.misfit, lacks=True)
    own = replace(settings, outlier=max(_GROSS_OUTLIER, settings.outlier))
    z = np.asarray(near.z)
    colouring = find_colouring(dense, z)
    found = polish(dense, z, prior, own, colouring=colouring)
    fit = replace(
        found,
        covariance_z=times * found.covariance_z,
        evaluation_count=found.evaluation_count + near.evaluation_count,
    )
    return OverlappingFit(dense, fit, prior, own.outlier)
