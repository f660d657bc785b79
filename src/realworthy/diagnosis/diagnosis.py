"""What a diagnosis says: a verdict, ranked causes, what explains how much."""

from dataclasses import dataclass, field
from enum import StrEnum

from realworthy.diagnosis.fix import Fix
from realworthy.gap.measure import Gap


class CauseKind(StrEnum):
    """Where a cause lies."""

    INTERFACE = "interface"
    """Between the robot and its log: names, signs, units, clocks."""
    PARAMETRIC = "parametric"
    """The twin has the right form and a wrong number."""
    MISSING = "missing"
    """The twin has nothing of the kind."""


class Verdict(StrEnum):
    """What a diagnosis comes to."""

    HEALTHY = "healthy"
    """Nothing that these recordings could show is wrong with the twin."""
    EXPLAINED = "explained"
    """Interface and wrong numbers account for the gap."""
    MISSING_EFFECT = "missing_effect"
    """Part of the gap is something that the twin does not have."""
    CANNOT_TELL = "cannot_tell"
    """There is a gap, or too little to see one, and no cause could be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number behind a cause, with the interval in which it lies (90 %)."""

    name: str
    """A parameter's name, such as `elbow.damping`, or `elbow.backlash.width`."""
    value: float
    nominal: float
    """What the twin says; for an effect that it lacks, no effect."""
    interval: tuple[float, float]
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another cause that explains these recordings as well."""

    name: str
    joints: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLoss:
    """What a cause costs a task: success or return without it minus with it."""

    mean: float
    interval: tuple[float, float]
    """95 %."""
    measure: str
    """`success` (a share) or `return` (in the task's own unit)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One reason for the gap."""

    name: str
    """Such as `joint_sign`, `damping` or `backlash`."""
    kind: CauseKind
    joints: tuple[str, ...]
    """Joints that it concerns; empty where it concerns the robot as a whole."""
    share: float
    """Of the gap above noise, 0 … 1; shares of several causes add up."""
    interval: tuple[float, float]
    """90 %, over pieces of the recordings."""
    evidence: str
    """One or two sentences with numbers."""
    next_step: str
    """The cheapest thing to do about it, or to make sure."""
    estimates: tuple[Estimate, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    fix: str = ""
    """Lines for the recording's sidecar that put an interface fault right."""
    task_loss: TaskLoss | None = None

    @property
    def indistinguishable_from(self) -> tuple[str, ...]:
        """Names of causes that explain these recordings as well."""
        names = dict.fromkeys(other.name for other in self.alternatives)
        return tuple(name for name in names if name != self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the gap above noise divides; the four add up to 1."""

    interface: float
    parametric: float
    missing: float
    """By effects that the twin lacks, named or only learnable."""
    unexplained: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something about the machine that is not as it was before."""

    name: str
    """A cause's name, such as `mass` or `torque_limit`, or `unknown`."""
    joints: tuple[str, ...]
    size: str
    """How much, in words with numbers, such as `+0.12 kg (0.09 … 0.15)`."""
    evidence: str
    next_step: str
    false_alarm_rate: float
    """How often recordings of an unchanged machine would say as much, 0 … 1."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Diagnosis:
    """Why a twin and the robot behind some recordings differ."""

    twin: str
    verdict: Verdict
    summary: str
    """One sentence."""
    causes: tuple[Cause, ...]
    """By share, or by what they cost the task where one was given."""
    shares: Shares
    detection_limit: str
    """What these recordings could not have shown, in words."""
    gap: Gap
    """Before: the twin as it is, the recordings as they are."""
    after: Gap | None = None
    """With every cause corrected; None where there is none."""
    changes: tuple[Change, ...] = ()
    interactions: tuple[str, ...] = ()
    """Causes that cost the task more, or less, together than one by one."""
    warnings: tuple[str, ...] = ()
    next_experiment: str = ""
    """The recording that would settle most of what is open."""
    seconds: float = 0.0
    is_partial: bool = False
    """Whether it was interrupted; what was found until then is here."""
    notes: dict[str, str] = field(default_factory=dict)
    """Checks that passed: `clock` → `no gaps in 6,000 rows`."""
    fixes: tuple[Fix, ...] = ()
    """Edits that put the faults of the recordings right, in their order."""

    def __repr__(self) -> str:
        named = ", ".join(cause.name for cause in self.causes) or "no cause"
        return f"<diagnosis of twin '{self.twin}': {self.verdict}, {named}>"
