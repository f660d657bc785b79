"""Faults that a policy may have between its signals and its network."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TypeAlias

import numpy as np

from realworthy.certification.contract.terms import Column, list_columns
from realworthy.policies import Contract

DEGREES = float(np.degrees(1.0))
"""[°/rad]"""


class FaultSide(StrEnum):
    """Where a fault stands."""

    OBSERVATION = "observation"
    ACTION = "action"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappedJoints:
    """What is measured of two joints changes places, or what is said to them does."""

    first: str
    second: str
    side: FaultSide


@dataclass(frozen=True, slots=True, kw_only=True)
class FlippedSign:
    """The network's numbers of one joint, about its default, with the other sign."""

    joint: str
    side: FaultSide


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleNormaliser:
    """The network is shown (x − mean) / sd with the numbers of another training."""

    mean: tuple[float, ...]
    sd: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraDelay:
    """Actions come some control steps late; zeros before the first."""

    steps: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReversedHistory:
    """Histories with the newest value first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """Angles and speeds of some joints in degrees, as linear terms see them."""

    joints: tuple[str, ...]


Mutant: TypeAlias = (
    SwappedJoints
    | FlippedSign
    | StaleNormaliser
    | ExtraDelay
    | ReversedHistory
    | Degrees
)


def list_mutants(contract: Contract) -> tuple[Mutant, ...]:
    """One of every kind that a policy can have, for a suite to be tried on."""
    columns = list_columns(contract.terms)
    measured = {column.joint for column in columns}
    moved = [owner for owner in contract.command_owners if owner in contract.joints]
    seen = [joint for joint in contract.joints if joint in measured]
    found: list[Mutant] = [ExtraDelay(steps=2)]
    for side, names in ((FaultSide.ACTION, moved), (FaultSide.OBSERVATION, seen)):
        if names:
            found.append(FlippedSign(joint=names[0], side=side))
        pairs = (
            SwappedJoints(first=first, second=second, side=side)
            for first, second in combinations(names, 2)
        )
        found += [pair for pair in pairs if _is_swap(pair, columns)][:1]
    if seen:
        found.append(Degrees(joints=tuple(seen)))
    if any(term.history > 1 for term in contract.terms):
        found.append(ReversedHistory())
    if (old := contract.normaliser) is not None:
        pairs = zip(old.mean, old.sd, strict=True)
        mean = tuple(m + s for m, s in pairs)
        found.append(StaleNormaliser(mean=mean, sd=tuple(3 * s for s in old.sd)))
    return tuple(found)


def is_hit(column: Column, mutant: FlippedSign | Degrees) -> bool:
    """Whether a column is a number of the joint; torques have no angle in them."""
    if isinstance(mutant, FlippedSign):
        return column.joint == mutant.joint
    return column.joint in mutant.joints and not column.signal.endswith(".torque")


def find_other(
    column: Column, mutant: SwappedJoints, columns: Sequence[Column]
) -> Column:
    """The same number of the other joint; the column itself where there is none."""
    other = {mutant.first: mutant.second, mutant.second: mutant.first}
    if column.joint not in other:
        return column
    wanted = column.signal.replace(column.joint, other[column.joint], 1)
    for one in columns:
        same = (one.part, one.age) == (column.part, column.age)
        if same and one.signal == wanted:
            return one
    return column


def _is_swap(mutant: SwappedJoints, columns: Sequence[Column]) -> bool:
    if mutant.side is FaultSide.ACTION:
        return True
    return any(find_other(column, mutant, columns) is not column for column in columns)
