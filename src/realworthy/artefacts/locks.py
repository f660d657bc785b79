"""Locks that the kernel releases when their holder dies, however it dies."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from realworthy.errors import Unwritable


@contextlib.contextmanager
def locked(lock: Path, what: Path) -> Iterator[None]:
    """Holds the file `lock`, which is made for this and removed in the end.

    Raises Unwritable, with the number of the process that writes to `what`, where
    another holds it.
    """
    descriptor = _hold(lock, what)
    try:
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                lock.unlink()  # while it is held, so that none takes it half gone
            os.close(descriptor)


def _hold(lock: Path, what: Path) -> int | None:
    """An open file that holds the lock; None on a file system that has no locks."""
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise Unwritable(what, f"{error.strerror}.") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 64).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise Unwritable(
                what,
                f"process {holder or 'of another run'} is writing there.",
                hint="Wait until it has ended, or choose another name.",
            ) from None
        except OSError:
            os.close(descriptor)
            return None
        if is_there(descriptor, lock):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
            return descriptor
        os.close(descriptor)  # its holder removed it between our two steps


def is_there(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one that stands at `path`."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False
