"""Folders of runs: made, held by one run alone, looked into, put aside."""

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from realworthy.artefacts.locks import locked
from realworthy.artefacts.temporary_files import is_temporary
from realworthy.errors import Unwritable

ROOM_HINT = "Choose a folder that you may write to, on a disk with room."
_LOCK = ".realworthy.lock"
"""End of the name of a file that the run which writes beside it holds locked."""


@contextlib.contextmanager
def locked_folder(path: Path | str) -> Iterator[Path]:
    """The folder `path`, made where it is missing, for one run alone.

    Raises Unwritable, with the number of the process, where another run writes there. A
    folder that was made for this and is empty in the end is removed again.
    """
    path = Path(path)
    with _locked_in(path, path / _LOCK, path):
        yield path


@contextlib.contextmanager
def locked_file(path: Path | str) -> Iterator[Path]:
    """The file `path`, which need not be there yet, for one run alone."""
    path = Path(path)
    with _locked_in(path.parent, path.with_name(f".{path.name}{_LOCK}"), path):
        yield path


@contextlib.contextmanager
def _locked_in(folder: Path, lock: Path, what: Path) -> Iterator[None]:
    made = missing_folders(lock)
    make_folder(folder)
    try:
        with locked(lock, what):
            yield
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
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        if not all(map(_is_passing, [*names, *links])):
            return False
    return True


def _is_passing(name: str) -> bool:
    """Whether a file is there only while somebody writes, or was killed doing so."""
    return name.endswith(_LOCK) or is_temporary(name)


def put_contents_aside(folder: Path | str) -> Path:
    """Moves what a folder holds into a new one, `<name>.1` or the first that is free;
    locks and files that are being written stay."""
    folder = Path(folder)
    aside = _find_aside(folder)
    make_folder(aside)
    for path in sorted(folder.iterdir(), reverse=True):  # hidden marks last
        if not _is_passing(path.name):
            _rename(path, aside / path.name)
    return aside


def put_aside(path: Path | str) -> Path:
    """Gives a file the first free name of `<name>.1`, `<name>.2`, …"""
    path = Path(path)
    aside = _find_aside(path)
    _rename(path, aside)
    return aside


def _find_aside(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.{number}") for number in itertools.count(1))
    return next(name for name in names if not os.path.lexists(name))


def _rename(path: Path, other: Path) -> None:
    try:
        path.rename(other)
    except OSError as error:
        raise Unwritable(other, f"{error.strerror}.", hint=ROOM_HINT) from None


def missing_folders(path: Path) -> list[Path]:
    """Folders above `path` that are not there, the innermost first."""
    return [folder for folder in path.parents if not folder.exists()]


def remove_empty(folders: Sequence[Path]) -> None:
    """Removes those that are empty, until one is not."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
