"""File formats of recordings: each reads a table and writes a recording, exactly.

What one writes it reads back bit for bit, sidecar included, and any tool for that
format reads it too. `FORMATS` is the whole list.
"""

from pathlib import Path

from realworthy.errors import BadFile
from realworthy.recordings.formats import csv, journal, mcap, npz, parquet
from realworthy.recordings.formats.format import Format

FORMATS: dict[str, Format] = {
    ".csv": csv.FORMAT,
    ".csv.gz": csv.FORMAT,
    ".npz": npz.FORMAT,
    ".parquet": parquet.FORMAT,
    ".mcap": mcap.FORMAT,
}
"""By the end of the file's name."""
_READ = {**FORMATS, journal.SUFFIX: journal.FORMAT}
"""With those that are read, and written in another way."""


def find_suffix(path: Path) -> str:
    """By which known ending `path` ends; empty when it has none."""
    name = path.name.lower()
    return next((suffix for suffix in _READ if name.endswith(suffix)), "")


def find_format(path: Path, *, hint: str = "") -> Format:
    """The format of `path`, by the end of its name."""
    suffix = find_suffix(path)
    if not suffix:
        ending = f"'{path.suffix}'" if path.suffix else "a name without an ending"
        raise BadFile(
            path,
            f"recordings are not kept in files with {ending}.",
            hint=f"Formats: {', '.join(FORMATS)}. {hint}".strip(),
        )
    return _READ[suffix]
