"""Apache Parquet: one column per signal, the sidecar in the file's metadata.

Bytes of equal weight are stored together (byte-stream split) and packed with zstd,
which suits noisy numbers and stays fast.
"""

from pathlib import Path

import numpy as np

from realworthy.errors import BadFile, MissingFile
from realworthy.recordings.formats.format import Format
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import Sidecar, from_json, to_json
from realworthy.recordings.signals import Table

SIDECAR = b"realworthy.sidecar"


def read(path: Path) -> tuple[Table, Sidecar | None]:
    """Every column, as float64; a missing cell becomes nan, which the door refuses."""
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise MissingFile(path) from None
    except (pyarrow.ArrowException, OSError):
        raise BadFile(path, "it is not a Parquet file.") from None
    columns: Table = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns[name] = column.to_numpy().astype(np.float64)
        except (ValueError, TypeError):
            raise BadFile(
                path,
                f"column '{name}' holds {column.type}, not one number per row.",
                hint="A LeRobot dataset needs --importer lerobot.",
            ) from None
    text = (table.schema.metadata or {}).get(SIDECAR)
    return columns, None if text is None else from_json(text, path)


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
