"""Fits of all numbers in the whole twin, from a start that is near.

A Gaussian prior holds what recordings do not tell: wide for most numbers, narrow for
encoder offsets, which are zeroed by eye, and for everything where the twin lacks
something that any number would make up for.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.calibration.first_fits import (
    ROUGH_FIT,
    average_error,
    spread_to_judge,
)
from realworthy.identification.calibration.priors import (
    make_near_prior,
    make_prior,
)
from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import evaluate_at
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.jacobian import (
    Colouring,
    colour_columns,
    differentiate,
    refine_jacobian,
)
from realworthy.identification.solver.least_squares import (
    collect_warnings,
    estimate_covariance,
    fit_least_squares,
    polish,
    to_prior,
)
from realworthy.identification.solver.levenberg_marquardt import (
    Ending,
    Iteration,
    LeastSquaresSettings,
    Minimum,
    minimise,
    try_steps,
)
from realworthy.identification.solver.linearisation import (
    Linearised,
    Prior,
    linearise,
    weigh_residuals,
)
from realworthy.parameters import GaussianBelief, Transform

Floats = NDArray[np.float64]
_COLOURING_PIECES = 4
"""Pieces that tell which joint a number moves."""
_REWEIGH_RATIO = 2.0
"""Change of the residuals' size, squared, that makes beliefs be weighed once more."""
_DOUBTFUL_CHI2, _END_SHARE = 1.2, 0.05
"""Reduced χ² from which a fit may stand at a wrong end of a range, and how near to an
end it then is, as a share of the range."""
_RESTART_GAIN = 0.9
"""Share of what it left, squared, below which another beginning is followed."""
_MAX_REFINING_STEPS, _REFINING_DAMPINGS = 2, np.array([0.01, 0.1, 1.0])
"""Steps that are taken from there at most, and dampings that are tried."""


def estimate_misfit(problem: Problem) -> float:
    """How much larger residuals are than white noise at nominal, squared; 1 or more."""
    point = evaluate_at(problem, problem.start_z)
    prior = to_prior(problem, None, point.z)
    at = weigh_residuals(problem, point, prior, ROUGH_FIT.outlier)
    return max(1.0, at.variance * at.inflation)


def refine_all_parameters(
    problem: Problem, *, misfit: float, settings: LeastSquaresSettings
) -> tuple[Fit, Prior, Linearised]:
    """Every number from nominal, where joints by themselves have led.

    Numbers are held near it, since a few pieces tell less than whole recordings did. A
    step after which other pieces, spread over all recordings, are predicted no better
    is not taken. Also gives the prior, and the problem around the answer.
    """
    began, counts = time.perf_counter(), problem.evaluation_count
    z = problem.start_z
    prior = make_near_prior(problem, z, misfit)
    colouring = find_colouring(problem, z)
    wider = spread_to_judge(problem)
    error = average_error(wider.rmse(evaluate_at(wider, z).residuals))
    point, trace = evaluate_at(problem, z), list[Iteration]()
    while True:
        jacobian = differentiate(
            problem, point.z, point.starts, step=settings.step, colouring=colouring
        )
        at = linearise(problem, point, jacobian, prior, settings.outlier)
        trace.append(Iteration(at.cost, at.promised, 0.0, np.inf, point.z))
        taken = None
        if len(trace) <= _MAX_REFINING_STEPS:
            taken = try_steps(problem, at, _REFINING_DAMPINGS, prior)
        if taken is None:
            break
        reached = average_error(wider.rmse(evaluate_at(wider, taken.point.z).residuals))
        if reached >= error:
            break
        error, point = reached, taken.point
    problem.take_counts(wider)
    return _describe_answer(problem, at, trace, began, counts), prior, at


def describe_numbers(problem: Problem, *, misfit: float) -> Fit:
    """The problem's nominal numbers as an answer that a search has found."""
    began, counts = time.perf_counter(), problem.evaluation_count
    z = problem.start_z
    prior, point = make_prior(problem, z, misfit), evaluate_at(problem, z)
    jacobian = differentiate(
        problem, z, point.starts, colouring=find_colouring(problem, z)
    )
    at = linearise(problem, point, jacobian, prior, ROUGH_FIT.outlier)
    trace = [Iteration(at.cost, at.promised, 0.0, np.inf, z)]
    return _describe_answer(problem, at, trace, began, counts)


def _describe_answer(
    problem: Problem,
    at: Linearised,
    trace: list[Iteration],
    began: float,
    counts: int,
) -> Fit:
    """A fit that ended where the problem is linearised, with a sharp covariance."""
    found = Minimum(at, Ending.CONVERGED, tuple(trace))
    sharp = refine_jacobian(problem, at.point, at.jacobian)
    covariance, inflation = estimate_covariance(problem, at, sharp)
    return Fit(
        space=problem.space,
        z=at.point.z,
        covariance_z=covariance,
        starts=at.point.starts,
        residuals=at.point.residuals,
        rmse=problem.rmse(at.point.residuals),
        reduced_chi2=at.variance,
        inflation=inflation,
        outlier_share=float(np.mean(at.weights < 1)),
        ending=found.ending,
        warnings=collect_warnings(problem, found, problem.diverged_count),
        trace=found.trace,
        seconds=time.perf_counter() - began,
        evaluation_count=problem.evaluation_count - counts,
        diverged_count=problem.diverged_count,
    )


def fit_all_parameters(
    problem: Problem,
    *,
    misfit: float | None,
    settings: LeastSquaresSettings,
    offsets: Mapping[str, float],
    lacks: bool,
    is_enough: Callable[[Fit], bool],
) -> Fit:
    """Every number from nominal, encoder offsets held near zero.

    `misfit` is how much larger residuals are than white noise, squared, where a rough
    fit came before: what is believed of offsets then has its due misfit among thousands
    of rows that say the same thing. None: nominal may be far off. `offsets` of a fit
    before are where these begin. A first answer that `is_enough` is not improved. A
    twin that `lacks` something would make up for it with any number that it is given:
    all are then held near nominal.
    """
    z = problem.start_z
    prior = make_prior(problem, z, misfit or 1.0, lacks=lacks)
    if misfit is None:
        misfit, fit = 1.0, _fit(problem, prior, settings)
    else:
        known = {n: x for n, x in offsets.items() if n in problem.space.names}
        near = problem.coordinates.to_z(problem.space.vector(known))
        fit = polish(
            problem, near, prior, settings, colouring=find_colouring(problem, near)
        )
    if is_enough(fit):
        return fit
    fit = _leave_ends(problem, fit, prior, settings)
    found = fit.misfit
    is_held = lacks or any(p.kind == "sensor_bias" for p in problem.space)
    if is_held and not 1 / _REWEIGH_RATIO < found / misfit < _REWEIGH_RATIO:
        prior = make_prior(problem, z, found, lacks=lacks)
        colouring = find_colouring(problem, fit.z)
        again = polish(problem, fit.z, prior, settings, colouring=colouring)
        fit = _add(again, fit)
    return fit


def _leave_ends(
    problem: Problem, fit: Fit, prior: Prior, settings: LeastSquaresSettings
) -> Fit:
    """The better of a fit that leaves much, and one that begins amid its ranges.

    A slack drive answers late: a fit may have taken a delay for softness, and stand at
    no delay, from where every small step is worse. A few pieces tell whether another
    beginning is worth a whole fit.
    """
    low, high = problem.coordinates.lower, problem.coordinates.upper
    with np.errstate(invalid="ignore"):  # numbers without ends stand at none
        place, middle = (fit.z - low) / (high - low), (low + high) / 2
    stands = np.array([p.transform is Transform.IDENTITY for p in problem.space])
    stands &= np.isfinite(high - low) & (
        (place < _END_SHARE) | (place > 1 - _END_SHARE)
    )
    if fit.reduced_chi2 < _DOUBTFUL_CHI2 or not stands.any():
        return fit
    few = problem.thinned(max(1, len(problem.pieces) // _COLOURING_PIECES))
    z = np.where(stands, middle, fit.z)
    roughly = replace(ROUGH_FIT, is_rough=True)
    tried = minimise(few, z, prior, roughly, colouring=find_colouring(few, z)).at
    stayed = weigh_residuals(few, evaluate_at(few, fit.z), prior, settings.outlier)
    problem.take_counts(few)
    if tried.variance > _RESTART_GAIN * stayed.variance:
        return fit
    z = tried.point.z
    again = polish(problem, z, prior, settings, colouring=find_colouring(problem, z))
    return _add(
        *((again, fit) if again.reduced_chi2 < fit.reduced_chi2 else (fit, again))
    )


def _add(taken: Fit, other: Fit) -> Fit:
    """A fit that counts what another one took, too."""
    return replace(
        taken,
        seconds=taken.seconds + other.seconds,
        evaluation_count=taken.evaluation_count + other.evaluation_count,
    )


def find_colouring(problem: Problem, z: Floats) -> Colouring | None:
    """Which numbers can be moved together, by a few pieces; None for one joint."""
    if not problem.labels.any():
        return None
    few = problem.thinned(max(1, len(problem.pieces) // _COLOURING_PIECES))
    found = colour_columns(few, differentiate(few, z, evaluate_at(few, z).starts))
    problem.take_counts(few)
    return found


def _fit(problem: Problem, prior: Prior, settings: LeastSquaresSettings) -> Fit:
    belief = GaussianBelief(problem.space, prior.mean, np.linalg.inv(prior.precision))
    return fit_least_squares(problem, prior=belief, settings=settings)
