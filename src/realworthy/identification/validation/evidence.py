"""When recordings are evidence: joints that move, and predictions beyond persistence.

A model of anything predicts a robot that stands still. Where a part that is held out
does not move, or where "it stays" or "it goes on as it goes" predicts as well as a
twin, the recording is no evidence about the twin's parameters.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.noise import estimate_noise
from realworthy.identification.validation.held_out import (
    Division,
    HeldOutError,
    divide_at,
)
from realworthy.recordings import Recording

Floats = NDArray[np.float64]
_MIN_TRAVEL, _MIN_TRAVEL_RATIO = 0.02, 20.0
"""[rad or m], and times the noise, that a joint travels where it counts as moving.
Joints that single-joint motions of the SO-101 should leave at rest travel up to
0.012 rad, those that follow up to 0.2 rad; its noise is 0.0004 rad (2026-11-19)."""
_FITTED_TRAVEL = 0.75
"""Share of a single recording's travel that is fitted, where its end stands still."""
_STEP_SECONDS = 0.1
"""[s] over which travel is added up: noise adds little over steps that long."""
_MAX_PERSISTENCE_SHARE = 0.6
"""Share of persistence's error that a twin must reach. Published twins reach 0.16 to
0.39 of it on six sets of real double pendulum runs, half a second ahead; a fit to a
pendulum moved by hand 0.74 (2026-11-19)."""


def measure_travel(recordings: Sequence[Recording], joint: str) -> float:
    """[rad or m] between a joint's outermost positions, in all recordings together."""
    q = [r.signals[f"{joint}.position"] for r in recordings if joint in r.joints]
    return float(np.ptp(np.concatenate(q))) if q else 0.0


def find_resting_joints(
    recordings: Sequence[Recording], joints: Sequence[str]
) -> tuple[str, ...]:
    """Joints that travel no further than noise, or less than a degree."""
    return tuple(
        joint
        for joint in joints
        if measure_travel(recordings, joint) < _find_least_travel(recordings, joint)
    )


def moves(recording: Recording, joints: Sequence[str]) -> bool:
    """Whether any of the joints that it holds moves."""
    held = [joint for joint in joints if joint in recording.joints]
    return len(find_resting_joints([recording], held)) < len(held)


def keep_evidence(
    division: Division, joints: Sequence[str]
) -> tuple[Division, tuple[str, ...]]:
    """The division without held-out parts that stand still, and words on these.

    A single recording whose end stands still is cut where three quarters of its travel
    are done. Held-out recordings stay where none of them moves.
    """
    still = [r for r in division.held_out if not moves(r, joints)]
    if not still:
        return division, ()
    if division.is_by_time:
        whole = division.whole
        if not any(moves(r, joints) for r in whole):
            return division, ()
        middle = np.median([_find_travelled(r, joints) for r in whole])
        again = divide_at(whole, float(middle))
        said = (
            "The last quarter of the recording stands still and is no evidence: it is "
            "cut where three quarters of its travel are done."
        )
        return again, (said,)
    moving = tuple(r for r in division.held_out if moves(r, joints))
    if not moving:
        return division, ()
    names = ", ".join(r.name or "a recording" for r in still)
    return (
        replace(division, held_out=moving),
        (f"Held-out recordings that stand still are no evidence: {names}.",),
    )


def beats_persistence(errors: Sequence[HeldOutError]) -> bool:
    """Whether the better of both twins predicts clearly better than motion that goes
    on. Where the given one does, a fit that does not is no better, and says no more."""
    before, after, persistence = np.mean(
        [(error.before, error.after, error.persistence) for error in errors], axis=0
    )
    return bool(min(before, after) < _MAX_PERSISTENCE_SHARE * persistence)


def _find_least_travel(recordings: Sequence[Recording], joint: str) -> float:
    noise = [
        estimate_noise(r, (joint,)).position[joint]
        for r in recordings
        if joint in r.joints
    ]
    return max(_MIN_TRAVEL, _MIN_TRAVEL_RATIO * float(np.median(noise or [0.0])))


def _find_travelled(recording: Recording, joints: Sequence[str]) -> float:
    """Share of a recording's time in which its joints do most of their travel."""
    stride = max(1, round(_STEP_SECONDS * recording.rate))
    held = tuple(joint for joint in joints if joint in recording.joints)
    steps = np.abs(np.diff(recording.stack("position", held)[::stride], axis=0))
    travelled = np.cumsum(steps.sum(axis=1))
    row = int(np.searchsorted(travelled, _FITTED_TRAVEL * travelled[-1]))
    return (row + 1) * stride / len(recording.time)
