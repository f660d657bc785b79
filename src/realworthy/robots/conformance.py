"""What every `Robot` must do, as something that can be run on a driver of your own.

`check_robot` connects, reads, sends the robot the command that keeps it where it is
(its own position, zero speed, zero torque), brakes and stops it. **A real robot moves a
little**: hang it up or hold it. It is left in emergency stop.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.robots.clock import Clock, MonotonicClock
from realworthy.robots.robot import Command, Mode, Robot, State

Floats = NDArray[np.float64]
_AT_ONCE = 0.02
"""[s] within which reading and writing return: neither may wait for the robot."""
_SHOWS = 0.5
"""[s] within which a change of mode, or a new measurement, shows."""


@dataclass(frozen=True, slots=True)
class RobotCheck:
    """One promise of the interface."""

    promise: str
    kept: bool
    found: str


def check_robot(robot: Robot, clock: Clock | None = None) -> tuple[RobotCheck, ...]:
    """Every promise, kept or not; the robot is in emergency stop at the end.

    `clock` is the machine's; a stand-in in this process needs a `SteppedClock`.
    """
    trial = _Trial(robot, clock or MonotonicClock())
    trial.check_description()
    if all(check.kept for check in trial.checks):
        try:
            trial.check_life()
        finally:
            robot.close()
    return tuple(trial.checks)


class _Trial:
    def __init__(self, robot: Robot, clock: Clock) -> None:
        self._robot, self._clock = robot, clock
        self.checks: list[RobotCheck] = []

    def check_description(self) -> None:
        info = self._robot.info
        for what, names in (("joints", info.joints), ("commands", info.commands)):
            unique = bool(names) and len(set(names)) == len(names)
            self._note(f"{what} have names of their own", unique, ", ".join(names))
        count = len(info.commands)
        shapes = info.command_lower.shape, info.command_upper.shape
        self._note("limits are as many as commands", set(shapes) == {(count,)}, shapes)
        if set(shapes) == {(count,)}:
            ordered = bool((info.command_lower < info.command_upper).all())
            self._note("lower limits lie below upper ones", ordered, "")
        self._note("it likes a rate above 0", 0 < info.rate < 1e5, f"{info.rate:g} Hz")
        self._note("its description stays", self._robot.info.joints == info.joints, "")

    def check_life(self) -> None:
        self._robot.connect()
        first = self._read()
        self._check_state(first)
        newer = self._wait_for(lambda state: state.time > first.time)
        later = newer is not None and newer.sequence > first.sequence
        self._note("measurements go on, with time and sequence", later, "")
        self._follow(0, "a command runs it", Mode.RUN)
        self._robot.damp()
        self._robot.damp()
        self._expect("damping brakes, also twice", Mode.DAMP)
        self._follow(1, "the next command runs it again", Mode.RUN)
        self._write(2, np.full(len(self._robot.info.commands), np.nan))
        self._robot.damp()
        self._expect("it survives a command that is no number", Mode.DAMP)
        self._robot.stop()
        self._expect("stopping stops", Mode.STOPPED)
        self._follow(3, "and stays, whatever is commanded", Mode.STOPPED)
        self._robot.damp()
        self._expect("or damped", Mode.STOPPED)

    def _check_state(self, state: State) -> None:
        info = self._robot.info
        joints, others = len(info.joints), len(info.other_signals)
        shapes = (
            state.position.shape,
            state.velocity.shape,
            state.torque.shape,
            state.others.shape,
        )
        wanted = ((joints,),) * 3 + ((others,),)
        self._note("states have one number per joint and signal", shapes == wanted, "")
        values = np.concatenate(
            [state.position, state.velocity, state.torque, state.others]
        )
        self._note("they are finite", bool(np.isfinite(values).all()), "")
        self._note("it brakes when connected", state.mode is Mode.DAMP, state.mode)

    def _follow(self, sequence: int, promise: str, mode: Mode) -> None:
        """Some commands that keep the robot where it is."""
        info, state = self._robot.info, self._robot.read()
        rest = np.zeros(len(info.commands))
        if info.command_kind == "position":
            owners = [name.partition(".command")[0] for name in info.commands]
            places = [info.joints.index(o) if o in info.joints else -1 for o in owners]
            rest = np.append(state.position, 0.0)[places]
        rest = np.clip(rest, info.command_lower, info.command_upper)
        quick = True
        end = self._clock.now() + 0.1
        while self._clock.now() < end:
            quick &= self._write(sequence, rest)
            self._clock.sleep_until(self._clock.now() + 1 / info.rate)
        found = self._robot.read().mode
        self._note(promise, found is mode, found)
        self._note("writing does not wait", quick, "")

    def _write(self, sequence: int, values: Floats) -> bool:
        begin = time.monotonic()
        self._robot.write(Command(sequence=sequence, values=values))
        return time.monotonic() - begin < _AT_ONCE

    def _read(self) -> State:
        begin = time.monotonic()
        state = self._robot.read()
        took = time.monotonic() - begin
        self._note("reading does not wait", took < _AT_ONCE, f"{1e3 * took:.1f} ms")
        return state

    def _expect(self, promise: str, mode: Mode) -> None:
        state = self._wait_for(lambda state: state.mode is mode)
        self._note(promise, state is not None, self._robot.read().mode)

    def _wait_for(self, wanted: Callable[[State], bool]) -> State | None:
        end = self._clock.now() + _SHOWS
        while self._clock.now() < end:
            state = self._robot.read()
            if wanted(state):
                return state
            self._clock.sleep_until(self._clock.now() + 0.01)
        return None

    def _note(self, promise: str, kept: bool, found: object) -> None:
        self.checks.append(RobotCheck(promise, bool(kept), str(found)))
