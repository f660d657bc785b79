"""A robot of one's own: a driver in one class, tried, and recorded through the guards.

A vendor's library for two servos on a bus is simulated here: it knows ticks, a torque
switch and goals, answers at once, and hides a truth, how long the bus is under way.
`Desk` makes a `Robot` of it: eight members, SI units, the robot's own clock. Then

1. the conformance suite tries every promise of the interface;
2. an experiment steps one servo to and fro. Each command passes the guarded step, the
   recording is on the disk while it is made, and the servos brake at the end;
3. the recording tells the bus's delay, beside the truth.

Replace `Bus` by your vendor's library and the conversions in `Desk` by yours. With
`--serve 7000` the robot waits on the wire instead, with a deadline, its own limits and
one commander at a time: `realworthy experiment delay --robot udp://127.0.0.1:7000
--joint pan --twin MY_TWIN` from another terminal (give it a key: docs/drivers.md).

Expect all promises kept, and the delay within a few milliseconds of the truth: on a
busy computer commands leave late. It takes about 15 s, which are the robot's:

    python recipes/own_driver.py
"""

import argparse
import tempfile
import time
from collections import deque
from pathlib import Path

import numpy as np

from realworthy.identification.experiments import (
    DelaySettings,
    JointBench,
    measure_delay,
    record_delay,
)
from realworthy.recordings import load_recording
from realworthy.robots import Command, Limits, Mode, Robot, RobotInfo, State
from realworthy.robots.conformance import check_robot
from realworthy.robots.server import RobotServer, ServerSettings
from realworthy.robots.udp import UdpLink

TICK = 2 * np.pi / 4096
"""[rad]"""
ZERO = 2048
"""[ticks] where the servos' middle is."""
DELAY = 0.03
"""[s] from a goal to the servo that begins to follow it: the truth."""


class Bus:
    """What a vendor's library might look like; its servos follow with 50 ms of lag."""

    def __init__(self) -> None:
        self._ticks = np.full(2, float(ZERO))
        self._speeds = np.zeros(2)
        self._goals, self._torque_on = self._ticks.copy(), False
        self._under_way: deque[tuple[float, np.ndarray]] = deque()
        self._now = time.monotonic()

    def write_goals(self, ticks: list[int]) -> None:
        self._under_way.append((time.monotonic() + DELAY, np.array(ticks, float)))

    def enable_torque(self, on: bool) -> None:
        self._torque_on = on
        self._under_way.clear()
        self._goals = self._ticks.copy()

    def read(self) -> tuple[float, list[int], list[float]]:
        """Time [s] of the measurement, positions [ticks] and speeds [ticks/s]."""
        end = time.monotonic()
        while self._under_way and self._under_way[0][0] <= end:
            due, goals = self._under_way.popleft()
            self._go_on(due)
            self._goals = goals
        self._go_on(end)
        ticks = [int(tick) for tick in np.rint(self._ticks)]
        return end, ticks, [float(speed) for speed in self._speeds]

    def _go_on(self, end: float) -> None:
        if self._torque_on:
            kept = np.exp(-(end - self._now) / 0.05)
            self._speeds = (self._goals - self._ticks) * kept / 0.05
            self._ticks = self._goals + (self._ticks - self._goals) * kept
        self._now = end


class Desk(Robot):
    """The two servos as a robot: radians, its own signs and zeros, never waiting."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self._sequence, self._mode = bus, 0, Mode.DAMP

    @property
    def info(self) -> RobotInfo:
        return RobotInfo(
            name="desk",
            joints=("pan", "tilt"),
            commands=("pan.command", "tilt.command"),
            command_kind="position",
            rate=50.0,
            command_lower=np.array([-1.5, -0.5]),
            command_upper=np.array([1.5, 0.5]),
        )

    def connect(self) -> None:
        self._bus.enable_torque(False)
        self._mode = Mode.DAMP

    def read(self) -> State:
        at, ticks, speeds = self._bus.read()
        self._sequence += 1
        return State(
            time=at,
            sequence=self._sequence,
            position=(np.array(ticks) - ZERO) * TICK,
            velocity=np.array(speeds) * TICK,
            torque=np.zeros(2),  # these servos do not measure it
            others=np.zeros(0),
            mode=self._mode,
        )

    def write(self, command: Command) -> None:
        if self._mode is Mode.STOPPED or not np.isfinite(command.values).all():
            return
        if self._mode is Mode.DAMP:
            self._bus.enable_torque(True)
        self._mode = Mode.RUN
        info = self.info
        goals = np.clip(command.values, info.command_lower, info.command_upper)
        self._bus.write_goals(np.rint(goals / TICK + ZERO).astype(int).tolist())

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def damp(self) -> None:
        if self._mode is not Mode.STOPPED:
            self._mode = Mode.DAMP
        self._bus.enable_torque(False)

    def stop(self) -> None:
        self._mode = Mode.STOPPED
        self._bus.enable_torque(False)


LIMITS = Limits(
    joints=("pan", "tilt"),
    lower=np.array([-1.5, -0.5]),
    upper=np.array([1.5, 0.5]),
    speed=np.full(2, 8.0),
    acceleration=np.full(2, np.inf),
    torque=np.full(2, np.inf),
)
"""Beyond which the guards brake the robot; a twin's are `find_limits(twin)`."""


def main(repeats: int) -> None:
    checks = check_robot(Desk(Bus()))
    for check in checks:
        if not check.kept:
            print(f"NOT KEPT  {check.promise}: {check.found}")
    print(f"{sum(c.kept for c in checks)} of {len(checks)} promises kept")

    with tempfile.TemporaryDirectory() as folder:
        bench = JointBench(limits=LIMITS, output=Path(folder) / "steps.csv")
        steps = DelaySettings(sizes=(0.2, 0.4), hold=0.4, repeats=repeats)
        robot = Desk(Bus())
        record_delay(robot, "pan", steps, bench)
        recording = load_recording(Path(folder) / "steps.csv")
    print(
        f"{len(recording.time)} rows at {recording.rate:.0f} Hz, "
        f"{', '.join(sorted(recording.signals))}; the robot is in {robot.read().mode}"
    )

    found = measure_delay(recording, "pan")
    print(
        f"Delay {1e3 * found.seconds:.0f} ms from {found.step_count} steps, "
        f"truth {1e3 * DELAY:.0f} ms"
    )


def serve(port: int) -> None:
    """Until Ctrl-C; then the robot brakes."""
    link = UdpLink.listen("127.0.0.1", port)
    print(f"desk waits at udp://127.0.0.1:{port}")
    RobotServer(Desk(Bus()), link, ServerSettings(deadline=0.1)).serve()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--serve", type=int, metavar="PORT")
    arguments = parser.parse_args()
    if arguments.serve is None:
        main(arguments.repeats)
    else:
        serve(arguments.serve)
