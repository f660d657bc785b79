"""Policies with one planted fault each, to see whether checks and suites find it.

A fault stands between observations and network, or between network and actions, so it
works on one world or many and on every engine. `mutate` plants it in a policy that
runs; `miswire` writes the same mistake into a contract, as a person would.

Every mutant answers the policy's own examples differently, so parity finds it wherever
a policy has some. A wrong contract leaves parity as it was: there the comparison with
the task finds it. Where there are neither, only playing does; docs/foreign_policies.md
has the table.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.certification.contract.terms import ColumnPart, list_columns
from realworthy.errors import RealworthyError, UnknownName
from realworthy.policies import Contract, Policy
from realworthy.policies.contract import NormaliserRecord
from realworthy.policies.runner import Floats32, Runner
from realworthy.policies.terms import Linear, SineCosine, Term
from tests.certification.mutant_kinds import (
    DEGREES,
    Degrees,
    ExtraDelay,
    FaultSide,
    FlippedSign,
    Mutant,
    ReversedHistory,
    StaleNormaliser,
    SwappedJoints,
    find_other,
    is_hit,
    list_mutants,
)

__all__ = [
    "Degrees",
    "ExtraDelay",
    "FaultSide",
    "FlippedSign",
    "Mutant",
    "ReversedHistory",
    "StaleNormaliser",
    "SwappedJoints",
    "list_mutants",
    "miswire",
    "mutate",
]


def mutate(policy: Policy, mutant: Mutant) -> Policy:
    """The policy with a fault; the one given stays as it is.

    The two share what a recurrent network remembers: play one at a time. With a stale
    normaliser the contract says the stale numbers too, as an export would.
    """
    contract = policy.contract
    match mutant:
        case ExtraDelay(steps=steps):
            shape = (steps, policy.worlds, contract.action.width)
            return policy.wrapped(lambda inner: _Late(inner, shape))
        case SwappedJoints(side=FaultSide.ACTION) | FlippedSign(side=FaultSide.ACTION):
            act = _change_actions(contract, mutant)
            return policy.wrapped(lambda inner: _Between(inner, act=act))
        case StaleNormaliser():
            policy = replace(policy, contract=miswire(contract, mutant))
    observe = _change_observations(contract, mutant)
    return policy.wrapped(lambda inner: _Between(inner, observe=observe))


def miswire(contract: Contract, mutant: Mutant) -> Contract:
    """The contract with the fault written into it; raises where none can say it."""
    change = msgspec.structs.replace
    action = contract.action
    match mutant:
        case SwappedJoints(side=FaultSide.ACTION):
            order = _find_swap(contract, mutant)
            swapped = {
                name: tuple(getattr(action, name)[i] for i in order)
                for name in ("commands", "offset", "scale", "bounds")
                if getattr(action, name)
            }
            return change(contract, action=change(action, **swapped))
        case FlippedSign(joint=joint, side=FaultSide.ACTION):
            scale = np.where(_find_commands(contract, joint), -1, 1) * action.scale
            return change(contract, action=change(action, scale=tuple(scale.tolist())))
        case StaleNormaliser(mean=mean, sd=sd):
            _check_normaliser(contract)
            return change(contract, normaliser=NormaliserRecord(mean=mean, sd=sd))
        case SwappedJoints():
            terms = tuple(_swap(term, contract, mutant) for term in contract.terms)
            return change(contract, terms=terms)
        case FlippedSign() | Degrees():
            terms = tuple(_miswire_term(term, mutant) for term in contract.terms)
            if terms == contract.terms:
                raise RealworthyError(f"No term of this contract can hold {mutant}.")
            return change(contract, terms=terms)
    raise RealworthyError(f"A contract has no words for {mutant}.")


def _miswire_term(term: Term, mutant: FlippedSign | Degrees) -> Term:
    columns = [column for column in list_columns([term]) if column.age == 0]
    if not isinstance(term, Linear) or not any(is_hit(c, mutant) for c in columns):
        return term
    factor = -1.0 if isinstance(mutant, FlippedSign) else DEGREES
    offset, scale = [], []
    for column in columns:
        hit = is_hit(column, mutant)
        is_unit = isinstance(mutant, Degrees)
        offset.append(column.offset / factor if hit and is_unit else column.offset)
        scale.append(column.scale * factor if hit else column.scale)
    return msgspec.structs.replace(term, offset=tuple(offset), scale=tuple(scale))


def _swap(term: Term, contract: Contract, mutant: SwappedJoints) -> Term:
    """A term with the other joint's signals; offset and scale go with a signal."""
    columns = list_columns(contract.terms)
    swapped = [find_other(c, mutant, columns) for c in list_columns([term])]
    count = len(term.signals)
    signals = tuple(c.signal for c in swapped[:count])
    if isinstance(term, SineCosine):
        return msgspec.structs.replace(term, signals=signals)
    if not isinstance(term, Linear):
        return term
    return msgspec.structs.replace(
        term,
        signals=signals,
        offset=tuple(c.offset for c in swapped[:count]),
        scale=tuple(c.scale for c in swapped[:count]),
    )


Change: TypeAlias = Callable[[Floats32], Floats32]
"""(worlds, …) numbers → the same with a fault."""


def _change_actions(contract: Contract, mutant: SwappedJoints | FlippedSign) -> Change:
    if isinstance(mutant, SwappedJoints):
        order = _find_swap(contract, mutant)
        return lambda actions: actions[:, order]
    hit = _find_commands(contract, mutant.joint)
    sign = np.where(hit, -1, 1).astype(np.float32)
    return lambda actions: actions * sign


def _change_observations(contract: Contract, mutant: Mutant) -> Change:
    columns = list_columns(contract.terms)
    match mutant:
        case StaleNormaliser(mean=mean, sd=sd):
            now = _check_normaliser(contract)
            factor = np.array(now.sd) / sd
            shift = np.array(now.mean) - factor * mean
            return _scale(factor, shift)
        case SwappedJoints() | ReversedHistory():
            order = _order_columns(contract, mutant)
            return lambda rows: rows[:, order]
        case FlippedSign():
            signs = [
                -1.0 if is_hit(c, mutant) and c.part is not ColumnPart.COSINE else 1.0
                for c in columns
            ]
            _check_changed(any(sign < 0 for sign in signs), contract, mutant)
            return _scale(np.array(signs), np.zeros(len(columns)))
        case Degrees():
            hit = [is_hit(c, mutant) and c.part is ColumnPart.VALUE for c in columns]
            _check_changed(any(hit), contract, mutant)
            offset = np.array([(DEGREES - 1) * c.offset * c.scale for c in columns])
            return _scale(np.where(hit, DEGREES, 1.0), np.where(hit, offset, 0.0))
    raise AssertionError(mutant)


def _scale(factor: NDArray[np.float64], shift: NDArray[np.float64]) -> Change:
    factor32, shift32 = factor.astype(np.float32), shift.astype(np.float32)
    return lambda rows: rows * factor32 + shift32


def _order_columns(
    contract: Contract, mutant: SwappedJoints | ReversedHistory
) -> list[int]:
    """Places that the columns of the faulty observation come from."""
    columns = list_columns(contract.terms)
    if isinstance(mutant, SwappedJoints):
        places = {id(column): i for i, column in enumerate(columns)}
        order = [
            places[id(find_other(column, mutant, columns))] if column.joint else i
            for i, column in enumerate(columns)
        ]
    else:
        order, start = [], 0
        for term in contract.terms:
            ages = reversed(range(term.history))
            order += [
                start + k * term.width + i for k in ages for i in range(term.width)
            ]
            start += term.history * term.width
    _check_changed(order != sorted(order), contract, mutant)
    return order


def _find_swap(contract: Contract, mutant: SwappedJoints) -> list[int]:
    owners = contract.command_owners
    order = list(range(len(owners)))
    for joint in (mutant.first, mutant.second):
        _find_commands(contract, joint)
    i, j = owners.index(mutant.first), owners.index(mutant.second)
    order[i], order[j] = j, i
    return order


def _find_commands(contract: Contract, joint: str) -> NDArray[np.bool_]:
    owners = contract.command_owners
    if joint not in owners:
        raise UnknownName("command of a joint", joint, owners, owner="the policy")
    return np.array([owner == joint for owner in owners])


def _check_normaliser(contract: Contract) -> NormaliserRecord:
    if contract.normaliser is None:
        raise RealworthyError(
            "The contract says nothing of a normaliser, so none can be made stale."
        )
    return contract.normaliser


def _check_changed(changed: bool, contract: Contract, mutant: Mutant) -> None:
    if not changed:
        names = ", ".join(term.name for term in contract.terms)
        raise RealworthyError(
            f"{mutant} changes nothing of this policy, whose terms are {names}."
        )


class _Between(Runner):
    """Changes what a graph sees, or what it says."""

    def __init__(
        self, inner: Runner, *, observe: Change | None = None, act: Change | None = None
    ) -> None:
        self._inner, self._observe, self._act = inner, observe, act

    def run(self, observations: Floats32, *others: Floats32) -> Floats32:
        if self._observe is not None:
            observations = self._observe(observations)
        actions = self._inner.run(observations, *others)
        return actions if self._act is None else self._act(actions)

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        self._inner.reset(worlds)


class _Late(Runner):
    """Says what the graph said some steps ago; nothing before that."""

    def __init__(self, inner: Runner, shape: tuple[int, int, int]) -> None:
        self._inner = inner
        self._waiting = np.zeros(shape, np.float32)

    def run(self, observations: Floats32, *others: Floats32) -> Floats32:
        said = self._inner.run(observations, *others)
        self._waiting = np.concatenate([self._waiting, said[None]])
        late, self._waiting = self._waiting[0], self._waiting[1:]
        return late

    def reset(self, worlds: NDArray[np.bool_] | None = None) -> None:
        self._inner.reset(worlds)
        self._waiting[:, slice(None) if worlds is None else worlds] = 0
