"""Hidden truths: repeatable, within their ranges, different from seed to seed."""

import numpy as np
import pytest

from realworthy.gap import measure
from realworthy.tours.hidden_truth import draw_truth, hide, record_sines
from realworthy.tours.robots import ROBOTS
from realworthy.twins import load_twin


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=list(ROBOTS))
def test_truths_lie_where_they_may(robot):
    twin = load_twin(robot.name)
    truths = [draw_truth(robot, twin, seed=seed) for seed in range(20)]
    for seed, truth in enumerate(truths):
        for name, unknown in robot.unknowns.items():
            nominal = twin.space[name].nominal if unknown.is_factor else 1.0
            assert unknown.lower <= truth[name] / nominal <= unknown.upper
        assert truth == draw_truth(robot, twin, seed=seed)
    assert truths[0] != truths[1]


def test_truths_use_their_whole_range():
    robot, twin = ROBOTS["pendulum"], load_twin("pendulum")
    delays = [draw_truth(robot, twin, seed=seed)["all.delay"] for seed in range(200)]
    unknown = robot.unknowns["all.delay"]
    counts, _ = np.histogram(delays, bins=4, range=(unknown.lower, unknown.upper))
    assert counts.min() > 30


def test_recordings_hold_what_was_sent_and_measured():
    robot, twin = ROBOTS["pendulum"], load_twin("pendulum")
    first, second = record_sines(robot, hide(robot, twin, seed=3), count=2, seconds=2.0)
    sent = first.signals["joint.command"]
    assert np.abs(sent).max() <= robot.push
    assert np.ptp(first.signals["joint.position"]) > 0.1
    assert not np.allclose(sent, second.signals["joint.command"])


def test_a_replay_with_the_truth_is_off_by_noise_alone():
    """Also of a robot whose commands come late, and of any of its motions."""
    robot, twin = ROBOTS["pendulum"], load_twin("pendulum")
    reality = hide(robot, twin, seed=0)
    assert reality.file.parameters["all.delay"] > 0.05
    found = record_sines(robot, reality, count=1, seconds=3.0, first=7)
    true = measure(twin.with_values(reality.file.parameters), found)
    assert true.replay.position_rmse < 3 * robot.noise.position
