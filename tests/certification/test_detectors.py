"""Each detector on one motion that shows its failure and one that just does not."""

import math

import numpy as np
import pytest

from realworthy.certification.rollouts.detectors import (
    DetectorSettings,
    classify,
    explain_blindness,
    find_fall,
    find_guarding,
    find_joint_limit,
    find_numerical,
    find_oscillation,
    find_over_speed,
    find_torque_saturation,
    find_tracking_loss,
)
from realworthy.errors import UnknownName
from realworthy.tasks.failures import Failure
from tests.certification.traces import RATE, make, place

SETTINGS = DetectorSettings()


def swing(frequency: float, amplitude: float, *, rate: float = RATE, steps: int = 100):
    """(1, steps, 2): the second action swings about 0.3."""
    time = np.arange(steps) / rate
    action = np.zeros((1, steps, 2))
    action[0, :, 1] = 0.3 + amplitude * np.sin(2 * math.pi * frequency * time + 0.7)
    return action


def test_a_joint_beyond_its_limit_is_seen_and_one_on_it_is_not():
    position = place((2, 100, 2), {(0, 40, 1): -1.001, (1, 40, 1): -1.0})
    assert find_joint_limit(make(position=position), SETTINGS).tolist() == [40, -1]
    slack = DetectorSettings(limit_slack=0.01)
    assert find_joint_limit(make(position=position), slack).tolist() == [-1, -1]


def test_limits_may_differ_between_worlds():
    position = np.full((2, 100, 2), 0.8)
    trace = make(position=position, upper=np.array([[1.0, 1.0], [1.0, 0.7]]))
    assert find_joint_limit(trace, SETTINGS).tolist() == [-1, 0]


def test_half_a_second_of_saturation_is_fine_and_one_step_more_is_not():
    torque = np.zeros((3, 100, 2))
    torque[0, 10:36, 0] = -10.0  # 26 steps of 20 ms
    torque[1, 10:35, 0] = -10.0  # 25 steps: half a second
    torque[2, 10:60:2, 0] = 10.0  # as many, never in a row
    torque[2, 11:60:2, 1] = 10.0  # nor on one joint
    found = find_torque_saturation(make(3, torque=torque), SETTINGS)
    assert found.tolist() == [35, -1, -1]


def test_a_joint_that_is_too_fast_is_seen():
    velocity = place((2, 100, 2), {(0, 7, 0): -5.01, (1, 7, 0): 5.0})
    assert find_over_speed(make(velocity=velocity), SETTINGS).tolist() == [7, -1]


def test_a_number_that_is_none_is_seen_only_while_the_episode_lasts():
    action = place((2, 100, 2), {(0, 20, 0): np.nan, (1, 20, 0): np.inf})
    trace = make(action=action, length=np.array([100, 20]))
    assert find_numerical(trace, SETTINGS).tolist() == [20, -1]


def test_a_lean_is_a_fall_beyond_the_angle():
    tilt = place((2, 100), {(0, 50): 1.01, (1, 50): 0.99})
    assert find_fall(make(tilt=tilt), SETTINGS).tolist() == [50, -1]


def test_tracking_is_lost_when_the_margin_is_used_up():
    margin = 1.0 + place((2, 100), {(0, 60): -1.0, (1, 60): -0.99})
    assert find_tracking_loss(make(margin=margin), SETTINGS).tolist() == [60, -1]


def test_guards_may_act_on_one_step_in_twenty():
    guarded = np.zeros((2, 100), bool)
    guarded[0, 30:36] = True  # the sixth of 100 steps is one too many
    guarded[1, 30:35] = True
    trace = make(is_guarded=guarded)
    assert find_guarding(trace, SETTINGS).tolist() == [35, -1]


@pytest.mark.parametrize("frequency", [8.6, 10.0, 12.3, 24.0, 25.0])
def test_a_fast_wide_swing_is_an_oscillation(frequency: float):
    if frequency == 25.0:  # half the rate: every action the opposite of the last
        action = np.zeros((1, 100, 2))
        action[0, ::2, 1], action[0, 1::2, 1] = 0.22, -0.22
    else:
        action = swing(frequency, 0.22)
    found = find_oscillation(make(1, action=action), SETTINGS)
    assert found.tolist() == [49]  # the end of the first second


@pytest.mark.parametrize(
    ("frequency", "amplitude"), [(7.5, 0.8), (10.0, 0.18), (24.0, 0.18), (1.0, 0.9)]
)
def test_a_slow_or_small_swing_is_no_oscillation(frequency: float, amplitude: float):
    action = swing(frequency, amplitude)
    assert find_oscillation(make(1, action=action), SETTINGS).tolist() == [-1]


def test_alternation_below_a_tenth_of_the_range_is_no_oscillation():
    action = np.zeros((1, 100, 2))
    action[0, ::2, 1], action[0, 1::2, 1] = 0.18, -0.18
    assert find_oscillation(make(1, action=action), SETTINGS).tolist() == [-1]


def test_fast_ripple_on_a_wider_slow_motion_is_not_dominant():
    action = swing(2.0, 0.5) + swing(12.0, 0.3) - 0.3
    assert find_oscillation(make(1, action=action), SETTINGS).tolist() == [-1]


def test_a_ramp_does_not_hide_an_oscillation():
    action = swing(10.0, 0.25)
    action[0, :, 1] += np.linspace(-1, 1, 100)
    assert find_oscillation(make(1, action=action), SETTINGS).tolist() == [49]


def test_an_oscillation_that_starts_late_is_dated_late():
    action = swing(10.0, 0.3)
    action[:, :50] = 0.0
    (found,) = find_oscillation(make(1, action=action), SETTINGS)
    assert 50 < found <= 99


@pytest.mark.parametrize(("rate", "is_blind"), [(16.0, True), (18.0, False)])
def test_slow_control_cannot_show_an_oscillation_and_says_so(rate, is_blind):
    action = np.zeros((1, 100, 2))
    action[0, ::2], action[0, 1::2] = 1.0, -1.0
    trace = make(1, rate=rate, action=action)
    findings = classify(trace, hard=[Failure.OSCILLATION])
    assert (Failure.OSCILLATION in findings.blind) is is_blind
    assert (find_oscillation(trace, SETTINGS)[0] < 0) == is_blind
    assert (findings.cause[0] == Failure.NONE) == is_blind


def test_what_was_not_recorded_is_blind_rather_than_fine():
    unlimited = np.full(2, np.inf)
    trace = make(torque_limit=unlimited, velocity_limit=unlimited)
    hidden = [
        Failure.FALL,
        Failure.TRACKING_LOST,
        Failure.WATCHDOG,
        Failure.TORQUE_SATURATION,
        Failure.OVER_SPEED,
    ]
    findings = classify(trace, hard=hidden)
    assert sorted(findings.blind) == sorted(hidden)
    assert all(findings.blind.values())
    assert not findings.seen
    assert explain_blindness(trace, Failure.JOINT_LIMIT, SETTINGS) == ""


def test_the_first_cause_in_time_wins():
    position = place((4, 100, 2), {(0, 40, 0): 2.0, (1, 70, 0): 2.0, (2, 60, 0): 2.0})
    trace = make(
        4,
        position=position,
        failure=np.array([20, 20, 20, 0]),
        failure_step=np.array([60, 60, 60, -1]),
        success=np.array([False, False, False, True]),
    )
    findings = classify(trace, hard=[Failure.JOINT_LIMIT])
    # before the fall; after it; in the same step, where the lower code wins; never
    assert findings.cause.tolist() == [30, 20, 20, 0]
    assert findings.step.tolist() == [40, 60, 60, -1]
    assert findings.success.tolist() == [False, False, False, True]
    assert findings.count() == {Failure.FALL: 2, Failure.JOINT_LIMIT: 1}


def test_of_two_detectors_at_one_step_the_lower_code_wins():
    at = {(0, 30, 0): 9.0}
    trace = make(1, position=place((1, 100, 2), at), velocity=place((1, 100, 2), at))
    both = [Failure.OVER_SPEED, Failure.JOINT_LIMIT]
    assert classify(trace, hard=both).cause.tolist() == [30]


def test_a_soft_detector_counts_and_ends_nothing():
    position = place((2, 100, 2), {(0, 40, 0): 2.0})
    findings = classify(make(position=position), hard=[], soft=[Failure.JOINT_LIMIT])
    assert findings.cause.tolist() == [0, 0]
    assert findings.success.tolist() == [True, True]
    assert findings.count_seen(Failure.JOINT_LIMIT) == 1


def test_a_hard_detector_takes_the_success_away():
    position = place((2, 100, 2), {(0, 40, 0): 2.0})
    findings = classify(make(position=position), hard=[Failure.JOINT_LIMIT])
    assert findings.success.tolist() == [False, True]


def test_codes_that_only_a_task_knows_have_no_detector():
    with pytest.raises(UnknownName, match="no detector 'object_dropped'"):
        classify(make(), hard=[Failure.OBJECT_DROPPED])
