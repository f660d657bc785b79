"""Folders belong to one run at a time; what was killed is swept, and only that."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from realworthy.artefacts import (
    Manifest,
    check_free,
    is_vacant,
    locked_file,
    locked_folder,
    protected,
    put_aside,
    put_contents_aside,
    writing,
)
from realworthy.artefacts.temporary_files import sweep
from realworthy.errors import Unwritable

HOLD = """
import sys, time
from pathlib import Path
from realworthy.artefacts import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
WRITE = """
import sys, time
from pathlib import Path
from realworthy.artefacts import writing
with writing(Path(sys.argv[1]) / "a.csv") as temporary:
    temporary.write_text("half")
    print("half", flush=True)
    time.sleep(60)
"""


@contextmanager
def running(script: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has said its first word, killed in the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline()
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


def list_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


# locks


def test_a_second_run_is_refused_and_told_by_whom(tmp_path: Path):
    folder = tmp_path / "run"
    with (
        running(HOLD, folder) as process,
        pytest.raises(Unwritable) as caught,
        locked_folder(folder),
    ):
        pass
    assert str(caught.value) == (
        f"Cannot write {folder}: process {process.pid} is writing there.\n"
        "  Wait until it has ended, or choose another name."
    )


def test_a_killed_run_holds_nothing(tmp_path: Path):
    folder = tmp_path / "run"
    with running(HOLD, folder):
        pass
    assert list_names(folder) == {".realworthy.lock"}
    assert is_vacant(folder)
    with locked_folder(folder):
        (folder / "a").write_text("x")
    assert list_names(tmp_path) == {"run", "run/a"}


def test_one_process_has_one_run_in_a_folder_too(tmp_path: Path):
    with locked_folder(tmp_path), pytest.raises(Unwritable), locked_folder(tmp_path):
        pass


def test_a_folder_made_for_nothing_goes(tmp_path: Path):
    with pytest.raises(ValueError), locked_folder(tmp_path / "new" / "deep"):
        raise ValueError
    assert list_names(tmp_path) == set()


def test_files_are_locked_one_by_one(tmp_path: Path):
    with (
        locked_file(tmp_path / "a"),
        locked_file(tmp_path / "b"),
        pytest.raises(Unwritable, match="is writing there"),
        locked_file(tmp_path / "a"),
    ):
        pass
    assert list_names(tmp_path) == set()


def test_empty_folders_are_nothing_and_links_are_something(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert is_vacant(tmp_path)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "b")
    assert not is_vacant(tmp_path)


# what killed writers leave


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path):
    with running(WRITE, tmp_path):
        pass
    (left,) = list_names(tmp_path)
    assert left.startswith(".a.")
    assert is_vacant(tmp_path)
    with writing(tmp_path / "b.csv") as temporary:
        temporary.write_text("whole")
    assert list_names(tmp_path) == {"b.csv"}


def test_a_living_writer_keeps_its_file(tmp_path: Path):
    with running(WRITE, tmp_path):
        (half,) = list_names(tmp_path)
        with writing(tmp_path / "a.csv") as temporary:
            temporary.write_text("whole")
        assert list_names(tmp_path) == {"a.csv", half}
        with writing(tmp_path / "own.csv") as temporary:
            time.sleep(1.1)  # so that the folder is looked into again
            sweep(tmp_path)
            temporary.write_text("x")
    assert (tmp_path / "own.csv").read_text() == "x"


@pytest.mark.parametrize("name", [".a.tmp", ".a.0123.tmp.csv", "a.realworthy.tmp"])
def test_temporary_files_of_others_stay(tmp_path: Path, name: str):
    (tmp_path / name).write_text("mine")
    with writing(tmp_path / "b.csv") as temporary:
        temporary.write_text("x")
    assert list_names(tmp_path) == {name, "b.csv"}
    assert not is_vacant(tmp_path)


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path: Path):
    path = tmp_path / "a.csv"

    def write() -> None:
        with writing(path) as temporary:
            temporary.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(Unwritable, match="exists already"):
        write()
    assert path.read_text() == "theirs"
    assert list_names(tmp_path) == {"a.csv"}


def test_one_file_is_written_once_at_a_time(tmp_path: Path):
    with writing(tmp_path / "a.csv") as temporary:
        with pytest.raises(Unwritable, match="another output of this run"):
            check_free(tmp_path / "." / "a.csv", overwrite=True)
        temporary.write_text("x")


# inputs


@pytest.mark.parametrize("how", ["itself", "symbolic", "hard", "around"])
def test_what_is_read_is_not_written_by_any_name(tmp_path: Path, how: str):
    source, other = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("precious")
    if how == "symbolic":
        other.symlink_to(source)
    elif how == "hard":
        other.hardlink_to(source)
    else:
        other = tmp_path / ("x/../a.csv" if how == "around" else "a.csv")
    (tmp_path / "x").mkdir()
    with protected([source]), pytest.raises(Unwritable, match="this run reads"):
        check_free(other, overwrite=True)
    check_free(other, overwrite=True)


def test_what_is_read_may_be_missing_still(tmp_path: Path):
    with protected([tmp_path / "a.yaml"]):
        with pytest.raises(Unwritable, match="this run reads"):
            check_free(tmp_path / "a.yaml")
        check_free(tmp_path / "b.yaml")


# unfinished work


def test_unfinished_work_gets_the_first_free_name(tmp_path: Path):
    for number in (1, 2):
        (tmp_path / "a").write_text(f"work {number}")
        assert put_aside(tmp_path / "a").name == f"a.{number}"
    assert (tmp_path / "a.1").read_text() == "work 1"


def test_contents_are_moved_and_what_is_under_way_stays(tmp_path: Path):
    folder = tmp_path / "t"
    (folder / "runs").mkdir(parents=True)
    (folder / "runs" / "a").write_text("x")
    with locked_folder(folder), writing(folder / "t.json") as temporary:
        assert put_contents_aside(folder) == tmp_path / "t.1"
        temporary.write_text("{}")
    assert list_names(tmp_path) == {"t", "t/t.json", "t.1", "t.1/runs", "t.1/runs/a"}


# manifests


def make_manifest(folder: Path) -> Manifest:
    return Manifest(folder, folder / "parts" / "manifest.json")


def write_part(manifest: Manifest, path: Path, text: str) -> None:
    with manifest.claimed(path), writing(path, overwrite=True) as temporary:
        temporary.write_text(text)


def test_another_work_removes_what_was_written_and_no_more(tmp_path: Path):
    manifest = make_manifest(tmp_path)
    manifest.begin("first")
    write_part(manifest, tmp_path / "parts" / "a.json", "1")
    write_part(manifest, tmp_path / "parts" / "b.json", "2")
    (tmp_path / "parts" / "b.json").write_text("edited by hand")
    (tmp_path / "parts" / "mine.json").write_text("mine")
    again = make_manifest(tmp_path)
    assert again.key == "first"
    assert again.holds(tmp_path / "parts" / "a.json")
    assert not again.holds(tmp_path / "parts" / "b.json")
    again.begin("second")
    names = {"parts", "parts/manifest.json", "parts/b.json", "parts/mine.json"}
    assert list_names(tmp_path) == names


def test_a_file_of_somebody_else_is_put_aside(tmp_path: Path):
    manifest, path = make_manifest(tmp_path), tmp_path / "a.json"
    path.write_text("mine")
    manifest.begin("work")
    write_part(manifest, path, "1")
    assert (tmp_path / "a.json.1").read_text() == "mine"
    write_part(manifest, path, "2")
    assert not (tmp_path / "a.json.2").exists()


@pytest.mark.parametrize("text", ["", "{", '{"schema": 9}', '{"files": 3}'])
def test_a_damaged_manifest_lists_nothing(tmp_path: Path, text: str):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "manifest.json").write_text(text)
    assert make_manifest(tmp_path).key == ""
