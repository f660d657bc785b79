"""A fit in stages: shared numbers found from afar, then each joint's own around them.

The published gain of a hobby servo may be eighty times the real one. A search that is
free to move every joint's numbers from there ends anywhere. Numbers that all joints
share are few enough to be scanned over decades; from what they give, the others are
near.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.coordinates import Coordinates
from realworthy.identification.differences import Colouring, colour, differentiate
from realworthy.identification.fit import Fit
from realworthy.identification.least_squares import fit_least_squares, polish, to_prior
from realworthy.identification.levenberg import LeastSquaresSettings
from realworthy.identification.linearised import begin
from realworthy.identification.normal import Prior
from realworthy.identification.problem import Problem
from realworthy.parameters import GaussianBelief, Transform

Floats = NDArray[np.float64]
_ROUNDS = 2
"""How often every shared number is scanned."""
_REACH, _STEP = 6.0, 1.0
"""How far a ratio is scanned either way and in which steps, as logarithms."""
_PLACES = 6
"""Places at which a number with two ends is scanned."""
_FEW = 4
"""Pieces that tell which joint a number moves."""
_OFFSET = 0.05
"""[rad] sd of encoder offsets before the data: zeroed by eye, not at random."""
_LOOSER = 2.0
"""Fall of the residuals' size, squared, that makes offsets be fitted once more."""
_ROUGH = LeastSquaresSettings(iterations=12, share=1e-3)


def scan(problem: Problem) -> Floats:
    """(d,) z from which a fit can begin: every number in turn over all its decades."""
    z = problem.start_z
    for _ in range(_ROUNDS):
        for i in range(len(z)):
            places = np.append(_list_places(problem.coordinates, i), z[i])
            candidates = np.tile(z, (len(places), 1))
            candidates[:, i] = places
            size = np.abs(problem.residuals(candidates).values).sum(axis=1)
            z = candidates[int(np.argmin(size))]
    return z


def fit_shared(problem: Problem) -> Fit:
    """A rough fit of a few shared numbers, from wherever they were published."""
    z = scan(problem)
    return polish(problem, z, to_prior(problem, None, z), _ROUGH)


def fit_own(
    problem: Problem, *, weight: float | None, settings: LeastSquaresSettings
) -> Fit:
    """Every number from nominal, encoder offsets held near zero.

    `weight` is how much larger residuals are than white noise, squared, where a rough
    fit came before: what is believed of offsets then has its due weight among thousands
    of rows that say the same thing. None: nominal may be far off.
    """
    z = problem.start_z
    prior = believe(problem, z, weight or 1.0)
    if weight is None:
        weight, fit = 1.0, _fit(problem, prior, settings)
    else:
        fit = polish(problem, z, prior, settings, colouring=_colour(problem, z))
    found = max(1.0, fit.reduced_chi2 * fit.inflation)
    has_offsets = any(p.kind == "sensor_bias" for p in problem.space)
    if has_offsets and not 1 / _LOOSER < found / weight < _LOOSER:
        prior, colouring = believe(problem, z, found), _colour(problem, fit.z)
        again = polish(problem, fit.z, prior, settings, colouring=colouring)
        fit = replace(
            again,
            seconds=fit.seconds + again.seconds,
            evaluation_count=fit.evaluation_count + again.evaluation_count,
        )
    return fit


def _colour(problem: Problem, z: Floats) -> Colouring | None:
    """Which numbers can be moved together, by a few pieces; None for one joint."""
    if not problem.labels.any():
        return None
    few = problem.thinned(max(1, len(problem.pieces) // _FEW))
    found = colour(few, differentiate(few, z, begin(few, z).starts))
    problem.take_counts(few)
    return found


def _fit(problem: Problem, prior: Prior, settings: LeastSquaresSettings) -> Fit:
    belief = GaussianBelief(problem.space, prior.mean, np.linalg.inv(prior.precision))
    return fit_least_squares(problem, prior=belief, settings=settings)


def believe(problem: Problem, z: Floats, weight: float) -> Prior:
    """Wide for all but offsets, whose belief counts `weight` times."""
    wide = to_prior(problem, None, z)
    precision = np.diag(wide.precision).copy()
    for i, parameter in enumerate(problem.space):
        if parameter.kind == "sensor_bias":
            precision[i] = weight / _OFFSET**2
    return Prior(wide.mean, np.diag(precision))


def _list_places(bounds: Coordinates, i: int) -> Floats:
    parameter = bounds.space.parameters[i]
    low, high = float(bounds.lower[i]), float(bounds.upper[i])
    if parameter.transform is Transform.IDENTITY and np.isfinite(high - low):
        return np.linspace(low, high, _PLACES)
    if parameter.transform is Transform.IDENTITY:
        return np.empty(0)
    middle = float(bounds.to_z(bounds.space.nominal)[i])
    steps = middle + np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    return np.clip(steps, low, high)
