"""Torque per current, from weights on a lever held still.

A joint that holds a known torque draws the current of torque less friction or torque
plus friction, by the side from which it came to rest. Half the sum over both sides is
free of friction; its slope over several known torques is 1/k_t.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.identification.experiments.joint_commands import (
    JointBench,
    drive_joint,
    get_signal,
)
from realworthy.recordings import Recording
from realworthy.robots import Robot

Floats = NDArray[np.float64]
_SETTLED = 0.3
"""Share at the end of a hold over which current is averaged."""


@dataclass(frozen=True, kw_only=True)
class TorqueConstant:
    """k_t of a drive, on the joint's side of its gear."""

    torque_constant: float
    """[N·m/A]"""
    sd: float
    friction_current: float
    """[A] half the difference between both sides."""
    offset_current: float
    """[A] at no load."""


def record_holds(
    robot: Robot,
    joint: str,
    position: float,
    *,
    approach: float = 0.15,
    hold: float = 1.0,
    bench: JointBench | None = None,
) -> Recording:
    """Comes to rest at `position` [rad] from below, then from above, `hold` [s] each.

    Once for every weight on the lever. Let the lever be level there.
    """
    values = plan_holds(position, robot.info.rate, approach=approach, hold=hold)
    return drive_joint(robot, joint, values, ("position",), bench)


def plan_holds(
    position: float, rate: float, *, approach: float = 0.15, hold: float = 1.0
) -> Floats:
    """(steps,) goals [rad]: from below to the position and rest, past it, and back."""
    ease = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, round(hold * rate)))
    still = np.ones(round(hold * rate))
    low, high = position - approach, position + approach
    parts = [low + approach * ease, position * still]
    parts += [position + approach * ease, high - approach * ease, position * still]
    return np.concatenate(parts)


def measure_torque_constant(
    recordings: Sequence[Recording], joint: str, torques: Sequence[float]
) -> TorqueConstant:
    """k_t from one recording of `record_holds` per known torque [N·m] of the lever."""
    if len(recordings) != len(torques) or len(set(torques)) < 2:
        raise RealworthyError(
            f"{len(recordings)} recordings and {len(set(torques))} different known "
            "torques were given.",
            hint="Give one known torque per recording, and two weights or more.",
        )
    sides = np.array([average_holds(recording, joint) for recording in recordings])
    middle, apart = sides.mean(1), 0.5 * (sides[:, 0] - sides[:, 1])
    known = np.asarray(torques, dtype=np.float64)
    design = np.stack([known, np.ones_like(known)], axis=1)
    answer = np.linalg.lstsq(design, middle, rcond=None)[0]
    left = middle - design @ answer
    freedom = max(1, len(known) - 2)
    variance = float(left @ left) / freedom * np.linalg.inv(design.T @ design)
    slope = float(answer[0])
    return TorqueConstant(
        torque_constant=1 / slope,
        sd=float(np.sqrt(variance[0, 0])) / slope**2,
        friction_current=float(np.mean(np.abs(apart))),
        offset_current=float(answer[1]),
    )


def average_holds(recording: Recording, joint: str) -> tuple[float, float]:
    """Mean current at the end of the hold from below and of that from above [A]."""
    current = get_signal(recording, f"{joint}.current")
    command = get_signal(recording, f"{joint}.command")
    still = np.concatenate([[False], np.abs(np.diff(command)) < 1e-9])
    edges = np.flatnonzero(np.diff(still.astype(int)))
    borders = np.concatenate([[0], edges + 1, [len(still)]])
    holds = [(a, b) for a, b in itertools.pairwise(borders) if still[a] and b - a > 10]
    if len(holds) < 2:
        raise RealworthyError(
            f"{recording.owner} has {len(holds)} holds of '{joint}'; two are needed.",
            hint="record_holds makes them.",
        )
    means = [
        float(np.mean(current[b - max(1, round(_SETTLED * (b - a))) : b]))
        for a, b in (holds[0], holds[-1])
    ]
    return means[0], means[1]
