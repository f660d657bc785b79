"""Faults between commands and answers that the law of each drive gives away.

All recordings are asked together, because one robot has one fault. Torque columns are
needed, or currents: with them the law holds whatever the twin has wrong about masses,
friction or gains, and a command that is late, scaled or shifted stands out alone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import Fix
from realworthy.diagnosis.log.drives import Drive, Limits, find_command
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.law import Law, fit_law
from realworthy.recordings import Recording, SignalSource

Floats = NDArray[np.float64]

SURE = 5.0
"""Standard errors from which a number of the law is not chance: 100 joints with 16
numbers each are asked, and their errors are themselves known to a quarter."""
EARLY_PERIODS = 0.5
"""Rows by which an answer must come before its command; registers shift one by half."""
SCALED = 0.1
"""Relative distance from 1 of a scale that matters. Healthy drives stay within 0.015 on
107 recordings of six robots (2026-11-19): noise of torque sensors bends it so far."""
SNAP = 0.03
"""Relative distance from half the range of a command that counts as normalised."""


def fit_laws(recordings: Sequence[Recording], limits: Limits) -> dict[str, Law]:
    """Joint → the law of its drive, where the log holds enough to fit one."""
    found = {}
    for joint, drive in limits.drives.items():
        if drive.kind not in ("position", "torque"):
            continue
        limit = limits.torques.get(joint, np.inf)
        law = fit_law(recordings, joint, drive, limit)
        if law is not None:
            found[joint] = law
    return found


def inspect_early_answers(
    recordings: Sequence[Recording], limits: Limits, laws: dict[str, Law]
) -> list[Finding]:
    """`clock_offset`: torques that answer commands before these are sent.

    `size` is how late commands are logged [s]. No delay and no gain imitates that.
    """
    timed = {j: law for j, law in laws.items() if law.holds and law.is_lag_known}
    if not timed:
        return []
    lags = np.array([law.lag for law in timed.values()])
    errors = np.array([law.lag_sd for law in timed.values()])
    period = float(np.median([1 / r.rate for r in recordings]))
    lag = _weighted_median(lags, errors**-2)
    # Joints share one clock: what they disagree on is error too.
    spread = float(np.std(lags)) if len(lags) > 1 else 0.0
    error = float(np.hypot(np.min(errors), spread / np.sqrt(len(lags))))
    limit = -EARLY_PERIODS * period - 3 * error
    if lag > limit or np.mean(lags < 0) < 0.8:
        return []
    seconds = -lag + 0.5 * period  # a command acts until the next row
    names = _list_commands(recordings, limits)
    # A quarter of a row more, so that jitter of the stamps never holds the row before.
    delay = round(seconds + 0.25 * period, 6)
    fix = Fix(
        summary=f"commands {1e3 * delay:.4g} ms earlier",
        mapping={name: SignalSource(delay=delay) for name in names},
    )
    margin = 1.645 * error
    interval = (seconds - margin, seconds + margin)
    return [
        Finding(
            name="clock_offset",
            answer=Answer.FAULT,
            joints=tuple(timed),
            size=seconds,
            interval=interval,
            evidence=f"the drives answer {1e3 * seconds:.3g} ms "
            f"({1e3 * interval[0]:.3g} … {1e3 * interval[1]:.3g}) before their "
            f"commands, {seconds / period:.2g} rows, by the torque of "
            f"{len(timed)} joint{'s' if len(timed) != 1 else ''}: commands are stamped "
            "late, or by another clock.",
            next_step="Stamp commands and measurements by one clock.",
            fix=fix,
        )
    ]


def inspect_command_scales(
    recordings: Sequence[Recording], limits: Limits, laws: dict[str, Law]
) -> list[Finding]:
    """`command_kind`: commands of all joints in numbers of their own.

    `size` is the factor to SI units, the median over joints.
    """
    decided = {
        joint: law
        for joint, law in laws.items()
        if law.holds and law.scale_sd < 0.05 * abs(law.scale)
    }
    scaled = {
        joint: law
        for joint, law in decided.items()
        if law.scale > 0
        and abs(law.scale / _expected(limits.drives[joint]) - 1) > SCALED
        and abs(law.scale - _expected(limits.drives[joint])) > SURE * law.scale_sd
    }
    if len(scaled) < 2 or len(scaled) < 0.6 * len(decided):
        return []
    mapping: dict[str, SignalSource] = {}
    words = []
    for joint, law in scaled.items():
        drive = limits.drives[joint]
        scale, offset, word = _snap(law, drive)
        words.append(f"{joint} {law.scale:.4g}{word}")
        for recording in recordings:
            if (name := find_command(recording, joint, drive)) is not None:
                mapping[name] = SignalSource(scale=scale, offset=offset)
    size = float(np.median([law.scale for law in scaled.values()]))
    listed = ", ".join(words[:6]) + (", …" if len(words) > 6 else "")
    return [
        Finding(
            name="command_kind",
            answer=Answer.FAULT,
            joints=tuple(scaled),
            size=size,
            evidence=f"commands are not in SI units: what the drives do is their "
            f"command times {listed} [rad, m or N·m].",
            next_step="Log commands as the drives get them, in SI units.",
            fix=Fix(
                summary=f"commands of {len(scaled)} joints to SI units",
                mapping=mapping,
            ),
        )
    ]


def _expected(drive: Drive) -> float:
    return drive.torque_per_command if drive.kind == "torque" else 1.0


def _snap(law: Law, drive: Drive) -> tuple[float, float, str]:
    """Scale and offset of the command; exact where it is a share of its range."""
    gain = _expected(drive)
    scale, offset, sd = law.scale / gain, law.offset / gain, law.offset_sd / abs(gain)
    half, middle = 0.5 * (drive.upper - drive.lower), 0.5 * (drive.upper + drive.lower)
    if np.isfinite(half):
        is_half = abs(scale / half - 1) < SNAP
        if is_half and abs(offset - middle) < SNAP * half + SURE * sd:
            return half, middle, " (half its range)"
    largest = max(abs(drive.lower), abs(drive.upper))
    is_end = np.isfinite(largest) and abs(scale / largest - 1) < SNAP
    if is_end and abs(offset) < SNAP * largest + SURE * sd:
        return largest, 0.0, " (the end of its range)"
    return scale, offset if abs(offset) > SURE * sd + 0.01 * scale else 0.0, ""


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, 0.5 * below[-1])])


def _list_commands(recordings: Sequence[Recording], limits: Limits) -> list[str]:
    return list(
        dict.fromkeys(
            name
            for recording in recordings
            for joint, drive in limits.drives.items()
            if (name := find_command(recording, joint, drive)) is not None
        )
    )
