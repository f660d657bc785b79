"""How much of a measured signal is noise, from the signal alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings import Recording

Floats = NDArray[np.float64]
_ORDERS = (2, 3, 4, 5)
"""Orders k of differences: 1 still sees motion, and beyond 5 few rows are left of short
logs."""


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What a perfect simulator would still be off by, per joint."""

    position: dict[str, float]
    """Joint → standard deviation [rad or m]."""
    velocity: dict[str, float]
    """Joint → standard deviation [rad/s or m/s]; of recorded velocities."""
    quantum: dict[str, float]
    """Joint → smallest step of its encoder [rad or m]; 0 where none was seen."""
    source: str
    """`sidecar` where it was declared, else `estimated`."""


def estimate_sd(values: Floats) -> float:
    """Standard deviation of white noise on a smooth signal.

    The k-th difference of white noise of sd σ has variance C(2k, k) σ²; smooth signals
    vanish in it. The smallest answer over several k is taken, since what is not smooth
    only adds. An upper bound where the signal moves fast between samples.
    """
    answers = []
    for order in _ORDERS:
        if len(values) <= 2 * order:
            break
        differences = np.diff(values, n=order)
        weight = np.sqrt(_central_binomial(order))
        spread = np.median(np.abs(differences - np.median(differences))) / 0.6745
        if spread == 0:  # an encoder that mostly stands still between its steps
            spread = float(np.sqrt(np.mean(differences**2)))
        answers.append(float(spread) / weight)
    return min(answers, default=0.0)


def find_quantum(values: Floats) -> float:
    """The step of an encoder, if all values are multiples of one; else 0."""
    levels = np.unique(values)
    if len(levels) < 3 or len(levels) > 0.7 * len(values):
        return 0.0
    steps = np.diff(levels)
    quantum = float(np.median(steps[steps < 1.5 * steps.min()]))
    multiples = steps / quantum
    return quantum if np.abs(multiples - np.round(multiples)).max() < 0.05 else 0.0


def estimate_noise(recording: Recording, joints: tuple[str, ...]) -> NoiseFloor:
    """Noise of positions and velocities: as declared in the sidecar, or estimated."""
    declared = recording.sidecar.noise
    position, velocity, quantum = {}, {}, {}
    for joint in joints:
        q = recording.signals[f"{joint}.position"]
        quantum[joint] = find_quantum(q)
        coarse = quantum[joint] / np.sqrt(12)
        position[joint] = max(estimate_sd(q), coarse)
        v = recording.signals.get(f"{joint}.velocity")
        velocity[joint] = estimate_sd(v) if v is not None else 0.0
        if declared is not None and declared.position is not None:
            position[joint] = declared.position
        if declared is not None and declared.velocity is not None:
            velocity[joint] = declared.velocity
    told = declared is not None and declared.position is not None
    return NoiseFloor(position, velocity, quantum, "sidecar" if told else "estimated")


def _central_binomial(order: int) -> float:
    from math import comb

    return float(comb(2 * order, order))
