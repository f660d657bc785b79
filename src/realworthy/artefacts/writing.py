"""Files that appear whole or not at all."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from realworthy.artefacts.folders import ROOM_HINT, missing_folders, remove_empty
from realworthy.artefacts.inputs import check_no_input, is_same_file
from realworthy.artefacts.temporary_files import reserve, sweep
from realworthy.artefacts.text import to_yaml
from realworthy.errors import Unwritable

_EXISTS = "it exists already."
_EXISTS_HINT = "Choose another name, or give --overwrite (overwrite=True)."
_under_way: list[Path] = []
"""Files that this process is writing: two outputs of a run are two files."""


@contextlib.contextmanager
def writing(path: Path | str, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path beside `path`, renamed onto it when the block ends well.

    If the block raises, nothing is left behind, not even folders that were made for it.
    An existing file is replaced only with `overwrite`; a link to one stays a link. What
    a process that was killed left half-written is removed by the next that writes into
    its folder.
    """
    path = Path(path)
    check_free(path, overwrite=overwrite)
    made = missing_folders(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()
        sweep(target.parent)
        temporary, descriptor = reserve(target)
    except OSError as error:
        remove_empty(made)
        raise Unwritable(path, f"{error.strerror}.", hint=ROOM_HINT) from None
    _under_way.append(target)
    try:
        yield temporary
        _sync(temporary)
        if overwrite:
            temporary.replace(target)
        else:
            _place(temporary, target, path)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, str(temporary)):
            raise  # about another file, which the block reads or writes
        why = error.strerror or str(error)
        raise Unwritable(path, f"{why}.", hint=ROOM_HINT) from error
    finally:
        _under_way.remove(target)
        temporary.unlink(missing_ok=True)
        os.close(descriptor)
        remove_empty(made)  # those that are empty still


def check_free(path: Path | str, *, overwrite: bool = False) -> None:
    """Raises where `writing` would not begin: at a file that the run reads or writes
    already, at a folder, at an existing file, or in a folder that cannot be written to.
    Makes nothing."""
    path = Path(path)
    check_no_input(path)
    if any(is_same_file(path, other) for other in _under_way):
        hint = "Give each output a name of its own."
        raise Unwritable(path, "it is another output of this run, too.", hint=hint)
    try:
        exists, ordinary = path.exists(), path.is_file()
    except OSError as error:
        raise Unwritable(path, f"{error.strerror}.", hint=ROOM_HINT) from None
    if path.is_dir():
        raise Unwritable(path, "it is a folder.", hint="Give a file name inside it.")
    if exists and not ordinary:
        raise Unwritable(path, "it is not an ordinary file.")
    if os.path.lexists(path) and not overwrite:
        raise Unwritable(path, _EXISTS, hint=_EXISTS_HINT)
    _check_folder(path)


def _check_folder(path: Path) -> None:
    """Raises where the nearest folder above `path` that is there takes no files."""
    folder = next(each for each in path.resolve().parents if os.path.lexists(each))
    if not folder.is_dir():
        hint = "Give a folder, or another name."
        raise Unwritable(path, f"{folder.name} is a file, not a folder.", hint=hint)
    try:
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not os.statvfs(folder).f_blocks:  # no disk, such as /proc; or it says little
            reserved, descriptor = reserve(folder / path.name)
            reserved.unlink()
            os.close(descriptor)
    except OSError as error:
        raise Unwritable(path, f"{error.strerror}.", hint=ROOM_HINT) from None


def save(path: Path | str, struct: msgspec.Struct, *, overwrite: bool = False) -> None:
    """Writes a Struct as YAML, whole or not at all."""
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_text(to_yaml(struct), encoding="utf-8")


def _place(temporary: Path, target: Path, path: Path) -> None:
    """Renames, unless a file has come to stand there since the beginning."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise Unwritable(path, _EXISTS, hint=_EXISTS_HINT) from None
    except OSError:  # a file system without links
        temporary.replace(target)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
