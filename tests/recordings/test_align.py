import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from realworthy.errors import BadRecording
from realworthy.recordings import Recording, estimate_delay, merge


def wander(time: np.ndarray, seed: int) -> np.ndarray:
    """A smooth motion with content up to 5 Hz, known at every time."""
    rng = np.random.default_rng(seed)
    speeds, phases = rng.uniform(0.2, 5.0, 12), rng.uniform(0, 2 * np.pi, 12)
    waves = np.sin(2 * np.pi * speeds * time[:, None] + phases)
    return waves @ rng.uniform(0.3, 1.0, 12)


@pytest.mark.parametrize("delay", [0.0, 0.0137, 0.1, 0.2512, -0.0475])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_planted_delay_is_found_to_a_tenth_of_a_row(delay: float, seed: int):
    time = np.arange(2000) / 200
    command, response = wander(time, seed), 0.7 * wander(time - delay, seed) + 0.3
    noisy = response + np.random.default_rng(seed).normal(0, 0.02, 2000)
    assert estimate_delay(command, noisy, 200.0) == pytest.approx(delay, abs=5e-4)


def test_the_servo_of_a_real_arm_answers_late(data):
    """The data's own notes: 4 to 7 rows, 80 to 140 ms, in fast motions."""
    from realworthy.recordings import load_recording

    arm = load_recording(data / "so101_sage" / "prbs_excitation", "so101_sage")
    for joint in arm.joints[:5]:
        command = arm.signals[f"{joint}.command"]
        delay = estimate_delay(command, arm.signals[f"{joint}.position"], arm.rate)
        assert 0.06 < delay < 0.14


def test_what_does_not_move_has_no_delay():
    with pytest.raises(BadRecording, match="the response never changes"):
        estimate_delay(np.arange(9.0), np.ones(9), 10.0)


def test_rows_must_agree():
    with pytest.raises(BadRecording, match="the command has 9 rows, the response 8"):
        estimate_delay(np.arange(9.0), np.arange(8.0), 10.0)


def test_slow_commands_are_held_and_slow_measurements_interpolated():
    base = Recording(np.array([0.0, 1, 2, 3, 4]), {"a.position": np.zeros(5)})
    slow = Recording(
        np.array([0.5, 2.5, 3.5]),
        {"a.command": np.array([10.0, 20, 30]), "imu.x": np.array([0.0, 4, 6])},
    )
    merged = merge([base, slow])
    assert_array_equal(merged.time, [1, 2, 3])
    assert_array_equal(merged.signals["a.command"], [10, 10, 20])
    assert_allclose(merged.signals["imu.x"], [1, 3, 5])


def test_recordings_of_different_days_do_not_merge():
    one = Recording(np.array([0.0, 1]), {"a.x": np.zeros(2)})
    two = Recording(np.array([5.0, 6]), {"b.x": np.zeros(2)})
    with pytest.raises(BadRecording, match="share no time"):
        merge([one, two])


def test_one_name_twice_does_not_merge():
    one = Recording(np.array([0.0, 1]), {"a.x": np.zeros(2)})
    with pytest.raises(BadRecording, match=r"two recordings have a signal 'a\.x'"):
        merge([one, one])
