"""Edits of recordings that put faults of the interface right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import find_repeats
from realworthy.diagnosis.suspects import Case
from realworthy.recordings import Recording

Floats = NDArray[np.float64]


class Part(StrEnum):
    """Which signals of a joint an edit is about."""

    BOTH = "measurements and commands"
    MEASURED = "measurements"
    COMMAND = "commands"


@dataclass(frozen=True, slots=True)
class FlipSign:
    """A joint that counts the other way."""

    joint: str
    part: Part = Part.BOTH

    def apply(self, recording: Recording) -> Recording:
        signals = dict(recording.signals)
        for name in _signals(recording, self.joint, self.part):
            signals[name] = -signals[name]
        return replace(recording, signals=signals)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Two joints whose signals carry each other's names."""

    first: str
    second: str
    part: Part = Part.BOTH

    def apply(self, recording: Recording) -> Recording:
        signals = dict(recording.signals)
        for mine, other in ((self.first, self.second), (self.second, self.first)):
            for name in _signals(recording, mine, self.part):
                twin = other + name.removeprefix(mine)
                if twin in recording.signals:
                    signals[twin] = recording.signals[name]
        return replace(recording, signals=signals)


@dataclass(frozen=True, slots=True)
class HoldCommands:
    """Commands that the robot looks at less often than they were sent."""

    rate: float
    """[Hz]"""

    def apply(self, recording: Recording) -> Recording:
        elapsed = recording.time
        beat = np.floor(elapsed * self.rate + 1e-6)
        fresh = np.r_[True, np.diff(beat) > 0]
        held = np.maximum.accumulate(np.where(fresh, np.arange(len(elapsed)), 0))
        signals = dict(recording.signals)
        for name in recording.signals:
            if _is_command(name):
                signals[name] = recording.signals[name][held]
        return replace(recording, signals=signals)


@dataclass(frozen=True, slots=True)
class IntegrateCommands:
    """Position commands that the robot took for velocities."""

    lower: tuple[tuple[str, float], ...]
    upper: tuple[tuple[str, float], ...]
    """Joint → end of its commands [rad]."""

    def apply(self, recording: Recording) -> Recording:
        signals = dict(recording.signals)
        low, high = dict(self.lower), dict(self.upper)
        for joint in recording.joints:
            name = f"{joint}.command"
            if name in signals and joint in low:
                start = float(recording.signals[f"{joint}.position"][0])
                signals[name] = _integrate(
                    recording.time, signals[name], start, low[joint], high[joint]
                )
        return replace(recording, signals=signals)


@dataclass(frozen=True, slots=True)
class MoveCommand:
    """Position commands to which the robot adds a pose of its own."""

    joint: str
    offset: float
    """[rad]"""

    def apply(self, recording: Recording) -> Recording:
        signals = dict(recording.signals)
        for name in _signals(recording, self.joint, Part.COMMAND):
            signals[name] = signals[name] + self.offset
        return replace(recording, signals=signals)


def move_commands(case: Case) -> list[MoveCommand]:
    """What default poses of a case do to commands."""
    return [
        MoveCommand(slot.joint, value)
        for slot, value in case.effects.items()
        if slot.effect == "default_pose"
    ]


def bridge_repeats(recording: Recording, names: Sequence[str]) -> Recording:
    """Rows that repeat the one before get what lies between their neighbours.

    Commands stay: they were sent, whatever the sensors said. `names` are the signals
    that repeat together.
    """
    known = [name for name in names if name in recording.signals]
    if not known:
        return recording
    rows = np.stack([recording.signals[name] for name in known], axis=1)
    fresh = ~find_repeats(rows)
    signals = dict(recording.signals)
    for name in known:
        values = recording.signals[name]
        signals[name] = np.interp(recording.time, recording.time[fresh], values[fresh])
    return replace(recording, signals=signals)


def fill_gaps(recording: Recording) -> Recording:
    """Missing rows are put on the line between their neighbours, commands too.

    What was sent in a gap is not known; between slow commands a line is close.
    """
    time = recording.time
    period = float(np.median(np.diff(time)))
    steps = np.maximum(1, np.round(np.diff(time) / period)).astype(int)
    if steps.max() == 1:
        return recording
    places = np.concatenate([[0], np.cumsum(steps)])
    everywhere = np.interp(np.arange(places[-1] + 1), places, time)
    signals = {
        name: np.interp(everywhere, time, values)
        for name, values in recording.signals.items()
    }
    return replace(recording, time=everywhere, signals=signals)


def _integrate(
    time: Floats, speed: Floats, start: float, low: float, high: float
) -> Floats:
    """Goal in the middle of each row: it moves on while a row is held."""
    period = np.diff(time, append=2 * time[-1] - time[-2])
    goal, at = np.empty(len(time)), start
    for k, step in enumerate(speed * period):
        goal[k] = np.clip(at + 0.5 * step, low, high)
        at = float(np.clip(at + step, low, high))
    return goal


def _signals(recording: Recording, joint: str, part: Part) -> list[str]:
    found = []
    for name in recording.signals:
        if not name.startswith(f"{joint}."):
            continue
        wanted = Part.COMMAND if _is_command(name) else Part.MEASURED
        if part in (Part.BOTH, wanted):
            found.append(name)
    return found


def _is_command(name: str) -> bool:
    return ".command" in name
