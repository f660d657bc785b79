"""What a diagnosis knows while it is made."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from realworthy.diagnosis.forces import Explained
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.log import Finding
from realworthy.diagnosis.search import Found
from realworthy.errors import BadRecording
from realworthy.gap.ground import THROUGH_FLOOR
from realworthy.gap.measure import Gap, measure_recording
from realworthy.recordings import Recording
from realworthy.twins import Twin


@dataclass(slots=True)
class Work:
    """What is known so far; an interrupted diagnosis is made of it."""

    began: float
    gap: Gap
    recordings: list[Recording]
    log: list[tuple[Finding, Recording]] = field(default_factory=list)
    judge: Judge | None = None
    found: Found | None = None
    forces: Explained | None = None
    """What the balances of forces say; None where they cannot be drawn up."""
    warnings: list[str] = field(default_factory=list)
    is_partial: bool = False


def measure_all(
    twin: Twin, recordings: Sequence[Recording]
) -> tuple[Gap, list[Recording], list[str]]:
    """The gap on what can be replayed; the rest is named."""
    found, kept, warnings = [], [], []
    first: BadRecording | None = None
    for recording in recordings:
        try:
            found.append(measure_recording(twin, recording))
            kept.append(recording)
        except BadRecording as error:
            first = first or error
            warnings.append(f"Left out: {error.problem}")
    if first is not None and not found:
        raise first
    through = [one.name for one in found if THROUGH_FLOOR in one.assumptions]
    if through:
        warnings.append(
            f"{', '.join(through)}: {THROUGH_FLOOR} `calibrate` takes it away."
        )
    return Gap(twin=twin.name, recordings=tuple(found)), kept, warnings
