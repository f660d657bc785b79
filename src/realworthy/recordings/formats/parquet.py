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
    import pyarrow

SIDECAR = b"realworthy.sidecar"
_COPIES = 3
"""Of the numbers in memory: as read, as one array, as float64."""
_ROWS = 65536
"""Rows that are read at once."""


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Every column, as float64; a missing cell becomes nan, which the door refuses."""
    check_readable(path)
    with reading(path, "a Parquet file"):
        table = read_table(path)
        columns: Table = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in columns:
                raise BadFile(path, f"two columns are called '{name}'.")
            _check_kind(column.type, name, path)
            columns[name] = column.to_numpy().astype(np.float64)
        text = (table.schema.metadata or {}).get(SIDECAR)
    return columns, None if text is None else from_json(text, path)


def read_table(path: Path, columns: list[str] | None = None) -> "pyarrow.Table":
    """Some columns, or all, as long as they do not take too much memory.

    A run of equal numbers takes a few bytes, so the size of a file is no measure: what
    it declares is checked first, then what comes. Facts about single chunks are not
    asked for: of a damaged file they end the process (pyarrow 26).
    """
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        facts = file.metadata
        groups = (facts.row_group(i).num_rows for i in range(facts.num_row_groups))
        rows = max(facts.num_rows, sum(groups))
        check_bytes(path, _COPIES * 8 * rows * facts.num_columns)
        batches = []
        taken = 0
        for batch in file.iter_batches(_ROWS, columns=columns):
            batches.append(batch)
            taken += batch.nbytes
            check_bytes(path, _COPIES * taken)
        if batches:
            return pyarrow.Table.from_batches(batches)
        return file.schema_arrow.empty_table()


def _check_kind(kind: "pyarrow.DataType", name: str, path: Path) -> None:
    from pyarrow import types

    plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if not any(is_kind(kind) for is_kind in plain):
        raise BadFile(
            path,
            f"column '{name}' holds {kind}, not one number per row.",
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
