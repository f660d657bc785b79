"""What a calibration is asked to do, and what comes out of its algorithms."""

from collections.abc import Sequence
from dataclasses import dataclass

from realworthy.identification.calibration.checkpoint import Checkpoint, FitPart
from realworthy.identification.calibration.parameter_choice import ParameterChoice
from realworthy.identification.calibration.piece_choice import (
    PiecesToFit,
    choose_pieces_to_fit,
)
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.identification.solver.methods import Method
from realworthy.identification.validation.resampling import FoldEstimates
from realworthy.progress import Progress
from realworthy.recordings import Recording
from realworthy.twins import Twin


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchChoice:
    """The search that was asked for."""

    method: Method
    settings: LeastSquaresSettings | None
    """None: as the algorithm has them."""
    evaluations: int | None

    @property
    def is_least_squares(self) -> bool:
        return self.method is Method.LEAST_SQUARES


@dataclass(frozen=True, kw_only=True)
class CalibrationTask:
    """Everything that an algorithm needs to know."""

    published: Twin
    """The twin that was given."""
    twin: Twin
    """The same, with the loops that drives closed while recording."""
    recordings: tuple[Recording, ...]
    """To be fitted."""
    joints: tuple[str, ...]
    parameters: tuple[str, ...]
    """Asked for by name; none: those that the recordings can identify."""
    seconds: float
    """Recorded time that is fitted at most."""
    search: SearchChoice
    checkpoint: Checkpoint
    progress: Progress

    def cut(
        self,
        twin: Twin,
        names: Sequence[str],
        recordings: Sequence[Recording] | None = None,
        *,
        ahead: bool = False,
    ) -> PiecesToFit:
        """Pieces of the recordings; `ahead`: predictions from measured states."""
        return choose_pieces_to_fit(
            twin,
            self.recordings if recordings is None else tuple(recordings),
            self.joints,
            names,
            seconds=self.seconds,
            ahead=ahead,
        )


@dataclass(frozen=True, kw_only=True)
class FittedTwin:
    """What an algorithm found."""

    start: Twin
    """With the numbers that the fit departed from."""
    pieces: PiecesToFit
    problem: Problem
    choice: ParameterChoice
    fit: FitPart
    folds: FoldEstimates
    notes: tuple[str, ...] = ()
    """What a reader should know of what came before the fit."""

    @property
    def grows(self) -> bool:
        """Whether a small error of a start grows, so that no whole replay can tell."""
        return self.problem.horizon.grows or self.pieces.grows
