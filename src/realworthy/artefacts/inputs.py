"""What a run reads is never what it writes, with or without leave to overwrite."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from realworthy.errors import Unwritable

_Inode: TypeAlias = tuple[int, int]
_protected: ContextVar[frozenset[str | _Inode]] = ContextVar(
    "protected", default=frozenset()
)
"""Real names and inodes, of which a file that is protected has one or both."""


@contextlib.contextmanager
def protected(paths: Iterable[Path | str]) -> Iterator[None]:
    """Within the block, nothing writes a file among `paths`, by whatever name.

    A folder among them stands for itself alone: name the files in it that are read.
    """
    found = frozenset(key for path in paths for key in _identify(path))
    token = _protected.set(_protected.get() | found)
    try:
        yield
    finally:
        _protected.reset(token)


def check_no_input(path: Path) -> None:
    """Raises where `path` is a file that the run reads."""
    if not _protected.get().isdisjoint(_identify(path)):
        raise Unwritable(
            path,
            "this run reads that file.",
            hint="Choose another name: --overwrite does not replace what is read.",
        )


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two names are one file, through links of either kind too."""
    return bool(_identify(one) & _identify(other))


def _identify(path: Path | str) -> frozenset[str | _Inode]:
    try:
        real = os.path.realpath(path)
    except ValueError:  # no name that a file could have
        return frozenset({str(path)})
    try:
        status = os.stat(real)
    except OSError:  # not there
        return frozenset({real})
    return frozenset({real, (status.st_dev, status.st_ino)})
