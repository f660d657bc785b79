"""Readings against hand arithmetic, statistics and the clock."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from realworthy.errors import UnknownParameter
from realworthy.sensors import BadSensor, Sensor, SensorDraws, SensorLaw, build_law

TIMESTEP = 0.001


def read(
    sensor: Sensor,
    signal: np.ndarray,
    *,
    worlds: int = 1,
    seed: int = 0,
    parameters: dict[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Readings (steps, worlds) of `signal` (steps,), from rest at its first value."""
    law = build_law(sensor, timestep=TIMESTEP)
    random = np.random.default_rng(seed)
    ones = np.ones(worlds)
    state = law.prime(law.initial_state(worlds, ones), signal[0] * ones)
    readings = []
    for value in signal:
        draws = SensorDraws(random.normal(size=worlds), random.random(worlds))
        reading, state = law.measure(value * ones, parameters or {}, draws, state)
        readings.append(reading)
    return np.array(readings)


def test_an_ideal_sensor_reads_the_truth(random_signal: np.ndarray):
    readings = read(Sensor(signal="a"), random_signal)
    assert (readings[:, 0] == random_signal).all()


def test_scale_then_bias_then_noise():
    law = build_law(Sensor(signal="a", scale=1.1, bias=0.5, noise=0.2), timestep=1.0)
    state = law.initial_state(2, np.zeros(2))
    draws = SensorDraws(np.array([1.0, -2.0]), np.ones(2))
    reading, _ = law.measure(np.array([3.0, 3.0]), {}, draws, state)
    assert reading == pytest.approx([3.3 + 0.5 + 0.2, 3.3 + 0.5 - 0.4])


def test_noise_and_dropout_have_the_statistics_asked_for():
    sensor = Sensor(signal="a", noise=0.3, bias=0.1, dropout=0.25)
    readings = read(sensor, np.full(4000, 2.0), worlds=20)[50:]
    assert readings.mean() == pytest.approx(2.1, abs=4 * 0.3 / math.sqrt(60_000))
    assert readings.std() == pytest.approx(0.3, rel=0.02)
    stale = np.mean(np.diff(readings, axis=0) == 0)
    assert stale == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 79_000))


def test_equal_seeds_give_equal_readings(random_signal: np.ndarray):
    sensor = Sensor(signal="a", noise=0.3, dropout=0.25)
    first, again = (read(sensor, random_signal, seed=5) for _ in range(2))
    assert (first == again).all()
    assert (first != read(sensor, random_signal, seed=6)).any()


def test_an_encoder_rounds_to_its_counts():
    quantum = 2 * math.pi / 4096
    signal = np.linspace(-0.1, 0.1, 2001)
    readings = read(Sensor(signal="a", quantum=quantum), signal)[:, 0]
    counts = readings / quantum
    assert counts == pytest.approx(np.round(counts), abs=1e-9)
    error = readings - signal
    assert np.abs(error).max() <= quantum / 2 * (1 + 1e-9)
    assert error.std() == pytest.approx(quantum / math.sqrt(12), rel=0.05)


def test_a_reading_is_as_old_as_its_delay():
    time = TIMESTEP * np.arange(60)
    delay = np.array([0.0, 0.0004, 0.003, 0.0072])
    sensor = Sensor(signal="a", delay_limit=0.01)
    readings = read(sensor, 5 * time, worlds=4, parameters={"delay": delay})
    assert readings[-1] == pytest.approx(5 * (time[-1] - delay), abs=1e-12)
    held = Sensor(signal="a", delay_limit=0.01, interpolation="hold")
    readings = read(held, np.arange(60.0), worlds=4, parameters={"delay": delay})
    assert readings[-1].tolist() == [59, 58, 56, 51]


def test_a_delay_beyond_the_limit_is_refused_and_never_shortened():
    sensor = Sensor(signal="a", delay_limit=0.01)
    late = {"delay": np.array([0.01, 0.011])}
    assert np.isnan(
        read(sensor, np.ones(9), worlds=2, parameters=late)[-1]
    ).tolist() == [
        False,
        True,
    ]
    with pytest.raises(BadSensor, match=r"delay 0.011 s is beyond its delay_limit"):
        build_law(sensor, timestep=TIMESTEP).check_parameters(late)
    with pytest.raises(UnknownParameter, match=r"no parameter 'rate'"):
        build_law(sensor, timestep=TIMESTEP).check_parameters({"rate": np.ones(2)})


@pytest.mark.parametrize("rate", [100.0, 250.0, 300.0, 1000.0, 5000.0])
def test_a_slow_sensor_reads_at_its_rate_and_holds(rate: float):
    readings = read(Sensor(signal="a", rate=rate), np.arange(3000.0))[:, 0]
    fresh = np.flatnonzero(np.diff(readings, prepend=-1.0))
    assert (readings[fresh] == fresh).all()  # a fresh reading is of now
    assert fresh[0] == 0
    assert len(fresh) == pytest.approx(min(rate, 1000.0) * 3.0, abs=1)
    spacing = 1000.0 / min(rate, 1000.0)
    assert set(np.diff(fresh)) <= {math.floor(spacing), math.ceil(spacing)}


def test_priming_some_worlds_leaves_the_others():
    law = build_law(Sensor(signal="a", delay=0.002), timestep=TIMESTEP)
    state = law.initial_state(2, np.zeros(2))
    state = law.prime(state, np.full(2, 7.0), worlds=np.array([True, False]))
    draws = SensorDraws(np.zeros(2), np.ones(2))
    reading, _ = law.measure(np.full(2, 9.0), {}, draws, state)
    assert reading.tolist() == [7.0, 0.0]


FULL = Sensor(
    signal="a",
    scale=1.1,
    bias=0.3,
    noise=0.1,
    delay=0.0023,
    quantum=0.01,
    rate=400.0,
    dropout=0.2,
)


def test_numpy_and_torch_agree_and_keep_precision_and_device():
    def walk(convert) -> list:
        law, random = build_law(FULL, timestep=TIMESTEP), np.random.default_rng(1)
        state, readings = law.initial_state(5, convert(np.zeros(5))), []
        for _ in range(30):
            draws = SensorDraws(
                convert(random.normal(size=5)), convert(random.random(5))
            )
            truth = convert(random.normal(size=5))
            reading, state = law.measure(truth, {}, draws, state)
            readings.append(reading)
        return readings

    ours = np.array(walk(lambda x: x))
    theirs = torch.stack(walk(torch.from_numpy))
    assert ours == pytest.approx(theirs.numpy(), abs=1e-6)
    single = walk(lambda x: torch.from_numpy(x).float())
    assert all(reading.dtype == torch.float32 for reading in single)
    for reading in walk(lambda x: torch.from_numpy(x).float().to("meta")):
        assert reading.device.type == "meta"
        assert reading.dtype == torch.float32


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_arguments_stay_as_they_were(seed: int):
    law: SensorLaw = build_law(FULL, timestep=TIMESTEP)
    random = np.random.default_rng(seed)
    true, draws = (
        random.normal(size=4),
        SensorDraws(random.normal(size=4), random.random(4)),
    )
    parameters = {"bias": random.normal(size=4)}
    state = law.prime(law.initial_state(4, true), true)
    before = copy.deepcopy((true, parameters, draws, state))
    reading, after = law.measure(true, parameters, draws, state)
    for array in (reading, *after.values()):
        array[...] = np.nan
    for kept, now in zip(before[0::2], (true, draws), strict=True):
        np.testing.assert_array_equal(kept, now)
    np.testing.assert_equal(before[1], parameters)
    np.testing.assert_equal(before[3], state)


@pytest.fixture
def random_signal() -> np.ndarray:
    return np.random.default_rng(2).normal(size=50)
