"""How an estimate moves when experiments are left out, one step from the fit.

Each fold is one Gauss–Newton step without its experiments, from derivatives that are
computed once: folds cost next to nothing. Valid near the fit, which is where estimates
that agree with each other lie.

How much an estimate owes to the experiments that happened to be made.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import evaluate_at
from realworthy.identification.solver.covariance import (
    compute_covariance,
    eliminate_starts,
)
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.jacobian import (
    Jacobian,
    colour_columns,
    differentiate,
)
from realworthy.identification.solver.least_squares import to_prior
from realworthy.identification.solver.levenberg_marquardt import (
    LeastSquaresSettings,
    minimise,
)
from realworthy.identification.solver.linearisation import (
    Linearised,
    NormalEquations,
    Prior,
    linearise,
)
from realworthy.identification.validation.cross_validation import (
    deal_folds,
    group_experiments,
    predict,
)
from realworthy.parameters import SampleBelief

Floats = NDArray[np.float64]
_FOLD_COUNT = 5
_COLOURING_PIECES = 4
"""Pieces that tell which joint a number moves."""
_APART_RATIO = 3.0
"""Standard deviations by which unlike rows must disagree before that is no chance."""
_MIN_EXPERIMENTS = 3
"""Experiments from which they are folds; else their pieces are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldEstimates:
    """Estimates without each fold, and what they say of it."""

    z: Floats
    """(folds, d)"""
    rmse: float | None
    """[rad or m] of folds predicted without themselves, mean over recordings; None
    where there was nothing to leave out."""
    by_experiment: bool
    """Whether folds are experiments; else they are pieces of too few."""
    apart_z: Floats
    """(d,) half of how far estimates from unlike rows are apart: slow and fast ones,
    gently and hard accelerated ones. 0 where that may be chance."""

    def sd_z(self) -> Floats:
        """(d,) of the estimate by the delete-a-group jackknife."""
        count = len(self.z)
        if count < 2:
            return np.zeros(self.z.shape[1])
        off = self.z - self.z.mean(axis=0)
        return np.sqrt((count - 1) / count * np.sum(off**2, axis=0))


def estimate_folds(
    problem: Problem,
    z: Floats,
    prior: Prior,
    outlier: float,
    *,
    at: Linearised | None = None,
) -> FoldEstimates:
    """Folds of experiments, or of pieces where experiments are few.

    (d,) `z` is where the fit is, and `at` the problem around it, where that is at hand.
    """
    at = at or _linearise(problem, z, prior, outlier)
    bounds = problem.coordinates
    low, high = bounds.lower - z, bounds.upper - z
    whole, _ = at.equations.step(0.0, low, high)
    folds, by_experiment = _deal_pieces(problem)
    moved, errors = [], []
    for held in folds:
        step, _ = _without(problem, at, prior, set(held)).step(0.0, low, high)
        without = np.clip(z + step - whole, bounds.lower, bounds.upper)
        moved.append(without)
        errors += predict(problem.of_pieces(held), without)[0].values()
    return FoldEstimates(
        z=np.array(moved).reshape(len(moved), len(z)),
        rmse=float(np.mean(errors)) if errors else None,
        by_experiment=by_experiment,
        apart_z=compare_conditions(problem, at, prior),
    )


def compare_conditions(problem: Problem, at: Linearised, prior: Prior) -> Floats:
    """(d,) half of how far slow rows and fast ones lead apart, one step from the fit.

    Likewise rows of gentle and of hard acceleration. A twin whose structure is right
    gives the same numbers from either. One that lacks an effect gives each what suits
    it, in every experiment alike, so that folds of experiments do not show it. Noise
    that lasts is allowed for. 0 where the difference may be chance.
    """
    apart = np.zeros(len(at.point.z))
    for size in problem.gather_motion():
        lively = np.zeros(len(size), dtype=bool)
        for label in np.unique(problem.labels):
            own = problem.labels == label
            lively[own] = size[own] > np.median(size[own])
        (calm_z, calm_variance), (lively_z, lively_variance) = (
            _estimate_from(problem, at, prior, rows) for rows in (~lively, lively)
        )
        half = 0.5 * np.abs(lively_z - calm_z)
        chance = 0.5 * np.sqrt(calm_variance + lively_variance)
        apart = np.maximum(apart, np.where(half > _APART_RATIO * chance, half, 0.0))
    return apart


def _estimate_from(
    problem: Problem, at: Linearised, prior: Prior, rows: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """(d,) where a step with these rows alone leads, from the fit, and its variance."""
    weights, z = np.where(rows, at.weights, 0.0), at.point.z
    equations = NormalEquations(
        at.jacobian,
        at.point.residuals,
        weights,
        problem.runs,
        at.point.starts,
        prior,
        z,
    )
    bounds, root = problem.coordinates, np.sqrt(weights)[:, None]
    step, _ = equations.step(0.0, bounds.lower - z, bounds.upper - z)
    sensitivity = eliminate_starts(
        root * at.jacobian.by_z, root * at.jacobian.by_start, problem.runs
    )
    information = sensitivity.T @ sensitivity + prior.precision
    covariance, _ = compute_covariance(
        information, sensitivity, at.rho, problem.series, at.variance
    )
    return step, np.diag(covariance)


def _deal_pieces(problem: Problem) -> tuple[list[list[int]], bool]:
    """Numbers of pieces of each fold; none where there is one place alone."""
    present = {piece.recording for piece in problem.pieces}
    experiments = [[i for i in e if i in present] for e in group_experiments(problem)]
    experiments = [e for e in experiments if e]
    if len(experiments) >= _MIN_EXPERIMENTS:
        folds = deal_folds(experiments, _FOLD_COUNT)
        return [
            [k for k, piece in enumerate(problem.pieces) if piece.recording in fold]
            for fold in folds
        ], True
    places: dict[tuple[int, int], list[int]] = {}
    for k, piece in enumerate(problem.pieces):  # those that overlap go together
        place = (piece.recording, piece.first // piece.row_count)
        places.setdefault(place, []).append(k)
    if len(places) < 2:
        return [], False
    return deal_folds(list(places.values()), _FOLD_COUNT), False


def _linearise(problem: Problem, z: Floats, prior: Prior, outlier: float) -> Linearised:
    """The problem around a fit; starts as measured where the fit cut it otherwise."""
    few = problem.thinned(max(1, len(problem.pieces) // _COLOURING_PIECES))
    exact = differentiate(few, z, evaluate_at(few, z).starts)
    colouring = colour_columns(few, exact) if problem.labels.any() else None
    point = evaluate_at(problem, z)
    jacobian = differentiate(problem, z, point.starts, colouring=colouring)
    return linearise(problem, point, jacobian, prior, outlier)


def _without(
    problem: Problem, at: Linearised, prior: Prior, held: set[int]
) -> NormalEquations:
    kept = [k for k in range(len(problem.pieces)) if k not in held]
    rows = np.concatenate([np.r_[problem.runs[k]] for k in kept])
    lengths = [problem.runs[k].stop - problem.runs[k].start for k in kept]
    ends = np.cumsum(lengths)
    runs = [slice(int(e - n), int(e)) for e, n in zip(ends, lengths, strict=True)]
    jacobian = Jacobian(at.jacobian.by_z[rows], at.jacobian.by_start[rows], ())
    return NormalEquations(
        jacobian,
        at.point.residuals[rows],
        at.weights[rows],
        runs,
        at.point.starts[kept],
        prior,
        at.point.z,
    )


_MIN_BOOTSTRAP_UNITS = 4
"""Units that can be drawn again with any sense."""
_REFIT_ITERATIONS = 6
"""Of a refit, which begins at the fit and does not go far."""


def bootstrap(
    problem: Problem, fit: Fit, count: int = 50, seed: int = 0
) -> SampleBelief:
    """Refits to experiments drawn anew with replacement, as equally likely samples.

    Experiments are drawn where there are four or more, else pieces of them; `Problem`
    makes pieces with `horizon`. The spread also holds where noise is not white and the
    twin is not quite right; it does not cover motions that were never recorded.
    """
    units = _find_units(problem)
    draw = np.random.default_rng(seed)
    prior = to_prior(problem, None, fit.z)
    settings = LeastSquaresSettings(iterations=_REFIT_ITERATIONS)
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
    if len(units) < _MIN_BOOTSTRAP_UNITS:
        units = [[i] for i in range(len(problem.pieces))]
    if len(units) < _MIN_BOOTSTRAP_UNITS:
        raise RealworthyError(
            f"A bootstrap needs {_MIN_BOOTSTRAP_UNITS} experiments or pieces; there "
            f"are {len(units)}.",
            hint="Cut recordings with Problem(..., horizon=SECONDS), or record more.",
        )
    return units
