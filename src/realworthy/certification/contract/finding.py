"""What a check of a policy found: a mark, one sentence with its numbers, a remedy."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from realworthy.errors import RealworthyError


class Aspect(StrEnum):
    """What of a policy was looked at."""

    TWIN = "twin"
    JOINTS = "joints"
    COMMANDS = "commands"
    MEASURABLE = "measurable"
    INPUTS = "inputs"
    TERMS = "terms"
    ORDER = "order"
    SIGNS = "signs"
    UNITS = "units"
    OFFSETS = "offsets"
    HISTORY = "history"
    FEEDBACK = "feedback"
    RATE = "rate"
    GAINS = "gains"
    LIMITS = "limits"
    RANGE = "range"
    DELAYS = "delays"
    ENVELOPE = "envelope"
    NORMALISER = "normaliser"
    PARITY = "parity"


class Mark(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """It can be certified; what is said should be looked at."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractFinding:
    """One thing that was looked at."""

    name: Aspect
    mark: Mark
    about: str
    """One sentence, with the numbers."""
    remedy: str = ""
    blocks: bool = False
    """The policy cannot be played here at all: names that nothing answers to."""


def check_playable(findings: Iterable[ContractFinding], *, task: str) -> None:
    """Raises where a policy names what twin and task do not have.

    Such a policy was not judged and has not failed: nothing can be played. The command
    line ends with status 2. All other mistakes are failed findings of a certificate.
    """
    if blocking := [finding for finding in findings if finding.blocks]:
        lines = (f"  - {f.about} {f.remedy}".rstrip() for f in blocking)
        raise RealworthyError(
            f"The policy cannot be played in task '{task}':\n" + "\n".join(lines),
            hint="Certify it on the twin and task that it was trained for, or write its"
            " names into a contract beside it: docs/foreign_policies.md.",
        )
