"""What a calibration found: numbers, verdicts, a twin, and how it does unseen."""

from dataclasses import dataclass, field

import numpy as np

from realworthy.identification.calibration.disturbed_replays import DisturbedReplay
from realworthy.identification.calibration.inertials import Ratio
from realworthy.identification.excitation.excite import Excitation
from realworthy.identification.identifiability.verdicts import ParameterVerdict
from realworthy.identification.solver.methods import Method
from realworthy.identification.validation.held_out import (
    CalibrationOutcome,
    HeldOutError,
)
from realworthy.parameters import Belief
from realworthy.recordings import Recording
from realworthy.twins import Twin

_NAMED_RECORDINGS = 3
"""Names of recordings that fit in a cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterEstimate:
    """What recordings say of one parameter, in its unit."""

    name: str
    unit: str
    before: float
    """What the twin that was given said."""
    mean: float
    sd: float
    verdict: ParameterVerdict
    partners: tuple[str, ...] = ()
    """With which others it can be exchanged."""
    is_effective: bool = False
    """Whether it moves between folds by more than its interval, or the twin lacks
    something that it makes up for: effective, not physical."""
    is_fitted: bool = True
    """Whether it was fitted; else it stays where the twin that was given has it."""

    def to_words(self) -> str:
        """The verdict as people read it."""
        told = {
            ParameterVerdict.IDENTIFIED: "identified",
            ParameterVerdict.EFFECTIVE: "known",
            ParameterVerdict.ONLY_IN_COMBINATION: "only in combination",
            ParameterVerdict.NOT_EXCITED: "not excited",
            ParameterVerdict.AT_BOUND: "at its bound",
        }[self.verdict]
        if self.partners:
            told += f" with {', '.join(self.partners)}"
        if not self.is_fitted:
            told += "; left as it was"
        return told + ("; effective, not physical" if self.is_effective else "")


@dataclass(frozen=True, kw_only=True, repr=False)
class Calibration:
    """A twin with a belief, and what to think of it."""

    outcome: CalibrationOutcome
    method: Method
    """The search that found the numbers."""
    original: Twin = field(repr=False)
    twin: Twin = field(repr=False)
    """The calibrated twin; to be kept where `outcome.is_kept`."""
    estimates: tuple[ParameterEstimate, ...]
    errors: tuple[HeldOutError, ...]
    held_out: tuple[Recording, ...] = field(repr=False)
    joints: tuple[str, ...] = ()
    """Recorded joints of the twin that count."""
    fitted_recordings: tuple[Recording, ...] = field(default=(), repr=False)
    fitted: tuple[str, ...]
    """Names of the recordings that were fitted."""
    fitted_seconds: float
    """[s] of them that were simulated for each candidate."""
    is_by_time: bool
    """Whether held-out recordings are the ends of the fitted ones."""
    disturbed: tuple[DisturbedReplay, ...] = ()
    """Held-out recordings in which joints stall on what the twin lacks, or responses
    shift in time; they count."""
    is_ahead: bool = False
    """Whether errors are of predictions 0.5 s ahead from measured states."""
    reduced_chi2: float
    inflation: float
    """By how much lasting residuals widen variances, on average."""
    cross_validated: float | None
    """[rad or m] fitted recordings predicted by fits without them; None where there was
    nothing to leave out."""
    ratios: tuple[Ratio, ...] = ()
    """Of torque-driven links: what holds whether or not torques are calibrated."""
    warnings: tuple[str, ...]
    advice: tuple[str, ...]
    """What to record next."""
    reason: str = ""
    """Why nothing is identified, where nothing is."""
    excitation: Excitation | None = None
    """The motion that would identify what these recordings do not, where they identify
    nothing."""
    folds: tuple["Calibration", ...] = field(default=(), repr=False)
    """Calibrations without each fold of the recordings, judged by it; none where they
    were not asked for."""
    seconds: float
    """By the clock, resumed parts and folds not counted."""
    evaluation_count: int

    def __repr__(self) -> str:
        return (
            f"<calibration of twin '{self.original.name}': {self.outcome.value}, "
            f"{self.before:.4g} to {self.after:.4g} rad held out>"
        )

    @property
    def belief(self) -> Belief:
        return self.twin.belief

    @property
    def before(self) -> float:
        """Mean over held-out recordings with the twin that was given [rad or m]."""
        return float(np.mean([error.before for error in self.errors]))

    @property
    def after(self) -> float:
        """The same with the calibrated twin."""
        return float(np.mean([error.after for error in self.errors]))

    @property
    def after_undisturbed(self) -> float:
        """`after` without the rows of stalls and of responses that shift."""
        apart = {replay.recording: replay.error_apart for replay in self.disturbed}
        return float(np.mean([apart.get(e.recording, e.after) for e in self.errors]))

    @property
    def held_out_words(self) -> str:
        """Names of the recordings that judge, the first of many."""
        names = [error.recording for error in self.errors]
        more = len(names) - _NAMED_RECORDINGS
        return ", ".join(names[:_NAMED_RECORDINGS]) + (
            f" and {more} more" if more > 0 else ""
        )

    @property
    def folds_before(self) -> float:
        """[rad or m] of the twin that was given, mean over folds."""
        return float(np.mean([fold.before for fold in self.folds]))

    @property
    def folds_mean(self) -> float:
        """[rad or m] of recordings that were left out, mean over folds."""
        return float(np.mean([fold.after for fold in self.folds]))

    @property
    def folds_undisturbed(self) -> float:
        """[rad or m] `folds_mean` without the rows of stalls and of shifts."""
        return float(np.mean([fold.after_undisturbed for fold in self.folds]))

    @property
    def folds_worst(self) -> float:
        """[rad or m] of the worst fold."""
        return max(fold.after for fold in self.folds)

    def __getitem__(self, name: str) -> ParameterEstimate:
        return next(estimate for estimate in self.estimates if estimate.name == name)

    @property
    def summary(self) -> str:
        """One sentence."""
        if self.outcome is CalibrationOutcome.NOT_IDENTIFIED:
            return f"These recordings identify nothing: {self.reason}."
        count = len(self.errors)
        noun = "recording" if count == 1 else "recordings"
        told = (
            f"{'Prediction' if self.is_ahead else 'Replay'} error on {count} held-out "
            f"{noun}: {self.after:.3g} rad, before {self.before:.3g} rad"
        )
        if self.outcome is CalibrationOutcome.ALREADY_RIGHT:
            told += "; that is the noise floor"
        if self.outcome is CalibrationOutcome.NOT_BETTER:
            told += "; the fit is no better than the twin before"
        if self.folds:
            told += (
                ". With each of them left out in turn, "
                f"{len(self.folds)} folds are off by "
                f"{self.folds_mean:.3g} rad on average and {self.folds_worst:.3g} rad "
                f"at worst, before by {self.folds_before:.3g} rad"
            )
        return f"{told}."
