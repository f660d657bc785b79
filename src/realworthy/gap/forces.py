"""The gap as torque: what pushes each joint that the model does not know of?"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.noise import NoiseFloor
from realworthy.gap.states import States, estimate_states
from realworthy.recordings import Recording
from realworthy.simulators.inverse_dynamics import joint_inertia, missing_torques
from realworthy.simulators.replay import Track
from realworthy.simulators.residual_force import compute_along

Floats = NDArray[np.float64]
ROW_COUNT = 4000
"""Rows at which inverse dynamics is evaluated: an rms over so many independent ones is
known to 1 %."""


@dataclass(frozen=True, slots=True)
class ForceGap:
    """Torque that the measured motion needs beyond what the model delivers."""

    rows: NDArray[np.intp]
    torque: Floats
    """(rows, joints) [N·m or N]."""
    rms: dict[str, float]
    """Joint → root mean square, accelerations smoothed over 30 ms."""
    floor: dict[str, float]
    """Joint → what noise and the method's own error would give."""


def measure_forces(track: Track, states: States, simulated: Floats) -> ForceGap:
    """Inverse dynamics minus the model's own torques, on up to 4,000 rows.

    The floor holds noise in the acceleration, and the error of the method: the same
    done to `simulated`, (rows, joints) positions of the twin's own replay, where
    nothing is missing. Empty for a floating base, whose contacts nobody measured.
    """
    last = len(track.rows)
    rows = np.unique(np.linspace(0, last - 1, min(ROW_COUNT, last)).astype(np.intp))
    if track.base is not None:
        return ForceGap(rows, np.empty((len(rows), 0)), {}, {})
    found = _missing(track, states, rows)
    method = _missing(track, _own_states(track, simulated), rows)
    rms = np.sqrt(np.mean(found**2, axis=0))
    noise = states.acceleration_sd * joint_inertia(track)
    floor = np.hypot(noise, np.sqrt(np.mean(method**2, axis=0)))
    return ForceGap(
        rows=rows,
        torque=found,
        rms=dict(zip(track.joints, rms.tolist(), strict=True)),
        floor=dict(zip(track.joints, floor.tolist(), strict=True)),
    )


def _missing(track: Track, states: States, rows: NDArray[np.intp]) -> Floats:
    """(rows, joints) torque that neither the model nor the twin's residual gives."""
    torque = missing_torques(
        track,
        rows,
        states.position[rows],
        states.velocity[rows],
        states.acceleration[rows],
    )
    residual = track.bound.twin.residual
    if residual is None:
        return torque
    learned = compute_along(residual, track, states.position, states.velocity, rows)
    return torque - learned


def _own_states(track: Track, simulated: Floats) -> States:
    """States of the replay, found from its positions as those of a recording are."""
    names = [f"{joint}.position" for joint in track.joints]
    signals = dict(zip(names, simulated.T, strict=True))
    played = replace(
        track,
        recording=Recording(track.recording.time, signals),
        position=simulated,
    )
    still = dict.fromkeys(track.joints, 0.0)
    return estimate_states(played, NoiseFloor(still, still, still, "none"))
