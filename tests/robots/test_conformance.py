"""The contract of robots: kept by ours, broken by bad ones."""

import time

import numpy as np
import pytest

from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.realities.faults import FaultyRobot, RobotFaults
from realworthy.robots import Command, Mode, Robot, State
from realworthy.robots.clock import SteppedClock
from realworthy.robots.conformance import check_robot
from realworthy.robots.remote import RemoteRobot
from realworthy.robots.udp import UdpLink

from .wires import Obedient, serving


def broken(robot: Robot, *, stepped: bool = True) -> list[str]:
    clock = SteppedClock(robot) if stepped else None
    checks = check_robot(robot, clock)
    assert len(checks) > 5
    return [check.promise for check in checks if not check.kept]


@pytest.mark.parametrize("twin", ["pendulum", "arm", "diffdrive", "servo_bench"])
def test_stand_ins_keep_it(twin: str):
    robot = StandIn(make_reality("it", RealityFile(schema=1, twin=twin)))
    assert broken(robot) == []
    assert broken(FaultyRobot(robot, RobotFaults(noise=1e-3, heating=1.0))) == []


def test_a_robot_on_the_wire_keeps_it():
    with serving(Obedient()) as (_, port):
        remote = RemoteRobot(UdpLink.reach("127.0.0.1", port))
        promises = broken(remote, stepped=False)
        # Two cores that others use: being quick is not what this is about.
        assert [p for p in promises if "does not wait" not in p] == []


class Deaf(Obedient):
    """Goes on after a stop."""

    def write(self, command: Command) -> None:
        self.mode, self.values = Mode.RUN, np.array(command.values)


class Slow(Obedient):
    """Waits for its next measurement."""

    def read(self) -> State:
        time.sleep(0.03)
        return super().read()


class Dead(Obedient):
    """Always gives the same state."""

    def wait(self, seconds: float) -> None:
        pass


@pytest.mark.parametrize(
    ("robot", "promise"),
    [
        (Deaf(), "and stays, whatever is commanded"),
        (Slow(), "reading does not wait"),
        (Dead(), "measurements go on, with time and sequence"),
    ],
)
def test_bad_robots_break_it(robot: Robot, promise: str):
    assert promise in broken(robot)
