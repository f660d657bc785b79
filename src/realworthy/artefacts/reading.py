"""The door for every file that is read: what is opened, and what a failure is called.

Libraries raise whatever they like about a damaged file. `reading` is the one place that
turns it into a `BadFile`; a reader puts it around its library's calls.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from realworthy.artefacts.reading_costs import check_bytes
from realworthy.errors import BadFile, MissingFile, RealworthyError

_MAX_MESSAGE_LENGTH = 200
"""Characters of a library's message that are passed on: two to three lines of a
terminal."""


@contextlib.contextmanager
def reading(path: Path | str, what: str, *, hint: str = "") -> Iterator[None]:
    """Turns whatever is raised about the content of `path` into a `BadFile`.

    `what` ends the sentence 'it is not …'. Our own errors pass as they are. Only for
    calls that parse what a user gave: it would hide mistakes of a program.
    """
    try:
        yield
    except (RealworthyError, BrokenPipeError, ImportError):
        raise
    except FileNotFoundError:
        raise MissingFile(path) from None
    except IsADirectoryError:
        raise BadFile(path, "it is a folder, not a file.") from None
    except RecursionError:
        raise BadFile(path, TOO_DEEP) from None
    except MemoryError:
        raise BadFile(path, "there is not enough memory to read it.") from None
    except UnicodeDecodeError as error:
        problem = f"it is not {what}: it holds bytes that are not text."
        raise BadFile(path, problem, hint=hint) from error
    except OSError as error:
        if error.errno is not None:  # libraries use it without, for their own matters
            raise BadFile(path, f"{error.strerror}.") from None
        raise BadFile(path, f"it is not {what} ({say(error)}).", hint=hint) from error
    except Exception as error:
        raise BadFile(path, f"it is not {what} ({say(error)}).", hint=hint) from error


TOO_DEEP = "it holds lists or keys within each other without end."


def check_readable(path: Path | str) -> None:
    """Raises where there is no such file or folder, or where it may not be read.

    Pipes, sockets and devices are neither: they may never end, or wait for ever.
    """
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            os.scandir(path).close()
        elif stat.S_ISREG(mode):
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        else:
            raise BadFile(
                path,
                "it is not an ordinary file.",
                hint="Copy what it gives into a file first.",
            )
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise MissingFile(path) from None
    except OSError as error:
        raise BadFile(path, f"{error.strerror}.") from None


def read_bytes(path: Path | str, *, cost: int = 1) -> bytes:
    """All of an ordinary file, of which a byte will take `cost` bytes of memory."""
    check_readable(path)
    with reading(path, "a file that can be read"), open(path, "rb") as file:
        check_bytes(path, os.fstat(file.fileno()).st_size * cost)
        return file.read()


def say(error: BaseException) -> str:
    """A library's message in one short line; the kind of error where it has none."""
    said = (
        " ".join(str(error)[: 2 * _MAX_MESSAGE_LENGTH].split()) or type(error).__name__
    )
    if isinstance(error, KeyError):
        said = f"there is no {said}"
    return "".join(
        c if c.isprintable() else "?" for c in said[:_MAX_MESSAGE_LENGTH]
    ).rstrip(".")
