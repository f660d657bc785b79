"""A policy's attempts at its task on stand-ins, for what causes of a gap cost it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.realities import play_reality
from realworthy.certification.subject import Subject
from realworthy.realities import Reality, RealityNoise

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAttempts:
    """Episodes of the task, from the same starts on every stand-in."""

    subject: Subject
    count: int = 100
    """Episodes on each: a share of a half is then known to ± 10 points (95 %)."""
    noise: RealityNoise = field(default_factory=RealityNoise)

    @property
    def measure(self) -> str:
        return "success"

    def play(self, reality: Reality, seed: int) -> Floats:
        """(count,) 1 for success, 0 for failure or where physics blew up."""
        found = play_reality(self.subject, reality, self.count, seed=seed)
        return np.where(found.invalid, 0.0, found.success).astype(np.float64)
