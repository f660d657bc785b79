"""Faults of a robot that no reality file has: they begin while it runs."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.robots import Command, Robot, RobotInfo, State

Floats = NDArray[np.float64]
_AMBIENT = 25.0
"""[°C]"""
_COOLING = 60.0
"""[s] time constant with which a motor cools."""


@dataclass(kw_only=True, slots=True)
class RobotFaults:
    """What goes wrong, and when; times [s] count from `connect`."""

    noise: float = 0.0
    """Standard deviation added to positions [rad] and, ten times it, to velocities."""
    freeze_after: float | None = None
    """From when measurements repeat: new stamps, old numbers."""
    freeze_for: float = math.inf
    """[s] for which they do."""
    stick: str = ""
    """Joint whose drive stops following: it holds where it is, or gives nothing."""
    stick_after: float = 0.0
    heating: float = 0.0
    """[°C/s] that a motor warms at one N·m (with its square); reported as
    `<joint>.temperature`."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("noise", "heating", "freeze_for", "stick_after"):
            if not getattr(self, name) >= 0:
                raise RealworthyError(f"{name} must be 0 or more.")


class FaultyRobot(Robot):
    """A robot with faults; otherwise the robot that it wraps."""

    def __init__(self, robot: Robot, faults: RobotFaults) -> None:
        info = robot.info
        if faults.stick and faults.stick not in info.joints:
            owner = f"robot '{info.name}'"
            raise UnknownName("joint", faults.stick, info.joints, owner=owner)
        self._robot, self._faults = robot, faults
        self._random = np.random.default_rng(faults.seed)
        warm = [f"{j}.temperature" for j in info.joints] if faults.heating else []
        self._info = replace(info, other_signals=(*info.other_signals, *warm))
        self._stuck = [
            i
            for i, name in enumerate(info.commands)
            if name.partition(".command")[0] == faults.stick
        ]
        self._begin()

    @property
    def info(self) -> RobotInfo:
        return self._info

    @property
    def steps_time(self) -> bool:
        return self._robot.steps_time

    def connect(self) -> None:
        self._robot.connect()
        self._begin()

    def read(self) -> State:
        return self._newest

    def write(self, command: Command) -> None:
        values = np.array(command.values, dtype=np.float64)
        if self._faults.stick and self._elapsed >= self._faults.stick_after:
            for place in self._stuck:
                values[place] = self._hold(place)
        self._robot.write(Command(sequence=command.sequence, values=values))

    def wait(self, seconds: float) -> None:
        self._robot.wait(seconds)
        before, true = self._newest, self._robot.read()
        if true.sequence == self._true.sequence:
            self._newest = replace(before, mode=true.mode)
            return
        self._warm(true.torque, true.time - self._true.time)
        self._true = true
        start = self._faults.freeze_after
        if start is not None and start <= self._elapsed < (
            start + self._faults.freeze_for
        ):
            self._newest = replace(
                before, time=true.time, sequence=true.sequence, mode=true.mode
            )
        else:
            self._newest = self._sample(true)

    def damp(self) -> None:
        self._robot.damp()

    def stop(self) -> None:
        self._robot.stop()

    @property
    def _elapsed(self) -> float:
        return self._true.time - self._started

    def _begin(self) -> None:
        self._true = self._robot.read()
        self._started = self._true.time
        self._heat = np.full(len(self._info.joints), _AMBIENT)
        self._held: dict[int, float] = {}
        self._newest = self._sample(self._true)

    def _hold(self, place: int) -> float:
        """What a stuck drive follows: its own place, or nothing."""
        joint = self._info.joints.index(self._faults.stick)
        is_servo = self._info.command_kind == "position"
        value = float(self._true.position[joint]) if is_servo else 0.0
        return self._held.setdefault(place, value)

    def _warm(self, torque: Floats, seconds: float) -> None:
        gain = self._faults.heating * torque**2
        cooling = (self._heat - _AMBIENT) / _COOLING
        self._heat = self._heat + max(seconds, 0.0) * (gain - cooling)

    def _sample(self, true: State) -> State:
        count, sd = len(true.position), self._faults.noise
        others = true.others
        if self._faults.heating:
            others = np.concatenate([others, self._heat])
        if not sd:
            return replace(true, others=others)
        return replace(
            true,
            position=true.position + sd * self._random.standard_normal(count),
            velocity=true.velocity + 10 * sd * self._random.standard_normal(count),
            others=others,
        )
