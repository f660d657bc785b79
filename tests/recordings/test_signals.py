import pytest

from realworthy.recordings.signals import (
    is_held,
    is_signal_name,
    quaternions,
    unit_of,
    unit_of_command,
)


@pytest.mark.parametrize(
    "name", ["elbow.position", "base.orientation.w", "battery", "left leg.q", "m1.é"]
)
def test_names_are_parts_joined_by_dots(name: str):
    assert is_signal_name(name)


@pytest.mark.parametrize(
    "name", ["", "time", ".x", "x.", "a..b", " a", "a. b", "a\nb", "a\x00b"]
)
def test_other_names_are_refused(name: str):
    assert not is_signal_name(name)


def test_only_commands_and_switches_are_held():
    assert is_held("elbow.command")
    assert is_held("mixer.command.thrust")
    assert is_held("arm.torque_enable")
    assert not is_held("elbow.position")
    assert not is_held("commander.position")


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("elbow.position", "rad"),
        ("elbow.torque", "N·m"),
        ("elbow.current", "A"),
        ("base.position.x", "m"),
        ("base.velocity.z", "m/s"),
        ("base.gyro.y", "rad/s"),
        ("base.orientation.w", ""),
        ("accelerometer.z", "m/s²"),
        ("elbow.command", "N·m"),
        ("elbow.command.velocity", "rad/s"),
        ("mixer.command.roll", ""),
        ("foot.contact", ""),
    ],
)
def test_the_name_promises_the_unit(name: str, unit: str):
    assert unit_of(name, "torque") == unit


def test_an_orientation_needs_all_four_parts():
    whole = [f"base.orientation.{axis}" for axis in "wxyz"]
    assert quaternions(whole) == ["base.orientation"]
    assert quaternions(whole[:3]) == []


@pytest.mark.parametrize(
    ("kind", "slides", "unit"),
    [
        ("position", False, "rad"),
        ("position", True, "m"),
        ("velocity", True, "m/s"),
        ("torque", False, "N·m"),
        ("torque", True, "N"),
        ("torque", None, "N·m or N"),
        ("voltage", True, "V"),
        ("voltage", None, "V"),
    ],
)
def test_a_command_has_the_unit_of_its_kind(kind: str, slides: bool | None, unit: str):
    assert unit_of_command(kind, slides=slides) == unit
