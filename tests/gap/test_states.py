"""Velocities at each row: a drive's own, or slopes of its positions."""

import numpy as np

from realworthy.gap.noise import estimate_noise
from realworthy.gap.states import States, estimate_states
from realworthy.recordings import Recording
from realworthy.simulators.replay import lay_out
from realworthy.twins import load_twin

RATE = 500.0
TIME = np.arange(2000) / RATE
TRUTH = 2 * np.pi * np.cos(2 * np.pi * TIME)
"""[rad/s] of sin 2πt."""


def observe(position_noise: float, velocity: np.ndarray) -> States:
    random = np.random.default_rng(0)
    recording = Recording(
        TIME,
        {
            "joint.position": np.sin(2 * np.pi * TIME)
            + position_noise * random.normal(size=len(TIME)),
            "joint.velocity": velocity,
            "joint.command": np.zeros(len(TIME)),
        },
    )
    track = lay_out(load_twin("pendulum"), recording)
    return estimate_states(track, estimate_noise(recording, ("joint",)))


def test_slopes_take_the_place_of_a_noisy_velocity():
    noise = 0.1 * np.random.default_rng(1).normal(size=len(TIME))
    states = observe(1e-4, TRUTH + noise)
    assert states.velocity_source["joint"] == "nearer"
    assert np.abs(states.velocity[50:-50, 0] - TRUTH[50:-50]).max() < 0.03


def test_slopes_take_the_place_of_a_velocity_that_is_late():
    states = observe(1e-4, 2 * np.pi * np.cos(2 * np.pi * (TIME - 0.02)))
    assert states.velocity_source["joint"] == "nearer"


def test_a_good_velocity_stays_where_positions_are_coarse():
    noise = 0.01 * np.random.default_rng(1).normal(size=len(TIME))
    states = observe(1e-3, TRUTH + noise)
    assert states.velocity_source["joint"] == "recorded"
