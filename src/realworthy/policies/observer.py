"""From rows of named signals to what a policy sees; alike in training and on robots."""

from collections.abc import Sequence
from dataclasses import dataclass

import array_api_compat as api
import msgspec
import numpy as np

from realworthy.actuators.arrays import Array
from realworthy.errors import RealworthyError, UnknownName
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Linear, Term, list_signals


class Observer:
    """Computes terms of one row, or of many worlds at once, and keeps their histories.

    The observation is term-major: terms in their order, within a term the oldest value
    first. Rows are (…, names); the library, dtype and device of the first ones stay.
    Nothing here waits for a device.
    """

    last: Array | None
    """(…, width) the last observation, which is all that is remembered; not to be
    written into. Set it to go on from there."""

    def __init__(
        self, terms: Sequence[Term], action: ActionMap, names: Sequence[str]
    ) -> None:
        """`names` are the columns of rows: measured signals, last actions, inputs."""
        self.terms = tuple(terms)
        self._columns = {name: i for i, name in enumerate(names)}
        self._check(action)
        self._linear = [term for term in self.terms if isinstance(term, Linear)]
        self._others = [term for term in self.terms if not isinstance(term, Linear)]
        self._plan: _Plan | None = None
        self._fresh: Array | None = None
        self.last = None

    @property
    def width(self) -> int:
        """Numbers in one observation."""
        return count_width(self.terms)

    def reset(self, worlds: Array | None = None) -> None:
        """The next value fills histories: all, or where `worlds` (…,) is true."""
        if worlds is None or self.last is None:
            self.last = self._fresh = None
        else:
            self._fresh = worlds if self._fresh is None else self._fresh | worlds

    def observe(self, rows: Array) -> Array:
        """(…, width) of (…, names): the histories move on by one step."""
        plan = self._prepare(rows)
        now = self._compute(rows, plan)
        if self.last is None or not plan.remembers:
            seen = plan.take(now, plan.newest)
        else:
            past = plan.library.concat([self.last, now], axis=-1)
            seen = plan.take(past, plan.shift)
            if self._fresh is not None:
                begun = plan.take(now, plan.newest)
                seen = plan.library.where(self._fresh[..., None], begun, seen)
        self.last, self._fresh = seen, None
        return seen

    def restart(self, rows: Array, worlds: Array) -> Array:
        """(…, width): first observations where `worlds` (…,) is true, else the last.

        Histories elsewhere stay as they are: for worlds that start again within a step.
        """
        begun = self.begin(rows)
        if self.last is not None:
            library = self._prepare(rows).library
            begun = library.where(worlds[..., None], begun, self.last)
        self.last = begun
        return begun

    def begin(self, rows: Array) -> Array:
        """(…, width) first observations of (…, names), which it does not remember."""
        plan = self._prepare(rows)
        return plan.take(self._compute(rows, plan), plan.newest)

    def _compute(self, rows: Array, plan: "_Plan") -> Array:
        """(…, k) present values: all linear terms, then the others, cut."""
        now = (plan.take(rows, plan.linear) - plan.offset) * plan.scale
        if self._others:
            parts = [
                term.compute(plan.take(rows, columns))
                for term, columns in zip(plan.others, plan.columns, strict=True)
            ]
            now = plan.library.concat([now, *parts], axis=-1)
        if plan.limit is None:
            return now
        library = plan.library
        return library.minimum(library.maximum(now, -plan.limit), plan.limit)

    def _prepare(self, rows: Array) -> "_Plan":
        plan = self._plan
        if plan is None or type(rows) is not plan.kind or rows.dtype != plan.dtype:
            plan = self._plan = self._build_plan(rows)
        if rows.shape[-1] != len(self._columns):
            raise RealworthyError(
                f"A row of {rows.shape[-1]} signals came to an observer of"
                f" {len(self._columns)}.",
                hint="Rows follow the names that the observer was built with.",
            )
        return plan

    def _build_plan(self, rows: Array) -> "_Plan":
        library, device = api.array_namespace(rows), api.device(rows)

        def index(places: Sequence[int]) -> Array:
            return library.asarray(np.array(places, dtype=np.int64), device=device)

        def floats(values: Sequence[float]) -> Array:
            return library.asarray(values, dtype=rows.dtype, device=device)

        def columns(term: Term) -> list[int]:
            return [self._columns[name] for name in term.signals]

        ordered = [*self._linear, *self._others]
        limits = [
            np.inf if term.clip is None else term.clip
            for term in ordered
            for _ in range(term.width)
        ]
        newest, shift = _lay_out(self.terms, ordered)
        return _Plan(
            library=library,
            kind=type(rows),
            dtype=rows.dtype,
            remembers=any(term.history > 1 for term in self.terms),
            linear=index([i for term in self._linear for i in columns(term)]),
            offset=floats([x for t in self._linear for x in _fill(t.offset, t, 0.0)]),
            scale=floats([x for t in self._linear for x in _fill(t.scale, t, 1.0)]),
            others=[msgspec.structs.replace(term, clip=None) for term in self._others],
            columns=[index(columns(term)) for term in self._others],
            limit=floats(limits) if np.isfinite(limits).any() else None,
            newest=index(newest),
            shift=index(shift),
        )

    def _check(self, action: ActionMap) -> None:
        for name in list_signals(self.terms):
            if name in self._columns:
                continue
            if name.endswith(".action") and name not in action.names:
                raise UnknownName("last action", name, action.names, owner="the policy")
            raise UnknownName(
                "signal",
                name,
                tuple(self._columns),
                owner="the row",
                hint="A term of the policy is computed from it.",
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plan:
    """Places and constants, in the library and on the device of the rows."""

    library: Array
    kind: type
    dtype: object
    remembers: bool
    linear: Array
    """Columns of all linear terms."""
    offset: Array
    scale: Array
    others: list[Term]
    columns: list[Array]
    """Of each of the others."""
    limit: Array | None
    """(k,) of present values."""
    newest: Array
    """(width,) present value that fills each place where there is no past."""
    shift: Array
    """(width,) what comes to each place, of the last observation and the present."""

    def take(self, rows: Array, columns: Array) -> Array:
        """(…, k) some columns of (…, n)."""
        return self.library.take(rows, columns, axis=-1)


def count_width(terms: Sequence[Term]) -> int:
    """Numbers in one observation of some terms, histories included."""
    return sum(term.width * term.history for term in terms)


def _lay_out(
    terms: Sequence[Term], ordered: Sequence[Term]
) -> tuple[list[int], list[int]]:
    """`newest` and `shift` of a plan whose present values follow `ordered`."""
    starts, start = {}, 0
    for term in ordered:
        starts[id(term)] = start
        start += term.width
    width = count_width(terms)
    newest: list[int] = []
    shift: list[int] = []
    for term in terms:
        here = [starts[id(term)] + i for i in range(term.width)]
        place = len(newest)
        kept = term.width * (term.history - 1)
        shift += [place + term.width + i for i in range(kept)]
        shift += [width + i for i in here]
        newest += here * term.history
    return newest, shift


def _fill(values: tuple[float, ...], term: Term, default: float) -> tuple[float, ...]:
    """One value for each signal of a term that may give one for all, or none."""
    values = values or (default,)
    return values * len(term.signals) if len(values) == 1 else values
