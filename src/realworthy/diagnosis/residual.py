"""What is left of a gap: does it follow from state and command, or is it chance?

A flexible model of the torque residual, random features and a ridge, judged on parts
of time that it has not seen. It names nothing; it says whether there is something to
name.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.measure import RecordingGap

Floats = NDArray[np.float64]
_FEATURES = 200
_STRETCHES = 8
_RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
_FEWEST = 200


def measure_learnable(gap: RecordingGap, seed: int = 0) -> dict[str, float]:
    """Joint → share of its torque residual's variance that state and command predict.

    On unseen stretches, above the floor of noise and method; 0 where nothing is
    predictable, and no entry where the recording is too short.
    """
    torque, rows = gap.forces.torque, gap.forces.rows
    if len(rows) < _FEWEST or torque.shape[1] == 0:
        return {}
    inputs = _features(gap, rows, seed)
    found = {}
    for i, joint in enumerate(gap.track.joints):
        found[joint] = _predictable(inputs, torque[:, i], gap.forces.floor[joint])
    return found


def _features(gap: RecordingGap, rows: NDArray[np.intp], seed: int) -> Floats:
    """(rows, features): state, command, direction, and cosines of random mixes."""
    states, track = gap.states, gap.track
    command = track.control[track.rows[rows]]
    earlier = track.control[np.maximum(track.rows[rows] - _lag(gap), 0)]
    velocity = states.velocity[rows]
    plain = np.concatenate([states.position[rows], velocity, command, earlier], axis=1)
    spread = plain.std(0)
    plain = (plain - plain.mean(0))[:, spread > 1e-9] / spread[spread > 1e-9]
    slow = 0.1 * velocity.std(0) + 1e-12
    direction = np.tanh(velocity / slow)
    rng = np.random.default_rng(seed)
    mixes = rng.normal(0, 0.5, (plain.shape[1], _FEATURES))
    phases = rng.uniform(0, 2 * np.pi, _FEATURES)
    waves = np.cos(plain @ mixes + phases)
    return np.concatenate([np.ones((len(plain), 1)), plain, direction, waves], axis=1)


def _lag(gap: RecordingGap) -> int:
    """Substeps of 20 ms: what was commanded just before."""
    return max(1, round(0.02 / gap.track.timestep))


def _predictable(inputs: Floats, torque: Floats, floor: float) -> float:
    stretch = np.arange(len(torque)) * _STRETCHES // len(torque)
    best = 0.0
    variance = float(np.var(torque))
    above = variance - floor**2
    if above <= 0:
        return 0.0
    for ridge in _RIDGES:
        error = 0.0
        for fold in range(0, _STRETCHES, 2):
            held = np.isin(stretch, (fold, fold + 1))
            a, b = inputs[~held], torque[~held]
            gram = a.T @ a + ridge * len(a) * np.eye(a.shape[1]) * 1e-2
            weights = np.linalg.solve(gram, a.T @ b)
            error += float(np.sum((torque[held] - inputs[held] @ weights) ** 2))
        explained = variance - error / len(torque)
        best = max(best, explained / above)
    return float(np.clip(best, 0.0, 1.0))
