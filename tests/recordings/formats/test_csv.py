from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

from realworthy.errors import BadFile
from realworthy.recordings import load_recording


def load(tmp_path: Path, text: str):
    path = tmp_path / "run.csv"
    path.write_text(text)
    return load_recording(path)


def catch(tmp_path: Path, text: str) -> str:
    with pytest.raises(BadFile) as caught:
        load(tmp_path, text)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_a_table_is_read_as_people_write_it(tmp_path: Path):
    text = '\ufefftime, "elbow.position" ,n\r\n0,1.5,1e-3\r\n\r\n0.1,-2,+4\r\n'
    recording = load(tmp_path, text.replace('"', ""))
    assert list(recording.signals) == ["elbow.position", "n"]
    assert_array_equal(recording.signals["elbow.position"], [1.5, -2])
    assert_array_equal(recording.signals["n"], [1e-3, 4])


def test_a_column_without_a_heading_is_an_index(tmp_path: Path):
    assert list(load(tmp_path, ",time,a.b\n0,0,5\n1,1,6\n").signals) == ["a.b"]


def test_an_empty_file(tmp_path: Path):
    assert catch(tmp_path, "") == (
        "run.csv: it is empty.\n"
        "  The first line names the columns: time,elbow.position,…"
    )


def test_a_heading_alone(tmp_path: Path):
    assert catch(tmp_path, "time,a.b\n") == "run.csv: it has a heading but no rows."


def test_a_ragged_line(tmp_path: Path):
    assert catch(tmp_path, "time,a.b\n0,1\n1,2,3\n") == (
        "run.csv: line 3 has 3 cells, the heading has 2.\n"
        "  Every line needs one number per column, with commas between."
    )


def test_a_table_wider_than_its_heading(tmp_path: Path):
    assert "line 2 has 3 cells" in catch(tmp_path, "time,a.b\n0,1,7\n1,2,3\n")


@pytest.mark.parametrize("cell", ["n/a", "", "1.0.0", "0x10"])
def test_a_cell_that_is_no_number(tmp_path: Path, cell: str):
    assert catch(tmp_path, f"time,a.b\n0,1\n1,{cell}\n") == (
        f"run.csv: line 3, column 'a.b': '{cell}' is not a number.\n"
        "  Every line needs one number per column, with commas between."
    )


def test_one_heading_twice(tmp_path: Path):
    assert "two columns are called 'a.b'" in catch(tmp_path, "time,a.b,a.b\n0,1,2\n")


def test_binary_is_not_text(tmp_path: Path):
    path = tmp_path / "run.csv"
    path.write_bytes(b"time,a\n\xff\xfe\x00\x01\n")
    with pytest.raises(BadFile, match="it is not text"):
        load_recording(path)


def test_text_is_not_gzip(tmp_path: Path):
    path = tmp_path / "run.csv.gz"
    path.write_text("time,a\n0,1\n")
    with pytest.raises(BadFile, match="it is not a whole gzip file"):
        load_recording(path)
