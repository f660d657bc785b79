import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from realworthy.errors import BadRecording
from realworthy.recordings import Recording


def ramp() -> Recording:
    time = np.array([0.0, 1.0, 3.0])
    values = np.array([0.0, 10.0, 30.0])
    return Recording(time, {"a.position": values, "a.command": values})


def test_measurements_move_linearly_and_commands_are_held():
    moved = ramp().resample(times=np.array([0.5, 1.0, 2.0, 2.999, 3.0]))
    assert_allclose(moved.signals["a.position"], [5, 10, 20, 29.99, 30])
    assert_array_equal(moved.signals["a.command"], [0, 10, 10, 10, 30])


def test_a_rate_begins_at_the_first_row_and_stays_inside():
    moved = ramp().resample(2.0)
    assert_array_equal(moved.time, [0, 0.5, 1, 1.5, 2, 2.5, 3])


def test_rounding_of_the_clock_never_takes_the_command_before():
    time = np.array([round(i * 0.02, 2) for i in range(1000)])
    sent = np.arange(1000.0)
    moved = Recording(time, {"a.command": sent}).resample(50.0)
    assert_array_equal(moved.signals["a.command"], sent)


def test_resampling_at_its_own_times_changes_nothing(swing: Recording):
    assert swing.resample(times=swing.time).sha256() == swing.sha256()


def test_nothing_is_extrapolated():
    with pytest.raises(BadRecording) as caught:
        ramp().resample(times=np.array([1.0, 3.5]))
    assert caught.value.problem == (
        "recording: asked for 1 to 3.5 s, but it covers 0 to 3 s."
    )


def test_either_a_rate_or_times():
    with pytest.raises(TypeError, match="either a rate or times"):
        ramp().resample()


def turning(angles: list[float], signs: list[int]) -> Recording:
    """Turned about z by `angles`; q and -q are the same orientation."""
    half, sign = np.array(angles) / 2, np.array(signs)
    zero = np.zeros(len(angles))
    parts = (sign * np.cos(half), zero, zero, sign * np.sin(half))
    names = [f"base.orientation.{axis}" for axis in "wxyz"]
    signals = dict(zip(names, parts, strict=True))
    return Recording(np.arange(len(angles), dtype=float), signals)


def test_orientations_turn_at_constant_speed():
    moved = turning([0.0, 1.2, 2.0], [1, 1, 1]).resample(4.0)
    w, z = moved.signals["base.orientation.w"], moved.signals["base.orientation.z"]
    angles = 2 * np.arctan2(z, w)
    assert_allclose(angles, [0, 0.3, 0.6, 0.9, 1.2, 1.4, 1.6, 1.8, 2.0], atol=1e-12)


def test_a_jump_of_sign_is_no_motion():
    moved = turning([0.1, 0.1, 0.1], [1, -1, 1]).resample(4.0)
    assert_allclose(moved.signals["base.orientation.w"], np.cos(0.05))
    assert_allclose(moved.signals["base.orientation.z"], np.sin(0.05))


def test_a_zero_orientation_is_refused():
    recording = turning([0.0, 0.1, 0.2], [1, 0, 1])
    with pytest.raises(BadRecording, match=r"'base\.orientation' is zero somewhere"):
        recording.resample(4.0)
