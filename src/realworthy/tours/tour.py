"""A tour: what it is asked for, and its result: three policies, and what was hidden."""

import enum
from dataclasses import dataclass, field
from pathlib import Path

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import Share
from realworthy.tours.robots import TourRobot
from realworthy.tours.training import Way
from realworthy.tours.trials import RealTrials


@dataclass(frozen=True, kw_only=True, slots=True)
class TourSettings:
    """How much of everything."""

    seed: int = 0
    """Of the hidden truth, and of everything else that is random."""
    with_wire: bool = True
    """Whether there are trials in real time."""
    training_share: float = 1.0
    """Of the robot's own training steps."""
    episodes: int = 200
    """Of each policy, in worlds like those it had, and on the hidden reality."""
    realities: int = 40
    """That a certificate tries within the belief; 0: none, and it tells no limits."""
    trials: int = 3
    """Of each policy over the wire, in real time."""
    trial_share: float = 1.0
    """Of the robot's own seconds of a trial."""

    @property
    def note(self) -> str:
        """What keeps its numbers from being those of a whole tour."""
        if self.training_share >= 1:
            return ""
        return (
            f"A quick tour: policies had {100 * self.training_share:.0f} % of their "
            f"training and {self.episodes} episodes; their success rates mean nothing."
        )


def quick_tour(seed: int = 0) -> TourSettings:
    """Every step, with policies that learn next to nothing."""
    return TourSettings(
        seed=seed,
        training_share=0.03,
        episodes=32,
        realities=0,
        trials=1,
        trial_share=0.3,
    )


class TourVerdict(enum.StrEnum):
    """What calibration did for the policy, on the robot."""

    HELPED = "helped"
    HARMED = "did harm"
    UNSURE = "made no sure difference"
    UNJUDGED = "was not judged"

    @property
    def sentence(self) -> str:
        if self is TourVerdict.UNJUDGED:
            return "Calibration was not judged: a whole tour trains long enough for it."
        how = "overlap" if self is TourVerdict.UNSURE else "do not overlap"
        return f"Calibration {self} here: 95 % intervals {how}."


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyResult:
    """How one policy fared."""

    way: Way
    simulated: float
    """Share of successes in worlds like those it was trained in."""
    certificate: Certificate
    real: Share
    """On the hidden reality, faster than real time."""
    trials: RealTrials | None
    """Over the wire, in real time."""

    @property
    def gap(self) -> float:
        """What simulation promised beyond what the robot showed."""
        return self.simulated - self.real.mean


@dataclass(frozen=True, kw_only=True, slots=True)
class HiddenParameter:
    """A parameter: nominal, calibrated and true."""

    name: str
    unit: str
    nominal: float
    mean: float
    sd: float
    truth: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TourDiagnosis:
    """Why twin and robot differ, before anything was fitted."""

    summary: str
    causes: tuple[tuple[str, float], ...]
    """Name and share of the gap, the largest first."""


@dataclass(kw_only=True, slots=True)
class Tour:
    """Everything that was found on the way."""

    robot: TourRobot
    seed: int
    folder: Path
    note: str = ""
    """Why its numbers must not be taken for those of a whole tour."""
    truth: dict[str, float] = field(default_factory=dict)
    unit: str = ""
    """Of the three gaps."""
    gap_before: float = 0.0
    """Replay error of the nominal model."""
    gap_after: float = 0.0
    """Of the calibrated twin, on recordings that it was not fitted to."""
    gap_again: float | None = None
    """Of the calibrated twin, half a second ahead in the trials of its own policy."""
    diagnosis: TourDiagnosis | None = None
    estimates: tuple[HiddenParameter, ...] = ()
    fared: tuple[PolicyResult, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    """Step → [s] since the tour began at which it had ended; some ran side by side."""
    processor: dict[str, float] = field(default_factory=dict)
    """Step → [s] of processor time, in all its processes."""

    @property
    def verdict(self) -> TourVerdict:
        """Of the calibrated policy beside that of the nominal model."""
        if self.note:
            return TourVerdict.UNJUDGED
        shares = {each.way: each.real for each in self.fared}
        calibrated, nominal = shares[Way.CALIBRATED], shares[Way.NOMINAL]
        if calibrated.lower > nominal.upper:
            return TourVerdict.HELPED
        if calibrated.upper < nominal.lower:
            return TourVerdict.HARMED
        return TourVerdict.UNSURE

    def list_unseen(self) -> list[Path]:
        """Recordings of the robot that no fit has seen."""
        return sorted((self.folder / "recordings").glob("unseen_*.npz"))
