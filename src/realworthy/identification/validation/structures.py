"""Which structure do recordings ask for: which friction, which drive?

Structure is discrete, so it is chosen by what unseen experiments say: every candidate
is cross-validated on the same folds, and the simplest one wins whose held-out loss is
within one standard error of the best (Breiman's rule).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.solver.least_squares import fit_least_squares
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.identification.validation.cross_validation import (
    CrossValidation,
    validate,
)
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_REJECTED_STANDARD_ERRORS = 2.0
"""Standard errors from which one structure is better than another."""


@dataclass(frozen=True, kw_only=True)
class Structure:
    """One way to describe a robot, and which of its numbers are to be fitted."""

    twin: Twin
    parameters: tuple[str, ...]
    start: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One structure with what it was worth."""

    name: str
    structure: Structure = field(repr=False)
    fit: Fit = field(repr=False)
    """To all recordings."""
    validation: CrossValidation = field(repr=False)
    behind: float
    """Mean over recordings of its log held-out loss, less that of the best one."""
    standard_error: float
    """Of `behind`, over recordings."""

    @property
    def is_rejected(self) -> bool:
        """Whether the best one is better by two standard errors."""
        return self.behind > _REJECTED_STANDARD_ERRORS * self.standard_error


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Structures that were compared on the same held-out experiments."""

    contenders: tuple[Contender, ...]
    """The best on held-out experiments first."""
    chosen: Contender

    @property
    def undecided(self) -> tuple[str, ...]:
        """Structures that these recordings cannot tell from the best one."""
        return tuple(c.name for c in self.contenders if not c.is_rejected)

    def to_words(self) -> str:
        """What was chosen and why, and what could not be distinguished."""
        lines = [
            f"{c.name}: {c.validation.parameter_count} numbers, held out "
            f"{c.validation.rmse:.4g} rad"
            + (
                f", loss {100 * np.expm1(c.behind):.2g} % above the best"
                if c.behind
                else ""
            )
            for c in self.contenders
        ]
        best = self.contenders[0]
        why = (
            "it predicts best"
            if self.chosen is best
            else f"the simplest within one standard error of {best.name}"
        )
        lines.append(f"Chosen: {self.chosen.name}, {why}.")
        if len(self.undecided) > 1:
            lines.append(
                f"These recordings do not distinguish {', '.join(self.undecided)}. "
                "Slow reversals identify Stribeck friction, several loads identify "
                "load friction."
            )
        return "\n".join(lines)


def select_structure(
    candidates: Mapping[str, Structure],
    recordings: Sequence[Recording],
    *,
    joints: Sequence[str] | None = None,
    noise: float | Mapping[str, float] | None = None,
    horizon: float | None = None,
    fold_count: int = 5,
    settings: LeastSquaresSettings | None = None,
) -> Selection:
    """Compares structures on the same folds and chooses by one standard error.

    Losses are compared by recording and as ratios, so that one wild recording does not
    decide. With fewer than three recordings a standard error means little.
    """
    if len(candidates) < 2:
        raise RealworthyError(
            f"A choice needs two structures or more, not {len(candidates)}.",
            hint="frictions(twin, joints) makes some.",
        )
    found: dict[str, tuple[Fit, CrossValidation]] = {}
    for name, candidate in candidates.items():
        problem = Problem(
            candidate.twin,
            recordings,
            candidate.parameters,
            joints=joints,
            noise=noise,
            horizon=horizon,
        )
        fit = fit_least_squares(problem, candidate.start, settings=settings)
        held = validate(
            problem,
            fold_count=fold_count,
            start=candidate.start,
            settings=settings,
            whole=fit,
        )
        found[name] = fit, held
    return choose_structure(candidates, found)


def choose_structure(
    candidates: Mapping[str, Structure],
    found: Mapping[str, tuple[Fit, CrossValidation]],
) -> Selection:
    """The one-standard-error rule on fits that are at hand."""
    logs = {name: _log_losses(held) for name, (_, held) in found.items()}
    best = min(logs, key=lambda name: float(logs[name].mean()))
    contenders = []
    for name, (fit, held) in found.items():
        apart = logs[name] - logs[best]
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.inf
        contenders.append(
            Contender(
                name=name,
                structure=candidates[name],
                fit=fit,
                validation=held,
                behind=float(apart.mean()),
                standard_error=float(error),
            )
        )
    contenders.sort(key=lambda c: c.behind)
    within = [c for c in contenders if c.behind <= c.standard_error]
    chosen = min(within, key=lambda c: (c.validation.parameter_count, c.behind))
    return Selection(contenders=tuple(contenders), chosen=chosen)


def _log_losses(held: CrossValidation) -> Floats:
    losses = held.loss
    return np.log([losses[name] for name in sorted(losses)])
