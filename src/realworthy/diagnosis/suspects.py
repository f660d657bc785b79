"""Suspects: what might be wrong, as worlds in which it is corrected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.diagnosis.diagnosis import CauseKind
from realworthy.recordings import Recording

Floats = NDArray[np.float64]


class Edit(Protocol):
    """A change to recordings that puts a fault of the interface right; hashable."""

    def apply(self, recording: Recording) -> Recording: ...


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a number of an effect goes: `stribeck.static` of a joint."""

    number: str
    joint: str

    @property
    def effect(self) -> str:
        return self.number.split(".")[0]


@dataclass(frozen=True, slots=True)
class Number:
    """One unknown of a suspect, on a scale on which 1 is a change worth a look."""

    name: str
    """`elbow.damping`, or `elbow.stribeck.static`."""
    nominal: float
    """Its value where nothing is wrong."""
    scale: float
    unit: str
    slots: tuple[str | Slot, ...]
    """Parameters of the twin by name, or numbers of an effect."""
    is_log: bool = False
    """Whether x multiplies (by exp(scale · x)) instead of adding (scale · x)."""
    lower: float = -np.inf
    upper: float = np.inf

    def value(self, x: float) -> float:
        found = (
            self.nominal * np.exp(self.scale * x)
            if self.is_log
            else self.nominal + self.scale * x
        )
        return float(np.clip(found, self.lower, self.upper))


@dataclass(frozen=True, slots=True)
class Case:
    """One world: numbers of the twin, numbers of effects, recordings as edited."""

    values: Mapping[str, float] = field(default_factory=dict)
    effects: Mapping[Slot, float] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()

    def __add__(self, other: "Case") -> "Case":
        return Case(
            {**self.values, **other.values},
            {**self.effects, **other.effects},
            (*self.edits, *(e for e in other.edits if e not in self.edits)),
        )


@dataclass(frozen=True, slots=True)
class Suspect:
    """One cause that may be at work, with the worlds that would show it."""

    name: str
    kind: CauseKind
    joints: tuple[str, ...]
    numbers: tuple[Number, ...] = ()
    looks: tuple[tuple[float, ...], ...] = ((),)
    """x at which it is looked at first; the best of them is where a fit begins."""
    grows: tuple[int, ...] = ()
    """Numbers in proportion to which the answer grows, so that one look tells more."""
    edits: tuple[Edit, ...] = ()
    touches: tuple[str, ...] = ()
    """Joints at which it may show, where these are not its own."""
    owner: str = ""
    """Element of the twin that it is about, where that is no joint."""

    def case(self, x: ArrayLike) -> Case:
        values: dict[str, float] = {}
        effects: dict[Slot, float] = {}
        for number, part in zip(self.numbers, np.asarray(x, float), strict=True):
            for slot in number.slots:
                if isinstance(slot, Slot):
                    effects[slot] = number.value(float(part))
                else:
                    values[slot] = number.value(float(part))
        return Case(values, effects, self.edits)

    @property
    def label(self) -> str:
        where = self.owner or ", ".join(self.joints)
        return f"{self.name} ({where})" if where else self.name


def combine(suspects: Sequence[Suspect], xs: Sequence[ArrayLike]) -> Case:
    """The world in which all of them are corrected."""
    total = Case()
    for suspect, x in zip(suspects, xs, strict=True):
        total = total + suspect.case(x)
    return total
