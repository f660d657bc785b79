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
    journal.SUFFIX: journal.FORMAT,
}
"""By the end of the file's name."""


def find_suffix(path: Path) -> str:
    """The key of FORMATS by which `path` ends; empty when it has none."""
    name = path.name.lower()
    return next((suffix for suffix in FORMATS if name.endswith(suffix)), "")


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
    return FORMATS[suffix]
