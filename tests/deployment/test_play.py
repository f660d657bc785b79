"""`play`: which rows a recording gets, and what is left of the robot afterwards."""

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.errors import RealworthyError
from realworthy.recordings import Sidecar
from realworthy.robots import Mode

from ..robots.wires import Scripted

COMMANDS = np.arange(12.0).reshape(6, 2) / 100


def test_a_row_holds_what_was_measured_before_its_command():
    robot = Scripted()
    recording = play(robot, COMMANDS)
    np.testing.assert_allclose(recording.time, 0.01 * np.arange(6))
    np.testing.assert_array_equal(recording.signals["a.position"], np.arange(6))
    np.testing.assert_array_equal(recording.signals["b.position"], -np.arange(6))
    np.testing.assert_array_equal(recording.signals["b.command"], COMMANDS[:, 1])
    np.testing.assert_array_equal(recording.signals["base.gyro.x"], np.full(6, 3.0))
    assert robot.calls == ["connect", "damp", "damp"]  # at the end, and by closing
    assert robot.waited == pytest.approx([0.01] * 6)


def test_signals_of_a_recording():
    recording = play(Scripted(), COMMANDS)
    assert list(recording.signals) == [
        *("a.position", "b.position", "a.velocity", "b.velocity"),
        *("a.torque", "b.torque", "base.gyro.x", "a.command", "b.command"),
    ]


def test_rows_that_the_robot_did_not_send_are_left_out():
    recording = play(Scripted(lost=(2, 3)), COMMANDS)
    np.testing.assert_array_equal(recording.signals["a.position"], [0, 1, 4, 5])
    np.testing.assert_array_equal(
        recording.signals["a.command"], COMMANDS[[0, 1, 4, 5], 0]
    )


def test_every_command_is_sent_also_when_its_row_is_missing():
    robot = Scripted(lost=(2, 3))
    play(robot, COMMANDS)
    np.testing.assert_array_equal(robot.sent, COMMANDS)


def test_the_sidecar_says_which_robot_and_how():
    sidecar = play(Scripted(), COMMANDS, rate=50.0).sidecar
    assert (sidecar.twin, sidecar.rate) == ("counter", 50.0)
    assert sidecar.command_kind == "torque"
    own = Sidecar(twin="other", repeat_group="x")
    assert play(Scripted(), COMMANDS, sidecar=own).sidecar == own


def test_commands_by_name_may_come_in_any_order():
    robot = Scripted()
    play(robot, {"b.command": COMMANDS[:, 1], "a.command": COMMANDS[:, 0]})
    np.testing.assert_array_equal(robot.sent, COMMANDS)


def test_an_interrupt_leaves_the_robot_braking():
    robot = Scripted(breaks=3)
    with pytest.raises(KeyboardInterrupt):
        play(robot, COMMANDS)
    assert robot.calls == ["connect", "damp", "damp"]
    assert robot.mode is Mode.DAMP
    assert len(robot.sent) == 3


def test_a_robot_is_not_touched_by_commands_that_cannot_be():
    robot = Scripted()
    with pytest.raises(RealworthyError):
        play(robot, np.full((5, 2), np.nan))
    assert robot.calls == []


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (
            np.zeros((5, 3)),
            "Robot 'counter' takes (steps, 2) commands, not (5, 3).\n"
            "  In order: a.command, b.command.",
        ),
        (
            np.zeros(5),
            "Robot 'counter' takes (steps, 2) commands, not (5,).\n"
            "  In order: a.command, b.command.",
        ),
        (
            [[0.0, 0.0], [0.0, np.inf]],
            "'b.command' is not a finite number at step 1.",
        ),
        (np.zeros((1, 2)), "A recording needs two commands or more, not 1."),
        (
            {"a.comand": np.zeros(5)},
            "robot 'counter' has no command 'a.comand'.\n"
            "  Nearest: 'a.command', 'b.command'.",
        ),
        (
            {"a.command": np.zeros(5)},
            "Robot 'counter' needs all of its commands; missing: b.command.\n"
            "  Say what it shall do there: its measured position, say, or zeros.",
        ),
        (
            {"a.command": np.zeros(5), "b.command": np.zeros(4)},
            "Commands of robot 'counter' must be equally many: a.command (5,), "
            "b.command (4,).",
        ),
        (
            {},
            "Robot 'counter' needs all of its commands; missing: a.command, b.command."
            "\n  Say what it shall do there: its measured position, say, or zeros.",
        ),
    ],
)
def test_what_is_wrong_with_commands_is_said(commands: object, message: str):
    with pytest.raises(RealworthyError) as caught:
        play(Scripted(), commands)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize("rate", [0.0, -5.0, np.nan, np.inf])
def test_a_rate_is_a_rate(rate: float):
    with pytest.raises(RealworthyError, match="Commands cannot be sent at"):
        play(Scripted(), COMMANDS, rate=rate)
