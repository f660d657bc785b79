"""One joint's recordings on an even clock: what a drive saw and what torque it gave.

Drives on a bench, run freely against what was recorded there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import ActuatorLaw, BenchLoad, simulate_bench
from realworthy.errors import BadRecording
from realworthy.recordings import Recording
from realworthy.twins.drives.fallback import LawWithFallback

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
    recording: Recording, joint: str, bench: BenchLoad, *, armature: float
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


AnyLaw: TypeAlias = ActuatorLaw | LawWithFallback
_CREEP = 0.02
"""[rad/s] within which a joint may be stuck: friction there is part of the budget."""


def cut(runs: Sequence[DriveRun], seconds: float) -> list[DriveRun]:
    """Pieces of equal length, half of it apart; shorter runs are left out."""
    pieces = []
    for run in runs:
        length = round(seconds / run.timestep) + 1
        for start in range(0, len(run.goal) - length + 1, max(1, length // 2)):
            rows = slice(start, start + length)
            pieces.append(
                replace(
                    run,
                    goal=run.goal[rows],
                    position=run.position[rows],
                    velocity=run.velocity[rows],
                    torque=run.torque[rows],
                )
            )
    if not pieces:
        raise BadRecording(
            f"No run lasts {seconds:g} s.", hint="Choose a shorter horizon."
        )
    return pieces


def run_freely(
    law: AnyLaw,
    bench: BenchLoad,
    runs: Sequence[DriveRun],
    *,
    parameters: Mapping[str, Floats] | None = None,
) -> list[Floats]:
    """Positions [rad] of each run, from its first state under its goals alone.

    `parameters` are (runs,) each. Runs share a clock that the law's timestep divides.
    """
    per_row = _count_substeps(law, runs)
    row_count = max(len(run.goal) for run in runs)
    goal = np.stack([_hold(run.goal, row_count) for run in runs], axis=1)
    trace = simulate_bench(
        cast(ActuatorLaw, law),  # a LawWithFallback steps like one
        bench,
        np.repeat(goal, per_row, axis=0)[:, :, None],
        position=np.array([run.position[0] for run in runs]),
        velocity=np.array([run.velocity[0] for run in runs]),
        parameters=parameters,
    )
    seen = trace.position[::per_row]
    return [seen[: len(run.goal), i] for i, run in enumerate(runs)]


def follow(
    law: AnyLaw,
    bench: BenchLoad,
    runs: Sequence[DriveRun],
    *,
    parameters: Mapping[str, Floats] | None = None,
) -> list[Floats]:
    """Torques [N·m] of motor and friction at the recorded states, run by run.

    Near standstill dry friction is whatever holds the joint; there it is taken in
    proportion to the velocity.
    """
    per_row = _count_substeps(law, runs)
    row_count = max(len(run.goal) for run in runs)
    goal, position, velocity = (
        np.stack([_hold(values, row_count) for values in signal])
        for signal in (
            [run.goal for run in runs],
            [run.position for run in runs],
            [run.velocity for run in runs],
        )
    )
    numbers = dict(parameters or {})
    weight = bench.mass * bench.gravity * bench.length
    state = law.initial_state(len(runs), position[:, 0])
    state = law.prime(
        state, goal[:, :1], position=position[:, 0], velocity=velocity[:, 0]
    )
    found = np.empty((row_count, len(runs)))
    for row in range(row_count):
        after = min(row + 1, row_count - 1)
        for substep in range(per_row):
            share = substep / per_row
            q = (1 - share) * position[:, row] + share * position[:, after]
            v = (1 - share) * velocity[:, row] + share * velocity[:, after]
            load = -weight * np.sin(q + bench.zero)
            out = law.step(goal[:, row, None], q, v, load, numbers, state)
            state = out.state
            if substep == 0:
                slip = np.clip(v / _CREEP, -1.0, 1.0)
                found[row] = out.torque - slip * out.friction
    return [found[: len(run.goal), i] for i, run in enumerate(runs)]


def _count_substeps(law: AnyLaw, runs: Sequence[DriveRun]) -> int:
    steps = runs[0].timestep / law.timestep
    same = all(abs(run.timestep - runs[0].timestep) < 1e-9 for run in runs)
    if not same or steps < 0.5 or abs(steps - round(steps)) > 1e-3:
        raise BadRecording(
            f"The law's timestep of {law.timestep:g} s does not divide the time between"
            f" the rows of all runs ({runs[0].timestep:g} s in the first).",
            hint="Read the runs at one rate that the timestep divides.",
        )
    return round(steps)


def _hold(values: Floats, row_count: int) -> Floats:
    return np.pad(values, (0, row_count - len(values)), mode="edge")
