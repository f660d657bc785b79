"""Runs as rows that a network is trained on; numpy alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording
from realworthy.identification.networks.runs import DriveRun

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scales:
    """Fixed numbers that bring inputs and output to about one."""

    error: float
    velocity: float
    torque: float

    @classmethod
    def of(cls, runs: Sequence[DriveRun]) -> "Scales":
        def rms(values: list[Floats]) -> float:
            return max(float(np.sqrt(np.mean(np.concatenate(values) ** 2))), 1e-9)

        return cls(
            1 / rms([run.error for run in runs]),
            1 / rms([run.velocity for run in runs]),
            rms([run.torque for run in runs]),
        )

    def inputs(self, run: DriveRun) -> Floats:
        """(rows, 2)"""
        return np.stack([self.error * run.error, self.velocity * run.velocity], axis=1)


def make_histories(
    run: DriveRun, scales: Scales, *, period: float, history: int
) -> tuple[Floats, Floats]:
    """(rows, 2 · history) errors then velocities, newest first; (rows, 1) torques."""
    stride = _count_rows(run, period)
    first = (history - 1) * stride
    rows = np.arange(first, len(run.torque))
    back = rows[:, None] - stride * np.arange(history)
    inputs = scales.inputs(run)[back]
    flat = np.concatenate([inputs[..., 0], inputs[..., 1]], axis=1)
    return flat, run.torque[rows, None] / scales.torque


def make_windows(
    run: DriveRun, scales: Scales, *, period: float, window: int
) -> tuple[Floats, Floats]:
    """(windows, steps, 2) and (windows, steps, 1), half a window apart."""
    stride = _count_rows(run, period)
    span = window * stride
    starts = np.arange(0, len(run.torque) - span + 1, max(1, span // 2))
    if not len(starts):
        raise BadRecording(
            f"Run '{run.name}' is shorter than a window of {window} steps.",
            hint="Choose a shorter window.",
        )
    rows = starts[:, None] + stride * np.arange(window)
    return scales.inputs(run)[rows], run.torque[rows, None] / scales.torque


def split_runs(
    runs: Sequence[DriveRun], *, share: float, seed: int
) -> tuple[list[DriveRun], list[DriveRun]]:
    """Runs to train on, and whole runs, a `share` of all, that stop the training."""
    order = np.random.default_rng(seed).permutation(len(runs))
    count = min(max(1, round(share * len(runs))), len(runs) - 1)
    return [runs[i] for i in order[count:]], [runs[i] for i in order[:count]]


def _count_rows(run: DriveRun, period: float) -> int:
    rows = period / run.timestep
    if rows < 0.5 or abs(rows - round(rows)) > 1e-3:
        raise BadRecording(
            f"The network's period of {period:g} s is not a whole number of rows of run"
            f" '{run.name}' ({run.timestep:g} s).",
            hint="Read the runs at another rate, or choose another period.",
        )
    return round(rows)
