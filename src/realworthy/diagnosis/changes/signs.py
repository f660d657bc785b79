"""What a recording shows without any model of the machine.

Efforts of actuators that carry it (commands that only push one way, such as thrust),
the trims that steer beside them, shaking and swaying of inertial sensors, gyro zeros,
how late servos follow, and the log itself: rate, dropped and stale samples. Each is
taken over comparable conditions: while the machine works, by medians that neither a
take-off nor a landing moves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings import Recording
from realworthy.recordings.align import estimate_delay
from realworthy.recordings.signals import is_held

Floats = NDArray[np.float64]
_WORKING = 0.5
"""Share of its upper decile above which the total effort counts as working."""
_ENDS = 0.1
"""Share of the working time that is left out at either end."""
_SHAKING = (0.12, 0.48)
"""Band of vibration, in shares of the sampling rate."""
_SWAYING = (0.5, 4.0)
"""[Hz] band of slow swings."""
_WINDOWS = {"vibration": 0.5, "sway": 3.0}
"""[s] over which each is averaged before the median."""
_INERTIAL = ("acceleration", "accelerometer", "gyro")


class SignKind(StrEnum):
    """What a sign is about."""

    EFFORT = "effort"
    """log of a one-way command."""
    TRIM = "trim"
    """A steering command over the effort beside it."""
    VIBRATION = "vibration"
    """log of the root mean square in the upper band."""
    SWAY = "sway"
    """The same of slow swings."""
    BIAS = "bias"
    """Zero of a gyro [rad/s]."""
    DELAY = "delay"
    """By which positions follow position commands [s]."""
    RATE = "rate"
    """log of rows per second."""
    DROPPED = "dropped_samples"
    """Share of rows that are missing."""
    STALE = "stale_samples"
    """Share of rows that repeat the one before."""


ASSUMED_SD: Mapping[SignKind, float] = {
    SignKind.EFFORT: 0.02,
    SignKind.TRIM: 0.02,
    SignKind.VIBRATION: 0.3,
    SignKind.SWAY: 0.3,
    SignKind.BIAS: 0.005,
    SignKind.DELAY: 0.002,
    SignKind.RATE: 0.003,
    SignKind.DROPPED: 0.005,
    SignKind.STALE: 0.005,
}
"""Standard deviation from recording to recording that any machine is granted."""
OF_THE_LOG = (SignKind.RATE, SignKind.DROPPED, SignKind.STALE)


@dataclass(frozen=True, slots=True)
class Sign:
    """One number that a recording shows."""

    kind: SignKind
    element: str
    """Actuator, command or sensor; empty for the log itself."""
    value: float


def read_signs(recording: Recording) -> tuple[Sign, ...]:
    """All signs that this recording can show, in a fixed order."""
    if not recording.is_regular:
        steady = recording.resample(recording.rate)
    else:
        steady = recording
    efforts = _find_efforts(steady)
    rows = _find_working(steady, efforts)
    signs = [
        Sign(
            SignKind.EFFORT, name, float(np.log(np.median(steady.signals[name][rows])))
        )
        for name in efforts
    ]
    signs += _read_trims(steady, efforts, rows)
    signs += _read_inertial(steady, rows)
    signs += _read_delays(steady)
    return (*signs, *read_log(recording))


def read_log(recording: Recording) -> tuple[Sign, ...]:
    """Rate, dropped and stale samples: what holds for every recording."""
    steps = np.diff(recording.time) * recording.rate
    missing = np.maximum(np.round(steps) - 1, 0).sum()
    measured = [v for name, v in recording.signals.items() if not is_held(name)]
    moving = [v for v in measured if np.ptp(v) > 0]
    stale = 0.0
    if moving:
        same = np.all([np.diff(values) == 0 for values in moving], axis=0)
        stale = float(same.mean())
    return (
        Sign(SignKind.RATE, "", float(np.log(recording.rate))),
        Sign(SignKind.DROPPED, "", float(missing / (missing + len(recording.time)))),
        Sign(SignKind.STALE, "", stale),
    )


def _find_efforts(recording: Recording) -> list[str]:
    """Commands that only push one way and are no goals: positions, speeds."""
    if recording.sidecar.command_kind in ("position", "velocity"):
        return []
    found = []
    for name, values in recording.signals.items():
        if not _is_command(name):
            continue
        high = float(np.quantile(values, 0.9))
        if high > 0 and values.min() >= -0.01 * high and np.median(values) > 0:
            found.append(name)
    return _drop_repeats(found, recording.signals)


def _drop_repeats(names: list[str], signals: Mapping[str, Floats]) -> list[str]:
    """Without inputs, such as thrust, that only hand on an earlier one of that name."""
    kept: list[str] = []
    for name in names:
        own = name.partition(".command.")[2]
        alike = [k for k in kept if own and k.partition(".command.")[2] == own]
        apart = [np.median(np.abs(signals[name] - signals[k])) for k in alike]
        if all(size > 0.02 * np.median(signals[name]) for size in apart):
            kept.append(name)
    return kept


def _is_command(name: str) -> bool:
    parts = name.split(".")
    return "command" in parts[1:] and parts[-1] not in ("position", "velocity")


def _find_working(recording: Recording, efforts: list[str]) -> slice:
    """Rows while the machine works, without their ends; all without efforts."""
    count = len(recording.time)
    if not efforts:
        return slice(0, count)
    total = np.sum([recording.signals[name] for name in efforts], axis=0)
    busy = np.flatnonzero(total > _WORKING * np.quantile(total, 0.9))
    first, last = int(busy[0]), int(busy[-1]) + 1
    margin = int(_ENDS * (last - first))
    return slice(first + margin, last - margin)


def _read_trims(recording: Recording, efforts: list[str], rows: slice) -> list[Sign]:
    """Signed inputs of an element that also has a one-way input, over that input."""
    found = []
    for effort in efforts:
        element, _, own = effort.rpartition(".command.")
        if not element:
            continue
        scale = float(np.median(recording.signals[effort][rows]))
        for name, values in recording.signals.items():
            beside, _, other = name.rpartition(".command.")
            if beside == element and other != own and name not in efforts:
                trim = float(np.median(values[rows])) / scale
                found.append(Sign(SignKind.TRIM, name, trim))
    return found


def _read_inertial(recording: Recording, rows: slice) -> list[Sign]:
    stems: dict[str, list[Floats]] = {}
    for name, values in recording.signals.items():
        stem, _, axis = name.rpartition(".")
        if axis in ("x", "y", "z") and stem.split(".")[-1] in _INERTIAL:
            stems.setdefault(stem, []).append(values[rows])
    rate, found = recording.rate, []
    shaking = (_SHAKING[0] * rate, _SHAKING[1] * rate)
    for stem, axes in stems.items():
        for kind, band in (
            (SignKind.VIBRATION, shaking),
            (SignKind.SWAY, _SWAYING),
        ):
            size = _measure_band(np.stack(axes), rate, band, _WINDOWS[kind.value])
            if size is not None:
                found.append(Sign(kind, stem, float(np.log(size))))
        if stem.endswith("gyro"):
            found += [
                Sign(SignKind.BIAS, f"{stem}.{axis}", float(np.median(values)))
                for axis, values in zip("xyz", axes, strict=False)
            ]
    return found


def _measure_band(
    axes: Floats, rate: float, band: tuple[float, float], window: float
) -> float | None:
    """Root mean square of (axes, rows) within a band, the median over windows."""
    from scipy.signal import butter, sosfiltfilt

    length = max(1, round(window * rate))
    count = axes.shape[1] // length
    if count < 4 or band[0] >= band[1] or band[1] >= 0.5 * rate:
        return None
    sos = butter(4, band, "bandpass", fs=rate, output="sos")
    squares = np.sum(sosfiltfilt(sos, axes, axis=1) ** 2, axis=0)
    power = squares[: count * length].reshape(count, length).mean(1)
    return float(np.sqrt(np.median(power))) or None


def _read_delays(recording: Recording) -> list[Sign]:
    if recording.sidecar.command_kind != "position":
        return []
    found = []
    for joint in recording.joints:
        command = recording.signals.get(f"{joint}.command")
        position = recording.signals[f"{joint}.position"]
        if command is None or min(np.ptp(command), np.ptp(position)) < 1e-6:
            continue
        delay = estimate_delay(command, position, recording.rate)
        found.append(Sign(SignKind.DELAY, joint, delay))
    return found
