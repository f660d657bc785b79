"""Units and clocks that contradict each other, with a mapping that corrects them.

A velocity is the derivative of its position, so its integral over the steps of the
position is 1 in SI units. Degrees, turns, rounds per minute and milliseconds each leave
their own number there, whatever the robot does. A joint that turns several times is no
evidence of degrees by itself.
"""

from dataclasses import dataclass, field

import numpy as np

from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import SignalSource
from realworthy.recordings.signals import is_held

DEGREE = float(np.pi / 180)
RATIO_TOLERANCE = 0.05
"""Relative distance within which a ratio counts as one of the known ones."""
MIN_CORRELATION = 0.95
"""Correlation from which two signals count as the same motion: 90 % (0.95²) of the
variance of one is explained by the other."""

WRONG_UNITS = (
    (DEGREE, "position", "degrees", DEGREE, True),
    (1 / DEGREE, "velocity", "degrees per second", DEGREE, True),
    (2 * np.pi, "position", "turns", 2 * np.pi, False),
    (1 / (2 * np.pi), "velocity", "turns per second", 2 * np.pi, False),
    (30 / np.pi, "velocity", "rounds per minute", np.pi / 30, False),
)
"""∫velocity over Δposition, which is wrong, its unit, factor to SI, and whether it is
certain: gears of 6 and 10 are too near to turns and rounds per minute."""

WRONG_CLOCKS = (
    (1e3, "milliseconds"),
    (1e6, "microseconds"),
    (1e9, "nanoseconds"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """One thing that does not fit, and what to put into the sidecar if it is so."""

    signal: str
    text: str
    certain: bool = False
    """Whether no correct recording could look like this."""
    mapping: dict[str, SignalSource] = field(default_factory=dict)


def find_unit_suspicions(recording: Recording) -> list[Suspicion]:
    """Clock first: with a wrong clock every velocity looks wrong."""
    with np.errstate(all="ignore"):  # absurd numbers overflow; they prove nothing
        ratios = {
            joint: found
            for joint in recording.joints
            if (found := compute_ratio(recording, joint)) is not None
        }
        if (clock := _find_clock(recording, ratios)) is not None:
            return [clock]
        pairs = [(joint, *ratios[joint]) for joint in ratios]
        found = [s for pair in pairs if (s := _find_wrong(recording, *pair))]
        found += [s for j in recording.joints if (s := _find_command(recording, j))]
        return found or _find_large(recording)


def compute_ratio(recording: Recording, joint: str) -> tuple[float, float] | None:
    """∫velocity over Δposition, and their correlation; None when nothing moves.

    The best of four window lengths, so that neither coarse encoders nor drifting
    velocities hide the answer.
    """
    position = recording.signals[f"{joint}.position"]
    velocity = recording.signals.get(f"{joint}.velocity")
    if velocity is None:
        return None
    steps = np.diff(recording.time)
    integral = np.concatenate(
        [[0.0], np.cumsum((velocity[1:] + velocity[:-1]) * steps)]
    )
    best: tuple[float, float] | None = None
    for window in (1, 4, 16, 64):
        if 4 * window > len(position):
            break
        moved = position[window:] - position[:-window]
        expected = (integral[window:] - integral[:-window]) / 2
        energy, wanted = float(moved @ moved), float(expected @ expected)
        if energy < 1e-12 or wanted < 1e-12:
            continue
        alike = float(moved @ expected) / float(np.sqrt(energy * wanted))
        if np.isfinite(alike) and (best is None or abs(alike) > abs(best[1])):
            best = float(np.copysign(np.sqrt(wanted / energy), alike)), alike
    return best


def _find_clock(
    recording: Recording, ratios: dict[str, tuple[float, float]]
) -> Suspicion | None:
    period = 1.0 / recording.rate
    clear = [ratio for ratio, alike in ratios.values() if alike > MIN_CORRELATION]
    for factor, unit in WRONG_CLOCKS:
        rate = recording.sidecar.rate
        by_rate = rate is not None and _is_near(rate * period, factor)
        by_motion = period > 0.05 and _all_near(clear, factor)
        if by_rate:
            evidence = f"rows are {period:.4g} apart, the sidecar says {rate:g} Hz"
        elif by_motion:
            evidence = (
                f"velocities are {factor:g} × what the positions do per unit of it"
            )
        else:
            continue
        return _clock(unit, factor, evidence, certain=True)
    for factor, unit in reversed(WRONG_CLOCKS):
        if period * 1e3 >= factor:
            return _clock(unit, factor, f"rows are {period:.4g} apart", certain=False)
    return None


def _clock(unit: str, factor: float, evidence: str, *, certain: bool) -> Suspicion:
    verb = "is" if certain else "may be"
    return Suspicion(
        signal="time",
        text=f"'time' {verb} in {unit}, not seconds: {evidence}.",
        certain=certain,
        mapping={"time": SignalSource(scale=1 / factor)},
    )


def _find_wrong(
    recording: Recording, joint: str, ratio: float, alike: float
) -> Suspicion | None:
    position, velocity = f"{joint}.position", f"{joint}.velocity"
    if alike < -MIN_CORRELATION and _is_near(-ratio, 1.0):
        return Suspicion(
            signal=velocity,
            text=f"'{velocity}' has the opposite sign of the derivative of "
            f"'{position}' (correlation {alike:.3f}); one of the two is turned round.",
            mapping={velocity: SignalSource(sign=-1)},
        )
    if alike < MIN_CORRELATION or 0.8 < ratio < 1.25:
        return None
    evidence = (
        f"'{velocity}' is {ratio:.4g} × the derivative of '{position}' "
        f"(correlation {alike:.3f})"
    )
    for known, quantity, unit, scale, certain in WRONG_UNITS:
        if _is_near(ratio, known):
            wrong = f"{joint}.{quantity}"
            mapping = {wrong: SignalSource(scale=scale)}
            if quantity == "position" and _follows(recording, joint, 0.5, 2.0):
                mapping[f"{joint}.command"] = SignalSource(scale=scale)
            verb = "is" if certain else "may be"
            return Suspicion(
                signal=wrong,
                text=f"'{wrong}' {verb} in {unit}: {evidence}.",
                certain=certain,
                mapping=mapping,
            )
    return Suspicion(signal=velocity, text=f"{evidence}; is there a gear between them?")


def _find_command(recording: Recording, joint: str) -> Suspicion | None:
    """Commands in degrees for a joint that answers in radians."""
    kind = recording.sidecar.command_kind
    near = (1 / DEGREE * (1 - RATIO_TOLERANCE), 1 / DEGREE * (1 + RATIO_TOLERANCE))
    if kind not in (None, "position") or not _follows(recording, joint, *near):
        return None
    name = f"{joint}.command"
    certain = kind == "position" and _follows(
        recording, joint, *near, alike=MIN_CORRELATION
    )
    return Suspicion(
        signal=name,
        text=f"'{name}' {'is' if certain else 'may be'} in degrees: it follows "
        f"'{joint}.position' with 57.3 times its size.",
        certain=certain,
        mapping={name: SignalSource(scale=DEGREE)},
    )


def _follows(
    recording: Recording, joint: str, low: float, high: float, *, alike: float = 0.9
) -> bool:
    """Whether the command looks like the position, `low` to `high` times as large."""
    command = recording.signals.get(f"{joint}.command")
    position = recording.signals[f"{joint}.position"]
    if command is None or command.std() < 1e-9 or position.std() < 1e-9:
        return False
    found = np.corrcoef(command, position)[0, 1]
    return bool(found > alike and low <= command.std() / position.std() <= high)


def _find_large(recording: Recording) -> list[Suspicion]:
    """Joints beyond two turns, where several are, or where they are told to go there.

    One joint that turns freely under torque, as a pendulum does, is left alone.
    """
    large = [
        joint
        for joint in recording.joints
        if np.abs(recording.signals[f"{joint}.position"]).max() > 4 * np.pi
    ]
    held = [j for j in large if _follows(recording, j, 0.5, 2.0)]
    if not held and not (len(large) >= 3 and 2 * len(large) > len(recording.joints)):
        return []
    found = []
    for joint in large:
        parts = [f"{joint}.{q}" for q in ("position", "velocity", "command")]
        span = np.abs(recording.signals[parts[0]]).max()
        found.append(
            Suspicion(
                signal=parts[0],
                text=f"'{parts[0]}' may be in degrees: it reaches {span:.4g}.",
                mapping={
                    part: SignalSource(scale=DEGREE)
                    for part in parts
                    if part in recording.signals
                    and (not is_held(part) or _follows(recording, joint, 0.5, 2.0))
                },
            )
        )
    return found


def _all_near(values: list[float], known: float) -> bool:
    return bool(values) and all(_is_near(value, known) for value in values)


def _is_near(value: float, known: float) -> bool:
    return abs(value - known) <= RATIO_TOLERANCE * known
