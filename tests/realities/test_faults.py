"""Faults that begin while a stand-in runs."""

import numpy as np
import pytest

from realworthy.errors import RealworthyError, UnknownName
from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.realities.faults import FaultyRobot, RobotFaults
from realworthy.robots import Command, State


def states(faults: RobotFaults, twin: str = "pendulum", steps: int = 60) -> list[State]:
    """A constant command at 50 Hz."""
    stand_in = StandIn(make_reality("it", RealityFile(schema=1, twin=twin)))
    robot = FaultyRobot(stand_in, faults)
    value = np.zeros(len(robot.info.commands))
    value[0] = 1.0
    found = []
    with robot:
        for k in range(steps):
            robot.write(Command(sequence=k, values=value))
            robot.wait(0.02)
            found.append(robot.read())
    return found


def test_a_freeze_repeats_numbers_with_new_stamps_and_ends():
    found = states(RobotFaults(freeze_after=0.4, freeze_for=0.2))
    frozen = [s for s in found if 0.399 <= s.time < 0.599]
    assert len(frozen) >= 9
    assert len({s.time for s in frozen}) == len(frozen)
    assert len({float(s.position[0]) for s in frozen}) == 1
    after = [s for s in found if s.time > 0.62]
    assert len({float(s.position[0]) for s in after}) == len(after)


def test_noise_has_the_size_that_was_asked():
    clean, noisy = states(RobotFaults()), states(RobotFaults(noise=0.01, seed=4))
    off = [a.position[0] - b.position[0] for a, b in zip(clean, noisy, strict=True)]
    fast = [a.velocity[0] - b.velocity[0] for a, b in zip(clean, noisy, strict=True)]
    assert np.std(off) == pytest.approx(0.01, rel=0.3)
    assert np.std(fast) == pytest.approx(0.1, rel=0.3)


def test_heat_by_hand():
    """10 °C/s at 1 N·m for 1.2 s, a sixtieth of it lost per second."""
    found = states(RobotFaults(heating=10.0))
    torque = np.array([s.torque[0] for s in found])
    assert torque == pytest.approx(1.0, abs=1e-6)
    warm = 25 + 600 * (1 - np.exp(-1.2 / 60))
    assert found[-1].others[-1] == pytest.approx(warm, rel=0.005)


def test_a_servo_that_sticks_holds_and_a_motor_gives_nothing():
    stuck = states(RobotFaults(stick="shoulder_pan", stick_after=0.1), "arm")
    place = [s.position[0] for s in stuck]
    begin = next(i for i, s in enumerate(stuck) if s.time >= 0.3)
    assert np.ptp(place[begin:]) < 0.1
    assert states(RobotFaults(), "arm")[-1].position[0] > place[-1] + 0.1
    dead = states(RobotFaults(stick="joint"))
    assert abs(dead[-1].position[0]) < 1e-6


def test_faults_that_are_nonsense():
    with pytest.raises(UnknownName, match="knee"):
        states(RobotFaults(stick="knee"))
    with pytest.raises(RealworthyError, match="noise"):
        RobotFaults(noise=-1)
