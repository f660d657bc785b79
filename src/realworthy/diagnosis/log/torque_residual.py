"""Which of several edits leaves a twin the least torque that it cannot explain.

A log that contradicts itself often leaves open which side of it is wrong: commands that
count the other way look like measurements that do. Gravity and inertia of the twin tell
the two apart, without a replay: inverse dynamics of the measured motion, less what the
twin's drives give for the commands.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import Fix, apply_fix
from realworthy.recordings import Recording
from realworthy.simulators.inverse_dynamics import joint_loads, missing_torques
from realworthy.simulators.replay import Track
from realworthy.simulators.replay.track import lay_out_all
from realworthy.twins import Twin

Floats = NDArray[np.float64]

ROWS = 120
"""Rows of each recording that are asked."""
RECORDINGS = 3
SPAN = 0.06
"""[s] over which positions are smoothed to differentiate them twice."""
MIN_LOG_RATIO = 0.3
"""Difference of the sum of logarithms of torque residual, over joints, from which one
edit is better than another: a factor of 1.35 on one joint. Joints that an edit does not
concern give the same torque for both, so there is little chance in it."""


def compare_torque_residual(
    twin: Twin, recordings: Sequence[Recording], fixes: Sequence[Fix]
) -> list[float]:
    """For each edit, log of the torque that stays unexplained, summed over joints.

    Only differences between edits mean something.
    """
    scores = score_torque_residual(twin, recordings, fixes)
    return [sum(score.values()) for score in scores]


def score_torque_residual(
    twin: Twin,
    recordings: Sequence[Recording],
    fixes: Sequence[Fix],
    *,
    row_count: int = ROWS,
) -> list[dict[str, float]]:
    """For each edit, joint → logarithm of the torque residual [N·m].

    Medians over rows, so that friction at standstill and steps of commands count
    little.
    """
    asked = recordings[:RECORDINGS]
    edited = [apply_fix(recording, fix) for fix in fixes for recording in asked]
    tracks = lay_out_all(twin.without_residual(), edited)
    scores = []
    for k in range(len(fixes)):
        mine = tracks[k * len(asked) : (k + 1) * len(asked)]
        parts = [np.abs(_compute_residual(track, row_count)) for track in mine]
        typical = np.log(np.median(np.concatenate(parts), axis=0) + 1e-9)
        scores.append(dict(zip(mine[0].joints, typical.tolist(), strict=True)))
    return scores


@dataclass(frozen=True, slots=True)
class TorqueResidual:
    """What pushes one joint beyond what the twin's drive gives it."""

    torque: list[Floats]
    """[N·m] in stretches of about half a second."""
    needed: Floats
    """[N·m] that gravity asks of the drive along the motion, by the twin."""

    @property
    def typical(self) -> float:
        """[N·m] 90 % of what gravity asks is below."""
        return float(np.quantile(np.abs(self.needed), 0.9))


def measure_torque_residual(
    twin: Twin, recordings: Sequence[Recording]
) -> dict[str, TorqueResidual]:
    """Joint → its torque residual along all recordings."""
    tracks = lay_out_all(twin.without_residual(), list(recordings[:RECORDINGS]))
    stretches: dict[str, list[Floats]] = {}
    needed: dict[str, list[Floats]] = {}
    for track in tracks:
        missing = _compute_residual(track)
        rows = _choose_rows(track)
        states = np.zeros((len(rows), len(track.joints)))
        loads = joint_loads(track, rows, track.position[rows], states, states).torque
        parts = max(2, int(track.time[-1] / 0.5))
        for i, joint in enumerate(track.joints):
            stretches.setdefault(joint, []).extend(
                part for part in np.array_split(missing[:, i], parts) if len(part)
            )
            needed.setdefault(joint, []).append(loads[:, i])
    return {
        joint: TorqueResidual(stretches[joint], np.concatenate(needed[joint]))
        for joint in stretches
    }


def _choose_rows(track: Track, count: int = ROWS) -> NDArray[np.intp]:
    last, margin = len(track.time) - 1, _choose_window(track) // 2
    count = min(count, last + 1)
    return np.unique(np.linspace(margin, last - margin, count).astype(np.intp))


def _choose_window(track: Track) -> int:
    count = len(track.time)
    period = float(np.median(np.diff(track.time)))
    return min(max(7, 2 * round(SPAN / period / 2) + 1), count - 1 + count % 2)


def _compute_residual(track: Track, count: int = ROWS) -> Floats:
    """(rows, joints) torque [N·m] that the motion needs beyond what the twin gives."""
    from scipy.signal import savgol_filter

    period = float(np.median(np.diff(track.time)))
    window = _choose_window(track)
    states = [
        np.asarray(savgol_filter(track.position, window, 3, deriv, delta, axis=0))
        for deriv, delta in ((0, 1.0), (1, period), (2, period))
    ]
    rows = _choose_rows(track, count)
    return missing_torques(track, rows, *(state[rows] for state in states))
