from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import Recording, load_recording, load_recordings


@pytest.fixture(scope="module")
def flights(data: Path) -> list[Recording]:
    return load_recordings(data / "crazypad", "crazypad")


def share_of_m3(flight: Recording) -> float:
    """Of the four motors' requests, in the air, as the data's notes compute it."""
    air = flight.signals["base.position.z"] > 0.25
    motors = np.stack([flight.signals[f"m{i}.command"][air] for i in range(1, 5)])
    return float(motors[2].mean() / motors.sum(axis=0).mean())


def test_every_flight_loads(flights: list[Recording]):
    assert len(flights) == 60
    for flight in flights:
        assert flight.duration == pytest.approx(25.7, abs=0.1)
        assert flight.rate == pytest.approx(101, abs=1)


@pytest.mark.parametrize(
    ("group", "share"),
    [
        ("normal_flight/E8/motor", 0.285),
        ("normal_flight/E9/motor", 0.278),
        ("add_weight_W3_near_M3/E9/motor", 0.349),
        ("cut_propeller_M3_3mm/E8/motor", 0.308),
    ],
)
def test_the_loaded_motor_has_the_share_of_the_notes(
    flights: list[Recording], group: str, share: float
):
    repeats = [share_of_m3(f) for f in flights if f.sidecar.repeat_group == group]
    assert len(repeats) >= 2
    assert np.mean(repeats) == pytest.approx(share, abs=0.002)


def test_velocity_is_the_derivative_of_position(flights: list[Recording]):
    flight = next(f for f in flights if f.name == "motor_E8_log00")
    slope = np.gradient(flight.signals["base.position.x"], flight.time)
    velocity = flight.signals["base.velocity.x"]
    assert slope @ velocity / (slope @ slope) == pytest.approx(1.0, abs=0.03)
    assert 3.0 < flight.signals["battery.voltage"].min() < 4.3


def test_a_hovering_accelerometer_feels_gravity(flights: list[Recording]):
    flight = next(f for f in flights if f.name == "controller_E8_log00")
    air = flight.signals["base.position.z"] > 0.25
    assert flight.signals["accelerometer.z"][air].mean() == pytest.approx(9.81, abs=0.3)


def test_a_positive_pitch_flies_forwards(flights: list[Recording]):
    """By the right hand about y the nose goes down, and thrust pulls to +x."""
    flight = next(f for f in flights if f.name == "controller_E8_log00")
    air = flight.signals["base.position.z"] > 0.25
    width = np.ones(40) / 40
    speed = np.gradient(flight.signals["base.position.x"], flight.time)
    acceleration = np.gradient(np.convolve(speed, width, "same"), flight.time)
    acceleration = np.convolve(acceleration, width, "same")
    pitch = np.convolve(flight.signals["attitude.command.pitch"], width, "same")
    assert np.corrcoef(pitch[air], acceleration[air])[0, 1] > 0.8
    assert np.abs(flight.signals["attitude.command.pitch"]).max() < 0.36  # 20 degrees


def test_a_diverged_estimate_is_loaded_as_it_is(data: Path):
    folder = data / "crazypad" / "weight_on_string_W2_near_M3"
    flight = load_recording(folder / "controller_E8_log02.csv.gz", "crazypad")
    assert flight.signals["base.position.z"].min() == pytest.approx(-15, abs=0.1)


def test_a_missing_yaw_is_no_fault(flights: list[Recording]):
    yaws = ["base.yaw" in f.signals for f in flights if f.name.startswith("motor")]
    assert (yaws.count(True), yaws.count(False)) == (29, 3)
