from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from realworthy.errors import BadFile, BadRecording
from realworthy.recordings import Recording, load_recording, save_recording


def test_one_split_and_packed_column_per_signal(swing: Recording, tmp_path: Path):
    save_recording(swing, tmp_path / "run.parquet")
    file = pyarrow.parquet.ParquetFile(tmp_path / "run.parquet")
    assert file.schema_arrow.names == ["time", *swing.signals]
    column = file.metadata.row_group(0).column(1)
    assert column.compression == "ZSTD"
    assert "BYTE_STREAM_SPLIT" in column.encodings


def test_text_is_not_a_signal(tmp_path: Path):
    table = pyarrow.table({"time": [0.0, 1.0], "note": ["a", "b"]})
    pyarrow.parquet.write_table(table, tmp_path / "run.parquet")
    with pytest.raises(BadFile, match="column 'note' holds string"):
        load_recording(tmp_path / "run.parquet")


def test_a_missing_cell_is_refused_not_filled(tmp_path: Path):
    table = pyarrow.table({"time": [0.0, 1.0, 2.0], "a.b": [1.0, None, 3.0]})
    pyarrow.parquet.write_table(table, tmp_path / "run.parquet")
    with pytest.raises(BadRecording, match=r"'a\.b' has 1 of 3 values"):
        load_recording(tmp_path / "run.parquet")
