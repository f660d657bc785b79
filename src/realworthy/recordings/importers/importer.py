"""What the importers share: a foreign layout is a few facts, not a program.

An importer finds the recordings in a file or folder, and reads each into columns with a
sidecar. Its `columns` say which column becomes which signal, in the same words as a
sidecar's mapping.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from realworthy.errors import BadFile
from realworthy.recordings.mapping import apply_mapping
from realworthy.recordings.sidecar import Sidecar, SignalSource
from realworthy.recordings.signals import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One recording as it was found: the user's sidecar has still its say."""

    table: Table
    sidecar: Sidecar
    source: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """Reads one foreign layout."""

    summary: str
    """One line for `realworthy show importers`."""
    layout: str
    """What a file or folder must look like, to end the sentence 'it expects'."""
    find: Callable[[Path], list[Path]]
    """Files or folders below (or around) a path that can be read; may be empty."""
    read: Callable[[Path, Sidecar], list[Imported]]
    """Recordings in one of them; the sidecar is the user's own, or empty."""


def degrees(source: str, sign: int = 1) -> SignalSource:
    """A column in degrees, or degrees per second."""
    return SignalSource(source=source, scale=sign * np.pi / 180)


def column(source: str, scale: float = 1.0, offset: float = 0.0) -> SignalSource:
    """A column times `scale` plus `offset`."""
    return SignalSource(source=source, scale=scale, offset=offset)


def select(
    table: Table,
    columns: Mapping[str, SignalSource],
    *,
    path: Path,
    optional: frozenset[str] = frozenset(),
) -> Table:
    """Exactly the signals of `columns`; `optional` ones only where their column is."""
    wanted = {
        name: entry
        for name, entry in columns.items()
        if name not in optional or (entry.source or name) in table
    }
    sources = {entry.source or name for name, entry in wanted.items()}
    there = {name: values for name, values in table.items() if name in sources}
    made = apply_mapping(there, wanted, owner=f"'{path.name}'")
    return {name: made[name] for name in wanted}


def drop_bad_rows(table: Table) -> tuple[Table, dict[str, object]]:
    """Without rows that are not finite or not later than all before, and the count."""
    time = table["time"]
    finite = np.all([np.isfinite(values) for values in table.values()], axis=0)
    latest = np.maximum.accumulate(np.where(finite, time, -np.inf))
    later = np.concatenate([[True], time[1:] > latest[:-1]])
    keep = finite & later
    notes: dict[str, object] = {}
    if not np.all(keep):
        notes["dropped_rows"] = {
            "not_finite": int(np.count_nonzero(~finite)),
            "time_not_increasing": int(np.count_nonzero(finite & ~later)),
        }
    return {name: values[keep] for name, values in table.items()}, notes


def find_files(path: Path, patterns: tuple[str, ...]) -> list[Path]:
    """`path` itself when it fits a pattern, else the files below it that do, sorted."""
    if path.is_file():
        return [path] if any(path.match(pattern) for pattern in patterns) else []
    found = {file for pattern in patterns for file in path.rglob(pattern)}
    return sorted(file for file in found if file.is_file())


def either(path: Path) -> Path:
    """`path` or its gzipped form, whichever is there."""
    packed = path.with_name(path.name + ".gz")
    for candidate in (path, packed):
        if candidate.is_file():
            return candidate
    raise BadFile(path, "there is no such file, nor a gzipped one.")
