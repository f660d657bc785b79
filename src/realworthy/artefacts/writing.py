"""Files that appear whole or not at all."""

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from realworthy.artefacts.text import to_yaml
from realworthy.errors import Unwritable

_HINT = "Choose a folder that you may write to, on a disk with room."


@contextlib.contextmanager
def writing(path: Path | str, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path beside `path`, renamed onto it when the block ends well.

    If the block raises, nothing is left behind, not even folders that were made for it.
    An existing file is replaced only with `overwrite`; a link to one stays a link.
    """
    path = Path(path)
    check_free(path, overwrite=overwrite)
    made = _missing_folders(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()
        temporary = _reserve(target)
    except OSError as error:
        _remove(made)
        raise Unwritable(path, f"{error.strerror}.", hint=_HINT) from None
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, str(temporary)):
            raise  # about another file, which the block reads or writes
        why = error.strerror or str(error)
        raise Unwritable(path, f"{why}.", hint=_HINT) from error
    finally:
        temporary.unlink(missing_ok=True)
        _remove(made)  # those that are empty still


def check_free(path: Path | str, *, overwrite: bool = False) -> None:
    """Raises where `writing` would not begin: at a folder, at an existing file, or in a
    folder that cannot be written to. Makes nothing."""
    path = Path(path)
    try:
        exists, ordinary = path.exists(), path.is_file()
    except OSError as error:
        raise Unwritable(path, f"{error.strerror}.", hint=_HINT) from None
    if path.is_dir():
        raise Unwritable(path, "it is a folder.", hint="Give a file name inside it.")
    if exists and not ordinary:
        raise Unwritable(path, "it is not an ordinary file.")
    if os.path.lexists(path) and not overwrite:
        raise Unwritable(
            path,
            "it exists already.",
            hint="Choose another name, or say --overwrite (overwrite=True).",
        )
    _check_folder(path)


def make_folder(path: Path | str) -> None:
    """A folder for what is to be written, and those above it, where there is none."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise Unwritable(path, "it is a file.", hint="Give a folder.") from None
    except OSError as error:
        raise Unwritable(path, f"{error.strerror}.", hint=_HINT) from None


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
            _reserve(folder / path.name).unlink()
    except OSError as error:
        raise Unwritable(path, f"{error.strerror}.", hint=_HINT) from None


def save(path: Path | str, struct: msgspec.Struct, *, overwrite: bool = False) -> None:
    """Writes a Struct as YAML, whole or not at all."""
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_text(to_yaml(struct), encoding="utf-8")


def _reserve(path: Path) -> Path:
    """An empty file beside `path`, with the permissions that a new file gets."""
    suffix = "".join(path.suffixes)[-32:]  # writers choose their format by it
    name = f".{path.stem[:32]}.{uuid.uuid4().hex}.tmp{suffix}"
    reserved = path.with_name(name)
    os.close(os.open(reserved, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    return reserved


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _missing_folders(path: Path) -> list[Path]:
    """Folders above `path` that are not there, the innermost first."""
    return [folder for folder in path.parents if not folder.exists()]


def _remove(folders: Sequence[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
