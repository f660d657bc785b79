"""What went wrong, as far as it can be seen from outside: pure functions of a `Trace`.

A detector gives (worlds,) the first step at which it holds, −1 where it never does.
`classify` joins what they see with the task's own codes: the first in time is the
cause. Not all that is seen is a failure: the caller says which codes end a trial (hard)
and which only count (soft). What cannot be seen in this trace is said, never passed.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from realworthy.certification.rollouts.trace import (
    Bools,
    Floats,
    Ints,
    Trace,
    spread_limit,
)
from realworthy.errors import UnknownName
from realworthy.tasks.failures import Failure

_NEVER = np.iinfo(np.int64).max
_RANGE = 2.0
"""Of a normalised action: from −1 to 1."""
_HOPS = 8
"""Windows of a spectrum overlap by all but one part in so many."""
_FINER = 4
"""Factor by which zeros lengthen a window, to see frequencies between its bins."""


@dataclass(kw_only=True, slots=True)
class DetectorSettings:
    """From where on something counts as seen."""

    limit_slack: float = 0.0
    """How far beyond its limit a joint may stand [rad or m]; soft stops give way."""
    saturated_from: float = 0.99
    """Share of the torque limit from which a joint counts as saturated."""
    saturation_s: float = 0.5
    """A joint may be saturated so long without a break."""
    oscillation_hz: float = 8.0
    oscillation_share: float = 0.1
    """Amplitude of an action, as a share of its range, that is still fine."""
    oscillation_window_s: float = 1.0
    """Length of the motion whose dominant frequency is taken."""
    guarded_share: float = 0.05
    """Of an episode's steps that guards may change."""
    tilt_rad: float = 1.0
    """Lean of the base that is still no fall."""


def find_numerical(trace: Trace, settings: DetectorSettings) -> Ints:
    """A number that is infinite or none at all."""
    signals = (trace.action, trace.position, trace.velocity, trace.torque)
    bad = [~np.isfinite(signal).all(axis=-1) for signal in signals]
    bad += [~np.isfinite(s) for s in (trace.margin, trace.tilt) if s is not None]
    return _find_first(trace, np.logical_or.reduce(bad))


def find_fall(trace: Trace, settings: DetectorSettings) -> Ints:
    """The base leans further than it may."""
    assert trace.tilt is not None
    return _find_first(trace, trace.tilt > settings.tilt_rad)


def find_joint_limit(trace: Trace, settings: DetectorSettings) -> Ints:
    """A joint beyond one of its limits."""
    below = trace.position < spread_limit(trace.lower) - settings.limit_slack
    above = trace.position > spread_limit(trace.upper) + settings.limit_slack
    return _find_first(trace, (below | above).any(axis=-1))


def find_torque_saturation(trace: Trace, settings: DetectorSettings) -> Ints:
    """One joint saturated without a break for longer than it may."""
    from_here = settings.saturated_from * spread_limit(trace.torque_limit)
    saturated = np.abs(trace.torque) >= from_here
    most = int(settings.saturation_s / trace.period_s + 1e-9)
    return _find_first(trace, (_count_runs(saturated) > most).any(axis=-1))


def find_over_speed(trace: Trace, settings: DetectorSettings) -> Ints:
    """A joint faster than its limit."""
    fast = np.abs(trace.velocity) > spread_limit(trace.velocity_limit)
    return _find_first(trace, fast.any(axis=-1))


def find_tracking_loss(trace: Trace, settings: DetectorSettings) -> Ints:
    """The task's own margin is used up."""
    assert trace.margin is not None
    return _find_first(trace, trace.margin <= 0)


def find_oscillation(trace: Trace, settings: DetectorSettings) -> Ints:
    """An action whose dominant frequency and its amplitude are both too high.

    Dominant is the largest line of the spectrum of one window, trend removed. The step
    is the last of the first such window; episodes shorter than a window show none.
    """
    size = round(settings.oscillation_window_s / trace.period_s)
    hop = max(1, size // _HOPS)
    found = np.full(trace.world_count, -1, np.int64)
    if explain_blindness(trace, Failure.OSCILLATION, settings):
        return found
    finite = np.where(np.isfinite(trace.action), trace.action, np.nan)
    bound = settings.oscillation_share * _RANGE
    for start in range(0, trace.step_count - size + 1, hop):
        frequency, amplitude = _find_line(
            finite[:, start : start + size], trace.period_s
        )
        swings = (frequency > settings.oscillation_hz) & (amplitude > bound)
        is_new = swings.any(axis=-1) & (found < 0) & (start + size <= trace.length)
        found[is_new] = start + size - 1
    return found


def find_guarding(trace: Trace, settings: DetectorSettings) -> Ints:
    """Guards changed more steps than a whole episode allows."""
    assert trace.is_guarded is not None
    spent = np.cumsum(trace.is_guarded & trace.is_valid, axis=1)
    allowed = settings.guarded_share * trace.step_count
    return _find_first(trace, spent > allowed + 1e-9)


DETECTORS: dict[Failure, Callable[[Trace, DetectorSettings], Ints]] = {
    Failure.NUMERICAL: find_numerical,
    Failure.FALL: find_fall,
    Failure.JOINT_LIMIT: find_joint_limit,
    Failure.TORQUE_SATURATION: find_torque_saturation,
    Failure.OVER_SPEED: find_over_speed,
    Failure.TRACKING_LOST: find_tracking_loss,
    Failure.OSCILLATION: find_oscillation,
    Failure.WATCHDOG: find_guarding,
}
"""All that can be seen from outside; other codes come from the task alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What ended each trial, and what else was seen."""

    cause: Ints
    """(worlds,) `Failure` code of the first in time; zero: none. Of two at one step,
    the lower code."""
    step: Ints
    """(worlds,) When; −1: none."""
    success: Bools
    """(worlds,) The task was done and nothing hard was seen."""
    seen: dict[Failure, Ints]
    """(worlds,) First step of each code asked for, hard or soft; −1: never. Hard ones
    count after the cause too: look at `step` for what came first."""
    blind: dict[Failure, str]
    """Codes asked for that this trace cannot show, and why."""

    def count(self) -> dict[Failure, int]:
        """Worlds by cause, in the order of the codes."""
        codes, counts = np.unique(self.cause, return_counts=True)
        pairs = zip(codes.tolist(), counts.tolist(), strict=True)
        return {Failure(code): count for code, count in pairs if code}

    def count_seen(self, code: Failure) -> int:
        """Worlds in which a code was seen, whatever ended them."""
        return int((self.seen[code] >= 0).sum())


def classify(
    trace: Trace,
    *,
    hard: Collection[Failure],
    soft: Collection[Failure] = (),
    settings: DetectorSettings | None = None,
) -> Findings:
    """First cause of each world among the task's own code and the hard detectors."""
    settings = settings or DetectorSettings()
    asked = sorted({*hard, *soft})
    for code in asked:
        if code not in DETECTORS:
            names = [known.name.lower() for known in DETECTORS]
            raise UnknownName("detector", code.name.lower(), names, owner="A trace")
    reasons = {code: explain_blindness(trace, code, settings) for code in asked}
    blind = {code: reason for code, reason in reasons.items() if reason}
    seen = {
        code: DETECTORS[code](trace, settings) for code in asked if code not in blind
    }
    has_own = trace.failure != 0
    own_step = np.where(has_own, trace.failure_step, _NEVER)
    # one row each, the task's first; an equal step goes to the lower code
    steps, codes = [own_step], [np.where(has_own, trace.failure, _NEVER)]
    for code in hard:
        if code in seen:
            steps.append(np.where(seen[code] >= 0, seen[code], _NEVER))
            codes.append(np.full(trace.world_count, int(code)))
    order = np.lexsort((np.array(codes), np.array(steps)), axis=0)[:1]
    step = np.take_along_axis(np.array(steps), order, axis=0)[0]
    code = np.take_along_axis(np.array(codes), order, axis=0)[0]
    is_failed = step < _NEVER
    return Findings(
        cause=np.where(is_failed, code, 0),
        step=np.where(is_failed, step, -1),
        success=trace.success & ~is_failed,
        seen=seen,
        blind=blind,
    )


def explain_blindness(trace: Trace, code: Failure, settings: DetectorSettings) -> str:
    """Why a code cannot be seen in this trace; empty where it can."""
    missing = {
        Failure.FALL: (trace.tilt, "no tilt of the base was recorded"),
        Failure.TRACKING_LOST: (trace.margin, "the task gives no margin"),
        Failure.WATCHDOG: (trace.is_guarded, "no guard was in the loop"),
    }
    if code in missing:
        array, reason = missing[code]
        return reason if array is None else ""
    limits = {
        Failure.JOINT_LIMIT: (trace.lower, trace.upper),
        Failure.TORQUE_SATURATION: (trace.torque_limit,),
        Failure.OVER_SPEED: (trace.velocity_limit,),
    }
    if code in limits:
        known = any(np.isfinite(limit).any() for limit in limits[code])
        return "" if known else "no joint has such a limit"
    nyquist = 0.5 / trace.period_s
    if code is Failure.OSCILLATION and nyquist <= settings.oscillation_hz:
        return f"control at {2 * nyquist:g} Hz shows nothing faster than {nyquist:g} Hz"
    window = settings.oscillation_window_s
    if code is Failure.OSCILLATION and trace.step_count * trace.period_s < window:
        return f"episodes are shorter than {window:g} s"
    return ""


def _find_first(trace: Trace, holds: ArrayLike) -> Ints:
    """(worlds,) First valid step of (worlds, steps); −1: none."""
    counted = np.asarray(holds, np.bool_) & trace.is_valid
    return np.where(counted.any(axis=1), counted.argmax(axis=1), -1)


def _count_runs(holds: Bools) -> Ints:
    """(worlds, steps, …) How many steps in a row, this one included, it has held."""
    steps = np.arange(1, holds.shape[1] + 1).reshape(-1, *[1] * (holds.ndim - 2))
    broken = np.maximum.accumulate(np.where(holds, 0, steps), axis=1)
    return steps - broken


def _find_line(action: Floats, period_s: float) -> tuple[Floats, Floats]:
    """Frequency [Hz] and amplitude of the largest line of each (worlds, n, actions)."""
    size = action.shape[1]
    # a straight line in time is motion, not oscillation
    ramp = np.linspace(-1.0, 1.0, size)[:, None]
    slope = (action * ramp).sum(axis=1, keepdims=True) / (ramp**2).sum()
    rest = action - action.mean(axis=1, keepdims=True) - slope * ramp
    taper = np.hanning(size + 2)[1:-1, None]
    lines = np.abs(np.fft.rfft(rest * taper, _FINER * size, axis=1))
    at = lines[:, 1:].argmax(axis=1) + 1
    height = np.take_along_axis(lines, at[:, None], axis=1)[:, 0]
    frequency = at / (_FINER * size * period_s)
    amplitude = 2 * height / taper.sum()
    # near half the rate a line meets its mirror image and would count twice
    is_mirrored = frequency > 0.5 / period_s - 2 / (size * period_s)
    reach = np.ptp(rest, axis=1) / 2
    return frequency, np.where(is_mirrored, np.minimum(amplitude, reach), amplitude)
