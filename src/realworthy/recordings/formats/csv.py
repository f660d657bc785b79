"""Comma-separated text, also gzipped: a header of names, then one line per row.

Numbers are written with the fewest digits that give the same number back.
"""

import csv
import gzip
import io
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np

from realworthy.artefacts import check_bytes, check_readable, reading
from realworthy.errors import BadFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import Table

_BLOCK = 2**20
"""[bytes] read at once, so that a file that unpacks without end is stopped."""
_CELL = 16
"""[bytes] of memory for a number in a cell: in the rows, and in its column."""
_CELL_OF_TEXT = 128
"""[bytes] of memory for a cell that is kept as text, with its place in a dictionary."""
NEED = "Every line needs one number per column, with commas between."


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Columns by their headings."""
    return read_table(path), None


def read_table(path: Path) -> Table:
    """Columns by their headings; a column without one (an index) is left out."""
    text = _read_text(path)
    with _parsing(path), warnings.catch_warnings():
        file = _open(text)
        names = _read_names(file, path)
        try:
            warnings.simplefilter("ignore", UserWarning)  # no rows: said below
            rows = np.loadtxt(
                file, delimiter=",", comments=None, quotechar='"', ndmin=2
            )
        except UnicodeDecodeError:
            raise
        except ValueError:
            rows = None
        if rows is not None and rows.size == 0:
            raise BadFile(path, "it has a heading but no rows.")
        if rows is None or rows.shape[1] != len(names):
            _raise_first_fault(path, _open(text), names)
            raise BadFile(path, "it cannot be read as a table of numbers.")
    return {n: rows[:, i].copy() for i, n in enumerate(names) if n}


def write(recording: Recording, path: Path) -> None:
    """The file alone; its sidecar is written beside it by `save_recording`."""
    columns = {"time": recording.time, **recording.signals}
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(columns)
    text.writelines(",".join(map(repr, row)) + "\n" for row in rows)
    data = text.getvalue().encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, 6, mtime=0)  # the same recording, the same bytes
    path.write_bytes(data)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Lines as they are, cells by their headings; those that are missing are empty."""
    with _parsing(path):
        text = _open(_read_text(path, cell=_CELL_OF_TEXT))
        return list(csv.DictReader(text, restval=""))


def read_heading(path: Path) -> str:
    """The beginning of the first line; empty where there is none that is text."""
    try:
        check_readable(path)
        with _parsing(path), _open_bytes(path) as file:
            return file.readline(4096).decode("utf-8-sig")
    except BadFile:
        return ""


def _open_bytes(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _read_text(path: Path, *, cell: int = _CELL) -> bytes:
    """The file, unpacked, if it and the numbers in it do not take too much memory."""
    check_readable(path)
    data = bytearray()
    cells = 0
    what = "a whole gzip file" if path.suffix == ".gz" else "a file that can be read"
    with reading(path, what), _open_bytes(path) as file:
        while block := file.read(_BLOCK):
            data += block
            cells += block.count(b",") + block.count(b"\n")
            check_bytes(path, len(data) + cell * cells)
    return bytes(data)


def _open(data: bytes) -> IO[str]:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


@contextmanager
def _parsing(path: Path) -> Iterator[None]:
    try:
        with reading(path, "a table of numbers"):
            yield
    except BadFile as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise BadFile(path, "it is not text.") from None
        raise


def _read_names(file: IO[str], path: Path) -> list[str]:
    line = file.readline()
    names = [name.strip() for name in next(csv.reader([line]), [])]
    if not any(names):
        raise BadFile(
            path,
            "it is empty.",
            hint="The first line names the columns: time,elbow.position,…",
        )
    counts = Counter(filter(None, names))
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise BadFile(path, f"two columns are called '{twice[0]}'.")
    return names


def _raise_first_fault(path: Path, file: IO[str], names: list[str]) -> None:
    """Reads again, slowly, to say where the first bad line is."""
    reader = csv.reader(file)
    next(reader)
    for row in reader:
        if not row:
            continue
        line = reader.line_num
        if len(row) != len(names):
            raise BadFile(
                path,
                f"line {line} has {len(row)} cells, the heading has {len(names)}.",
                hint=NEED,
            )
        for name, cell in zip(names, row, strict=True):
            if not _is_number(cell):
                raise BadFile(
                    path,
                    f"line {line}, column '{name}': '{cell[:40]}' is not a number.",
                    hint=NEED,
                )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


FORMAT = Format(read=read, write=write, embeds=False)
