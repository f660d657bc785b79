"""What was found in each part of an examination; plain numbers, kept as JSON."""

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.gap.intervals import compute_wilson_interval
from realworthy.tasks.failures import Failure

Group = Literal[
    "everyday", "numerics", "engine", "actuator", "sensor", "link", "stress"
]


class _Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Share(_Result, frozen=True, kw_only=True):
    """Successes among episodes, 95 % by Wilson's score."""

    successes: int
    count: int
    lower: float
    mean: float
    upper: float


class FailureCase(_Result, frozen=True, kw_only=True):
    """One failed episode, and what repeats it."""

    code: int
    """See `tasks.failures.Failure`."""
    name: str
    cell: str
    e: dict[str, float]
    """Parameters that were not nominal."""
    seed: int
    number: int
    """Of the start and goals under that seed."""
    seconds: float
    """[s] into the episode."""
    replay: str | None = None
    """A recording of it, from the certificate's folder."""


class Divergence(_Result, frozen=True, kw_only=True):
    """Where two engines part first, in the median of worlds."""

    signal: str
    seconds: float
    """[s] into the episode."""
    ours: float
    theirs: float
    """In one such world, in the signal's unit."""


class CellResult(_Result, frozen=True, kw_only=True):
    """How a policy fared in one cell."""

    name: str
    group: Group
    required: bool
    verdict: CertificateVerdict
    about: str
    """One sentence."""
    bar: float | None = None
    """Share of successes that was wanted; None: skipped, or judged by other means."""
    share: Share | None = None
    """None: it was skipped."""
    more: int | None = 0
    """Further episodes that would settle it; None: too near the bar to tell."""
    invalid: int = 0
    """Episodes whose physics diverged; not counted."""
    codes: dict[str, int] = {}
    """Cause of failure → episodes."""
    seen: dict[str, int] = {}
    """What detectors saw, whether or not it ended an episode → episodes."""
    budgets: dict[str, float] = {}
    """Power, heat, change of actions; 95 % quantile over episodes."""
    divergence: Divergence | None = None
    """From MuJoCo, of another engine."""
    failures: tuple[FailureCase, ...] = ()
    skipped: str = ""
    """Why it was not run."""
    seconds: float = 0.0
    """[s] of computing."""


class Level(_Result, frozen=True, kw_only=True):
    value: float
    share: Share


class MarginResult(_Result, frozen=True, kw_only=True):
    """Robustness margin: the largest disturbance of one kind, all else nominal."""

    name: str
    unit: str
    largest: float | None
    """Largest value at which it still did as well as it must; None: not even the least.
    """
    failing: float | None
    """Least value at which it did not; None: it bore all."""
    levels: tuple[Level, ...] = ()
    skipped: str = ""
    seconds: float = 0.0


class ValidityRange(_Result, frozen=True, kw_only=True):
    lower: float
    upper: float
    nominal: float
    unit: str = ""


class Validity(_Result, frozen=True, kw_only=True):
    """Within which limits the policy was shown to work, all of them at once."""

    scale: float
    """Share of the believed ranges that is covered, about the nominals; 1: all."""
    parameters: dict[str, ValidityRange]
    """e, uniformly within."""
    noise: dict[str, float]
    """Signal that the policy sees → sd of its measurement noise, in its unit."""
    rate: float
    """[Hz] of control."""
    inputs: dict[str, ValidityRange]
    effects: tuple[str, ...] = ()
    """Effects beyond the twin that were tried: none. Others are not covered."""
    lower: float
    """Share of successes that at least `content` of all realities within these limits
    show in 100 episodes."""
    content: float
    confidence: float
    reality_count: int
    episode_count: int
    mean: float
    worst: float
    """Least share among the realities tried."""
    worst_tenth: float
    """Mean share over the worst tenth of the realities tried (CVaR at 10 %)."""


class ValidityResult(_Result, frozen=True, kw_only=True):
    verdict: CertificateVerdict
    about: str
    validity: Validity | None
    tried: tuple[tuple[float, float], ...]
    """Scale and lower bound of each attempt; one that was given up: the best that it
    could still have reached."""
    codes: dict[str, int] = {}
    failures: tuple[FailureCase, ...] = ()
    seconds: float = 0.0


class ParameterEffect(_Result, frozen=True, kw_only=True):
    """What one parameter does to the worst case, alone."""

    name: str
    worst: float
    effect: float
    """Range of the margin over its believed range."""


class WorstResult(_Result, frozen=True, kw_only=True):
    """Worst-case parameters that a search found within the belief."""

    about: str
    margin: float
    """Share of successes less the bar, graded; below zero it fails."""
    evaluations: int
    is_failure: bool
    e: dict[str, float] = {}
    safe_fraction: float | None = None
    """Of the way from nominal to the worst that is safe; None: nothing failed."""
    nearest: dict[str, float] = {}
    """e of the nearest failure on that way."""
    repeated: Share | None = None
    """Successes at the worst case in new episodes."""
    turns: tuple[ParameterEffect, ...] = ()
    """The most telling first."""
    failures: tuple[FailureCase, ...] = ()
    skipped: str = ""
    seconds: float = 0.0


class TransferGrade(_Result, frozen=True, kw_only=True):
    """What the cell that loses most loses against everyday play."""

    cell: str
    letter: str
    """A: less than 10 points. B: less than 30. D: more. Or insufficient."""
    gap: float
    lower: float
    upper: float
    """Of the gap, 95 % for all cells together."""
    about: str


class Regression(_Result, frozen=True, kw_only=True):
    """Against the last accepted policy, on the same episodes."""

    against: str
    change: str
    difference: float
    lower: float
    upper: float
    count: int
    about: str
    verdict: CertificateVerdict


def to_share(successes: int, count: int) -> Share:
    low, high = compute_wilson_interval(successes, count) if count else (0.0, 1.0)
    mean = successes / count if count else 0.0
    return Share(successes=successes, count=count, lower=low, mean=mean, upper=high)


def count_codes(failure: NDArray[np.int64]) -> dict[str, int]:
    """Cause of failure → episodes."""
    counted = Counter(failure[failure != 0].tolist())
    return {Failure(code).name.lower(): n for code, n in sorted(counted.items())}


def make_case(
    code: int,
    *,
    cell: str,
    e: Mapping[str, float],
    seed: int,
    number: int,
    seconds: float,
) -> FailureCase:
    return FailureCase(
        code=code,
        name=Failure(code).name.lower(),
        cell=cell,
        e={name: float(value) for name, value in e.items()},
        seed=seed,
        number=number,
        seconds=float(seconds),
    )
