"""One joint's recordings on an even clock: what a drive saw and what torque it gave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import Bench
from realworthy.errors import BadRecording
from realworthy.recordings import Recording

Floats = NDArray[np.float64]
_SPAN = 0.05
"""[s] over which positions are smoothed to differentiate them twice."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DriveRun:
    """A drive at work, row by row."""

    name: str
    timestep: float
    """[s] between rows."""
    goal: Floats
    """(rows,) commanded position [rad], held until the next row."""
    position: Floats
    """(rows,) [rad]"""
    velocity: Floats
    """(rows,) [rad/s]"""
    torque: Floats
    """(rows,) [N·m] at the joint: motor and friction together."""
    gain: float = 1.0
    """Of the firmware, relative to the other runs; multiplies the error."""

    @property
    def error(self) -> Floats:
        """(rows,) gain × (goal − position) [rad], as a network sees it."""
        return self.gain * (self.goal - self.position)


def read_runs(
    recordings: Iterable[Recording],
    joints: Sequence[str] | None = None,
    *,
    rate: float,
    gain: float = 1.0,
) -> list[DriveRun]:
    """Every joint of every recording, at `rate` [Hz]; torques must have been recorded.

    Joints with like drives share one network: their runs go into one list.
    """
    runs = []
    for recording in recordings:
        even = recording.resample(rate)
        for joint in recording.joints if joints is None else joints:
            recorded = even.signals.get(f"{joint}.velocity")
            position = even.stack("position", [joint])[:, 0]
            slope = np.gradient(position, 1 / rate)
            runs.append(
                DriveRun(
                    name=f"{recording.name}:{joint}",
                    timestep=1 / rate,
                    goal=even.stack("command", [joint])[:, 0],
                    position=position,
                    velocity=slope if recorded is None else recorded,
                    torque=even.stack("torque", [joint])[:, 0],
                    gain=gain,
                )
            )
    if not runs:
        raise BadRecording("No recordings were given.", hint="Name at least one.")
    return runs


def label_torque(
    recording: Recording, joint: str, bench: Bench, *, armature: float
) -> Recording:
    """The recording with `<joint>.torque`, weighed by a bench whose load is known.

    Torque = inertia × acceleration + weight: what motor and friction gave together.
    Accelerations are those of local cubics over 50 ms; knocks are smoothed away.
    """
    from scipy.signal import savgol_filter

    even = recording.resample(recording.rate)
    q = even.stack("position", [joint])[:, 0]
    window = 2 * max(2, round(_SPAN * recording.rate / 2)) + 1
    if len(q) <= window:
        raise BadRecording(
            f"{recording.owner} is too short to differentiate.",
            hint=f"It needs more than {window} rows.",
        )
    delta = 1 / recording.rate
    smooth, speed, curve = (
        np.asarray(savgol_filter(q, window, 3, deriv=k, delta=delta)) for k in range(3)
    )
    inertia = bench.inertia + bench.mass * bench.length**2 + armature
    weight = bench.mass * bench.gravity * bench.length
    torque = inertia * curve + weight * np.sin(smooth + bench.zero)
    return even.with_signals({f"{joint}.torque": torque, f"{joint}.velocity": speed})
