"""Noise found in signals with known noise."""

import numpy as np
import pytest

from realworthy.gap.noise import estimate_noise, estimate_sd, find_quantum
from realworthy.recordings import Sidecar, SignalNoise

from .conftest import JOINTS, shadow


@pytest.mark.parametrize("sd", [1e-4, 1e-3, 1e-2])
def test_white_noise_on_a_smooth_signal_is_found(sd: float):
    generator = np.random.default_rng(3)
    t = np.arange(4000) / 200
    signal = np.sin(2 * np.pi * t) + 0.3 * np.sin(2 * np.pi * 3 * t)
    found = estimate_sd(signal + generator.normal(0, sd, len(t)))
    assert found == pytest.approx(sd, rel=0.1)


def test_an_encoder_step_is_found_and_noise_is_at_least_its_uniform_spread():
    t = np.arange(3000) / 100
    step = 2 * np.pi / 4096
    coarse = np.round(0.3 * np.sin(t) / step) * step
    assert find_quantum(coarse) == pytest.approx(step)
    assert find_quantum(np.random.default_rng(0).normal(size=3000)) == 0.0


def test_a_shadow_robots_noise_is_found(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=1)
    floor = estimate_noise(recording, JOINTS)
    for joint in JOINTS:
        assert floor.position[joint] == pytest.approx(1e-3, rel=0.15)
        assert floor.velocity[joint] == pytest.approx(1e-2, rel=0.15)
    assert floor.source == "estimated"


def test_declared_noise_is_taken_at_its_word(arm):
    recording = shadow(arm, {"elbow.damping": 0.4}, seed=1)
    told = recording.with_sidecar(Sidecar(noise=SignalNoise(position=0.5)))
    floor = estimate_noise(told, JOINTS)
    assert floor.position["elbow"] == 0.5
    assert floor.source == "sidecar"


def test_a_constant_signal_has_no_noise():
    assert estimate_sd(np.full(100, 0.3)) == 0.0
    assert find_quantum(np.full(100, 0.3)) == 0.0
