"""Folders of runs: made, held by one run alone, looked into, put aside."""

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from realworthy.artefacts.locks import locked
from realworthy.artefacts.temporary import is_temporary
from realworthy.errors import Unwritable

ROOM_HINT = "Choose a folder that you may write to, on a disk with room."
_LOCK = ".realworthy.lock"
"""The file in a folder that the run which writes there holds locked."""


@contextlib.contextmanager
def locked_folder(path: Path | str) -> Iterator[Path]:
    """The folder `path`, made where it is missing, for one run alone.

    Raises Unwritable, with the number of the process, where another run writes there. A
    folder that was made for this and is empty in the end is removed again.
    """
    path = Path(path)
    made = missing_folders(path / _LOCK)
    make_folder(path)
    try:
        with locked(path / _LOCK, path):
            yield path
    finally:
        remove_empty(made)


def make_folder(path: Path | str) -> None:
    """A folder for what is to be written, and those above it, where there is none."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise Unwritable(path, "it is a file.", hint="Give a folder.") from None
    except OSError as error:
        raise Unwritable(path, f"{error.strerror}.", hint=ROOM_HINT) from None


def is_vacant(folder: Path | str) -> bool:
    """Whether a folder holds nothing that matters: no file but what runs of ours that
    were killed left half-written, or nothing at all."""
    for _, _, names in os.walk(folder):
        if any(not (name == _LOCK or is_temporary(name)) for name in names):
            return False
    return True


def put_aside(path: Path | str) -> Path:
    """Gives a file or folder the first free name of `<name>.1`, `<name>.2`, …"""
    path = Path(path)
    for number in itertools.count(1):
        aside = path.with_name(f"{path.name}.{number}")
        if not os.path.lexists(aside):
            try:
                path.rename(aside)
            except OSError as error:
                raise Unwritable(aside, f"{error.strerror}.", hint=ROOM_HINT) from None
            return aside
    raise AssertionError("there are numbers enough")


def missing_folders(path: Path) -> list[Path]:
    """Folders above `path` that are not there, the innermost first."""
    return [folder for folder in path.parents if not folder.exists()]


def remove_empty(folders: Sequence[Path]) -> None:
    """Removes those that are empty, until one is not."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
