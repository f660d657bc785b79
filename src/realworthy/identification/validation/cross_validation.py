"""Does a fit hold on experiments that it has not seen?

Folds are whole experiments: recordings, or groups of repeats of one. Rows of one
recording never stand on both sides, for neighbouring rows tell each other's error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.least_squares import (
    fit_least_squares,
    polish,
    to_prior,
)
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.parameters import Belief, ParameterSpace
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_EFFECTIVE_SD = 3.0
"""Standard deviations between folds beyond which a number is not physical."""
_OVERFIT_RATIO = 1.5
"""Held-out over fitted χ² from which a fit knows its own data too well."""


@dataclass(frozen=True, kw_only=True)
class ValidationFold:
    """One fit without some experiments, and what it says of them."""

    held_out: tuple[str, ...]
    """Recordings that the fit has not seen."""
    fit: Fit = field(repr=False)
    rmse: dict[str, float]
    """Held-out recording → root mean square position error over joints [rad or m]."""
    loss: dict[str, float]
    """Held-out recording → mean squared residual: its reduced χ²."""


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """Every experiment predicted by a fit that has not seen it."""

    folds: tuple[ValidationFold, ...]
    parameter_count: int
    warnings: tuple[str, ...]

    @property
    def loss(self) -> dict[str, float]:
        """Recording → mean squared residual when it was held out."""
        return {name: x for fold in self.folds for name, x in fold.loss.items()}

    @property
    def rmse(self) -> float:
        """Mean over recordings of the held-out position error [rad or m]."""
        return float(np.mean([x for f in self.folds for x in f.rmse.values()]))

    @property
    def reduced_chi2(self) -> float:
        """Mean over recordings of the held-out squared residual."""
        return float(np.mean(list(self.loss.values())))

    def to_words(self) -> str:
        """One line on what was held out, then what to be wary of."""
        line = (
            f"Held out in {len(self.folds)} folds over {len(self.loss)} recordings: "
            f"{self.rmse:.4g} rad, reduced χ² {self.reduced_chi2:.3g}."
        )
        return "\n".join([line, *self.warnings])


def cross_validate(
    twin: Twin,
    recordings: Sequence[Recording],
    space: ParameterSpace | Sequence[str],
    *,
    fold_count: int = 5,
    start: Mapping[str, float] | None = None,
    prior: Belief | None = None,
    joints: Sequence[str] | None = None,
    noise: float | Mapping[str, float] | None = None,
    horizon: float | None = None,
    settings: LeastSquaresSettings | None = None,
) -> CrossValidation:
    """Fits without each fold of the experiments and predicts it.

    Recordings of one `repeat_group` are one experiment. `joints`, `noise` and
    `horizon` are those of `Problem`.
    """
    problem = Problem(
        twin, recordings, space, joints=joints, noise=noise, horizon=horizon
    )
    return validate(
        problem, fold_count=fold_count, start=start, prior=prior, settings=settings
    )


def validate(
    problem: Problem,
    *,
    fold_count: int = 5,
    start: Mapping[str, float] | None = None,
    prior: Belief | None = None,
    settings: LeastSquaresSettings | None = None,
    whole: Fit | None = None,
) -> CrossValidation:
    """`cross_validate` of a problem at hand; `whole` is a fit to all, where known."""
    experiments = group_experiments(problem)
    if len(experiments) < 2:
        raise RealworthyError(
            "Cross-validation needs two experiments or more; there is one.",
            hint="Record another motion. Parts of one recording are no experiments.",
        )
    settings = settings or LeastSquaresSettings()
    whole = whole or fit_least_squares(problem, start, prior=prior, settings=settings)
    begin = problem.coordinates.to_z(problem.space.vector(start or {}))
    believed = to_prior(problem, prior, begin)
    folds = []
    for held in deal_folds(experiments, fold_count):
        seen = problem.restricted([i for e in experiments for i in e if i not in held])
        fit = polish(seen, whole.z, believed, settings)
        problem.take_counts(seen)
        rmse, loss = predict(problem.restricted(held), fit.z)
        held_names = tuple(problem.names[i] for i in held)
        folds.append(ValidationFold(held_out=held_names, fit=fit, rmse=rmse, loss=loss))
    return CrossValidation(
        folds=tuple(folds),
        parameter_count=len(problem.space),
        warnings=_collect_warnings(folds),
    )


def group_experiments(problem: Problem) -> list[list[int]]:
    """Numbers of recordings by experiment: repeats of one motion are together."""
    groups: dict[object, list[int]] = {}
    for i, track in enumerate(problem.tracks):
        name = track.recording.sidecar.repeat_group
        groups.setdefault(i if name is None else f"group {name}", []).append(i)
    return list(groups.values())


def deal_folds(
    experiments: Sequence[Sequence[int]], fold_count: int
) -> list[list[int]]:
    """Recordings of each fold, experiments dealt out in turn like cards."""
    count = min(fold_count, len(experiments))
    return [[i for e in experiments[k::count] for i in e] for k in range(count)]


def predict(problem: Problem, z: Floats) -> tuple[dict[str, float], dict[str, float]]:
    """Recording → position error [rad or m], and → mean squared residual, at (d,) z.

    Pieces start from smoothed measurements: nothing is fitted here.
    """
    starts = np.zeros((1, len(problem.pieces), 0))
    residuals = problem.residuals(z, starts).values[0]
    rmse = {
        name: float(np.sqrt(np.mean(np.square(list(joints.values())))))
        for name, joints in problem.rmse(residuals).items()
    }
    squares: dict[str, list[Floats]] = {}
    for piece, run in zip(problem.pieces, problem.runs, strict=True):
        name = problem.names[piece.recording]
        squares.setdefault(name, []).append(residuals[run] ** 2)
    loss = {name: float(np.mean(np.concatenate(s))) for name, s in squares.items()}
    return rmse, loss


def _collect_warnings(folds: Sequence[ValidationFold]) -> tuple[str, ...]:
    said = []
    fitted = float(np.mean([fold.fit.reduced_chi2 for fold in folds]))
    held = float(np.mean([x for fold in folds for x in fold.loss.values()]))
    if held > _OVERFIT_RATIO * max(fitted, 1.0):
        said.append(
            f"Held-out residuals are larger than fitted ones (χ² {held:.3g} against "
            f"{fitted:.3g}): too many numbers for these recordings, or a missing "
            "effect. Fit fewer, or record more kinds of motion."
        )
    z = np.array([fold.fit.z for fold in folds])
    variances = [np.diag(fold.fit.covariance_z) for fold in folds]
    sd = np.sqrt(np.median(variances, axis=0))
    moved = np.ptp(z, axis=0) / np.maximum(sd, 1e-300)
    space = folds[0].fit.space
    for i in np.argsort(-moved):
        if moved[i] > _EFFECTIVE_SD:
            values = [fold.fit.e[space.names[i]] for fold in folds]
            said.append(
                f"{space.names[i]} moves by {moved[i]:.2g} sd between folds "
                f"({min(values):.4g} … {max(values):.4g} {space.parameters[i].unit}): "
                "it is effective, not physical."
            )
    return tuple(said)
