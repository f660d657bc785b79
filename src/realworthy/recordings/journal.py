"""A journal: rows of numbers that reach the disk while a robot moves.

    {"journal": 1, "columns": [["read", 1], ["position", 6], …], "about": {…}}
    1.0  …                                            rows of little-endian doubles
    2.0  …

The first line is JSON, padded to a multiple of eight bytes. The first number of a row
is its own, from 1: a file that was cut short by a killed process or a lost supply may
end in half a row or in zeros, and reading ends at the first row whose number is not the
next.

Appending never waits and never raises: a thread of its own writes and syncs four times
a second, and a disk that takes no more is said in `failure`, for whoever moves the
robot to look at. Memory holds a quarter of a second of rows, however long the journal
grows.
"""

import contextlib
import itertools
import json
import os
import threading
import warnings
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.artefacts import check_free
from realworthy.errors import BadFile, MissingFile, Unwritable

Floats = NDArray[np.float64]
About = dict[str, object]
SUFFIX = ".journal"
VERSION = 1
_EVERY = 0.25
"""[s] between writes. At most a second may be lost with the machine's power, and a busy
disk may take some of it."""
_LONGEST_HEADER = 2**20
"""[bytes] of the first line; that of a hundred joints has 20 kB."""


class Journal:
    """Rows of named columns, in a file or, without a path, in memory."""

    def __init__(
        self, path: Path | None, columns: Mapping[str, int], about: About
    ) -> None:
        """`columns` are names and how many numbers each has in a row."""
        self.path, self.columns, self.about = path, dict(columns), about
        self.failure: OSError | None = None
        """Why rows are no longer written; they are kept in memory from there on."""
        self.count = 0
        self._places = _place(self.columns)
        self._row = np.empty(1 + sum(self.columns.values()))
        self._waiting: deque[bytes] = deque()
        self._file = -1
        self._ends = threading.Event()
        self._flushing = threading.Lock()
        self._writer: threading.Thread | None = None
        if path is not None:
            self._open(path)

    def append(self, **parts: ArrayLike) -> None:
        """One more row; columns that are not given are NaN."""
        row = self._row
        row.fill(np.nan)
        self.count += 1
        row[0] = self.count
        for name, part in parts.items():
            row[self._places[name]] = part
        self._waiting.append(row.tobytes())

    def read(self) -> dict[str, Floats]:
        """Every row so far: column → (rows, numbers in a row)."""
        self._flush()
        width = len(self._row)
        data = b"".join(self._waiting)
        if self.path is not None:
            with contextlib.suppress(OSError):
                written = self.path.read_bytes()
                head = written.index(b"\n") + 1
                whole = (len(written) - head) // (8 * width) * 8 * width
                data = written[head : head + whole] + data
        rows = np.frombuffer(data, dtype="<f8").reshape(-1, width)
        return _split(rows, self.columns)

    def close(self) -> None:
        """Writes what waits and lets go of the file, which stays; twice is once."""
        if self._writer is not None:
            self._ends.set()
            self._writer.join()
            self._writer = None
        self._flush()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Closes, and deletes the file: what it held is kept elsewhere."""
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _open(self, path: Path) -> None:
        names = [[name, width] for name, width in self.columns.items()]
        head = json.dumps({"journal": VERSION, "columns": names, "about": self.about})
        line = head.encode("utf-8")
        line += b" " * (-(len(line) + 1) % 8) + b"\n"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self._file = os.open(path, flags, 0o666)
            _write(self._file, line)
        except OSError as error:
            self.close()
            raise Unwritable(path, f"{error.strerror}.") from None
        name = f"journal {path.name}"
        self._writer = threading.Thread(target=self._keep_up, name=name, daemon=True)
        self._writer.start()

    def _keep_up(self) -> None:
        while not self._ends.wait(_EVERY):
            self._flush()

    def _flush(self) -> None:
        """Writes what waits, and waits for the disk; appending goes on meanwhile."""
        if self._file < 0 or self.failure is not None:
            return
        with self._flushing:
            begun = os.fstat(self._file).st_size
            taken: list[bytes] = []
            try:
                while self._waiting:
                    taken.append(self._waiting.popleft())
                _write(self._file, b"".join(taken))
                os.fdatasync(self._file)
            except OSError as error:
                self.failure = error
                self._waiting.extendleft(reversed(taken))
                with contextlib.suppress(OSError):  # whole rows only, none twice
                    os.ftruncate(self._file, begun)


def make_way(path: Path) -> Path | None:
    """Renames a journal that a run left which was cut short, so that another may begin.

    Its new name, `run.1.journal` or the first that is free; None where there is none
    with rows in it.
    """
    if not os.path.lexists(path):
        return None
    check_free(path, overwrite=True)
    with contextlib.suppress(BadFile):
        columns = read_journal(path)[1].values()
        if not any(len(rows) for rows in columns):
            path.unlink()
            return None
    stem = path.name.removesuffix(SUFFIX)
    names = (path.with_name(f"{stem}.{n}{SUFFIX}") for n in itertools.count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    path.rename(aside)
    warnings.warn(
        f"{path.name} is of a run that was cut short; it is {aside.name} now.",
        stacklevel=2,
    )
    return aside


def read_journal(path: Path) -> tuple[About, dict[str, Floats]]:
    """What a journal is about, and its whole rows: column → (rows, numbers in a
    row)."""
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST_HEADER)
            data = file.read()
    except FileNotFoundError:
        raise MissingFile(path) from None
    except OSError as error:
        raise BadFile(path, f"{error.strerror}.") from None
    columns, about = _read_header(path, line)
    width = 1 + sum(columns.values())
    rows = np.frombuffer(data[: len(data) // (8 * width) * 8 * width], dtype="<f8")
    rows = rows.reshape(-1, width)
    whole = rows[:, 0] == 1 + np.arange(len(rows))
    count = len(rows) if whole.all() else int(np.argmin(whole))
    return about, _split(rows[:count], columns)


def _read_header(path: Path, line: bytes) -> tuple[dict[str, int], About]:
    problem = "it is not a journal of a trial."
    try:
        head = json.loads(line)
        version, about = head["journal"], head["about"]
        columns = {str(name): int(width) for name, width in head["columns"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise BadFile(path, problem) from None
    if version != VERSION:
        problem = f"it is a journal of version {version}, and this reads {VERSION}."
        hint = "Try: pip install --upgrade realworthy"
        raise BadFile(path, problem, hint=hint)
    sound = all(0 <= width < _LONGEST_HEADER for width in columns.values())
    if not sound or not isinstance(about, dict) or not line.endswith(b"\n"):
        raise BadFile(path, problem)
    return columns, about


def _place(columns: Mapping[str, int]) -> dict[str, slice]:
    """Where each column lies in a row, after the row's own number."""
    places, begin = {}, 1
    for name, width in columns.items():
        places[name] = slice(begin, begin + width)
        begin += width
    return places


def _split(rows: Floats, columns: Mapping[str, int]) -> dict[str, Floats]:
    return {name: rows[:, place] for name, place in _place(columns).items()}


def _write(file: int, data: bytes) -> None:
    """All of it; `os.write` may take less."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
