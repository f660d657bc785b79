"""What has a role in a robot, and why."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from realworthy.errors import RealworthyError

T_co = TypeVar("T_co", covariant=True)
CHOSEN = "chosen for this twin"


class MissingRole(RealworthyError):
    """A robot has nothing that could have a role."""

    def __init__(self, owner: str, role: str, reason: str, hint: str = "") -> None:
        super().__init__(f"{owner} has no {role}: {reason}.", hint=hint)
        self.role, self.reason = role, reason


@dataclass(frozen=True, slots=True)
class RobotPart(Generic[T_co]):
    """A part with a role; without a value the robot has none."""

    value: T_co | None
    reason: str
    """Why it is this one, or why there is none; ends a sentence."""
    words: str = ""
    """The part in a table."""

    @property
    def is_missing(self) -> bool:
        return self.value is None
