"""A reality behind the `Robot` interface."""

from collections import deque
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.realities.measuring import Measuring, is_hidden
from realworthy.realities.reality import Reality
from realworthy.realities.worlds import RealityWorlds
from realworthy.robots import Command, Robot, RobotInfo, State
from realworthy.robots.robot import Mode
from realworthy.twins.commands import describe_commands

Floats = NDArray[np.float64]


class StandIn(Robot):
    """A robot in this process: time passes only in `wait`, as fast as it can.

    It answers commands with measurements and nothing else; what is true stays inside.
    Every `connect` begins a trial with noise of its own; stand-ins of equal seed give
    equal measurements trial by trial.
    """

    def __init__(self, reality: Reality, *, seed: int | None = None) -> None:
        self._file = reality.file
        self._worlds = RealityWorlds(reality, seed=seed)
        simulator = self._worlds.simulator
        joints = tuple(j for j in self._worlds.layout.joints if not is_hidden(j))
        self._measuring = Measuring(
            reality.file, joints, simulator.signals, self._worlds.seed
        )
        self._lines = describe_commands(self._worlds.bound)
        self._info = self._describe(reality.twin.name, joints)
        self._begin()

    @property
    def info(self) -> RobotInfo:
        return self._info

    def connect(self) -> None:
        """Puts the stand-in back to its start, cold and at rest."""
        self._begin()

    def read(self) -> State:
        return self._newest

    def write(self, command: Command) -> None:
        """Takes a command; one that is not finite, or after a stop, is ignored."""
        if self._mode is Mode.STOPPED or not np.isfinite(command.values).all():
            return
        self._mode = Mode.RUN
        self._command = np.array(command.values, dtype=np.float64)

    def wait(self, seconds: float) -> None:
        self._owed += seconds + self._measuring.jitter(self._tick)
        substeps = max(1, round(self._owed / self._worlds.timestep))
        self._owed -= substeps * self._worlds.timestep
        self._worlds.step(self._drive(substeps), substeps)
        self._tick += 1
        self._measure()

    def damp(self) -> None:
        if self._mode is not Mode.STOPPED:
            self._mode = Mode.DAMP

    def stop(self) -> None:
        self._mode = Mode.STOPPED

    @property
    def _time(self) -> float:
        return float(self._worlds.simulator.array("time")[0])

    @property
    def _row(self) -> Floats:
        return np.array(self._worlds.simulator.array("sensordata")[0])

    def _begin(self) -> None:
        self._worlds.reset()
        self._measuring.trial += 1
        self._mode = Mode.DAMP
        self._command: Floats | None = None
        self._taken_at = -np.inf
        self._goal = self._rest()
        self._owed, self._tick = 0.0, 0
        self._past: deque[tuple[float, Floats]] = deque([(self._time, self._row)])
        self._newest = self._sample(sequence=0)

    def _drive(self, substeps: int) -> Floats:
        """What reaches the actuators over the coming substeps, in true coordinates."""
        if self._mode is not Mode.RUN or self._command is None:
            self._goal = self._rest()
            return self._goal
        rate = self._file.interface.rate
        if rate <= 0 or self._time - self._taken_at >= 1 / rate - 1e-9:
            self._taken_at = self._time
            self._asked = self._understand(self._command)
        if self._file.interface.command_kind == "velocity":
            moved = self._goal + self._asked * substeps * self._worlds.timestep
        else:
            moved = self._asked
        self._goal = np.clip(moved, self._info.command_lower, self._info.command_upper)
        return self._goal

    def _rest(self) -> Floats:
        """Position servos hold where they are; other actuators get nothing."""
        row, signals = self._row, self._worlds.simulator.signals
        return np.array(
            [
                row[signals.index(f"{line.joint}.position")]
                if line.kind == "position" and line.joint
                else 0.0
                for line in self._lines
            ]
        )

    def _understand(self, values: Floats) -> Floats:
        """A command as the robot makes of it, by true joint."""
        place = {line.joint: i for i, line in enumerate(self._lines)}
        understood = np.array(values)
        for line, value in zip(self._lines, values.tolist(), strict=True):
            if line.joint in self._info.joints:
                joint, true = self._measuring.translator.understand(
                    str(line.joint), line.kind, value
                )
                if joint in place:
                    understood[place[joint]] = true
        return understood

    def _measure(self) -> None:
        self._past.append((self._time, self._row))
        if self._measuring.is_lost(self._tick):
            return  # on the way: the newest stays the newest
        sequence = self._newest.sequence + 1
        if self._measuring.is_stale(self._tick):
            self._newest = replace(self._newest, time=self._time, sequence=sequence)
        else:
            self._newest = self._sample(sequence)

    def _sample(self, sequence: int) -> State:
        wanted = self._time - self._file.interface.clock_offset + 1e-9
        while len(self._past) > 1 and self._past[1][0] <= wanted:
            self._past.popleft()
        row = self._past[0][1]
        position, velocity, torque, others = self._measuring.report(row, self._tick)
        return State(
            time=self._time,
            sequence=sequence,
            position=position,
            velocity=velocity,
            torque=torque,
            others=others,
            mode=self._mode,
        )

    def _describe(self, name: str, joints: tuple[str, ...]) -> RobotInfo:
        kinds = sorted({line.kind for line in self._lines})
        return RobotInfo(
            name=name,
            joints=joints,
            commands=tuple(line.signal for line in self._lines),
            command_kind=kinds[0] if len(kinds) == 1 else "",
            rate=1 / (self._worlds.substeps * self._worlds.timestep),
            command_lower=np.array([line.lower for line in self._lines]),
            command_upper=np.array([line.upper for line in self._lines]),
            other_signals=self._measuring.others,
        )
