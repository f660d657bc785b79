"""The gap as torque: what pushes each joint that the model does not know of?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.states import States
from realworthy.simulators.inverse import joint_inertia, missing_torques
from realworthy.simulators.replay import Track

Floats = NDArray[np.float64]
ROW_COUNT = 4000


@dataclass(frozen=True, slots=True)
class ForceGap:
    """Torque that the measured motion needs beyond what the model delivers."""

    rows: NDArray[np.intp]
    torque: Floats
    """(rows, joints) [N·m or N]."""
    rms: dict[str, float]
    """Joint → root mean square, accelerations smoothed over 30 ms."""
    floor: dict[str, float]
    """Joint → what noise in the acceleration alone would give."""


def measure_forces(track: Track, states: States) -> ForceGap:
    """Inverse dynamics minus the model's own torques, on up to 4,000 rows.

    Not valid with unmeasured contacts or an unmeasured moving base. Noise enters
    through the acceleration, which is smoothed.
    """
    last = len(track.rows)
    rows = np.unique(np.linspace(0, last - 1, min(ROW_COUNT, last)).astype(np.intp))
    found = missing_torques(
        track,
        rows,
        states.position[rows],
        states.velocity[rows],
        states.acceleration[rows],
    )
    rms = np.sqrt(np.mean(found**2, axis=0))
    floor = states.acceleration_sd * joint_inertia(track)
    return ForceGap(
        rows=rows,
        torque=found,
        rms=dict(zip(track.joints, rms.tolist(), strict=True)),
        floor=dict(zip(track.joints, floor.tolist(), strict=True)),
    )
