"""Motions as files, and their derivatives."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadFile, MissingFile, RealworthyError, Unwritable
from realworthy.recordings.motion import Motion, load_motion, save_motion


def make(rows: int = 101) -> Motion:
    time = np.linspace(0.0, 2.0, rows)
    return Motion(time, ("a", "b"), np.stack([np.sin(3 * time), time**2], axis=1))


def test_a_motion_comes_back_as_it_was_written(tmp_path: Path):
    save_motion(make(), tmp_path / "m.csv")
    text = (tmp_path / "m.csv").read_text().splitlines()
    assert text[0] == "time,a.position,b.position"
    found = load_motion(tmp_path / "m.csv")
    assert found.joints == ("a", "b")
    np.testing.assert_array_equal(found.position, make().position)


def test_derivatives_are_those_of_the_curves():
    found = make().sample(500.0)
    t = found.time
    assert len(t) == 1001
    np.testing.assert_allclose(found.position[:, 0], np.sin(3 * t), atol=1e-7)
    np.testing.assert_allclose(found.velocity[:, 0], 3 * np.cos(3 * t), atol=1e-5)
    np.testing.assert_allclose(found.acceleration[:, 0], -9 * np.sin(3 * t), atol=1e-2)
    np.testing.assert_allclose(found.velocity[:, 1], 2 * t, atol=1e-6)
    np.testing.assert_allclose(found.acceleration[:, 1], 2.0, atol=1e-5)


def test_two_rows_are_a_straight_line():
    found = Motion(np.array([1.0, 2.0]), ("a",), np.array([[0.0], [1.0]])).sample(10.0)
    np.testing.assert_allclose(found.position[:, 0], found.time, atol=1e-12)
    np.testing.assert_allclose(found.velocity, 1.0)
    np.testing.assert_array_equal(found.acceleration, 0.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.position\n1\n2\n", "it has no column 'time'"),
        ("time,a.command\n0,1\n1,2\n", "no column such as 'elbow.position'"),
        ("time,a.position\n0,1\n", "needs two rows or more, not 1"),
        ("time,a.position\n0,1\n0,2\n", "does not rise in row 2"),
        ("time,a.position\n0,1\n1,nan\n", "values that are not numbers"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(BadFile, match=message):
        load_motion(path)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(MissingFile):
        load_motion(tmp_path / "none.csv")


def test_motions_are_csv_files_and_are_not_replaced_silently(tmp_path: Path):
    with pytest.raises(RealworthyError, match=r"ends in \.csv"):
        save_motion(make(), tmp_path / "m.npz")
    save_motion(make(), tmp_path / "m.csv")
    with pytest.raises(Unwritable):
        save_motion(make(), tmp_path / "m.csv")
    save_motion(make(), tmp_path / "m.csv", overwrite=True)


@pytest.mark.parametrize("seconds", [3600.5, 1e7])
def test_a_motion_without_end_is_refused(tmp_path: Path, seconds: float):
    (tmp_path / "m.csv").write_text(f"time,a.position\n0,0\n{seconds},1\n")
    with pytest.raises(BadFile, match="lasts 3600 s at most"):
        load_motion(tmp_path / "m.csv")
    motion = Motion(np.array([0.0, seconds]), ("a",), np.zeros((2, 1)))
    with pytest.raises(RealworthyError, match="lasts 3600 s at most"):
        motion.sample(500.0)


def test_a_motion_within_one_period_is_refused():
    motion = Motion(np.array([0.0, 0.015]), ("a",), np.zeros((2, 1)))
    with pytest.raises(RealworthyError, match=r"within one period of the robot, 0\.02"):
        motion.sample(50.0)
    assert len(motion.sample(100.0).time) == 2
