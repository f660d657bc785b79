"""Which number of an observation is what: term, signal, joint and age of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from realworthy.policies.terms import Linear, SineCosine, Term

_OF_JOINTS = (".position", ".velocity", ".torque")


class ColumnPart(StrEnum):
    """What of a signal a column is."""

    VALUE = "value"
    SINE = "sine"
    COSINE = "cosine"
    MIXED = "mixed"
    """Made of several signals, such as a direction of gravity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One number of an observation: (signal − offset) · scale for a `VALUE`."""

    term: str
    part: ColumnPart
    signal: str
    """Empty where it is made of several."""
    age: int
    """Steps ago; 0: now."""
    offset: float = 0.0
    scale: float = 1.0

    @property
    def joint(self) -> str:
        """Whose position, velocity or torque it is; empty: of none."""
        owner, dot, kind = self.signal.rpartition(".")
        return owner if dot + kind in _OF_JOINTS else ""

    def __str__(self) -> str:
        what = self.signal or "part"
        what = (
            what
            if self.part in (ColumnPart.VALUE, ColumnPart.MIXED)
            else f"{self.part} {what}"
        )
        return f"{self.term}: {what}" + (f", {self.age} steps ago" if self.age else "")


def list_columns(terms: Sequence[Term]) -> tuple[Column, ...]:
    """Every number of an observation, in order."""
    return tuple(
        column
        for term in terms
        for age in reversed(range(term.history))
        for column in _list_present(term, age)
    )


def _list_present(term: Term, age: int) -> list[Column]:
    if isinstance(term, Linear):
        count = len(term.signals)
        offsets = term.offset or (0.0,) * count
        scales = term.scale if len(term.scale) > 1 else (term.scale or (1.0,)) * count
        return [
            Column(
                term=term.name,
                part=ColumnPart.VALUE,
                signal=signal,
                age=age,
                offset=offset,
                scale=scale,
            )
            for signal, offset, scale in zip(term.signals, offsets, scales, strict=True)
        ]
    if isinstance(term, SineCosine):
        return [
            Column(term=term.name, part=part, signal=signal, age=age)
            for part in (ColumnPart.SINE, ColumnPart.COSINE)
            for signal in term.signals
        ]
    mixed = Column(term=term.name, part=ColumnPart.MIXED, signal="", age=age)
    return [mixed] * term.width
