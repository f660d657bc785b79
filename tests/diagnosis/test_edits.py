"""Edits, by hand arithmetic."""

import numpy as np

from realworthy.diagnosis.edits import (
    Exchange,
    FlipSign,
    HoldCommands,
    IntegrateCommands,
    Part,
    bridge_repeats,
    fill_gaps,
)
from realworthy.recordings import Recording

TIME = np.arange(6) * 0.1


def log():
    names = ("a.position", "a.command", "b.position", "b.command")
    return Recording(TIME, {n: np.arange(6.0) + 10 * k for k, n in enumerate(names)})


def test_a_sign_is_turned_for_what_was_asked():
    for part, measured, commanded in (
        (Part.BOTH, -1, -1),
        (Part.MEASURED, -1, 1),
        (Part.COMMAND, 1, -1),
    ):
        turned = FlipSign("a", part).apply(log()).signals
        np.testing.assert_array_equal(turned["a.position"], measured * np.arange(6.0))
        np.testing.assert_array_equal(
            turned["a.command"], commanded * (np.arange(6.0) + 10)
        )
        np.testing.assert_array_equal(turned["b.position"], np.arange(6.0) + 20)


def test_exchanging_twice_changes_nothing():
    once = Exchange("a", "b").apply(log())
    np.testing.assert_array_equal(once.signals["a.position"], np.arange(6.0) + 20)
    twice = Exchange("a", "b").apply(once)
    for name, values in log().signals.items():
        np.testing.assert_array_equal(twice.signals[name], values)


def test_commands_are_held_until_the_next_look():
    held = HoldCommands(5.0).apply(log()).signals
    np.testing.assert_array_equal(held["a.command"], [10, 10, 12, 12, 14, 14])
    np.testing.assert_array_equal(held["a.position"], np.arange(6.0))


def test_velocities_add_up_to_positions_within_their_ends():
    signals = {"a.position": np.full(6, 0.5), "a.command": np.full(6, 2.0)}
    edit = IntegrateCommands((("a", -1.0),), (("a", 1.0),))
    goal = edit.apply(Recording(TIME, signals)).signals["a.command"]
    np.testing.assert_allclose(goal, [0.6, 0.8, 1.0, 1.0, 1.0, 1.0])


def test_repeated_rows_are_bridged_and_commands_kept():
    signals = {
        "a.position": np.array([0.0, 1, 1, 3, 4, 5]),
        "a.command": np.array([9.0, 8, 7, 6, 5, 4]),
    }
    bridged = bridge_repeats(Recording(TIME, signals), ["a.position"]).signals
    np.testing.assert_allclose(bridged["a.position"], np.arange(6.0))
    np.testing.assert_array_equal(bridged["a.command"], signals["a.command"])


def test_gaps_are_filled_on_a_line():
    kept = [0, 1, 3, 4, 5]
    whole = log()
    signals = {name: values[kept] for name, values in whole.signals.items()}
    filled = fill_gaps(Recording(whole.time[kept], signals))
    np.testing.assert_allclose(filled.time, TIME)
    for name, values in whole.signals.items():
        np.testing.assert_allclose(filled.signals[name], values)
