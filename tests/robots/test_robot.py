"""The interface that every robot has, real or stand-in."""

import pytest

from realworthy.robots import Mode, Robot

from .wires import Scripted


def test_a_robot_can_be_asked_these_things_and_no_others():
    public = {name for name in dir(Robot) if not name.startswith("_")}
    verbs = {"connect", "read", "write", "wait", "damp", "stop", "close"}
    assert public == verbs | {"info", "steps_time"}


def test_a_block_connects_and_brakes():
    robot = Scripted()
    with robot as entered:
        assert entered is robot
        assert robot.calls == ["connect"]
    assert robot.calls == ["connect", "damp"]


def test_an_error_in_a_block_brakes_and_is_not_swallowed():
    robot = Scripted()
    with pytest.raises(ZeroDivisionError), robot:
        raise ZeroDivisionError
    assert robot.mode is Mode.DAMP


def test_closing_is_braking():
    robot = Scripted()
    robot.close()
    assert robot.calls == ["damp"]
