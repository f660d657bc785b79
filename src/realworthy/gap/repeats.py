"""How far the twin is off beside how far the robot is from itself.

Recordings of one `repeat_group` are the same commands, played again. The later ones
against the first are what chance alone does to the robot (RR); each against its replay
in the twin is what chance and the model do (RS).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.horizons import (
    FEWEST_REPEATS,
    Horizon,
    HorizonComparison,
    compare_horizons,
    divergence_horizon,
)
from realworthy.gap.measure import RecordingGap, is_finger

Floats = NDArray[np.float64]
_EPSILON = 0.1
"""Share of its range in the first recording at which a joint counts as far off: a tenth
of the range, as in the methods' replay experiments."""
_LEAST_RANGE = 50.0
"""Times its noise that the range of a joint counts at least, so that a tenth of it is
five standard deviations: a joint at rest then never counts as far off by noise."""
_COMMAND_TOLERANCE = 0.01
"""Largest difference of two repeats' commands as a share of their range: rounding in a
log stays far below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatGap:
    """What the repeats of one experiment say."""

    group: str
    """The `repeat_group` of the sidecars."""
    count: int
    robot_error: float | None
    """[rad or m] rms of later recordings against the first; None where their commands
    differ."""
    twin_error: float | None
    """[rad or m] rms of replays in the twin over the same rows."""
    rate: float | None = None
    """[1/s] λ at which errors grow, e^{λt}; None where they do not."""
    horizons: HorizonComparison | None = None
    """Replay horizons, and ρ as their `ratio`; None where errors do not grow."""
    note: str = ""
    """Why there are no horizons."""

    @property
    def error_ratio(self) -> float | None:
        """The twin's error over the robot's own; None where that is none."""
        if self.twin_error is None or not self.robot_error:
            return None
        return self.twin_error / self.robot_error


def measure_repeats(recordings: Sequence[RecordingGap]) -> tuple[RepeatGap, ...]:
    """For every `repeat_group` with two recordings or more."""
    groups: dict[str, list[RecordingGap]] = {}
    for one in recordings:
        group = one.track.recording.sidecar.repeat_group
        if group is not None:
            groups.setdefault(group, []).append(one)
    return tuple(
        _measure_group(group, members)
        for group, members in groups.items()
        if len(members) > 1
    )


def _measure_group(group: str, members: Sequence[RecordingGap]) -> RepeatGap:
    first, count = members[0], len(members)
    if not all(_is_alike(first, other) for other in members[1:]):
        return RepeatGap(
            group=group,
            count=count,
            robot_error=None,
            twin_error=None,
            note="Their commands or joints differ, as a controller's do: play the "
            "commands of one recording again.",
        )
    columns = [i for i, j in enumerate(first.track.joints) if not is_finger(j)]
    columns = columns or list(range(len(first.track.joints)))
    end = min(one.track.time[-1] for one in members)
    clock = first.track.time[first.track.time <= end]
    measured, simulated = (
        [_sample(one, values, clock)[:, columns] for one, values in both]
        for both in (
            [(one, one.track.position) for one in members],
            [(one, one.simulated) for one in members],
        )
    )
    robot = np.array([later - measured[0] for later in measured[1:]])
    twin = np.array([s - m for s, m in zip(simulated, measured, strict=True)])
    noise = np.array([first.noise.position[first.track.joints[i]] for i in columns])
    spread = np.maximum(np.ptp(measured[0], axis=0), _LEAST_RANGE * noise)
    rate = _find_rate(members)
    horizons, note = None, ""
    if rate is None:
        note = (
            "Errors do not grow by themselves here, so that replays have no horizon: "
            "compare errors."
        )
    elif count <= FEWEST_REPEATS:
        note = f"Horizons need {FEWEST_REPEATS + 1} repeats; ten are a fair number."
    else:
        horizons = compare_horizons(
            _list_horizons(robot / spread, clock),
            _list_horizons(twin / spread, clock),
            rate,
        )
    return RepeatGap(
        group=group,
        count=count,
        robot_error=_rms(robot),
        twin_error=_rms(twin),
        rate=rate,
        horizons=horizons,
        note=note,
    )


def _is_alike(first: RecordingGap, other: RecordingGap) -> bool:
    """Whether two recordings have the same joints and commands, row by row."""
    if first.track.joints != other.track.joints:
        return False
    names = [n for n in first.track.recording.signals if n.endswith(".command")]
    theirs = other.track.recording.signals
    for name in names:
        if name not in theirs:
            return False
        mine = first.track.recording.signals[name]
        rows = min(len(mine), len(theirs[name]))
        off = np.abs(mine[:rows] - theirs[name][:rows])
        if float(np.nanmax(off)) > _COMMAND_TOLERANCE * max(float(np.ptp(mine)), 1e-12):
            return False
    return True


def _sample(one: RecordingGap, values: Floats, clock: Floats) -> Floats:
    columns = [np.interp(clock, one.track.time, column) for column in values.T]
    return np.stack(columns, axis=1)


def _find_rate(members: Sequence[RecordingGap]) -> float | None:
    """[1/s] the middle rate, where most members are unstable."""
    rates = [one.growth.rate for one in members if one.growth.rate is not None]
    return float(np.median(rates)) if 2 * len(rates) > len(members) else None


def _list_horizons(off: Floats, clock: Floats) -> list[Horizon]:
    """Of (repeats, rows, joints) errors over ranges, by the first joint to leave."""
    return [divergence_horizon(np.abs(x).max(axis=1), clock, _EPSILON) for x in off]


def _rms(off: Floats) -> float:
    return float(np.sqrt(np.mean(off**2)))
