"""Arithmetic that numpy arrays and torch tensors share.

The array API standard has no static type, so `Array` is a name for readers. Every law
in this room keeps the library, dtype and device of the arrays it is given.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import array_api_compat as api

Array: TypeAlias = Any
"""A numpy array or a torch tensor."""

State: TypeAlias = dict[str, Array]
"""What an actuator remembers between substeps: name → (worlds, k)."""

Numbers: TypeAlias = Mapping[str, Array]
"""Physical numbers by kind, each (worlds,) or without dimensions."""


def constant(values: object, like: Array) -> Array:
    """`values` in the library, dtype and device of `like`."""
    xp = api.array_namespace(like)
    return xp.asarray(values, dtype=like.dtype, device=api.device(like))


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    xp = api.array_namespace(like)
    return xp.zeros(shape, dtype=like.dtype, device=api.device(like))


def clamp(x: Array, lower: Array, upper: Array) -> Array:
    """`x` within the bounds; where they cross, `upper` wins."""
    xp = api.array_namespace(x)
    return xp.minimum(xp.maximum(x, lower), upper)


def select(worlds: Array, chosen: Array, other: Array) -> Array:
    """Rows of `chosen` where `worlds` is true, else of `other`; both (worlds, k)."""
    xp = api.array_namespace(other)
    return xp.where(worlds[:, None], chosen, other)


def shift_in(newest: Array, history: Array) -> Array:
    """(worlds, slots, k) with `newest` (worlds, k) first and the oldest gone."""
    xp = api.array_namespace(history)
    return xp.concat([newest[:, None, :], history[:, :-1, :]], axis=1)
