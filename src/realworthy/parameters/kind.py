"""What can be said of a physical quantity before anyone has measured it."""

import math
from dataclasses import dataclass

from realworthy.parameters.parameter import Transform


@dataclass(frozen=True, slots=True)
class Kind:
    """One physical quantity: its unit, its possible range, where to look for it."""

    unit: str
    transform: Transform
    """Coordinates to search in: `log` for what is never zero, `logit` within a box."""
    box: tuple[float, float] | None = None
    """Where to search when nobody knows better; None: around the nominal."""
    lower: float = 0.0
    upper: float = math.inf
    """Least and greatest possible value; a `log` kind must also be above zero."""

    def is_possible(self, value: float) -> bool:
        """Whether a value is finite and lies in the possible range."""
        positive = self.transform is Transform.LOG
        above = value > 0 if positive else value >= self.lower
        return math.isfinite(value) and above and value <= self.upper

    @property
    def range_in_words(self) -> str:
        """To end the sentence 'it must be …'."""
        if self.transform is Transform.LOG:
            return "above 0" + self._most(" and at most")
        if math.isinf(self.upper):
            return f"at least {self.lower:g}"
        return f"from {self.lower:g} to {self.upper:g}"

    def _most(self, words: str) -> str:
        return "" if math.isinf(self.upper) else f"{words} {self.upper:g}"
