"""Two clocks into one: how late an answer is, and signals of different rates joined."""

from collections.abc import Sequence

import numpy as np

from realworthy.errors import BadRecording
from realworthy.recordings.recording import Recording
from realworthy.recordings.resample import compute_at
from realworthy.recordings.signals import Table, Values


def estimate_delay(
    command: Values, response: Values, rate: float, *, max_delay: float = 0.5
) -> float:
    """Seconds by which `response` comes after `command`; negative when it leads.

    The peak of their correlation over the shared rows, made finer than one row by a
    parabola. Both are sampled at `rate` [Hz]. It answers for motion as a whole: a servo
    that lags because it is weak looks late here, and a motion that repeats within
    `max_delay` has several answers, of which this is one.
    """
    from scipy.signal import correlate, correlation_lags

    for name, values in (("command", command), ("response", response)):
        if np.ptp(values) < 1e-12:
            raise BadRecording(
                f"the {name} never changes, so no delay can be seen.",
                hint="Choose a joint or a part of the recording that moves.",
            )
    if len(command) != len(response):
        raise BadRecording(
            f"the command has {len(command)} rows, the response {len(response)}.",
            hint="Resample both to the same times first.",
        )
    lags = correlation_lags(len(response), len(command))
    ones = np.ones(len(command))
    x, y = command - command.mean(), response - response.mean()
    # Each lag is judged by the rows that overlap there, or short overlaps would lose.
    power_x = np.clip(correlate(ones, x * x), 1e-300, None)
    power_y = np.clip(correlate(y * y, ones), 1e-300, None)
    alike = correlate(y, x) / np.sqrt(power_x * power_y)
    near = np.abs(lags) <= min(max_delay * rate, len(command) // 2)
    alike, lags = alike[near], lags[near]
    peak = int(np.argmax(alike))
    return float(lags[peak] + _vertex(alike, peak)) / rate


def _vertex(values: Values, peak: int) -> float:
    """Where the parabola through the peak and its neighbours is highest, in rows."""
    if peak in (0, len(values) - 1):
        return 0.0
    left, middle, right = values[peak - 1 : peak + 2]
    bend = left - 2 * middle + right
    return 0.0 if bend >= 0 else float(0.5 * (left - right) / bend)


def merge(recordings: Sequence[Recording]) -> Recording:
    """All signals at the times of the first recording, where all of them have values.

    Measurements are taken on the line between rows, commands are held since they were
    sent. Rows outside the time that all share are cut off. Sidecar and source are the
    first one's.
    """
    base = recordings[0]
    start = max(part.time[0] for part in recordings)
    end = min(part.time[-1] for part in recordings)
    if start >= end:
        raise BadRecording(
            "the recordings share no time.",
            hint=f"The last begins at {start:g} s, the first ends at {end:g} s.",
        )
    shared = base.crop(start, end)
    joined: Table = dict(shared.signals)
    for part in recordings[1:]:
        if twice := sorted(joined.keys() & part.signals.keys()):
            raise BadRecording(
                f"two recordings have a signal '{twice[0]}'.",
                hint="Rename one through its sidecar's mapping.",
            )
        joined.update(compute_at(part.time, part.signals, shared.time))
    return Recording(shared.time, joined, base.sidecar, base.source)
