"""Comma-separated text, also gzipped: a header of names, then one line per row.

Numbers are written with the fewest digits that give the same number back.
"""

import csv
import gzip
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from realworthy.errors import BadFile, MissingFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar
from realworthy.recordings.signals import Table

NEED = "Every line needs one number per column, with commas between."


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Columns by their headings."""
    return read_table(path), None


def read_table(path: Path) -> Table:
    """Columns by their headings; a column without one (an index) is left out."""
    with open_text(path) as file, warnings.catch_warnings():
        names = _read_names(file, path)
        try:
            warnings.simplefilter("ignore", UserWarning)  # no rows: said below
            rows = np.loadtxt(
                file, delimiter=",", comments=None, quotechar='"', ndmin=2
            )
        except ValueError:
            rows = None
    if rows is not None and rows.size == 0:
        raise BadFile(path, "it has a heading but no rows.")
    if rows is None or rows.shape[1] != len(names):
        _raise_first_fault(path, names)
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


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The text of a file, gzipped or not; says what is wrong when it cannot."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError:
        raise MissingFile(path) from None
    except (gzip.BadGzipFile, EOFError):
        raise BadFile(path, "it is not a whole gzip file.") from None
    except UnicodeDecodeError:
        raise BadFile(path, "it is not text.") from None
    except OSError as error:
        raise BadFile(path, f"{error.strerror or error}.") from None


def _read_names(file: IO[str], path: Path) -> list[str]:
    line = file.readline()
    names = [name.strip() for name in next(csv.reader([line]), [])]
    if not any(names):
        raise BadFile(
            path,
            "it is empty.",
            hint="The first line names the columns: time,elbow.position,…",
        )
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise BadFile(path, f"two columns are called '{twice[0]}'.")
    return names


def _raise_first_fault(path: Path, names: list[str]) -> None:
    """Reads again, slowly, to say where the first bad line is."""
    with open_text(path) as file:
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
                        f"line {line}, column '{name}': '{cell}' is not a number.",
                        hint=NEED,
                    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


FORMAT = Format(read=read, write=write, embeds=False)
