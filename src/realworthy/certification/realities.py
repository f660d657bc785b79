"""A certified policy on stand-ins for robots: does what was promised come true?"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from realworthy.certification.certificate import Certificate
from realworthy.certification.condition import Condition
from realworthy.certification.examine import count_codes, to_share
from realworthy.certification.play import Episodes, play
from realworthy.certification.results import Share
from realworthy.certification.subject import Subject, build_subject
from realworthy.certification.wire import Wire
from realworthy.realities import Reality
from realworthy.tasks.reality import build_real_worlds

EPISODES = 100


class RealTrial(msgspec.Struct, frozen=True, kw_only=True):
    """How a policy fared on one reality."""

    name: str
    share: Share
    uncovered: tuple[str, ...]
    """Why the certificate does not speak of this reality; empty: it does."""
    codes: dict[str, int]
    """Cause of failure → episodes."""
    invalid: int
    """Episodes whose physics diverged; not counted."""


def play_reality(
    subject: Subject, reality: Reality, count: int = EPISODES, *, seed: int = 0
) -> Episodes:
    """Episodes on a reality, many at once and faster than real time."""
    worlds = build_real_worlds(
        lambda twin: subject.on(twin).build_task(),
        reality,
        count,
        seed=seed,
        thread_count=subject.thread_count,
        numbers=np.arange(count),
    )
    wire = Wire(subject.load(count), Condition(), period=worlds.period, seed=seed)
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
    twin: str = "",
    episodes: int = EPISODES,
) -> Iterator[RealTrial]:
    """The same of several, one after the other."""
    subject = build_subject(policy, task=certificate.task, twin=twin)
    for reality in realities:
        yield try_reality(certificate, subject, reality, episodes=episodes)
