"""What a recording holds, in numbers small enough to print."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from realworthy.recordings.missing_rows import find_gaps
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import unit_of
from realworthy.recordings.suspicions import suspicions
from realworthy.recordings.units import Suspicion


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSummary:
    """One signal's range."""

    name: str
    unit: str
    """SI unit that the name promises; empty where it does not say."""
    minimum: float
    maximum: float
    rms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSummary:
    """One recording; times in seconds, rates in Hz."""

    name: str
    row_count: int
    duration: float
    rate: float
    """By the median step."""
    is_regular: bool
    gap_count: int
    joints: tuple[str, ...]
    signals: tuple[SignalSummary, ...]
    suspicions: tuple[Suspicion, ...]
    sidecar: Sidecar
    sha256: str


def distinct_names(recordings: Sequence[Recording]) -> list[str]:
    """A name for each that no other has: its own, with its folders where needed."""
    names: list[str] = []
    for depth in range(1, 20):
        names = ["_".join(_tail(recording, depth)) for recording in recordings]
        if len(set(names)) == len(names):
            return names
    return [f"{recording.name}_{i}" for i, recording in enumerate(recordings)]


def _tail(recording: Recording, depth: int) -> tuple[str, ...]:
    if recording.source is None:
        return ("recording",)
    folder = recording.source.parent
    parts = folder.relative_to(folder.anchor).parts
    return (*parts[max(0, len(parts) - depth + 1) :], recording.name)


def summary(recording: Recording) -> RecordingSummary:
    """Duration, rate, range of every signal, and what looks wrong."""
    kind = recording.sidecar.command_kind
    return RecordingSummary(
        name=recording.name,
        row_count=len(recording.time),
        duration=recording.duration,
        rate=recording.rate,
        is_regular=recording.is_regular,
        gap_count=len(find_gaps(recording.time)),
        joints=recording.joints,
        signals=tuple(
            SignalSummary(
                name=name,
                unit=unit_of(name, kind),
                minimum=float(values.min()),
                maximum=float(values.max()),
                rms=float(np.linalg.norm(values)) / len(values) ** 0.5,
            )
            for name, values in recording.signals.items()
        ),
        suspicions=tuple(suspicions(recording)),
        sidecar=recording.sidecar,
        sha256=recording.sha256(),
    )
