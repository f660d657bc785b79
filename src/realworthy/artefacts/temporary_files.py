"""Temporary files of ours: known by name, locked as long as their writer lives."""

import contextlib
import fcntl
import os
import re
import time
import uuid
from pathlib import Path

from realworthy.artefacts.locks import is_there

_NAME = re.compile(r"\..*\.[0-9a-f]{32}\.realworthy\.tmp")
"""How names of our temporary files begin, and of no others."""
_SWEEP_EVERY = 1.0
"""[s] between two looks into a folder: one that gets ten thousand recordings would else
be listed ten thousand times, 5 ms each in the end. Nobody starts another process and
kills it in less; 2026-11-18."""
_swept: dict[Path, float] = {}
"""Folder → when this process has last looked into it."""


def is_temporary(name: str) -> bool:
    return _NAME.match(name) is not None


def reserve(path: Path) -> tuple[Path, int]:
    """An empty file beside `path`, with the permissions that a new file gets, and its
    descriptor, which holds it locked until it is closed, or this process ends."""
    suffix = "".join(path.suffixes)[-32:]  # writers choose their format by it
    while True:
        name = f".{path.stem[:32]}.{uuid.uuid4().hex}.realworthy.tmp{suffix}"
        reserved = path.with_name(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(reserved, flags, 0o666)
        with contextlib.suppress(OSError):  # a file system without locks: none sweeps
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if is_there(descriptor, reserved):
            return reserved, descriptor
        os.close(descriptor)  # swept before it was locked


def sweep(folder: Path) -> None:
    """Removes what writers left that were killed; those of living writers stay."""
    now = time.monotonic()
    if now - _swept.get(folder, -_SWEEP_EVERY) < _SWEEP_EVERY:
        return
    _swept[folder] = now
    for name in filter(is_temporary, os.listdir(folder)):
        with contextlib.suppress(OSError):
            _remove_abandoned(folder / name)


def _remove_abandoned(path: Path) -> None:
    """Removes a temporary file unless somebody holds it locked."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)
