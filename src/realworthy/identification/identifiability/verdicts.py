"""Identifiability of parameters from recordings, in figures and in words."""

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MIN_RESPONSE = 1e-3
"""Noise sd that residuals move in all; less is nothing."""


class ParameterVerdict(enum.StrEnum):
    """Whether recordings identify one parameter."""

    IDENTIFIED = "identified"
    EFFECTIVE = "effective"
    """Known well, but to no better than it moves when experiments, or slow or fast
    rows, are left out, or in a twin that lacks something: right for such motions, and
    not a physical constant."""
    ONLY_IN_COMBINATION = "only_in_combination"
    NOT_EXCITED = "not_excited"
    """Even with all others known it would stay too uncertain."""
    AT_BOUND = "at_bound"
    """The data push it against a bound of its space."""

    @property
    def is_known(self) -> bool:
        """Whether recordings identify its value."""
        return self in (self.IDENTIFIED, self.EFFECTIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterFinding:
    """How precisely recordings identify one parameter; sd are in its unit."""

    name: str
    verdict: ParameterVerdict
    value: float
    """Where it was looked at."""
    unit: str
    sd: float
    """By Cramér and Rao, all others unknown too; no wider than the box."""
    sd_alone: float
    """The same with all others known."""
    tolerance: float
    """sd up to which it counts as known."""
    response: float
    """Noise sd, summed in squares, by which residuals move with a scale of z."""
    is_smooth: bool
    """Whether derivatives at two step sizes agree; else they are unreliable."""
    partners: tuple[str, ...]
    """With which others it can be exchanged."""

    @property
    def variance_inflation(self) -> float:
        """How much not knowing the others costs."""
        return (self.sd / self.sd_alone) ** 2

    def to_words(self) -> str:
        """One sentence."""
        known = f"{self.name} = {self.value:.4g} {self.unit}"
        if self.verdict is ParameterVerdict.IDENTIFIED:
            text = f"{known}: identified, ±{self.sd:.2g}"
        elif self.verdict is ParameterVerdict.ONLY_IN_COMBINATION:
            text = f"{known}: only in combination with {', '.join(self.partners)}"
        elif self.verdict is ParameterVerdict.AT_BOUND:
            text = f"{known}: the data push it against its bound"
        elif self.response < _MIN_RESPONSE:
            text = f"{known}: not excited, it has no effect on these recordings"
        else:
            more = (self.sd_alone / self.tolerance) ** 2
            text = f"{known}: not excited, it would take {more:.2g} times the data"
        rough = "" if self.is_smooth else " (kinks: this is unreliable)"
        return text + rough + "."


@dataclass(frozen=True, slots=True)
class WeakDirection:
    """A way to change parameters together that these recordings hardly notice."""

    parts: tuple[tuple[str, float], ...]
    """Parameter and part, in tolerances, the largest first and positive."""
    sd: float
    """How far along it is unknown, in tolerances."""

    def to_words(self) -> str:
        moves = [f"{name} {'up' if part > 0 else 'down'}" for name, part in self.parts]
        return ", ".join(moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifiability:
    """Identifiability of a space from recordings, around one e."""

    findings: tuple[ParameterFinding, ...]
    directions: tuple[WeakDirection, ...]
    """Unknown by more than the tolerance, the worst first."""
    condition_number: float
    """Of the derivatives with columns of length one, zero ones left out."""
    collinear: tuple[tuple[tuple[str, ...], float], ...]
    """Pairs and triples that can be exchanged, with their collinearity index γ."""
    information: Floats
    """(d, d) Fisher information about z, prior included."""

    def __getitem__(self, name: str) -> ParameterFinding:
        return next(finding for finding in self.findings if finding.name == name)

    def named(self, verdict: ParameterVerdict) -> tuple[str, ...]:
        """Parameters with this verdict."""
        return tuple(f.name for f in self.findings if f.verdict is verdict)

    def to_words(self) -> str:
        """One line per parameter, then what can be exchanged."""
        lines = [finding.to_words() for finding in self.findings]
        lines += [
            f"Weakly identifiable: {direction.to_words()} "
            f"(unknown by {direction.sd:.2g} tolerances)."
            for direction in self.directions
            if len(direction.parts) > 1
        ]
        return "\n".join(lines)
