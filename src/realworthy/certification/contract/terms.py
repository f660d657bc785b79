"""A policy's observation and action beside those that a task's own policies have.

Each number of an observation is a `Column`: term, signal, joint and age.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from realworthy.certification.contract.finding import Aspect, ContractFinding, Mark
from realworthy.policies import Contract
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
        name = self.signal or "part"
        name = (
            name
            if self.part in (ColumnPart.VALUE, ColumnPart.MIXED)
            else f"{self.part} {name}"
        )
        return f"{self.term}: {name}" + (f", {self.age} steps ago" if self.age else "")


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


_DEGREES = float(np.degrees(1.0))
"""[°/rad]"""
_SAME_SCALE = 0.01
"""Share by which factors may differ."""
_SAME_OFFSET = 0.01
"""[unit of the signal] by which offsets may differ."""
_TRAIN_AGAIN = "Certify the file that training wrote, or train again on this task."
_CHECK = (
    "Correct only if the network was trained so: compare with the trainer's settings."
)


def is_own(contract: Contract) -> bool:
    """Whether Realworthy trained it: then it must be as the task says, to the letter.

    A foreign policy may scale, order and remember as it likes, if its contract is true.
    """
    return contract.provenance is not None


def compare_terms(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    """Findings about terms, order, signs, units, offsets and history; none: alike."""
    mark = Mark.FAILED if is_own(contract) else Mark.WARNING
    remedy = _TRAIN_AGAIN if is_own(contract) else _CHECK
    lists = {term.name: term for term in task.terms}
    yield from _compare_names(contract, task)
    for term in contract.terms:
        if term.name in lists:
            yield from _compare_order(term.name, term, lists[term.name], mark, remedy)
    if _is_reordered(contract.action.commands, task.action.commands):
        yield ContractFinding(
            name=Aspect.ORDER,
            mark=mark,
            about="The action's commands are in another order than the task's: "
            + _say_difference(contract.action.commands, task.action.commands),
            remedy=remedy,
        )
    yield from _compare_orders_within(contract)
    pairs = [*_pair_columns(contract, task), *_pair_actions(contract, task)]
    yield from _compare_scales(pairs, mark, remedy)
    yield from _compare_offsets(pairs, mark, remedy)


def _compare_names(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    if not is_own(contract):
        return
    ours, theirs = ([t.name for t in c.terms] for c in (contract, task))
    if ours != theirs:
        yield ContractFinding(
            name=Aspect.TERMS,
            mark=Mark.FAILED,
            about=f"It sees {', '.join(ours)}; the task shows {', '.join(theirs)}.",
            remedy=_TRAIN_AGAIN,
        )
    histories = {term.name: term.history for term in task.terms}
    for term in contract.terms:
        if term.history != histories.get(term.name, term.history):
            yield ContractFinding(
                name=Aspect.HISTORY,
                mark=Mark.FAILED,
                about=f"Term '{term.name}' stacks {term.history} values; the task"
                f" stacks {histories[term.name]}.",
                remedy=_TRAIN_AGAIN,
            )


def _compare_order(
    name: str, ours: Term, theirs: Term, mark: Mark, remedy: str
) -> Iterator[ContractFinding]:
    if _is_reordered(ours.signals, theirs.signals):
        yield ContractFinding(
            name=Aspect.ORDER,
            mark=mark,
            about=f"Term '{name}' has its signals in another order than the task's: "
            + _say_difference(ours.signals, theirs.signals),
            remedy=remedy,
        )


def _compare_orders_within(contract: Contract) -> Iterator[ContractFinding]:
    """One order of joints in some terms and another elsewhere is seldom meant."""
    orders: dict[tuple[str, ...], str] = {}
    parts = [(f"term '{t.name}'", t.signals) for t in contract.terms]
    parts.append(("the action", contract.action.commands))
    for where, names in parts:
        owners = tuple(name.partition(".")[0] for name in names)
        for other, place in orders.items():
            if _is_reordered(owners, other):
                yield ContractFinding(
                    name=Aspect.ORDER,
                    mark=Mark.WARNING,
                    about=f"Joints are in another order in {where} than in {place}: "
                    + _say_difference(owners, other),
                    remedy=_CHECK,
                )
                break
        else:
            orders.setdefault(owners, where)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Factor and zero of one number, ours and the task's."""

    what: str
    scale: tuple[float, float]
    offset: tuple[float, float]

    @property
    def ratio(self) -> float:
        return self.scale[0] / self.scale[1] if self.scale[1] else np.nan


def _pair_columns(contract: Contract, task: Contract) -> list[_Pair]:
    theirs = {c.signal: c for c in _list_values(task)}
    return [
        _Pair(
            column.signal,
            (column.scale, theirs[column.signal].scale),
            (column.offset, theirs[column.signal].offset),
        )
        for column in _list_values(contract)
        if column.signal in theirs
    ]


def _pair_actions(contract: Contract, task: Contract) -> list[_Pair]:
    ours, theirs = contract.action, task.action
    places = {name: i for i, name in enumerate(theirs.commands)}
    return [
        _Pair(
            name,
            (ours.scale[i], theirs.scale[places[name]]),
            (ours.offset[i], theirs.offset[places[name]]),
        )
        for i, name in enumerate(ours.commands)
        if name in places
    ]


def _list_values(contract: Contract) -> list[Column]:
    columns = list_columns(contract.terms)
    return [c for c in columns if c.part is ColumnPart.VALUE and c.age == 0]


def _compare_scales(
    pairs: Sequence[_Pair], mark: Mark, remedy: str
) -> Iterator[ContractFinding]:
    if flipped := [p for p in pairs if p.ratio < 0]:
        yield ContractFinding(
            name=Aspect.SIGNS,
            mark=mark,
            about=f"{_name(flipped)} has the other sign than in the task:"
            f" {flipped[0].scale[0]:g} beside {flipped[0].scale[1]:g}.",
            remedy=remedy,
        )
    turned = [
        p for p in pairs if _is_near(abs(p.ratio), _DEGREES, 1 / _DEGREES, slack=0.02)
    ]
    if turned:
        yield ContractFinding(
            name=Aspect.UNITS,
            mark=Mark.FAILED,
            about=f"{_name(turned)} is scaled by {turned[0].scale[0]:g}, in the task by"
            f" {turned[0].scale[1]:g}: a factor of 180/π, as if degrees were radians.",
            remedy="Signals are in SI units: rad, m, rad/s. Put the factor into the"
            " network's own terms only if it was trained on degrees.",
        )
    others = [p for p in pairs if not _is_near(abs(p.ratio), 1.0) and p not in turned]
    if others and mark is Mark.FAILED:
        yield ContractFinding(
            name=Aspect.UNITS,
            mark=mark,
            about=f"{_name(others)} is scaled by {others[0].scale[0]:g}, in the task by"
            f" {others[0].scale[1]:g}.",
            remedy=remedy,
        )


def _compare_offsets(
    pairs: Sequence[_Pair], mark: Mark, remedy: str
) -> Iterator[ContractFinding]:
    off = [p for p in pairs if abs(p.offset[0] - p.offset[1]) > _SAME_OFFSET]
    if off:
        worst = max(off, key=lambda p: abs(p.offset[0] - p.offset[1]))
        yield ContractFinding(
            name=Aspect.OFFSETS,
            mark=mark,
            about=f"{_name([worst, *(p for p in off if p is not worst)])} counts from"
            f" {worst.offset[0]:g}, in the task from {worst.offset[1]:g}.",
            remedy=remedy,
        )


def _is_near(value: float, *wanted: float, slack: float = _SAME_SCALE) -> bool:
    return any(abs(value / one - 1) <= slack for one in wanted)


def _is_reordered(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    return tuple(ours) != tuple(theirs) and sorted(ours) == sorted(theirs)


def _name(pairs: Sequence[_Pair]) -> str:
    more = f" (and {len(pairs) - 1} more)" if len(pairs) > 1 else ""
    return f"'{pairs[0].what}'{more}"


def _say_difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    places = [
        i for i, pair in enumerate(zip(ours, theirs, strict=True)) if len({*pair}) > 1
    ]
    first = places[0]
    return (
        f"'{ours[first]}' stands in place {first + 1} instead of '{theirs[first]}';"
        f" {len(places)} of {len(ours)} places differ."
    )
