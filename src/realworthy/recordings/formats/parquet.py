"""Apache Parquet: one column per signal, the sidecar in the file's metadata.

Bytes of equal weight are stored together (byte-stream split) and packed with zstd,
which suits noisy numbers and stays fast.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from realworthy.artefacts import check_bytes, check_readable, reading
from realworthy.errors import BadFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar, from_json, to_json
from realworthy.recordings.signals import Table

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

SIDECAR = b"realworthy.sidecar"


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Every column, as float64; a missing cell becomes nan, which the door refuses."""
    import pyarrow.parquet

    check_readable(path)
    with reading(path, "a Parquet file"), pyarrow.parquet.ParquetFile(path) as file:
        _check(file, path)
        table = file.read()
        columns: Table = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in columns:
                raise BadFile(path, f"two columns are called '{name}'.")
            columns[name] = column.to_numpy().astype(np.float64)
        text = (table.schema.metadata or {}).get(SIDECAR)
    return columns, None if text is None else from_json(text, path)


def check_size(file: "ParquetFile", path: Path) -> None:
    """Raises where its numbers would take too much memory.

    A run of equal numbers takes a few bytes, so the size of a file says nothing; what
    it declares is added up. Thrice: as read, as one array, as float64.
    """
    facts = file.metadata
    asked = facts.num_rows * facts.num_columns
    for group in range(facts.num_row_groups):
        columns = facts.row_group(group)
        chunks = [columns.column(i) for i in range(columns.num_columns)]
        asked = max(asked, sum(max(chunk.num_values, 0) for chunk in chunks))
        check_bytes(path, sum(chunk.total_uncompressed_size for chunk in chunks))
    check_bytes(path, 3 * 8 * asked)


def _check(file: "ParquetFile", path: Path) -> None:
    check_size(file, path)
    from pyarrow import types

    for field in file.schema_arrow:
        kind = field.type
        if not (types.is_integer(kind) or types.is_floating(kind)):
            if types.is_boolean(kind) or types.is_decimal(kind):
                continue
            raise BadFile(
                path,
                f"column '{field.name}' holds {kind}, not one number per row.",
                hint="A LeRobot dataset needs --importer lerobot.",
            )


def write(recording: Recording, path: Path) -> None:
    """Reads back bit for bit."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"time": recording.time, **recording.signals})
    table = table.replace_schema_metadata({SIDECAR: to_json(recording.sidecar)})
    pyarrow.parquet.write_table(
        table,
        path,
        compression="zstd",
        use_dictionary=False,
        use_byte_stream_split=True,
    )


FORMAT = Format(read=read, write=write, embeds=True)
