"""A least-squares fit of e to recordings."""

import dataclasses
import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import SumOfSquares, evaluate_at
from realworthy.identification.solver.covariance import (
    compute_covariance,
    eliminate_starts,
)
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.jacobian import (
    Colouring,
    Jacobian,
    colour_columns,
    differentiate,
    refine_jacobian,
)
from realworthy.identification.solver.levenberg_marquardt import (
    Ending,
    LeastSquaresSettings,
    Minimum,
    minimise,
)
from realworthy.identification.solver.linearisation import (
    Linearised,
    Prior,
    linearise,
    weigh_residuals,
)
from realworthy.identification.solver.multistart import (
    combine_by_joint,
    scan_candidates,
)
from realworthy.parameters import Belief, GaussianBelief

Floats = NDArray[np.float64]
_FIRST_PIECES = 4
"""Pieces with which the way from a far start is begun."""
_LIVELIEST_SECONDS = 4.0
"""[s] of each of them, where it moves most."""
_ROUGH_SHARE = 0.05
"""Share of the cost by which it may still fall when that beginning is over."""
_POOR_CHI2, _HOPELESS_PROMISE = 10.0, 0.3
"""Reduced χ² and promised share of the cost that make a fit look around first."""
_MISSED_MOTION_SHARE = 0.01
"""Share of the motion that a twin may miss and still be near, whatever the noise."""
_FIRST_STEPS = 4
"""Iterations after which one of several starts is chosen."""
_LENGTHENINGS, _LONGER_CHI2_RATIO = (2.0, 3.0), 1.05
"""Lengths of pieces to go on with, and how much larger their reduced χ² may be."""
_FRONT_SHARE = 0.5
"""Share of their rows on which pieces find their starts, where errors of them grow."""
_LONGER_ITERATIONS = 25
"""Iterations in which a fit to longer pieces must converge."""
_UNBOUNDED_PRIOR_SD = 5.0
"""Scales of z that a prior is wide where there is neither belief nor box."""
_MIN_PRIOR_SD = 1e-6
"""Scales of z below which differences are not resolved."""


def fit_least_squares(
    problem: Problem,
    start: Mapping[str, float] | None = None,
    *,
    prior: Belief | None = None,
    settings: LeastSquaresSettings | None = None,
) -> Fit:
    """The e that makes residuals smallest, from `start` (nominal where not given).

    Local by nature: a start too far off may end elsewhere, which `reduced_chi2` shows.
    """
    began = time.perf_counter()
    settings = settings or LeastSquaresSettings()
    counts = problem.evaluation_count, problem.diverged_count
    z = problem.coordinates.to_z(problem.space.vector(start or {}))
    believed = to_prior(problem, prior, z)
    z, colouring = _approach(problem, z, believed, settings)
    return polish(
        problem,
        z,
        believed,
        settings,
        colouring=colouring,
        began=began,
        counts=counts,
    )


def polish(
    problem: Problem,
    z: Floats,
    prior: Prior,
    settings: LeastSquaresSettings,
    *,
    colouring: Colouring | None = None,
    began: float | None = None,
    counts: tuple[int, int] | None = None,
    warnings: tuple[str, ...] = (),
) -> Fit:
    """Least squares from a (d,) z that is near; with no iterations, z as it is.

    `began` and `counts` are the clock and the problem's counts before what led to z.
    """
    began = time.perf_counter() if began is None else began
    evaluated, blown = counts or (problem.evaluation_count, problem.diverged_count)
    minimum = _settle(problem, z, prior, settings, colouring)
    longest, minimum = _lengthen(problem, minimum, prior, settings)
    at, diverged = minimum.at, problem.diverged_count - blown
    count = longest.evaluation_count
    sharp = refine_jacobian(longest, at.point, at.jacobian)
    if longest is not problem:
        problem.evaluation_count += longest.evaluation_count - count
    covariance, inflation = estimate_covariance(longest, at, sharp)
    return Fit(
        space=problem.space,
        z=at.point.z,
        covariance_z=covariance,
        starts=at.point.starts,
        residuals=at.point.residuals,
        rmse=longest.rmse(at.point.residuals),
        reduced_chi2=at.variance,
        inflation=inflation,
        outlier_share=float(np.mean(at.weights < 1)),
        ending=minimum.ending,
        warnings=(*warnings, *collect_warnings(problem, minimum, diverged)),
        trace=minimum.trace,
        seconds=time.perf_counter() - began,
        evaluation_count=problem.evaluation_count - evaluated,
        diverged_count=diverged,
        at=dataclasses.replace(at, jacobian=sharp) if longest is problem else None,
    )


def estimate_covariance(
    problem: SumOfSquares, at: Linearised, sharp: Jacobian | None = None
) -> tuple[Floats, float]:
    """(d, d) covariance of z at a minimum, and its inflation by lasting residuals.

    Derivatives as the search had them take errors of differences for knowledge where
    numbers can be exchanged; `sharp` ones at that point do not.
    """
    jacobian, root = sharp or at.jacobian, np.sqrt(at.weights)[:, None]
    by_z, by_start = root * jacobian.by_z, root * jacobian.by_start
    sensitivity = eliminate_starts(by_z, by_start, problem.runs)
    information = sensitivity.T @ sensitivity + at.equations.believed
    return compute_covariance(
        information, sensitivity, at.rho, problem.series, at.variance
    )


def to_prior(problem: SumOfSquares, belief: Belief | None, z: Floats) -> Prior:
    """A belief as a Gaussian in z; without one, as wide as the box around z."""
    bounds = problem.coordinates
    if belief is None:
        width = np.minimum(
            0.5 * (bounds.upper - bounds.lower), _UNBOUNDED_PRIOR_SD * bounds.scale
        )
        return Prior(
            z, np.diag(1 / np.maximum(width, _MIN_PRIOR_SD * bounds.scale) ** 2)
        )
    marginal = belief.marginal(bounds.space.names)
    if isinstance(marginal, GaussianBelief) and marginal.space == bounds.space:
        mean, covariance = marginal.mean_z, marginal.covariance_z
    else:
        samples = bounds.to_z(marginal.sample(4096, seed=0))
        mean, covariance = samples.mean(0), np.atleast_2d(np.cov(samples.T))
    floor = np.diag((_MIN_PRIOR_SD * bounds.scale) ** 2)
    precision = np.linalg.inv(covariance + floor)
    return Prior(mean, precision.astype(np.float64))


def _approach(
    problem: Problem, z: Floats, prior: Prior, settings: LeastSquaresSettings
) -> tuple[Floats, Colouring]:
    """Where a rough fit to a few pieces leads; what they do not tell stays.

    It looks around where residuals are large and no step promises much, and where it
    gets stuck. Also says which columns can be moved together from there on.
    """
    few = problem.thinned(max(2, len(problem.pieces) // _FIRST_PIECES))
    point = evaluate_at(few, z)
    jacobian = differentiate(few, z, point.starts, step=settings.step)
    at = linearise(few, point, jacobian, prior, settings.outlier)
    colouring = colour_columns(few, jacobian)
    hopeless = at.variance > _POOR_CHI2 and at.promised < _HOPELESS_PROMISE * at.cost
    if at.variance > _POOR_CHI2 or at.promised > _ROUGH_SHARE * at.cost:
        best = None
        if not hopeless:
            best = _fit_a_glimpse(few, z, prior, settings, colouring)
        if best is None or _is_poor(few, best):
            points, colouring = scan_candidates(few, z)
            tried = _fit_best(few, points, prior, settings, colouring)
            best = tried if best is None or tried.cost < best.cost else best
        point, colouring = best.point, _colour_anew(few, best, settings, colouring)
    problem.take_counts(few)
    return point.z, colouring


def _fit_a_glimpse(
    few: Problem,
    z: Floats,
    prior: Prior,
    settings: LeastSquaresSettings,
    colouring: Colouring,
) -> Linearised:
    """A rough fit to the liveliest seconds, and what it is worth on all of `few`."""
    glimpse = few.glimpsed(_LIVELIEST_SECONDS)
    coarse = dataclasses.replace(settings, is_rough=True)
    end = _fit_roughly(glimpse, z, prior, coarse, colouring)
    few.take_counts(glimpse)
    if glimpse.pieces == few.pieces:
        return end
    return weigh_residuals(few, evaluate_at(few, end.point.z), prior, settings.outlier)


def _is_poor(few: Problem, at: Linearised) -> bool:
    """Whether residuals are large: beside the noise, which may last, and the motion."""
    return at.variance > max(_POOR_CHI2, (_MISSED_MOTION_SHARE * few.motion) ** 2)


def _fit_roughly(
    few: Problem,
    z: Floats,
    prior: Prior,
    settings: LeastSquaresSettings,
    colouring: Colouring,
) -> Linearised:
    """A fit that stops early and does not go far where the data tell nothing."""
    held = Prior(z, prior.precision + np.diag(1 / few.coordinates.scale**2))
    roughly = dataclasses.replace(settings, share=_ROUGH_SHARE)
    return minimise(few, z, held, roughly, colouring=colouring).at


def _fit_best(
    few: Problem,
    points: Floats,
    prior: Prior,
    settings: LeastSquaresSettings,
    colouring: Colouring,
) -> Linearised:
    """A rough fit from where a few steps from each of several points lead."""
    soon = dataclasses.replace(settings, iterations=_FIRST_STEPS)
    ends = [_fit_roughly(few, z, prior, soon, colouring).point for z in points]
    z = combine_by_joint(
        few,
        np.array([end.z for end in ends]),
        np.array([end.residuals for end in ends]),
        colouring,
    )
    return _fit_roughly(few, z, prior, settings, colouring)


def _colour_anew(
    few: Problem, at: Linearised, settings: LeastSquaresSettings, colouring: Colouring
) -> Colouring:
    if not few.labels.any():  # one joint: nothing to separate
        return colouring
    point = at.point
    exact = differentiate(few, point.z, point.starts, step=settings.step)
    return colour_columns(few, exact)


def _settle(
    problem: Problem,
    z: Floats,
    prior: Prior,
    settings: LeastSquaresSettings,
    colouring: Colouring | None = None,
) -> Minimum:
    """Least squares from z; where errors of starts grow, fronts of pieces come first.

    Measured velocities are poor starts there: the end of a piece has many minima in
    them, its front has one.
    """
    if not (problem.horizon.grows and problem.start_count and settings.iterations):
        return minimise(problem, z, prior, settings, colouring=colouring)
    fronts = problem.fronts(_FRONT_SHARE)
    point = minimise(fronts, z, prior, settings, colouring=colouring).at.point
    problem.take_counts(fronts)
    return minimise(
        problem,
        point.z,
        prior,
        settings,
        colouring=colouring,
        starts=problem.sort_starts(point.starts, fronts),
    )


def _lengthen(
    problem: Problem, found: Minimum, prior: Prior, settings: LeastSquaresSettings
) -> tuple[Problem, Minimum]:
    """Where starts are forgotten: longer pieces from a near estimate tell more.

    Goes on while residuals stay what they were.
    """
    soon = dataclasses.replace(settings, iterations=_LONGER_ITERATIONS)
    longest = problem
    for factor in (
        _LENGTHENINGS if problem.horizon.grows and settings.iterations else ()
    ):
        longer = problem.cut_anew(factor * problem.horizon.seconds)
        tried = _settle(longer, found.at.point.z, prior, soon)
        problem.take_counts(longer)
        worse = tried.at.variance > _LONGER_CHI2_RATIO * found.at.variance
        if worse or tried.ending is not Ending.CONVERGED:
            break
        longest, found = longer, tried
    return longest, found


def collect_warnings(
    problem: Problem, found: Minimum, diverged_count: int
) -> tuple[str, ...]:
    """What a reader of the fit should know, each as one sentence."""
    warnings = []
    at, bounds, z = found.at, problem.coordinates, found.at.point.z
    for i, parameter in enumerate(problem.space):
        slack = 1e-6 * bounds.scale[i]
        for end, place in (("lower", bounds.lower[i]), ("upper", bounds.upper[i])):
            if abs(z[i] - place) <= slack:
                e = float(parameter.from_z(place))
                warnings.append(
                    f"{parameter.name} ran to its {end} bound, {e:.4g} "
                    f"{parameter.unit}: its interval is one-sided."
                )
    last = found.trace[-1]
    share = last.promised / last.cost if last.cost else 0.0  # 0: a robot at rest
    left = f"by its linear model, a full step would lower the cost by {share:.2%}"
    if found.ending is Ending.ROUGH:
        warnings.append(
            f"The cost is not smooth, as with dry friction and contacts: {left}, but "
            "no step does. Try other starts."
        )
    elif found.ending is Ending.SPENT:
        warnings.append(
            f"Not converged after {len(found.trace) - 1} steps: {left}. Allow more "
            "iterations."
        )
    lost = [problem.space.names[i] for i in at.jacobian.lost]
    if lost:
        warnings.append(
            f"Worlds diverged around the estimate: {', '.join(lost)} unknown."
        )
    if diverged_count:
        warnings.append(f"{diverged_count} candidates diverged and were left out.")
    chi2, count = at.variance, len(at.weights)
    if abs(chi2 - 1) > max(0.1, 5 * np.sqrt(2 / count)):
        size = f"{np.sqrt(chi2):.2g} times the noise (reduced χ² {chi2:.3g})"
        why = (
            "the twin lacks something, or the noise is larger than stated; intervals "
            "hold only if the twin's structure is right"
            if chi2 > 1
            else "the noise is smaller than stated"
        )
        warnings.append(f"Residuals are {size}: {why}.")
    return tuple(warnings)
