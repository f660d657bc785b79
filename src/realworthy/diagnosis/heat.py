"""How warm motors would be along a recording, had they the twin's torques."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.simulators.inverse_dynamics import motor_torques
from realworthy.simulators.replay import Track
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_KEPT = 200


class Heat:
    """Torque of every motor at the measured states, and heat that follows it."""

    def __init__(self, tracks: Sequence[Track], layout: Layout) -> None:
        self._layout = layout
        self._periods = [1 / track.recording.rate for track in tracks]
        self.torque = [motor_torques(track) for track in tracks]
        """One (rows, joints) per track, in the order of the driven joints [N·m]."""
        self._levels: dict[tuple[int, str, float, float], Floats] = {}

    def rms(self, joint: str) -> float:
        """[N·m] of torque over all tracks."""
        i = self._layout.driven_joints.index(joint)
        return float(
            np.sqrt(np.mean(np.concatenate([t[:, i] for t in self.torque]) ** 2))
        )

    def largest(self, joint: str) -> float:
        """[N·m] that is hardly ever exceeded."""
        i = self._layout.driven_joints.index(joint)
        return float(
            np.quantile(np.abs(np.concatenate([t[:, i] for t in self.torque])), 0.99)
        )

    def level(
        self, track: int, joint: str, time_constant: float, rated: float, row: int
    ) -> float:
        """0 … 1 at a row: what (τ/rated)² has approached since a cold first row."""
        from scipy.signal import lfilter

        key = (track, joint, time_constant, rated)
        if key not in self._levels:
            i = self._layout.driven_joints.index(joint)
            target = np.minimum(
                (self.torque[track][:, i] / max(rated, 1e-12)) ** 2, 1.0
            )
            keep = np.exp(-self._periods[track] / time_constant)
            self._levels[key] = np.asarray(lfilter([1 - keep], [1, -keep], target))
            while len(self._levels) > _KEPT:
                self._levels.pop(next(iter(self._levels)))
        levels = self._levels[key]
        return float(levels[min(row, len(levels) - 1)])
