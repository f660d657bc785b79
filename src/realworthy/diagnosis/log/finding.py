"""What one look at a log comes to: fault, in order, a note, or cannot tell."""

from dataclasses import dataclass
from enum import StrEnum

from realworthy.diagnosis.fix import Fix


class Answer(StrEnum):
    """Of a check."""

    FAULT = "fault"
    """Wrong, and enough of it to matter."""
    IN_ORDER = "in_order"
    NOTE = "note"
    """Worth knowing, and no fault by itself."""
    CANNOT_TELL = "cannot_tell"
    """The log does not hold what would decide it; `evidence` says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer of one check, about one joint, one sensor or the whole log."""

    name: str
    """Name of the cause, such as `unit_scale`; `constant_signal` and
    `saturated_signal` are notes only."""
    answer: Answer
    joints: tuple[str, ...] = ()
    """Joints, or stems of sensors such as `base.gyro`; empty for the whole log."""
    size: float = 0.0
    """How much: a share of rows, a factor, seconds or radians, as `evidence` says."""
    interval: tuple[float, float] | None = None
    """90 %, of `size`, where it was estimated from pieces of the log."""
    evidence: str
    """One or two sentences with numbers."""
    next_step: str = ""
    fix: Fix | None = None

    @property
    def is_fault(self) -> bool:
        """Whether something is wrong, and enough of it to matter."""
        return self.answer is Answer.FAULT
