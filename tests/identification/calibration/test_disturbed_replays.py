"""Stalls and shifts are named; sticking, pressing and a delay of the drive are not."""

import numpy as np
import pytest

from realworthy.identification.calibration.disturbed_replays import (
    find_disturbed_replays,
)
from realworthy.recordings import Recording
from realworthy.twins import Twin, load_twin
from tests.identification.two_joints import ARM, JOINTS, TRUTH, move

STOP = 0.45


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    """The same arm with an end stop of the elbow."""
    path = tmp_path_factory.mktemp("stalls") / "stopped.xml"
    path.write_text(
        ARM.replace(
            '<joint name="elbow" axis="0 1 0"/>',
            f'<joint name="elbow" axis="0 1 0" range="-170 {np.degrees(STOP)}"/>',
        )
    )
    return load_twin(path).with_values(TRUTH)


def test_an_end_stop_that_the_twin_lacks_is_named(published: Twin, stopped: Twin):
    recordings = move(stopped, (0.35, 0.45), seeds=2)
    true = published.with_values(TRUTH)
    found = find_disturbed_replays(true, recordings, JOINTS)
    assert len(found) == 2
    for replay in found:
        assert {stall.joint for stall in replay.stalls} == {"elbow"}
        for stall in replay.stalls:
            assert stall.position == pytest.approx(STOP, abs=0.02)
            assert 0.1 < stall.push < 4.0  # no more than the drive has
        assert replay.error_apart < 0.5 * replay.error
        assert "elbow stalls" in replay.to_words()


def test_a_twin_that_has_the_stop_sees_no_stall(stopped: Twin):
    recordings = move(stopped, (0.35, 0.45), seeds=2)
    assert find_disturbed_replays(stopped, recordings, JOINTS) == ()


def test_friction_and_gravity_are_no_stall(published: Twin):
    """The null arm: through the air, in twins whose friction is right or off."""
    true = published.with_values(TRUTH)
    recordings = move(true, (0.35, 0.45), seeds=3)
    rough = true.with_values({"elbow.coulomb_friction": 0.08, "shoulder.kp": 12.0})
    for twin in (true, rough):
        assert find_disturbed_replays(twin, recordings, JOINTS) == ()


def test_a_robot_that_stands_still_does_not_stall(published: Twin):
    true = published.with_values(TRUTH)
    (still,) = move(true, (0.35, 0.45), seeds=1)
    level = {
        name: np.full_like(signal, signal[0])
        for name, signal in still.signals.items()
        if name.endswith(("position", "command"))
    }
    assert find_disturbed_replays(true, [still.with_signals(level)], JOINTS) == ()


def fall_behind(recording: Recording, first: int, rows: int) -> Recording:
    """The same with positions from a row on reported so many rows later."""
    at = np.arange(len(recording.time))
    at = np.where(at >= first, np.maximum(first, at - rows), at)
    late = {f"{j}.position": recording.signals[f"{j}.position"][at] for j in JOINTS}
    return recording.with_signals(late)


@pytest.mark.parametrize("rows", [2, 4])
def test_a_bus_that_falls_behind_is_named(published: Twin, rows: int):
    true = published.with_values(TRUTH)
    recordings = [fall_behind(r, 220, rows) for r in move(true, (0.35, 0.45), seeds=2)]
    rough = true.with_values({"elbow.coulomb_friction": 0.12, "shoulder.kp": 13.5})
    for twin in (true, rough):
        found = find_disturbed_replays(twin, recordings, JOINTS)
        assert len(found) == 2
        for replay in found:
            assert replay.stalls == ()
            assert replay.shift is not None
            assert replay.shift.seconds == pytest.approx(rows / 50)
            assert replay.shift.start == pytest.approx(220 / 50, abs=1.0)
            assert replay.error_apart < 0.5 * replay.error
            assert f"{20 * rows} ms later" in replay.to_words()


def test_a_delay_of_the_whole_recording_is_no_shift(published: Twin):
    """A twin without the drives' delay is late in all rows alike."""
    true = published.with_values(TRUTH)
    late = [fall_behind(r, 0, 3) for r in move(true, (0.35, 0.45), seeds=3)]
    assert find_disturbed_replays(true, late, JOINTS) == ()


def test_one_joint_that_answers_late_is_no_shift(published: Twin):
    true = published.with_values(TRUTH)
    for recording in move(true, (0.35, 0.45), seeds=2):
        shifted = fall_behind(recording, 220, 4).signals["elbow.position"]
        alone = recording.with_signals({"elbow.position": shifted})
        assert find_disturbed_replays(true, [alone], JOINTS) == ()
