"""A joint that something holds is named; one that sticks or presses is not."""

import numpy as np
import pytest

from realworthy.identification.calibration.stalls import find_stalled_replays
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
    found = find_stalled_replays(true, recordings, JOINTS)
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
    assert find_stalled_replays(stopped, recordings, JOINTS) == ()


def test_friction_and_gravity_are_no_stall(published: Twin):
    """The null arm: through the air, in twins whose friction is right or off."""
    true = published.with_values(TRUTH)
    recordings = move(true, (0.35, 0.45), seeds=3)
    rough = true.with_values({"elbow.coulomb_friction": 0.08, "shoulder.kp": 12.0})
    for twin in (true, rough):
        assert find_stalled_replays(twin, recordings, JOINTS) == ()


def test_a_robot_that_stands_still_does_not_stall(published: Twin):
    true = published.with_values(TRUTH)
    (still,) = move(true, (0.35, 0.45), seeds=1)
    level = {
        name: np.full_like(signal, signal[0])
        for name, signal in still.signals.items()
        if name.endswith(("position", "command"))
    }
    assert find_stalled_replays(true, [still.with_signals(level)], JOINTS) == ()
