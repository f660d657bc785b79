"""Signs of recordings as families of numbers that are judged together."""

from collections.abc import Sequence

import numpy as np

from realworthy.diagnosis.changes.scatter import Family, Pattern
from realworthy.diagnosis.changes.signs import ASSUMED_SD, Sign, SignKind

ALL = "all"
"""Name of the pattern in which every effort moves alike."""


def make_families(
    before: Sequence[Sequence[Sign]], now: Sequence[Sequence[Sign]]
) -> list[Family]:
    """Efforts are judged together, everything else for itself."""
    tables = [
        {(s.kind, s.element): s.value for s in signs} for signs in (*before, *now)
    ]
    shared = [key for key in tables[0] if all(key in table for table in tables)]
    efforts = [key for key in shared if key[0] is SignKind.EFFORT]
    groups = [efforts] if efforts else []
    groups += [[key] for key in shared if key[0] is not SignKind.EFFORT]
    return [_make_family(keys, tables, len(before)) for keys in groups]


def _make_family(
    keys: list[tuple[SignKind, str]],
    tables: list[dict[tuple[SignKind, str], float]],
    before_count: int,
) -> Family:
    values = np.array([[table[key] for key in keys] for table in tables])
    count = len(keys)
    names = tuple(f"{kind}:{element}" for kind, element in keys)
    variance = ASSUMED_SD[keys[0][0]] ** 2
    patterns = [
        Pattern(name, row) for name, row in zip(names, np.eye(count), strict=True)
    ]
    assumed = variance * np.eye(count)
    if count > 1:  # a battery or the weather moves all of them, by as much again
        assumed = assumed + variance
        patterns.append(Pattern(ALL, np.ones(count)))
    return Family(
        names=names,
        before=values[:before_count],
        now=values[before_count:],
        assumed=assumed,
        patterns=tuple(patterns),
    )
