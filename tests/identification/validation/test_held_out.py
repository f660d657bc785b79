"""What is fitted and what judges."""

import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.identification.validation.held_out import divide_recordings
from realworthy.recordings import Recording, Sidecar


def make(group: str | None = None) -> Recording:
    time = np.arange(101) / 10
    return Recording(time, {"joint.position": time}, Sidecar(repeat_group=group))


def test_every_fourth_recording_is_held_out():
    recordings = [make() for _ in range(8)]
    found = divide_recordings(recordings)
    assert [recordings.index(r) for r in found.held_out] == [2, 6]
    assert len(found.fitted) == 6
    assert not found.is_by_time


def test_of_two_recordings_one_is_held_out():
    first, second = make(), make()
    found = divide_recordings([first, second])
    assert found.fitted == (first,)
    assert found.held_out == (second,)


def test_repeats_of_a_motion_stay_together():
    a, b = [make("a") for _ in range(3)], [make("b") for _ in range(2)]
    found = divide_recordings([a[0], b[0], a[1], b[1], a[2]])
    assert set(map(id, found.held_out)) == set(map(id, b))


def test_a_single_recording_is_cut_in_time():
    found = divide_recordings([make()])
    assert found.is_by_time
    assert found.fitted[0].time[-1] == pytest.approx(7.5)
    assert found.held_out[0].time[0] == pytest.approx(7.5)


def test_recordings_that_are_named_judge():
    first, second = make(), make()
    found = divide_recordings([first], [second])
    assert found.fitted == (first,)
    assert found.held_out == (second,)


def test_nothing_cannot_be_divided():
    with pytest.raises(BadRecording, match="No recordings"):
        divide_recordings([])
