"""What came of an adaptation: policies that were compared, what was gained, and when to
stop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.intervals import (
    Interval,
    compute_mean_bootstrap,
    compute_paired_bootstrap,
    compute_wilson_interval,
)
from realworthy.tasks.environment.evaluate import Evaluation

Floats = NDArray[np.float64]
_RESAMPLES = 2000
NO_ROBOT = "No seconds on a robot were spent: try it there, with --robot."


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A policy that was compared with others in the same episodes."""

    name: str
    about: str
    returns: Floats
    """(episodes,) episode k has the same e, start and noise seed in every arm."""
    success_count: int | None = None
    """None where nobody can tell success."""

    @classmethod
    def of(cls, name: str, about: str, evaluation: Evaluation) -> "Arm":
        return cls(
            name=name,
            about=about,
            returns=evaluation.returns,
            success_count=int(evaluation.successes.sum()),
        )

    @property
    def mean(self) -> float:
        return float(self.returns.mean()) if len(self.returns) else float("nan")

    @property
    def interval(self) -> Interval:
        """95 % of the mean return."""
        if len(self.returns) < 2:
            return Interval(float("-inf"), float("inf"))
        return compute_mean_bootstrap(self.returns)

    @property
    def success(self) -> float | None:
        count = self.success_count
        return None if count is None else count / len(self.returns)

    @property
    def success_interval(self) -> Interval | None:
        count = self.success_count
        return (
            None if count is None else compute_wilson_interval(count, len(self.returns))
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Adaptation:
    """An adapted policy, and whether it was worth it."""

    method: str
    task: str
    folder: Path
    policy: Path
    """The adapted one; as it was where adapting did not help."""
    arms: tuple[Arm, ...]
    adapted: str
    """Name of the arm that is the adapted policy."""
    baseline: str
    """Name of the arm that does nothing."""
    oracle: str = ""
    """Name of the arm that knows the truth; empty: there is none."""
    real_seconds: float = 0.0
    """[s] for which a robot was commanded."""
    trial_count: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The method's own, by name."""
    notes: tuple[str, ...] = ()
    """What is to be known of it, a sentence each."""
    before: Path | None = None
    """The policy that does nothing, where it has a file of its own."""
    twin: Path | None = None
    """The adapted twin, where there is one."""
    stop: str = ""
    """Why it ended, and what would follow from going on."""

    def __repr__(self) -> str:
        low, high = self.gain_interval
        return (
            f"<adaptation '{self.method}' of task '{self.task}': return"
            f" {self.arm(self.adapted).mean:.3g}, {self.gain:+.3g} [{low:.3g},"
            f" {high:.3g}] over '{self.baseline}', after {self.real_seconds:.0f} s on a"
            f" robot; {self.policy}>"
        )

    def arm(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def gain(self) -> float:
        """Mean return beyond that of doing nothing."""
        return self.arm(self.adapted).mean - self.arm(self.baseline).mean

    @property
    def gain_interval(self) -> Interval:
        """95 % of the gain; over pairs of episodes where they are as many."""
        one, two = (self.arm(x).returns for x in (self.adapted, self.baseline))
        if min(len(one), len(two)) < 2:
            return Interval(float("-inf"), float("inf"))
        if len(one) == len(two):
            return compute_paired_bootstrap(one, two)
        return compute_mean_bootstrap(one, two)

    @property
    def helps(self) -> bool:
        """Whether the whole interval of the gain is above zero."""
        return self.gain_interval.lower > 0

    def close_gap(self, name: str) -> tuple[float, Interval] | None:
        """Share of the way from doing nothing to the oracle that an arm goes.

        None without an oracle that is better than doing nothing beyond chance: there is
        no gap to close.
        """
        if not self.oracle:
            return None
        arms = [self.arm(x).returns for x in (name, self.baseline, self.oracle)]
        if len({len(x) for x in arms}) > 1:
            return None
        one, nothing, oracle = arms
        if compute_paired_bootstrap(oracle, nothing).lower <= 0:
            return None
        rng = np.random.default_rng(0)
        rows = rng.integers(len(one), size=(_RESAMPLES, len(one)))
        gaps = (oracle - nothing)[rows].mean(1)
        shares = (one - nothing)[rows].mean(1) / np.where(gaps == 0, np.nan, gaps)
        low, high = np.nanquantile(shares, [0.025, 0.975])
        share = float((one - nothing).mean() / (oracle - nothing).mean())
        return share, Interval(float(low), float(high))

    def to_tree(self) -> dict[str, object]:
        """What programs may rely on."""
        return {
            "method": self.method,
            "task": self.task,
            "policy": self.policy,
            "twin": self.twin,
            "gain": self.gain,
            "gain_interval": self.gain_interval,
            "helps": self.helps,
            "real_seconds": self.real_seconds,
            "trials": self.trial_count,
            "stop": self.stop,
            "arms": [self._describe(arm) for arm in self.arms],
            "numbers": dict(self.numbers),
            "notes": self.notes,
        }

    def _describe(self, arm: Arm) -> dict[str, object]:
        closed = self.close_gap(arm.name)
        return {
            "name": arm.name,
            "about": arm.about,
            "return": arm.mean,
            "return_interval": arm.interval,
            "success": arm.success,
            "success_interval": arm.success_interval,
            "episodes": len(arm.returns),
            "gap_closed": None if closed is None else closed[0],
            "gap_closed_interval": None if closed is None else closed[1],
        }
