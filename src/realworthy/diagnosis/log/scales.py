"""Units that contradict each other, and velocities of the wrong sign.

A velocity is the derivative of its position, a servo goes where it is told, and a joint
stays within its range: degrees, turns, encoder ticks and thousandths each break one of
these by a number of their own. A robot that scales everything alike, commands included,
within the range of its joints is not seen here; only physics can tell.
"""

from collections.abc import Mapping

import numpy as np

from realworthy.diagnosis.fix import Fix
from realworthy.diagnosis.log.alike import (
    FEW_ROWS,
    WINDOWS,
    compare_over_lags,
    compute_integral,
)
from realworthy.diagnosis.log.drives import Limits
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.order import MAX_LAG, command_suffix
from realworthy.recordings import Recording, SignalSource
from realworthy.recordings.units import DEGREE, find_unit_suspicions

TURN = 2 * np.pi
UNITS = {
    "degrees": DEGREE,
    "turns": TURN,
    "thousandths": 1e-3,
    **{f"ticks of 1/{n} turn": TURN / n for n in (1024, 4096, 16384, 65536)},
}
"""Unit → factor to SI."""
SPEEDS = {**UNITS, "rounds per minute": np.pi / 30}
"""Of velocities: each per second, where it does not say."""
UNSURE = ("turns", "rounds per minute")
"""Near enough to common gears that the ratio must be exact."""
ALIKE = 0.95
SURE = 0.995
AS_ALIKE = 0.003
"""Correlation that a longer window may lose and still be taken."""
NEAR, EXACT = 0.1, 0.02
"""Relative distance from a known ratio."""
NEAR_COMMAND = 0.2
"""The same of a command, which no joint follows exactly."""
FOLLOWED = 0.8
"""Correlation from which a joint follows its command."""
PLAUSIBLE = (0.6, 1.6)
"""Velocity over derivative that filters, noise and slow registers can make."""
BEYOND = 5.0
"""Times its range that a joint must exceed before its unit is doubted."""
BEYOND_TORQUE = 20.0


def inspect_clock_unit(recording: Recording) -> list[Finding]:
    """`unit_scale` of the time itself; to be asked, and mended, first."""
    for suspicion in find_unit_suspicions(recording):
        if suspicion.signal == "time" and suspicion.certain:
            fix = Fix(summary="time in seconds", mapping=suspicion.mapping)
            return [
                Finding(
                    name="unit_scale",
                    answer=Answer.FAULT,
                    size=suspicion.mapping["time"].scale,
                    evidence=suspicion.text,
                    next_step="Scale the clock in the sidecar.",
                    fix=fix,
                )
            ]
    return []


def inspect_scales(recording: Recording, limits: Limits) -> list[Finding]:
    """`unit_scale` of positions, velocities, torques and commands, joint by joint.

    Also `joint_sign` of velocities. `size` is the factor to SI units.
    """
    if len(recording.time) < FEW_ROWS:
        evidence = f"{len(recording.time)} rows are too few to compare units."
        return [
            Finding(name="unit_scale", answer=Answer.CANNOT_TELL, evidence=evidence)
        ]
    found = []
    for joint in recording.joints:
        looks = (
            _velocity(recording, joint),
            _command(recording, joint),
            _range(recording, joint, limits),
            _torque(recording, joint, limits),
        )
        told = [finding for finding in looks if finding is not None]
        faults = [finding for finding in told if finding.is_fault]
        found += faults[:1] or [f for f in told if f.answer is Answer.NOTE]
        if not told:
            evidence = f"nothing that {joint} has decides its units."
            found.append(_answer(Answer.CANNOT_TELL, joint, evidence))
        elif not faults and all(f.answer is Answer.IN_ORDER for f in told):
            evidence = "; ".join(finding.evidence for finding in told)
            found.append(_answer(Answer.IN_ORDER, joint, evidence))
    return found


def measure_speed_ratio(recording: Recording, joint: str) -> tuple[float, float] | None:
    """∫velocity over Δposition, and their correlation; None where nothing moves.

    Over the longest window that is about as alike as the best: short ones miss what
    happens between rows, and so take quick velocities for too small.
    """
    position = recording.signals[f"{joint}.position"]
    velocity = recording.signals.get(f"{joint}.velocity")
    if velocity is None:
        return None
    integral = compute_integral(recording.time, velocity)
    found: list[tuple[float, float]] = []
    for window in WINDOWS:
        if 4 * window > len(position):
            break
        moved = position[window:] - position[:-window]
        expected = integral[window:] - integral[:-window]
        energy, wanted = float(moved @ moved), float(expected @ expected)
        if min(energy, wanted) < 1e-12 or not np.isfinite(energy * wanted):
            continue
        alike = float(moved @ expected) / float(np.sqrt(energy * wanted))
        found.append((float(np.copysign(np.sqrt(wanted / energy), alike)), alike))
    if not found:
        return None
    best = max(abs(alike) for _, alike in found)
    return next(f for f in reversed(found) if abs(f[1]) >= best - AS_ALIKE)


def _velocity(recording: Recording, joint: str) -> Finding | None:
    found = measure_speed_ratio(recording, joint)
    if found is None or abs(found[1]) < ALIKE:
        return None
    ratio, alike = found
    position, velocity = f"{joint}.position", f"{joint}.velocity"
    evidence = (
        f"{velocity} is {ratio:.4g} times the derivative of {position} "
        f"(correlation {alike:.3f})"
    )
    if PLAUSIBLE[0] < ratio < PLAUSIBLE[1]:
        return _answer(Answer.IN_ORDER, joint, evidence, size=ratio)
    if ratio < 0:
        return Finding(
            name="joint_sign",
            answer=Answer.FAULT,
            joints=(joint,),
            size=ratio,
            evidence=f"{evidence}: one of the two is turned round.",
            next_step="Turn the joint by hand and see which of the two is wrong.",
            fix=Fix(
                summary=f"{velocity} turned round",
                mapping={velocity: SignalSource(sign=-1)},
            ),
        )
    if unit := _name_unit(ratio, alike):  # positions are too large
        names = [position, *_commands_alike(recording, joint)]
        return _wrong(joint, names, unit, f"{evidence}.")
    if unit := _name_unit(1 / ratio, alike, SPEEDS):
        return _wrong(joint, [velocity], unit, f"{evidence}.")
    if alike < SURE:
        return _answer(Answer.NOTE, joint, f"{evidence}.", size=ratio)
    return Finding(
        name="unit_scale",
        answer=Answer.FAULT,
        joints=(joint,),
        size=1 / ratio,
        evidence=f"{evidence}, which no unit explains: a gear may lie between them.",
        next_step="Find out where the velocity is measured.",
        fix=Fix(
            summary=f"{velocity} times {1 / ratio:.6g}",
            mapping={velocity: SignalSource(scale=1 / ratio)},
        ),
    )


def _command(recording: Recording, joint: str) -> Finding | None:
    """Position commands and positions in different units."""
    followed = _follow(recording, joint)
    if followed is None:
        return None
    name, ratio = followed
    evidence = f"{name} moves {ratio:.4g} times as far as {joint}.position"
    if unit := _name_unit(1 / ratio, ALIKE, near=NEAR_COMMAND):
        return _wrong(joint, [name], unit, f"{evidence}.")
    if unit := _name_unit(ratio, ALIKE, near=NEAR_COMMAND):
        names = [f"{joint}.position"]
        found = measure_speed_ratio(recording, joint)
        if found is not None and PLAUSIBLE[0] < found[0] < PLAUSIBLE[1]:
            names.append(f"{joint}.velocity")
        return _wrong(joint, names, unit, f"{evidence}.")
    return _answer(Answer.IN_ORDER, joint, evidence, size=ratio)


def _range(recording: Recording, joint: str, limits: Limits) -> Finding | None:
    """Positions far beyond the twin's range, which another unit would bring back."""
    low, high = limits.ranges.get(joint, (-np.inf, np.inf))
    if not np.isfinite(low) or not np.isfinite(high):
        return None
    position = recording.signals[f"{joint}.position"]
    reach, slack = max(abs(low), abs(high)), 0.2 * (high - low)
    largest = float(np.quantile(np.abs(position), 0.99))
    evidence = f"{joint}.position reaches {largest:.4g}, its range {reach:.4g}"
    if largest < BEYOND * reach:
        return _answer(Answer.IN_ORDER, joint, evidence)
    inside = (position * DEGREE > low - slack) & (position * DEGREE < high + slack)
    if np.mean(inside) < 0.99:
        return _answer(Answer.NOTE, joint, f"{evidence}; degrees do not explain it.")
    names = [f"{joint}.position"]
    if (ratio := measure_speed_ratio(recording, joint)) and PLAUSIBLE[0] < ratio[0]:
        names += [f"{joint}.velocity"] if ratio[0] < PLAUSIBLE[1] else []
    names += _commands_alike(recording, joint)
    return _wrong(joint, names, "degrees", f"{evidence}.")


def _torque(recording: Recording, joint: str, limits: Limits) -> Finding | None:
    """Torques in thousandths, by the twin's limit or by what was commanded."""
    name = f"{joint}.torque"
    torque, limit = recording.signals.get(name), limits.torques.get(joint, np.inf)
    if torque is None:
        return None
    largest = float(np.quantile(np.abs(torque), 0.99))
    if np.isfinite(limit) and largest > BEYOND_TORQUE * limit:
        evidence = f"{name} reaches {largest:.4g}, its actuator {limit:.4g} N·m."
        return _wrong(joint, [name], "thousandths", evidence)
    command = recording.signals.get(f"{joint}.command")
    if recording.sidecar.command_kind != "torque" or command is None:
        return None
    ratio = _compare_sizes(command, torque, recording.rate)
    if ratio is None:
        return None
    evidence = f"{joint}.command is {ratio:.4g} times {name}"
    if abs(ratio / 1e3 - 1) < NEAR:
        return _wrong(joint, [f"{joint}.command"], "thousandths", f"{evidence}.")
    if abs(ratio * 1e3 - 1) < NEAR:
        return _wrong(joint, [name], "thousandths", f"{evidence}.")
    return _answer(Answer.IN_ORDER, joint, evidence, size=ratio)


def _follow(recording: Recording, joint: str) -> tuple[str, float] | None:
    """Name of the position command that a joint follows, and its size over that."""
    name = f"{joint}.{command_suffix(recording)}"
    command = recording.signals.get(name)
    if command is None:
        return None
    position = recording.signals[f"{joint}.position"]
    ratio = _compare_sizes(command, position, recording.rate)
    return None if ratio is None else (name, ratio)


def _commands_alike(recording: Recording, joint: str) -> list[str]:
    """The position command of a joint, where it is about as large as its position."""
    name = f"{joint}.{command_suffix(recording)}"
    command = recording.signals.get(name)
    if command is None:
        return []
    size = np.sqrt(np.mean(command**2))
    measured = np.sqrt(np.mean(recording.signals[f"{joint}.position"] ** 2))
    return [name] if 1 / BEYOND < size / max(measured, 1e-12) < BEYOND else []


def _compare_sizes(
    command: np.ndarray, answer: np.ndarray, rate: float
) -> float | None:
    """Spread of a command over that of its answer; None where they are not alike."""
    if command.std() < 1e-9 or answer.std() < 1e-9:
        return None
    _, alike = compare_over_lags(
        command[:, None], answer[:, None], rate, max_lag=MAX_LAG
    )
    return float(command.std() / answer.std()) if alike[0, 0] > FOLLOWED else None


def _name_unit(
    factor: float,
    alike: float,
    units: Mapping[str, float] = UNITS,
    *,
    near: float = NEAR,
) -> str:
    """The unit whose factor to SI this is; empty where there is none."""
    for unit, known in units.items():
        close = EXACT if unit in UNSURE else near
        sure = unit not in UNSURE or alike > SURE
        if sure and abs(factor / known - 1) < close:
            return unit
    return ""


def _wrong(joint: str, names: list[str], unit: str, evidence: str) -> Finding:
    factor = SPEEDS[unit]
    listed = " and ".join(names)
    return Finding(
        name="unit_scale",
        answer=Answer.FAULT,
        joints=(joint,),
        size=factor,
        evidence=f"{listed} {'is' if len(names) == 1 else 'are'} in {unit}: {evidence}",
        next_step="Scale it in the sidecar; ticks may also need an offset.",
        fix=Fix(
            summary=f"{listed} from {unit}",
            mapping={name: SignalSource(scale=factor) for name in names},
        ),
    )


def _answer(answer: Answer, joint: str, evidence: str, *, size: float = 1) -> Finding:
    return Finding(
        name="unit_scale", answer=answer, joints=(joint,), size=size, evidence=evidence
    )
