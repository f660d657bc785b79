"""What a robot does while it brakes by itself is nobody's model error."""

from dataclasses import replace

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.gap.measure import measure
from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.robots import Command, Mode, State
from realworthy.twins import load_twin

BRAKES = ((1.5, 1.6), (3.0, 3.14))
"""[s] within which the robot follows nothing; short enough to be let go on."""


class Braking(StandIn):
    """A robot whose deadline passes twice, and that says so."""

    def _brakes(self) -> bool:
        time = super().read().time
        return any(first <= time < last for first, last in BRAKES)

    def write(self, command: Command) -> None:
        super().write(command)
        if self._brakes():
            self.damp()

    def read(self) -> State:
        state = super().read()
        return replace(state, mode=Mode.DAMP) if self._brakes() else state


def test_rows_that_are_marked_do_not_count_against_the_twin():
    """The robot is the twin itself: but for the brakes they agree to a rounding."""
    robot = Braking(make_reality("it", RealityFile(schema=1, twin="pendulum")))
    time = np.arange(750) / robot.info.rate
    recording = play(robot, (4 * np.sin(2 * np.pi * 0.7 * time))[:, None])
    marked = recording.signals["robot.braking"]
    spent = sum(last - first for first, last in BRAKES)
    assert marked.sum() / robot.info.rate == pytest.approx(spent, abs=0.03)
    twin = load_twin("pendulum")
    whole = measure(twin, recording.without("robot.braking"))
    cut = measure(twin, recording)
    assert whole.replay.position_rmse > 0.1
    assert cut.replay.position_rmse < 0.01 * whole.replay.position_rmse
