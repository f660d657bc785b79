"""Budgets agree with hand arithmetic and with the calculus of simple motions."""

import math

import numpy as np
import pytest

from realworthy.certification.rollouts.trace import (
    compute_action_rate,
    compute_heat,
    compute_power,
)
from tests.certification.traces import make, place


def test_power_agrees_with_hand_arithmetic():
    torque, velocity = np.zeros((1, 4, 2)), np.zeros((1, 4, 2))
    torque[0, :, 0] = [3.0, -4.0, 0.0, 99.0]  # the last step does not count
    velocity[0, :, 0] = [1.0, 2.0, 5.0, 99.0]
    torque[0, :3, 1], velocity[0, :3, 1] = 2.0, -1.0
    trace = make(1, 4, torque=torque, velocity=velocity, length=np.array([3]))
    mean, peak = compute_power(trace)
    # |3·1| + 2, |−4·2| + 2, 0 + 2
    assert (mean[0], peak[0]) == pytest.approx(((5 + 10 + 2) / 3, 10.0))


def test_a_world_that_diverged_has_no_budget_and_harms_no_other():
    velocity = place((2, 100, 2), {(0, 50, 0): np.inf})
    torque = np.where(velocity > 1, 0.0, 1e3) * np.ones((2, 100, 2))
    torque[0, 60:] = 1e300
    mean, peak = compute_power(make(velocity=velocity, torque=torque))
    assert np.isnan([mean[0], peak[0]]).all()
    assert (mean[1], peak[1]) == (0.0, 0.0)


def test_heat_follows_the_exponential_of_a_constant_torque():
    torque = np.full((1, 100, 2), 4.0)
    heat = compute_heat(make(1, torque=torque), time_constant_s=3.0)
    expected = 4.0 * math.sqrt(1 - math.exp(-2.0 / 3.0))  # two seconds
    assert heat[0] == pytest.approx([expected, expected], rel=1e-9)
    steady = compute_heat(make(1, torque=torque), time_constant_s=0.05)
    assert steady[0] == pytest.approx([4.0, 4.0], rel=1e-6)


def test_heat_remembers_the_hottest_moment_and_not_the_end():
    torque = np.zeros((1, 100, 2))
    torque[0, :50] = 4.0
    heat = compute_heat(make(1, torque=torque), time_constant_s=0.5)
    assert heat[0, 0] == pytest.approx(4.0 * math.sqrt(1 - math.exp(-2.0)), rel=1e-9)


def test_action_rate_agrees_with_the_derivative_of_a_sine():
    steps, rate, frequency, amplitude = 4000, 1000.0, 2.0, 0.5
    time = np.arange(steps) / rate
    omega = 2 * math.pi * frequency
    wave = amplitude * np.sin(omega * time)
    action = np.stack([wave, wave], axis=-1)[None]
    trace = make(1, steps, rate=rate, action=action)
    speed = compute_action_rate(trace)
    assert speed[0] == pytest.approx(amplitude * omega / math.sqrt(2), rel=1e-3)


def test_action_rate_ignores_the_jump_behind_the_end():
    action = np.zeros((1, 10, 2))
    action[0, 5:] = 1.0
    trace = make(1, 10, action=action, length=np.array([5]))
    assert compute_action_rate(trace).tolist() == [0.0]
    one = make(1, 10, action=action, length=np.array([1]))
    assert np.isnan(compute_action_rate(one)[0])
