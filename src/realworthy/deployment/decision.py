"""What a guard answers: what to do now, and why."""

import enum
from dataclasses import dataclass


class GuardVerdict(enum.IntEnum):
    """What to do; the larger one wins where guards differ."""

    GO = 0
    """Send the command."""
    WARN = 1
    """Send it, and tell the operator."""
    HOLD = 2
    """Follow nothing new: stay where the robot is."""
    DAMP = 3
    """Follow nothing: brake."""
    STOP = 4
    """Emergency stop, latched until a person resets it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reason; the reason is empty while all is well."""

    verdict: GuardVerdict = GuardVerdict.GO
    guard: str = ""
    """Which guard spoke, such as `state_age`."""
    reason: str = ""

    @property
    def is_fault(self) -> bool:
        return self.verdict >= GuardVerdict.DAMP


FINE = Decision()


def worst(decisions: "list[Decision]") -> Decision:
    """The strictest of some decisions; the first of equals."""
    return max(decisions, key=lambda decision: decision.verdict, default=FINE)
