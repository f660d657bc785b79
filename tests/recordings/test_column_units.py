"""Units by name."""

import math

import pytest

from realworthy.errors import BadRecording, UnknownName
from realworthy.recordings.column_units import compute_factor


@pytest.mark.parametrize(
    ("signal", "unit", "factor"),
    [
        ("a.position", "deg", math.pi / 180),
        ("a.velocity", "deg/s", math.pi / 180),
        ("a.velocity", "rpm", 2 * math.pi / 60),
        ("a.position", "ticks/4096", 2 * math.pi / 4096),
        ("a.velocity", "ticks/4096/s", 2 * math.pi / 4096),
        ("a.velocity", "turn/s", 2 * math.pi),
        ("time", "ms", 1e-3),
        ("a.current", "mA", 1e-3),
        ("a.torque", "kgcm", 9.80665 * 0.01),
        ("a.command", "deg", math.pi / 180),
    ],
)
def test_units_have_their_size_in_si(signal: str, unit: str, factor: float):
    assert compute_factor(signal, unit, None) == pytest.approx(factor, rel=1e-12)


def test_a_current_is_a_torque_by_the_motors_constant():
    assert compute_factor("a.torque", "mA", 0.9) == pytest.approx(0.9e-3)


@pytest.mark.parametrize(
    ("signal", "unit", "constant", "said"),
    [
        ("a.velocity", "deg", None, "measures an angle, not a speed"),
        ("time", "deg", None, "measures an angle, not a time"),
        ("a.torque", "mA", None, "does not say how strong the motor is"),
        ("a.position", "deg", 0.9, "its unit 'deg' is no current"),
    ],
)
def test_what_does_not_measure_the_signal_is_refused(
    signal: str, unit: str, constant: float | None, said: str
):
    with pytest.raises(BadRecording, match=said):
        compute_factor(signal, unit, constant)


@pytest.mark.parametrize("unit", ["dgr", "ticks/0", "ticks/x", "ms/s", "/s"])
def test_unknown_units_name_those_that_exist(unit: str):
    with pytest.raises(UnknownName, match="ticks/4096 of an encoder"):
        compute_factor("a.position", unit, None)
