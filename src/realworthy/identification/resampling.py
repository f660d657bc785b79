"""How much an estimate owes to the experiments that happened to be made."""

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.identification.fit import Fit
from realworthy.identification.least_squares import to_prior
from realworthy.identification.levenberg import LeastSquaresSettings, minimise
from realworthy.identification.problem import Problem
from realworthy.identification.validation import group_experiments
from realworthy.parameters import SampleBelief

Floats = NDArray[np.float64]
_FEWEST = 4
"""Units that can be drawn again with any sense."""
_ITERATIONS = 6
"""Of a refit, which begins at the fit and does not go far."""


def bootstrap(
    problem: Problem, fit: Fit, count: int = 50, seed: int = 0
) -> SampleBelief:
    """Refits to experiments drawn anew with replacement, as equally likely samples.

    Experiments are drawn where there are four or more, else pieces of them; `Problem`
    makes pieces with `horizon`. The spread also holds where noise is not white and the
    twin is not quite right; it says nothing of motions that were never recorded.
    """
    units = _find_units(problem)
    draw = np.random.default_rng(seed)
    prior = to_prior(problem, None, fit.z)
    settings = LeastSquaresSettings(iterations=_ITERATIONS)
    samples = []
    for _ in range(count):
        chosen = draw.integers(len(units), size=len(units))
        drawn = problem.of_pieces([i for u in chosen for i in units[u]])
        samples.append(minimise(drawn, fit.z, prior, settings).at.point.z)
        problem.take_counts(drawn)
    return SampleBelief(problem.space, problem.coordinates.from_z(np.array(samples)))


def _find_units(problem: Problem) -> list[list[int]]:
    """Numbers of pieces that are drawn together."""
    experiments = group_experiments(problem)
    units = [
        [i for i, piece in enumerate(problem.pieces) if piece.recording in experiment]
        for experiment in experiments
    ]
    if len(units) < _FEWEST:
        units = [[i] for i in range(len(problem.pieces))]
    if len(units) < _FEWEST:
        raise RealworthyError(
            f"A bootstrap needs {_FEWEST} experiments or pieces; there are "
            f"{len(units)}.",
            hint="Cut recordings with Problem(..., horizon=SECONDS), or record more.",
        )
    return units
