"""One thing that looks wrong in a model, and how many of them become one finding."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
"""`error`: no real robot has this. `warning`: probably not meant. `note`: know it."""

_DETAILS_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFinding:
    """What is wrong (`text`), with whom (`subject`), and what to do (`hint`)."""

    check: str
    """Name of the check, for programs: `soft_friction`, `penetration`, …"""
    severity: Severity
    subject: str
    """The bodies, joints or actuators concerned, separated by commas."""
    text: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.subject}: {self.text}"


def group(
    check: str,
    severity: Severity,
    details: Mapping[str, str],
    text: str,
    *,
    hint: str = "",
) -> list[ModelFinding]:
    """One finding for all names in `details` (name → its number in words), or none.

    Names with the same detail share it: "armature is missing (0.01 stated: hip, knee)".
    """
    if not details:
        return []
    sharers: dict[str, list[str]] = {}
    for name, detail in details.items():
        sharers.setdefault(detail, []).append(name)
    if len(sharers) == 1:
        shown = next(iter(sharers))
    else:
        parts = [f"{', '.join(names)} {detail}" for detail, names in sharers.items()]
        left_out = len(parts) - _DETAILS_SHOWN
        shown = "; ".join(parts[:_DETAILS_SHOWN])
        if left_out > 0:
            shown += f"; {left_out} more"
    return [
        ModelFinding(
            check=check,
            severity=severity,
            subject=", ".join(details),
            text=f"{text}: {shown}." if shown else f"{text}.",
            hint=hint,
        )
    ]
