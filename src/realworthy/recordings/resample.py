"""Signals at other times: measurements move linearly, commands are held.

Between two rows a measurement is on the line from one to the other, a command is the
earlier one, and an orientation turns at constant speed along the shorter way (slerp).
Nothing is filtered: going to a lower rate folds faster motion into slower.
"""

from collections.abc import Mapping

import numpy as np

from realworthy.errors import BadRecording
from realworthy.recordings.signals import AXES, Table, Values, is_held, quaternions


def compute_at(
    time: Values,
    signals: Mapping[str, Values],
    times: Values,
    *,
    owner: str = "recording",
) -> Table:
    """Every signal at `times`, which must lie within `time`."""
    slack = compute_slack(time)
    if times[0] < time[0] - slack or times[-1] > time[-1] + slack:
        raise BadRecording(
            f"{owner}: asked for {times[0]:g} to {times[-1]:g} s, "
            f"but it covers {time[0]:g} to {time[-1]:g} s.",
            hint="Crop the other recording first; nothing is extrapolated.",
        )
    moved: Table = {}
    for name, values in signals.items():
        law = hold if is_held(name) else interpolate
        moved[name] = law(time, values, times)
    for stem in quaternions(signals):
        names = [f"{stem}.{axis}" for axis in AXES]
        quats = np.stack([signals[name] for name in names], axis=1)
        if not np.all(np.linalg.norm(quats, axis=1) > 0):
            raise BadRecording(
                f"{owner}: '{stem}' is zero somewhere, which is no orientation.",
                hint="Drop those rows, or drop its four columns.",
            )
        moved.update(zip(names, slerp(time, quats, times).T, strict=True))
    return moved


def compute_slack(time: Values) -> float:
    """Seconds by which a time may miss a row through rounding and still mean it."""
    return 1e-6 * float(np.median(np.diff(time)))


def interpolate(time: Values, values: Values, times: Values) -> Values:
    """On the line between the rows around each of `times`; the end values outside."""
    return np.interp(times, time, values)


def hold(time: Values, values: Values, times: Values) -> Values:
    """The last value sent at or before each of `times`; the first one before that."""
    rows = np.searchsorted(time, times + compute_slack(time), side="right") - 1
    return values[np.clip(rows, 0, None)]


def slerp(time: Values, quats_wxyz: Values, times: Values) -> Values:
    """Unit quaternions (n, 4) at `times`, without jumps of sign."""
    quats = quats_wxyz / np.linalg.norm(quats_wxyz, axis=1, keepdims=True)
    cosines = np.sum(quats[1:] * quats[:-1], axis=1)
    signs = np.cumprod(np.where(cosines < 0, -1.0, 1.0))  # q and -q are one orientation
    quats[1:] *= signs[:, None]
    after = np.clip(np.searchsorted(time, times), 1, len(time) - 1)
    start, end = quats[after - 1], quats[after]
    span = time[after] - time[after - 1]
    share = np.clip((times - time[after - 1]) / span, 0.0, 1.0)[:, None]
    angle = np.arccos(np.clip(np.abs(cosines[after - 1]), 0.0, 1.0))[:, None]
    sine = np.sin(angle)
    near = sine < 1e-6  # too close to divide: the chord is the arc
    safe = np.where(near, 1.0, sine)
    left = np.where(near, 1 - share, np.sin((1 - share) * angle) / safe)
    right = np.where(near, share, np.sin(share * angle) / safe)
    turned = left * start + right * end
    return turned / np.linalg.norm(turned, axis=1, keepdims=True)
