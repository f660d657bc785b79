"""The state of a robot at each row, as well as its recording shows it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.noise import NoiseFloor
from realworthy.simulators.replay import Track

Floats = NDArray[np.float64]
_SPAN = 0.05
"""[s] over which positions are smoothed to differentiate them."""
_MAX_SHARE_EXPLAINED_BY_SLOPES = 0.25
"""Share of the mean squared difference between recorded velocities and slopes that the
slopes' own error may account for; at a quarter, their rms error is half of it."""
_EXACT = 5e-5
"""[rad or m] of noise below which velocities are exact, as a simulator writes them."""


@dataclass(frozen=True, slots=True)
class States:
    """(rows, joints) position, velocity, acceleration, and how well they are known."""

    position: Floats
    velocity: Floats
    acceleration: Floats
    position_sd: Floats
    """(joints,) of the smoothed positions."""
    velocity_sd: Floats
    """(joints,)"""
    acceleration_sd: Floats
    """(joints,)"""
    velocity_source: dict[str, str]
    """Joint → `recorded`; `differentiated` where what was recorded does not fit, and
    `nearer` where it fits and slopes of the positions are better still."""


def estimate_states(track: Track, floor: NoiseFloor) -> States:
    """Local cubics through the positions; recorded velocities where they are better.

    Drives report velocities late and noisily. Slopes of the positions are taken where
    their own noise and bias explain little of how far both are apart; the bias is what
    slopes over half the time say otherwise.
    """
    (smooth, slope, curve), (kept, slope_gain, curve_gain) = _fit_cubics(
        track, _SPAN, 5
    )
    (_, quicker, _), (_, quicker_gain, _) = _fit_cubics(track, _SPAN / 2, 3)
    gains = np.array([slope_gain, quicker_gain])
    raw_sd = np.array([floor.position[joint] for joint in track.joints])
    velocity, velocity_sd, source = [], [], {}
    for i, joint in enumerate(track.joints):
        recorded = track.recording.signals.get(f"{joint}.velocity")
        if recorded is None or not _agrees(recorded, slope[:, i]):
            source[joint] = "differentiated"
        elif raw_sd[i] > _EXACT and _is_nearer(
            slope[:, i], quicker[:, i], recorded, gains * raw_sd[i]
        ):
            source[joint] = "nearer"
        else:
            source[joint] = "recorded"
        is_recorded = recorded is not None and source[joint] == "recorded"
        velocity.append(recorded if is_recorded else slope[:, i])
        own_sd = floor.velocity[joint] if is_recorded else slope_gain * raw_sd[i]
        velocity_sd.append(own_sd)
    return States(
        position=smooth,
        velocity=np.stack(velocity, axis=1),
        acceleration=curve,
        position_sd=kept * raw_sd,
        velocity_sd=np.array(velocity_sd),
        acceleration_sd=curve_gain * raw_sd,
        velocity_source=source,
    )


def _is_nearer(
    slope: Floats, quicker: Floats, recorded: Floats, noises: Floats
) -> bool:
    """Whether slopes err less than recorded velocities do; `noises` of both slopes."""
    inner = slice(len(slope) // 10, -(len(slope) // 10) or None)  # ends fit worse
    own, other = (float(v) for v in noises**2)
    bias = float(np.mean((quicker - slope)[inner] ** 2)) - (other - own)
    apart = float(np.mean((recorded - slope)[inner] ** 2))
    return own + max(0.0, bias) < _MAX_SHARE_EXPLAINED_BY_SLOPES * apart


def _fit_cubics(
    track: Track, span: float, fewest: int
) -> tuple[list[Floats], list[float]]:
    """Smoothed positions, two derivatives, and their noise per noise in position.

    Over `span` [s], and `fewest` rows at least.
    """
    from scipy.signal import savgol_coeffs, savgol_filter

    rate, row_count = track.recording.rate, len(track.rows)
    window = max(fewest, 2 * round(span * rate / 2) + 1)
    window = min(window, 2 * ((row_count - 1) // 2) + 1)
    degree = min(3, window - 1)
    even = np.arange(len(track.rows)) / rate
    time = track.recording.time - track.recording.time[0]
    on_beat = np.stack(
        [np.interp(even, time, column) for column in track.position.T], 1
    )

    def derivative(order: int) -> Floats:
        values = np.asarray(
            savgol_filter(on_beat, window, degree, deriv=order, delta=1 / rate, axis=0),
            dtype=np.float64,
        )
        return np.stack([np.interp(time, even, column) for column in values.T], 1)

    gains = [
        float(np.linalg.norm(savgol_coeffs(window, degree, deriv=k, delta=1 / rate)))
        for k in (0, 1, 2)
    ]
    return [derivative(k) for k in (0, 1, 2)], gains


def _agrees(recorded: Floats, slope: Floats) -> bool:
    """Whether recorded velocities are the derivative of the positions."""
    size = float(slope @ slope)
    if size == 0 or float(recorded @ recorded) == 0:
        return False
    ratio = float(recorded @ slope) / size
    error = recorded - slope
    return 0.85 < ratio < 1.15 and float(error @ error) < 0.1 * size
