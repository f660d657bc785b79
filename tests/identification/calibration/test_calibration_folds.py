"""Recordings left out in turn, each from a fit that has not seen it."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.identification.calibration.calibrate import calibrate
from realworthy.identification.calibration.folds import divide_into_folds
from realworthy.recordings import Recording, Sidecar
from realworthy.twins import Twin
from tests.identification.conftest import multisine, play_hidden

NAMES = ["joint.kp", "joint.damping"]


def make(gain: float | None = None, group: str | None = None) -> Recording:
    told = {} if gain is None else {"arm.duty_gain": gain}
    return Recording(
        np.arange(5) / 100,
        {"arm.position": np.zeros(5)},
        Sidecar(parameters=told, repeat_group=group),
    )


def test_a_whole_gain_is_left_out_where_there_are_several():
    logs = [make(gain) for gain in (1.0, 2.0, 1.0, 4.0, 2.0)]
    assert divide_into_folds(logs) == (
        (logs[0], logs[2]),
        (logs[1], logs[4]),
        (logs[3],),
    )


def test_few_experiments_go_one_by_one_and_many_in_four_deals():
    few = [make(group="a"), make(), make(group="a"), make()]
    assert divide_into_folds(few) == ((few[0], few[2]), (few[1],), (few[3],))
    same_gain = [make(gain=2.0) for _ in range(3)]
    assert divide_into_folds(same_gain) == tuple((one,) for one in same_gain)
    many = [make() for _ in range(10)]
    assert divide_into_folds(many) == tuple(tuple(many[k::4]) for k in range(4))
    with pytest.raises(BadRecording, match="there is one"):
        divide_into_folds(few[::2])


def test_every_recording_is_predicted_by_a_fit_without_it(
    joint: Twin, joint_file: Path
):
    """One recording is of another robot: its own fold is the worst one, and fits that
    have seen it are off on the others."""
    truth = {"joint.kp": 16.0, "joint.damping": 0.25}
    commands = [multisine(30 + k, 2.0) for k in range(3)]
    *first, last = play_hidden(joint_file, truth, commands, seed=3)
    heavier = truth | {"joint.kp": 25.0}
    (strange,) = play_hidden(joint_file, heavier, commands[1:2], seed=3)
    recordings = [first[0], strange, last]
    found = calibrate(joint, recordings, parameters=NAMES, folds=True)
    assert [fold.held_out for fold in found.folds] == [(r,) for r in recordings]
    again = calibrate(joint, [first[0], last], heldout=[strange], parameters=NAMES)
    fold = found.folds[1]
    assert fold.after == pytest.approx(again.after, rel=1e-9)
    assert fold["joint.kp"].mean == pytest.approx(truth["joint.kp"], rel=0.02)
    assert found.folds_worst == fold.after
    assert found.folds_mean == pytest.approx(
        np.mean([one.after for one in found.folds])
    )
    assert found.folds[2].after == found.after  # held out by the calibration itself
    assert "3 folds are off by" in found.summary
