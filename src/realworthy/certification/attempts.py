"""A policy's attempts at its task on stand-ins, for what causes of a gap cost it."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.realities import play_reality
from realworthy.certification.subject import Subject, build_subject
from realworthy.policies import Policy
from realworthy.realities import Reality, RealityNoise
from realworthy.twins import Twin, load_twin

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


def load_attempts(
    policy: Policy | Path | str,
    *,
    task: str = "",
    twin: Twin | Path | str = "",
    count: int = 100,
) -> TaskAttempts:
    """A policy at a task, by default its own, on a twin, by default its own.

    For `diagnose`, which then says what each cause of a gap costs it. Raises where the
    task does not fit the twin. A residual of the twin is left out, as there.
    """
    path = policy.path if isinstance(policy, Policy) else policy
    bare = load_twin(twin).without_residual() if twin else ""
    subject = build_subject(path, task=task, twin=bare)
    subject.build_task()
    return TaskAttempts(subject=subject, count=count)
