"""Journals: whole rows only, whatever cut them short."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadFile, Unwritable
from realworthy.recordings import Sidecar, journal, load_recording
from realworthy.recordings.formats.journal import build_table, make_about
from realworthy.recordings.journal import Journal, make_way, read_journal

COLUMNS = {"time": 1, "position": 3, "others": 0}


def fill(kept: Journal, count: int) -> None:
    for k in range(count):
        kept.append(time=k, position=[k, 2 * k, -k], others=[])


def check(rows: dict[str, np.ndarray], count: int) -> None:
    k = np.arange(count)
    np.testing.assert_array_equal(rows["time"], k[:, None])
    np.testing.assert_array_equal(rows["position"], np.stack([k, 2 * k, -k], axis=1))
    assert rows["others"].shape == (count, 0)


@pytest.mark.parametrize("on_disk", [True, False])
def test_what_is_appended_is_read_back_while_it_grows_and_after(
    tmp_path: Path, on_disk: bool
):
    path = tmp_path / "a.journal" if on_disk else None
    kept = Journal(path, COLUMNS, {"of": "a test"})
    check(kept.read(), 0)
    fill(kept, 7)
    check(kept.read(), 7)
    kept.close()
    check(kept.read(), 7)
    if path is not None:
        about, rows = read_journal(path)
        assert about == {"of": "a test"}
        check(rows, 7)
        kept.remove()
        assert not path.exists()


def test_columns_that_are_not_given_are_nan():
    kept = Journal(None, COLUMNS, {})
    kept.append(time=1.0)
    assert np.isnan(kept.read()["position"]).all()


def test_a_file_that_was_cut_anywhere_gives_its_whole_rows(tmp_path: Path):
    """At every byte; and with zeros at its end, as a lost supply leaves it."""
    path = tmp_path / "a.journal"
    kept = Journal(path, COLUMNS, {})
    fill(kept, 5)
    kept.close()
    data = path.read_bytes()
    head, row = data.index(b"\n") + 1, 8 * 5
    assert head % 8 == 0
    for length in range(head, len(data)):
        path.write_bytes(data[:length])
        check(read_journal(path)[1], (length - head) // row)
    path.write_bytes(data[: head + 3 * row] + b"\0" * 4096)
    check(read_journal(path)[1], 3)
    for length in range(head):
        path.write_bytes(data[:length])
        with pytest.raises(BadFile, match="not a journal"):
            read_journal(path)


WRITER = """
import sys, time
from pathlib import Path
from realworthy.recordings.journal import Journal
kept = Journal(Path(sys.argv[1]), {"time": 1}, {})
for _ in range(100_000):
    kept.append(time=time.time())
    time.sleep(0.002)
    print(flush=True)
"""


@pytest.mark.parametrize("seed", range(2))
def test_a_process_that_is_killed_loses_less_than_a_second(tmp_path: Path, seed: int):
    path = tmp_path / "a.journal"
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()  # it runs
    time.sleep(float(np.random.default_rng(seed).uniform(0.6, 1.2)))
    child.send_signal(signal.SIGKILL)
    killed = time.time()
    child.wait()
    rows = read_journal(path)[1]["time"][:, 0]
    assert (np.diff(rows) > 0).all()
    assert killed - rows[-1] < 1.0


def test_a_disk_that_is_full_is_said_and_nothing_is_lost_or_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.journal"
    kept = Journal(path, COLUMNS, {})
    fill(kept, 10)
    check(kept.read(), 10)
    write = os.write

    def fail(file: int, data: bytes) -> int:
        """Takes half, and then no more."""
        if len(data) > 60:
            return write(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal.os, "write", fail)
    for k in range(10, 30):
        kept.append(time=k, position=[k, 2 * k, -k])
    end = time.monotonic() + 5
    while kept.failure is None and time.monotonic() < end:
        time.sleep(0.01)
    assert kept.failure is not None
    assert kept.failure.errno == errno.ENOSPC
    check(kept.read(), 30)  # what does not fit is still in memory
    kept.close()
    check(read_journal(path)[1], 10)  # and the file holds whole rows


def test_a_place_that_takes_no_files(tmp_path: Path):
    with pytest.raises(Unwritable):
        Journal(tmp_path / "no" / "a.journal", COLUMNS, {})


def test_what_a_cut_run_left_makes_way_and_is_not_lost(tmp_path: Path):
    path = tmp_path / "trial_1.journal"
    assert make_way(path) is None
    for number in (1, 2):
        kept = Journal(path, {"read": 1}, {"of": number})
        kept.append(read=0.5)
        kept.close()
        with pytest.warns(UserWarning, match=rf"it is trial_1\.{number}\.journal now"):
            assert make_way(path) == tmp_path / f"trial_1.{number}.journal"
        assert not path.exists()
    assert read_journal(tmp_path / "trial_1.1.journal")[0] == {"of": 1}
    Journal(path, {"read": 1}, {}).close()  # nothing had happened yet
    assert make_way(path) is None
    assert not path.exists()
    path.write_bytes(b"something else of that name")
    with pytest.warns(UserWarning, match="cut short"):
        make_way(path)
    assert (tmp_path / "trial_1.3.journal").read_bytes().startswith(b"something")


ABOUT = make_about(("a", "b"), ("base.gyro.x",), ("a.command",), Sidecar(rate=50.0))


def rows_of(time: list[float], command: list[float], braking: list[float]) -> dict:
    count = len(time)
    return {
        "state_time": np.array(time)[:, None],
        "command": np.array(command)[:, None],
        "braking": np.array(braking)[:, None],
        "others": np.full((count, 1), 0.5),
        **{
            name: np.arange(2.0 * count).reshape(count, 2)
            for name in ("position", "velocity", "torque")
        },
    }


def test_rows_of_new_measurements_become_a_recording():
    """By hand: a repeated state, a refused command, a stamp that is no number."""
    time = [0.0, 0.02, 0.02, 0.04, np.inf, 0.06, 0.05]
    command = [1.0, 2.0, 3.0, np.nan, 5.0, 6.0, 7.0]
    table = build_table(ABOUT, rows_of(time, command, [0.0] * 7))
    assert table is not None
    np.testing.assert_array_equal(table["time"], [0.0, 0.02, 0.06])
    np.testing.assert_array_equal(table["a.command"], [1.0, 2.0, 6.0])
    np.testing.assert_array_equal(table["b.position"], [1.0, 3.0, 11.0])
    assert "robot.braking" not in table
    assert build_table(ABOUT, rows_of(time[:1], command[:1], [0.0])) is None


def test_rows_in_which_the_robot_braked_by_itself_are_marked():
    table = build_table(ABOUT, rows_of([0.0, 0.02, 0.04], [1.0] * 3, [0, 1, 0]))
    assert table is not None
    np.testing.assert_array_equal(table["robot.braking"], [0, 1, 0])


def test_a_journal_is_loaded_like_any_recording(tmp_path: Path):
    path = tmp_path / "trial_1.journal"
    rows = rows_of([0.0, 0.02, 0.04], [1.0, 2.0, 3.0], [0, 0, 0])
    widths = {name: values.shape[1] for name, values in rows.items()}
    kept = Journal(path, widths, ABOUT)
    for k in range(3):
        kept.append(**{name: values[k] for name, values in rows.items()})
    kept.close()
    recording = load_recording(path)
    assert recording.sidecar.rate == 50.0
    np.testing.assert_array_equal(recording.signals["a.command"], [1.0, 2.0, 3.0])
    path.write_bytes(path.read_bytes().replace(b'"joints"', b'"hinges"'))
    with pytest.raises(BadFile, match="not a journal"):
        load_recording(path)
