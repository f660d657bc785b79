"""Signals of one motion that are logged at different times.

A velocity that lags its position may be late, or filtered: a filter also flattens what
is fast, and only where the log can tell the two apart is a clock accused. How late a
position answers its command is a note: servos lag.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import Fix
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.order import command_suffix
from realworthy.errors import BadRecording
from realworthy.recordings import Recording, SignalSource, estimate_delay

Floats = NDArray[np.float64]

PIECES = 6
"""Parts of a log that are asked one by one, for an interval."""
PIECE_ROWS = 60
MAX_LAG = 0.2
"""[s]"""
LATE_ROWS = 1.5
"""Rows from which a lag is no longer one of differences and registers."""
ALIKE = 0.9
BETTER = 1.5
"""Times less that a delay must leave unexplained than none, or the best filter."""
SMOOTH = 3
"""Rows over which both signals are averaged before they are compared."""


@dataclass(frozen=True, slots=True)
class Lag:
    """By how much one signal comes after another [s], and how sure that is."""

    seconds: float
    interval: tuple[float, float]
    """90 %, over pieces of the log."""
    alike: float
    """Correlation once the lag is taken off."""
    alike_before: float
    filtered: float
    """Correlation with the leading signal behind the best first-order filter."""

    def is_clear(self, period: float) -> bool:
        """Whether no habit of registers and no filter explains it."""
        nearest = min(np.abs(self.interval)) if np.prod(self.interval) > 0 else 0.0
        left, behind = 1 - self.alike**2, 1 - self.filtered**2
        return bool(
            nearest > LATE_ROWS * period
            and self.alike > ALIKE
            and 1 - self.alike_before**2 > BETTER * left
            and (self.seconds < 0 or behind > BETTER * left)
        )


def estimate_lag(time: Floats, leading: Floats, following: Floats) -> Lag | None:
    """How much later `following` says the same; None where it is too little alike."""
    rate = 1 / float(np.median(np.diff(time)))
    grid = np.arange(time[0], time[-1], 1 / rate)
    x, y = (_smooth(np.interp(grid, time, v)) for v in (leading, following))
    lags = [
        lag
        for a, b in zip(
            np.array_split(x, PIECES), np.array_split(y, PIECES), strict=True
        )
        if len(a) >= PIECE_ROWS and (lag := _delay(a, b, rate)) is not None
    ]
    whole = _delay(x, y, rate)
    if whole is None or len(lags) < 3:
        return None
    shifted = np.interp(grid - whole, grid, x)
    alike = _correlate(shifted, y)
    if alike < ALIKE:
        return None
    centre = float(np.median(lags))
    margin = 2.0 * float(np.std(lags, ddof=1)) / np.sqrt(len(lags))
    low, high = min(centre, whole) - margin, max(centre, whole) + margin
    filtered = max((_correlate(f, y) for f in _filter(x, whole * rate)), default=0.0)
    return Lag(whole, (low, high), alike, _correlate(x, y), filtered)


def inspect_lags(recording: Recording) -> list[Finding]:
    """`clock_offset` of velocities, and a note on how late positions follow.

    `size` is in seconds, positive where the velocity is late.
    """
    period = 1 / recording.rate
    lags: dict[str, Lag] = {}
    for joint in recording.joints:
        velocity = recording.signals.get(f"{joint}.velocity")
        if velocity is None:
            continue
        slope = np.gradient(recording.signals[f"{joint}.position"], recording.time)
        if (lag := estimate_lag(recording.time, slope, velocity)) is not None:
            lags[joint] = lag
    if not lags:
        evidence = "no velocity is enough like the derivative of its position to time."
        found = [
            Finding(name="clock_offset", answer=Answer.CANNOT_TELL, evidence=evidence)
        ]
    else:
        found = [_late(lags, recording, period)]
    return found + _follow_note(recording)


def _late(lags: dict[str, Lag], recording: Recording, period: float) -> Finding:
    known = recording.sidecar.velocity_filter_hz
    allowed = 1 / (2 * np.pi * known) if known else 0.0
    late = {
        joint: lag
        for joint, lag in lags.items()
        if lag.is_clear(period) and abs(lag.seconds - allowed) > LATE_ROWS * period
    }
    chosen = late or lags
    seconds = float(np.median([lag.seconds for lag in chosen.values()]))
    low = float(np.median([lag.interval[0] for lag in chosen.values()]))
    high = float(np.median([lag.interval[1] for lag in chosen.values()]))
    evidence = (
        f"velocities come {1e3 * seconds:.3g} ms ({1e3 * low:.3g} … {1e3 * high:.3g}) "
        f"after their positions, {seconds / period:.2g} rows"
    )
    if not late:
        is_much = min(abs(low), abs(high)) > LATE_ROWS * period and low * high > 0
        return Finding(
            name="clock_offset",
            answer=Answer.NOTE if is_much else Answer.IN_ORDER,
            size=seconds,
            interval=(low, high),
            evidence=f"{evidence}; a filter explains that as well."
            if is_much
            else f"{evidence}.",
        )
    alike = min(lag.alike for lag in late.values())
    return Finding(
        name="clock_offset",
        answer=Answer.FAULT,
        joints=tuple(late),
        size=seconds,
        interval=(low, high),
        evidence=f"{evidence}, and no filter explains it (correlation {alike:.3f} "
        "with the delay taken off).",
        next_step="Stamp positions and velocities where they are measured.",
        fix=Fix(
            summary=f"velocities {1e3 * seconds:.4g} ms earlier",
            mapping={
                f"{joint}.velocity": SignalSource(delay=seconds) for joint in late
            },
        ),
    )


def _follow_note(recording: Recording) -> list[Finding]:
    suffix = command_suffix(recording)
    lags = [
        lag.seconds
        for joint in recording.joints
        if (command := recording.signals.get(f"{joint}.{suffix}")) is not None
        and (
            lag := estimate_lag(
                recording.time, command, recording.signals[f"{joint}.position"]
            )
        )
    ]
    if not lags:
        return []
    evidence = (
        f"positions follow their commands {1e3 * float(np.median(lags)):.3g} ms later "
        f"({len(lags)} joints); servo, delay or clock, the log alone cannot tell."
    )
    size = float(np.median(lags))
    return [
        Finding(name="clock_offset", answer=Answer.NOTE, size=size, evidence=evidence)
    ]


def _delay(x: Floats, y: Floats, rate: float) -> float | None:
    try:
        return estimate_delay(x, y, rate, max_delay=MAX_LAG)
    except BadRecording:
        return None


def _filter(values: Floats, rows: float) -> list[Floats]:
    """The signal behind first-order filters that delay it by about `rows` rows."""
    from scipy.signal import lfilter

    if rows <= 0:
        return []
    shares = [1 - np.exp(-1 / (factor * rows)) for factor in (0.6, 0.8, 1.0, 1.3, 1.8)]
    return [np.asarray(lfilter([share], [1, share - 1], values)) for share in shares]


def _smooth(values: Floats) -> Floats:
    return np.convolve(values, np.ones(SMOOTH) / SMOOTH, mode="same")


def _correlate(x: Floats, y: Floats) -> float:
    if np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])
