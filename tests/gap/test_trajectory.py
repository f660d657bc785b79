"""Planted delays, gains and biases are named; distances agree with hand arithmetic."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.signal import chirp, lfilter

from realworthy.errors import BadRecording, RealworthyError
from realworthy.gap.distances import (
    compute_contact_f1,
    compute_frequency_ratio,
    compute_point_errors,
    compute_warping,
    compute_wasserstein,
)
from realworthy.gap.trajectory import SignalComparison, compare_signals

Floats = NDArray[np.float64]
EFFECTS = ("delay", "gain", "bias")
CASES = 30


def draw_wave(rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """A multisine with content up to 5 Hz and an offset, known at every time."""
    count = rng.integers(3, 12)
    speed, phase = rng.uniform(0.1, 5, count), rng.uniform(0, 2 * np.pi, count)
    size, offset = rng.uniform(0.2, 1, count), rng.uniform(-1, 1)
    return lambda t: np.sin(2 * np.pi * speed * t[:, None] + phase) @ size + offset


def plant(
    effects: tuple[str, ...], seed: int
) -> tuple[SignalComparison, dict[str, float], float]:
    """A wave compared with its changed self, the truth, and the spread of the wave."""
    rng = np.random.default_rng([seed, len(effects)])
    rate = float(rng.choice([50, 100, 200, 500]))
    time = np.arange(int(rng.uniform(4, 20) * rate)) / rate
    wave = draw_wave(rng)
    spread = float(wave(time).std())
    sign = rng.choice([-1, 1], 3)
    truth = {
        "delay": sign[0] * rng.uniform(0.01, 0.12) if "delay" in effects else 0.0,
        "gain": 1 + sign[1] * rng.uniform(0.05, 0.4) if "gain" in effects else 1.0,
        "bias": sign[2] * spread * rng.uniform(0.05, 0.5) if "bias" in effects else 0.0,
    }
    noise = rng.normal(0, spread * 10 ** rng.uniform(-3, -1), len(time))
    measured = truth["gain"] * wave(time - truth["delay"]) + truth["bias"] + noise
    return compare_signals(wave(time), measured, rate), truth, spread


@pytest.mark.parametrize("effect", EFFECTS)
def test_each_pure_effect_is_named_in_thirty_of_thirty(effect: str):
    for seed in range(CASES):
        found, truth, spread = plant((effect,), seed)
        assert found.causes == (effect,)
        unit = {"delay": 0.05, "gain": 1.0, "bias": spread}[effect]
        assert abs(found.effects[0].value - truth[effect]) < 0.02 * unit
        assert found.effects[0].p_value < 1e-4
        assert found.remaining == pytest.approx(1 - found.effects[0].share)


@pytest.mark.parametrize("pair", [*combinations(EFFECTS, 2), EFFECTS])
def test_effects_that_come_together_are_named_together(pair: tuple[str, ...]):
    for seed in range(CASES):
        found, truth, spread = plant(pair, seed)
        assert set(found.causes) == set(pair)
        assert found.lag == pytest.approx(truth["delay"], abs=1e-3)
        assert found.gain == pytest.approx(truth["gain"], abs=0.02)
        assert found.bias == pytest.approx(truth["bias"], abs=0.03 * spread)


def test_noise_alone_has_no_cause():
    assert {plant((), seed)[0].causes for seed in range(CASES)} == {("none",)}


def test_noise_of_both_signals_is_no_effect():
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        wave = draw_wave(rng)(np.arange(1000) / 100)
        first, second = wave + rng.normal(0, 0.05 * wave.std(), (2, 1000))
        assert compare_signals(first, second, 100.0).causes == ("none",)


def test_a_late_signal_has_a_positive_lag_that_compensates():
    time = np.arange(1000) / 100
    wave = draw_wave(np.random.default_rng(0))
    found = compare_signals(wave(time), wave(time - 0.034), 100.0)
    assert found.lag == pytest.approx(0.034, abs=1e-4)
    assert found.lag_compensated_rmse < 0.01 * found.rmse
    assert compare_signals(wave(time), wave(time + 0.034), 100.0).lag < 0


def test_of_the_lags_of_a_sine_the_nearest_is_told():
    time = np.arange(1000) / 100
    late = np.sin(2 * np.pi * 4 * (time - 0.05))
    noisy = late + np.random.default_rng(0).normal(0, 0.01, 1000)
    found = compare_signals(np.sin(2 * np.pi * 4 * time), noisy, 100.0)
    assert found.causes == ("delay",)
    assert found.lag == pytest.approx(0.05, abs=1e-3)


def test_errors_agree_with_hand_arithmetic():
    found = compare_signals([0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -3.0], 10.0)
    assert found.rmse == pytest.approx(np.sqrt(10 / 4))
    assert (found.mae, found.max) == (1.0, 3.0)
    assert found.nrmse_by_range == pytest.approx(np.sqrt(10 / 4) / 4)
    steps = np.array([1.0, -1.0, -3.0])
    assert found.nrmse_by_increment == pytest.approx(np.sqrt(10 / 4) / steps.std())


def test_the_share_of_a_bias_is_its_part_of_the_mean_square():
    wave = draw_wave(np.random.default_rng(5))(np.arange(20000) / 100)
    noise = np.random.default_rng(6).normal(0, 0.1, 20000)
    found = compare_signals(wave, wave + 0.2 + noise, 100.0)
    assert found.effects[0].share == pytest.approx(0.04 / (0.04 + 0.01), abs=0.01)


def test_a_turned_sign_is_a_gain():
    wave = draw_wave(np.random.default_rng(3))(np.arange(800) / 100)
    wave -= wave.mean()
    found = compare_signals(wave, -wave, 100.0)
    assert found.causes == ("gain",)
    assert found.effects[0].value == pytest.approx(-1)


def test_a_resting_joint_that_sits_elsewhere_has_a_bias():
    still = np.full(300, 0.2)
    noise = np.random.default_rng(0).normal(0, 1e-3, 300)
    assert compare_signals(still, still + 0.05 + noise, 100.0).causes == ("bias",)
    assert compare_signals(still, still + noise, 100.0).causes == ("none",)


def test_missing_dynamics_stay_in_what_remains():
    """A disturbance that the simulator lacks is neither late, weak nor shifted."""
    time = np.arange(2000) / 100
    rng = np.random.default_rng(1)
    wave, other = draw_wave(rng)(time), draw_wave(rng)(time)
    found = compare_signals(wave, wave + 0.3 * (other - other.mean()), 100.0)
    assert found.remaining > 0.9
    assert not found.is_rest_random


def test_shuffled_rows_are_not_explained():
    rng = np.random.default_rng(2)
    wave = draw_wave(rng)(np.arange(2000) / 100)
    found = compare_signals(wave, rng.permutation(wave), 100.0)
    assert found.lag_compensated_rmse > 0.9 * found.rmse
    assert found.remaining > 0.4


def test_a_simulation_that_blew_up_is_answered_without_numbers():
    found = compare_signals(np.full(50, np.nan), np.zeros(50), 100.0)
    assert found.rmse == np.inf
    assert found.causes == ("unknown",)


def test_lags_after_the_command_are_told_apart():
    time = np.arange(1000) / 100
    wave = draw_wave(np.random.default_rng(4))
    found = compare_signals(
        wave(time - 0.02), wave(time - 0.05), 100.0, command=wave(time)
    )
    assert found.command_lags == pytest.approx((0.02, 0.05), abs=1e-3)


def test_signals_of_different_clocks_are_refused():
    with pytest.raises(BadRecording, match="Resample both"):
        compare_signals(np.zeros(5), np.zeros(6), 10.0)
    with pytest.raises(BadRecording, match="not numbers"):
        compare_signals(np.zeros(5), np.full(5, np.nan), 10.0)


def test_the_servo_of_a_real_arm_is_late(data_folder: Path):
    """The data's own notes: 4 to 7 rows, 80 to 140 ms, in fast motions."""
    from realworthy.recordings import load_recording

    arm = load_recording(data_folder / "so101_sage" / "prbs_excitation", "so101_sage")
    for joint in arm.joints[:5]:
        sent, moved = (arm.signals[f"{joint}.{end}"] for end in ("command", "position"))
        found = compare_signals(sent, moved, arm.rate)
        assert found.causes[0] == "delay"
        assert 0.06 < found.lag < 0.14


def test_warping_is_the_shortest_of_all_paths():
    def search(real: Floats, sim: Floats, i: int, j: int, band: int) -> float:
        if i < 0 or j < 0 or abs(i - j) > band:
            return np.inf
        before = (
            min(
                search(real, sim, i - a, j - b, band)
                for a, b in ((1, 1), (1, 0), (0, 1))
            )
            if i or j
            else 0.0
        )
        return float((real[i] - sim[j]) ** 2) + before

    rng = np.random.default_rng(0)
    for _ in range(5):
        sim, real = rng.normal(size=(2, 7))
        found = compute_warping(sim, real, band=0.3)
        total = search(real, sim, 6, 6, 3)
        lengths = total / found.distance**2
        assert lengths == pytest.approx(round(lengths))
        assert 7 <= lengths <= 13


def test_warping_forgives_a_delay_and_reports_it():
    rows = np.arange(600)
    sim, real = np.sin(rows / 40), np.sin((rows - 12) / 40)
    found = compute_warping(sim, real)
    assert found.distance < 0.2 * np.sqrt(np.mean((sim - real) ** 2))
    assert_allclose(found.shift_rows[100:500].mean(), 12, atol=0.2)


def test_the_frequency_ratio_of_a_filter_is_its_response():
    rate, keep = 200.0, 0.8
    time = np.arange(8000) / rate
    sim = chirp(time, 0.2, 40.0, 20.0)
    noise = np.random.default_rng(0).normal(0, 1e-3, len(time))
    found = compute_frequency_ratio(
        sim, lfilter([1 - keep], [1, -keep], sim) + noise, rate
    )
    seen = (found.frequency > 2) & (found.frequency < 15)
    z = np.exp(-2j * np.pi * found.frequency[seen] / rate)
    truth = (1 - keep) / (1 - keep * z)
    assert found.coherence[seen].min() > 0.98
    assert_allclose(found.gain[seen], np.abs(truth), rtol=0.02)
    assert_allclose(found.phase[seen], np.angle(truth), atol=0.02)


def test_noise_has_no_coherence():
    first, second = np.random.default_rng(0).normal(size=(2, 20000))
    assert (
        compute_frequency_ratio(first, second, 100.0, window_count=60).coherence.mean()
        < 0.1
    )


def test_wasserstein_sees_a_shift_and_no_order():
    values = np.random.default_rng(0).normal(size=500)
    assert compute_wasserstein(values, values + 0.3) == pytest.approx(0.3)
    assert compute_wasserstein(values, values[::-1]) == pytest.approx(0, abs=1e-12)


def test_contact_f1_by_hand():
    """Two of three measured contacts are simulated, and one that is not there."""
    measured = np.array([[1, 0], [1, 0], [0, 1]], bool)
    simulated = np.array([[1, 0], [0, 0], [1, 1]], bool)
    assert compute_contact_f1(simulated, measured) == pytest.approx(2 * 2 / (3 + 3))
    assert compute_contact_f1(np.zeros(3), np.zeros(3)) == 1


def test_point_errors_by_hand():
    """A body that runs 10 mm ahead more each row, one hand 3 mm off all the while."""
    rows = np.arange(5.0)
    measured = np.zeros((5, 2, 3))
    simulated = measured.copy()
    simulated[:, :, 0] += 0.01 * rows[:, None]
    simulated[:, 1, 1] += 0.003
    found = compute_point_errors(simulated, measured)
    hand = np.hypot(10 * rows, 3).mean()
    assert found.global_mm == pytest.approx((20 + hand) / 2)
    assert found.root_relative_mm == pytest.approx(1.5)
    assert found.velocity_mm_per_row == pytest.approx(10)
    assert found.acceleration_mm_per_row2 == pytest.approx(0, abs=1e-9)
    with pytest.raises(RealworthyError, match="Points of shape"):
        compute_point_errors(measured, measured[:, :1])
