"""Numbers that commands take: one rule for each kind, and its words where it is broken.

The word `Any` before a name stands for options that may be left out (None).
"""

import math
from collections.abc import Callable
from typing import Annotated, TypeVar

import tyro
from tyro.constructors import PrimitiveConstructorSpec

T = TypeVar("T", int, float)


def _take(
    kind: Callable[[str], T], metavar: str, wanted: str, fits: Callable[[T], bool]
) -> PrimitiveConstructorSpec[T]:
    """Reads one number of a `kind`; `wanted` is the rule that `fits` checks."""

    def read(texts: list[str]) -> T:
        try:
            value = kind(texts[0])
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise ValueError(f"it takes {wanted}, not '{texts[0]}'.")
        return value

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, int | float),
        str_from_instance=lambda value: [str(value)],
    )


_SEED = _take(int, "N", "a whole number, 0 or more", lambda n: n >= 0)
_SECONDS = _take(float, "SECONDS", "seconds above 0", lambda s: 0 < s < math.inf)
_NUMBER = _take(float, "NUMBER", "a number", math.isfinite)
_COUNT = _take(int, "N", "a whole number", lambda n: True)
_NO_HINT = tyro.conf.arg(help_behavior_hint="")

Seed = Annotated[int, _SEED]
AnySeed = Annotated[int | None, _SEED, _NO_HINT]
Seconds = Annotated[float, _SECONDS]
AnySeconds = Annotated[float | None, _SECONDS, _NO_HINT]
AnyNumber = Annotated[float | None, _NUMBER, _NO_HINT]
AnyCount = Annotated[int | None, _COUNT, _NO_HINT]
