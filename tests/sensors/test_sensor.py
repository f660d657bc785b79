"""Sensor descriptions: as YAML and back, strict at the door."""

import math

import msgspec
import pytest
import yaml

from realworthy.artefacts import to_yaml
from realworthy.sensors import KINDS, BadSensor, Sensor

ENCODER = Sensor(
    signal="elbow.position",
    bias=0.02,
    noise=0.001,
    delay=0.003,
    delay_limit=0.01,
    quantum=2 * math.pi / 4096,
    rate=200.0,
    dropout=0.01,
)


def test_a_description_survives_yaml():
    text = to_yaml(ENCODER)
    assert msgspec.convert(yaml.safe_load(text), Sensor) == ENCODER


def test_every_number_is_a_kind_or_structure():
    numbers = {k for k, v in msgspec.to_builtins(ENCODER).items() if type(v) is float}
    assert numbers - {"delay_limit"} == set(KINDS) == set(ENCODER.parameters())
    assert "rate" not in Sensor(signal="a").parameters()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scale", 0.0),
        ("noise", -1.0),
        ("dropout", 1.5),
        ("rate", 0.0),
        ("delay", -0.1),
        ("delay_limit", -0.1),
        ("bias", math.inf),
    ],
)
def test_impossible_numbers_are_refused(field: str, value: float):
    with pytest.raises(BadSensor, match=field):
        Sensor(signal="a", **{field: value})


def test_refusals_say_what_to_try():
    with pytest.raises(BadSensor) as refusal:
        Sensor(signal="base.gyro.x", delay=0.02, delay_limit=0.01)
    assert str(refusal.value) == (
        "sensor of 'base.gyro.x': delay 0.02 s is beyond its delay_limit of 0.01 s.\n"
        "  Set delay_limit: 0.02 or more (it sizes the buffer), or a shorter delay."
    )
    with pytest.raises(BadSensor) as refusal:
        Sensor(signal="a", noise=-0.1)
    assert str(refusal.value) == (
        "sensor of 'a': noise is -0.1; it must be at least 0.\n"
        "  Its unit is that of the signal."
    )
    with pytest.raises(msgspec.ValidationError, match=r"unknown field `nose`"):
        msgspec.convert({"signal": "a", "nose": 1.0}, Sensor)
