"""Both ends over real sockets."""

import socket
import time

import numpy as np
import pytest

from realworthy.robots import Command, Mode
from realworthy.robots.link import FaultyLink, LinkFaults
from realworthy.robots.remote import RemoteRobot, RobotSilent
from realworthy.robots.server import ServerSettings
from realworthy.robots.udp import UdpLink

from .wires import INFO, Obedient, serving

KEY = b"sixteen bytes at least"


def reach(port: int, **more) -> RemoteRobot:
    faults = more.pop("faults", None)
    link = UdpLink.reach("127.0.0.1", port)
    wire = link if faults is None else FaultyLink(link, faults)
    return RemoteRobot(wire, **more)


def command(k: int, *values: float) -> Command:
    return Command(sequence=k, values=np.array(values))


@pytest.mark.parametrize("key", [None, KEY])
def test_a_robot_is_described_commanded_and_measured(key: bytes | None):
    with serving(Obedient(), ServerSettings(key=key)) as (server, port):
        robot = reach(port, key=key)
        assert robot.info.joints == INFO.joints
        np.testing.assert_equal(robot.info.command_upper, INFO.command_upper)
        with robot:
            first = robot.read()
            assert first.mode is Mode.DAMP
            for k in range(50):
                robot.write(command(k, 0.3, -0.3))
                robot.wait(0.01)
            state = robot.read()
            assert state.mode is Mode.RUN
            assert state.position == pytest.approx([0.3, -0.3])
            assert state.time > first.time
        assert not server.flaws
        assert not robot.flaws
    assert server.damped == 0


def test_waiting_keeps_the_rate_whatever_the_work():
    with serving(Obedient()) as (_, port), reach(port) as robot:
        robot.wait(0.01)
        begin = time.monotonic()
        for _ in range(40):
            time.sleep(0.004)
            robot.wait(0.01)
        assert time.monotonic() - begin == pytest.approx(0.4, abs=0.05)


def test_newest_wins_and_nothing_queues():
    """Half a second is not read: what is read then is new, not half a second old."""
    robot = Obedient()
    with serving(robot) as (_, port), reach(port) as remote:
        remote.read()
        time.sleep(0.5)
        assert robot.time - remote.read().time < 0.1


def test_a_robot_that_is_taken_refuses_and_is_free_after_a_close():
    with serving(Obedient()) as (_, port):
        one, two = reach(port), reach(port, timeout=0.3)
        with one:
            assert two.info.name == "leg"  # asking is free
            with pytest.raises(RobotSilent, match="somebody else"):
                two.connect()
        with two:
            assert two.read().mode is Mode.DAMP


@pytest.mark.parametrize("key", [None, b"another key, long enough"])
def test_a_wrong_key_gets_no_answer(key: bytes | None):
    with serving(Obedient(), ServerSettings(key=KEY)) as (server, port):
        with pytest.raises(RobotSilent, match="No robot answered"):
            reach(port, key=key, timeout=0.2).connect()
        assert sum(server.flaws.values()) > 0
        assert not server.has_peer


def test_a_stop_goes_through_a_bad_link_and_stays():
    robot = Obedient()
    bad = LinkFaults(loss=0.3, seed=1)
    with serving(robot) as (server, port):
        with reach(port, faults=bad) as remote:
            remote.write(command(1, 0.1, 0.1))
            remote.stop()
            assert server.mode is Mode.STOPPED
            for k in range(1000):
                remote.write(command(k, 0.9, 0.9))
            time.sleep(0.05)
            assert robot.mode is Mode.STOPPED
        with pytest.raises(RobotSilent, match="emergency stop"):
            reach(port).connect()
        with reach(port, reset_stop=True) as again:
            assert again.read().mode is Mode.DAMP


def test_damping_goes_through_a_bad_link():
    robot = Obedient()
    bad = LinkFaults(loss=0.3, seed=2)
    with serving(robot) as (_, port), reach(port, faults=bad) as remote:
        for k in range(20):
            remote.write(command(k, 0.1, 0.1))
            remote.wait(0.005)
        remote.damp()
        assert robot.mode is Mode.DAMP


def test_a_commander_that_only_reads_keeps_its_robot():
    short = ServerSettings(lease=0.2)
    with serving(Obedient(), short) as (server, port), reach(port) as remote:
        for _ in range(50):
            remote.read()
            remote.wait(0.01)
        assert server.has_peer


def test_nobody_there():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(RobotSilent, match=r"within 0\.1 s"):
            reach(port, timeout=0.1).connect()
    with pytest.raises(RobotSilent):  # the port is closed: the kernel says so
        reach(port, timeout=0.1).connect()


def test_a_robot_that_was_not_connected_cannot_be_read():
    silent = pytest.raises(RobotSilent, match="not connected")
    with serving(Obedient()) as (_, port), silent:
        reach(port).read()
