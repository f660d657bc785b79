"""Stalls: a servo pushes and its joint rests, held by what the twin lacks.

A cable that is too short, an end stop, the robot's own body: a position servo shows
it, for it goes on pushing. Where its torque is more than load and dry friction can
hold, and the joint rests all the same while the twin goes on, something else holds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.joint_by_joint import PositionServo
from realworthy.simulators.inverse_dynamics import joint_loads
from realworthy.simulators.replay import Track
from realworthy.twins import Twin

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]
_REST_SECONDS, _REST_TRAVEL = 0.3, 0.01
"""[s] and [rad or m]: a joint rests that goes no further in that time. A servo that
turns round rests for a tenth of a second; the SO-101's wrist stalls for 1 to 2 s and
creeps by up to 5 mrad (single_joint_wrist_roll, 2026-11-19)."""
_MIN_FRICTIONS = 2.0
"""Times the joint's dry friction that must push: fits of it are off by half."""
_MIN_OFF = 0.1
"""[rad or m] that the goal and the twin must be away: two sd of what is believed of an
encoder's offset (`priors.OFFSET_SD`)."""


@dataclass(frozen=True, slots=True)
class Stall:
    """One time at which something held a joint."""

    joint: str
    position: float
    """[rad or m] at which the joint rested."""
    start: float
    end: float
    """[s] of the recording, while the twin was away."""
    push: float
    """[N·m or N] at most beyond load and friction: what held it gave as much."""


def find_stalls(
    twin: Twin, track: Track, off: Floats, servos: Sequence[PositionServo]
) -> tuple[tuple[Stall, ...], Rows]:
    """Stalls in (rows, servos) errors of a replay, and the (rows,) that they spoil.

    `twin` has gains and frictions that are about right.
    """
    stalls, held = list[Stall](), np.zeros(len(track.rows), dtype=bool)
    for j, servo in enumerate(servos):
        rows = _find_pushed(track, servo)
        away = np.abs(off[:, j]) > _MIN_OFF
        for run in _list_runs(away):
            resting = np.flatnonzero(rows[run]) + run.start
            push = _compute_push(twin, track, servo, resting)
            friction = _read(twin, servo, "coulomb_friction")
            if not len(push) or np.median(push) < _MIN_FRICTIONS * friction:
                continue
            held[run] = True
            time = track.recording.time - track.recording.time[0]
            column = track.joints.index(servo.joint)
            stalls.append(
                Stall(
                    joint=servo.joint,
                    position=float(np.median(track.position[resting, column])),
                    start=float(time[run.start]),
                    end=float(time[run.stop - 1]),
                    push=float(np.max(push)) - friction,
                )
            )
    return tuple(stalls), held


def describe_stalls(stalls: Sequence[Stall]) -> str:
    """Which joint, where and how hard."""
    joints: dict[str, list[Stall]] = {}
    for stall in stalls:
        joints.setdefault(stall.joint, []).append(stall)
    return " and ".join(
        f"{joint} stalls {_count(own)} at "
        f"{np.median([s.position for s in own]):.2f} though its drive pushes with "
        f"up to {max(s.push for s in own):.2g} N·m more than friction holds"
        for joint, own in joints.items()
    )


def _find_pushed(track: Track, servo: PositionServo) -> Rows:
    """(rows,) at which the joint rests far from its goal."""
    position = track.position[:, track.joints.index(servo.joint)]
    rows = max(2, round(_REST_SECONDS * track.recording.rate))
    if len(position) <= rows:
        return np.zeros(len(position), dtype=bool)
    windows = np.lib.stride_tricks.sliding_window_view(position, rows)
    still = np.flatnonzero(np.ptp(windows, axis=1) < _REST_TRAVEL)
    rests = np.zeros(len(position), dtype=bool)
    for first in still:
        rests[first : first + rows] = True
    return rests & (np.abs(_find_goal(track, servo) - position) > _MIN_OFF)


def _compute_push(
    twin: Twin, track: Track, servo: PositionServo, rows: NDArray[np.intp]
) -> Floats:
    """(rows,) [N·m or N] by which a drive pushes a joint at rest beyond its load."""
    if not len(rows):
        return np.empty(0)
    column = track.joints.index(servo.joint)
    position, rest = track.position[rows], np.zeros((len(rows), len(track.joints)))
    load = joint_loads(track, rows, position, rest, rest).torque[:, column]
    limit = _read(twin, servo, "torque_limit") or np.inf
    goal = _find_goal(track, servo)[rows]
    drive = _read(twin, servo, "kp") * (goal - position[:, column])
    return np.abs(np.clip(drive, -limit, limit) - load)


def _find_goal(track: Track, servo: PositionServo) -> Floats:
    sent = track.control[track.rows, servo.column]
    return np.clip(sent, servo.lower, servo.upper)


def _read(twin: Twin, servo: PositionServo, kind: str) -> float:
    name = servo.name_of(kind)
    return twin.space[name].nominal if name in twin.space else 0.0


def _list_runs(mask: Rows) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.r_[False, mask, False].astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _count(stalls: Sequence[Stall]) -> str:
    if len(stalls) == 1:
        return f"from {stalls[0].start:.1f} to {stalls[0].end:.1f} s"
    return f"{len(stalls)} times from {stalls[0].start:.1f} to {stalls[-1].end:.1f} s"
