"""How an estimate moves when experiments are left out, one step from the fit.

Each fold is one Gauss–Newton step without its experiments, from derivatives that are
computed once: folds cost next to nothing. Valid near the fit, which is where estimates
that agree with each other lie.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.differences import Jacobian, colour, differentiate
from realworthy.identification.fit import Fit
from realworthy.identification.linearised import Linearised, begin, linearise
from realworthy.identification.normal import NormalEquations, Prior
from realworthy.identification.problem import Problem
from realworthy.identification.validation import deal, group_experiments, predict

Floats = NDArray[np.float64]
_FOLDS = 5
_FEW = 4
"""Pieces that tell which joint a number moves."""
_FEWEST = 3
"""Experiments from which they are folds; else their pieces are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Estimates without each fold, and what they say of it."""

    z: Floats
    """(folds, d)"""
    rmse: float | None
    """[rad or m] of folds predicted without themselves, mean over recordings; None
    where there was nothing to leave out."""
    by_experiment: bool
    """Whether folds are experiments; else they are pieces of too few."""

    def sd_z(self) -> Floats:
        """(d,) of the estimate by the delete-a-group jackknife."""
        count = len(self.z)
        if count < 2:
            return np.zeros(self.z.shape[1])
        off = self.z - self.z.mean(axis=0)
        return np.sqrt((count - 1) / count * np.sum(off**2, axis=0))


def leave_out(
    problem: Problem,
    fit: Fit,
    prior: Prior,
    outlier: float,
    *,
    at: Linearised | None = None,
) -> LeftOut:
    """Folds of experiments, or of pieces where experiments are few.

    `at` is the problem around the fit, where that is at hand.
    """
    at = at or _linearise(problem, fit, prior, outlier)
    bounds = problem.coordinates
    low, high = bounds.lower - fit.z, bounds.upper - fit.z
    whole, _ = at.equations.step(0.0, low, high)
    folds, by_experiment = _deal(problem)
    moved, errors = [], []
    for held in folds:
        step, _ = _without(problem, at, prior, set(held)).step(0.0, low, high)
        z = np.clip(fit.z + step - whole, bounds.lower, bounds.upper)
        moved.append(z)
        errors += predict(problem.of_pieces(held), z)[0].values()
    return LeftOut(
        z=np.array(moved).reshape(len(moved), len(fit.z)),
        rmse=float(np.mean(errors)) if errors else None,
        by_experiment=by_experiment,
    )


def _deal(problem: Problem) -> tuple[list[list[int]], bool]:
    """Numbers of pieces of each fold; none where there is one place alone."""
    present = {piece.recording for piece in problem.pieces}
    experiments = [[i for i in e if i in present] for e in group_experiments(problem)]
    experiments = [e for e in experiments if e]
    if len(experiments) >= _FEWEST:
        folds = deal(experiments, _FOLDS)
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
    return deal(list(places.values()), _FOLDS), False


def _linearise(problem: Problem, fit: Fit, prior: Prior, outlier: float) -> Linearised:
    """The problem around a fit; starts as measured where the fit cut it otherwise."""
    few = problem.thinned(max(1, len(problem.pieces) // _FEW))
    exact = differentiate(few, fit.z, begin(few, fit.z).starts)
    colouring = colour(few, exact) if problem.labels.any() else None
    point = begin(problem, fit.z)
    jacobian = differentiate(problem, fit.z, point.starts, colouring=colouring)
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
