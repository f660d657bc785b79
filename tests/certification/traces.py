"""Motions of two joints to plant a fact in."""

import numpy as np

from realworthy.certification.rollouts.trace import Trace

RATE = 50.0


def make(worlds: int = 2, steps: int = 100, *, rate: float = RATE, **given) -> Trace:
    """Two joints at rest; limits ±1 rad, 5 rad/s, 10 N·m."""
    still = np.zeros((worlds, steps, 2))
    arrays = {
        "length": np.full(worlds, steps),
        "action": still,
        "position": still,
        "velocity": still,
        "torque": still,
        "lower": np.full(2, -1.0),
        "upper": np.full(2, 1.0),
        "velocity_limit": np.full(2, 5.0),
        "torque_limit": np.full(2, 10.0),
        "failure": np.zeros(worlds, np.int64),
        "failure_step": np.full(worlds, -1),
        "success": np.ones(worlds, bool),
    }
    return Trace(period_s=1 / rate, **{**arrays, **given})


def place(shape: tuple[int, ...], places: dict[tuple, float]) -> np.ndarray:
    values = np.zeros(shape)
    for where, value in places.items():
        values[where] = value
    return values
