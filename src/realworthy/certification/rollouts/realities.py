"""A policy on stand-ins for robots: does what its certificate promised come true?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import Share, count_codes, to_share
from realworthy.certification.rollouts.disturbed_link import DisturbedLink
from realworthy.certification.rollouts.episodes import Rollouts, play
from realworthy.certification.subject import Subject, build_subject
from realworthy.certification.suite.condition import Condition
from realworthy.policies import Policy
from realworthy.realities import Reality, RealityNoise
from realworthy.tasks.catalogue import TASKS, TaskLike
from realworthy.tasks.environment.reality import build_real_worlds
from realworthy.twins import Twin, load_twin

EPISODES = 100
"""Episodes per reality: a success rate of 50 % is known to ± 10 points, one of 95 % to
± 4."""


class RealTrial(msgspec.Struct, frozen=True, kw_only=True):
    """How a policy fared on one reality."""

    name: str
    share: Share
    uncovered: tuple[str, ...]
    """Why the certificate does not cover this reality; empty: it does."""
    codes: dict[str, int]
    """Cause of failure → episodes."""
    invalid: int
    """Episodes whose physics diverged; not counted."""


def play_reality(
    subject: Subject, reality: Reality, count: int = EPISODES, *, seed: int = 0
) -> Rollouts:
    """Episodes on a reality, many at once and faster than real time."""
    worlds = build_real_worlds(
        lambda twin: subject.on(twin).build_task(),
        reality,
        count,
        seed=seed,
        thread_count=subject.thread_count,
        numbers=np.arange(count),
    )
    wire = DisturbedLink(
        subject.load(count), Condition(), period=worlds.period, seed=seed
    )
    return play(worlds, wire)


def try_reality(
    certificate: Certificate,
    subject: Subject,
    reality: Reality,
    *,
    episodes: int = EPISODES,
    seed: int = 0,
) -> RealTrial:
    """Successes on a reality, and whether the certificate covers it."""
    found = play_reality(subject, reality, episodes, seed=seed)
    return RealTrial(
        name=reality.name,
        share=to_share(found.success_count, found.valid_count),
        uncovered=certificate.find_uncovered(reality),
        codes=count_codes(found.failure[~found.invalid]),
        invalid=len(found.success) - found.valid_count,
    )


def try_realities(
    certificate: Certificate,
    realities: Iterable[Reality],
    *,
    policy: Path | str,
    task: TaskLike = "",
    twin: str = "",
    episodes: int = EPISODES,
) -> Iterator[RealTrial]:
    """The same of several, one after the other."""
    known = certificate.task if certificate.task in TASKS else ""
    subject = build_subject(policy, task=task or known, twin=twin)
    for reality in realities:
        yield try_reality(certificate, subject, reality, episodes=episodes)


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
        """(count,) 1 for success, 0 for failure or where physics diverged."""
        found = play_reality(self.subject, reality, self.count, seed=seed)
        return np.where(found.invalid, 0.0, found.success).astype(np.float64)


def load_attempts(
    policy: Policy | Path | str,
    *,
    task: TaskLike = "",
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
