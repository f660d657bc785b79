"""The command filter: bounds what a policy asks before it reaches a motor.

A policy's action is cut and smoothed by its own contract first (`ActionMap`), which
gives the target. Then, in this order, each stage an interval that the command must lie
in:

1. a number that is not finite is a fault;
2. rate: |y − last command| ≤ κ · v_max · dt, κ the stage of speed;
3. tracking: |y − q| ≤ Δ;
4. torque: |kp (y − q) − kd q̇| ≤ τ_max;
5. position: soft limits, less q̇²/(2 a) on the side that the joint moves towards.

Where no command lies in all of them, the limits contradict each other and that is a
fault, too: a command that leaves the filter keeps every limit, always. It is the next
step's last command, so nothing winds up.

Drives of velocity, torque and voltage have the same stages in their own terms:

- velocity: |v| ≤ κ · v_max; |Δv| ≤ a · dt; v² ≤ a · distance to the limit;
- torque, voltage: |u| within the drive's range; nothing that speeds a joint up beyond
  κ · v_max (faded out over the last quarter), nothing outwards where a joint could not
  stop before its limit. Zero is always allowed.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.decision import FINE, Decision, GuardVerdict
from realworthy.deployment.drives import Drives
from realworthy.errors import RealworthyError
from realworthy.recordings.sidecar import CommandKind

Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]
STAGES = ("rate", "tracking", "torque", "speed", "position")
"""In the order in which they act."""
_UNKNOWN_GAINS = 0.1
"""[rad] that a position drive may be told to go from where it is, where its gains are
not known: a stiff servo's whole torque, a soft one's tenth."""
_CREEP = 0.001
"""[rad or m] of stopping distance that a drive resting at an end of its range may have:
noise of its velocity, or its sag. By hand, 2026-11-19; faster ones keep the margin."""
_FADE = 0.25
"""Share of the largest speed over which a torque that speeds up is faded out."""


@dataclass(kw_only=True, slots=True)
class FilterSettings:
    """How tight the filter is."""

    soft_range: float = 0.95
    """Share of a joint's range that commands may use, around its middle."""
    tracking: float | None = None
    """[rad] Δ; by default τ_max/kp, or 0.1 rad where gains are not known."""
    activation_share: float = 0.2
    """Share of the steps within `window` that a stage may act before it is a fault."""
    window: float = 1.0
    """[s]"""

    def __post_init__(self) -> None:
        if not 0 < self.soft_range <= 1:
            raise RealworthyError(
                f"soft_range is {self.soft_range:g}; it must be above 0, at most 1."
            )
        if not 0 < self.activation_share <= 1:
            raise RealworthyError("activation_share must be above 0 and at most 1.")
        if self.tracking is not None and not self.tracking > 0:
            raise RealworthyError("tracking must be above 0.")


@dataclass(frozen=True, slots=True)
class Filtered:
    """A command that keeps every limit, or None and a reason to brake."""

    command: Floats | None
    decision: Decision = FINE
    acted: tuple[str, ...] = ()
    """Stages that changed something, in order."""


@dataclass(slots=True)
class CommandFilter:
    """The filter of one trial; call `reset` where it starts from."""

    drives: Drives
    period: float
    """[s] between commands."""
    settings: FilterSettings = field(default_factory=FilterSettings)
    counts: dict[str, int] = field(default_factory=dict)
    """Stage → steps in which it acted."""
    _last: Floats | None = None

    def reset(self, command: Floats) -> None:
        """The command that the robot follows already: its own position, say."""
        self._last = np.array(command, dtype=np.float64)

    @property
    def last(self) -> Floats | None:
        return self._last

    def apply(
        self,
        target: Floats,
        position: Floats,
        velocity: Floats,
        *,
        speed_share: float = 1.0,
        widen: Bounds | None = None,
    ) -> Filtered:
        """The command for a target, given (joints,) measurements; κ is `speed_share`.

        `widen` are (commands,) positions that are allowed beyond the soft limits: where
        a robot rested outside them when it was led back.
        """
        if self._last is None:
            return _fault("filter", "the filter was not told where the robot is")
        q, dq = self.drives.of_joints(position), self.drives.of_joints(velocity)
        values = (target, q, dq, self._last, np.array(speed_share))
        if target.shape != self._last.shape or not _are_finite(values):
            return _fault("finite", "an action or a measurement is not a number")
        if not 0 < speed_share <= 1:
            return _fault("filter", f"a stage of speed is {speed_share:g}")
        with np.errstate(all="ignore"):  # what overflows fails the checks below
            stages = self._bound(q, dq, speed_share, widen)
        # Asked so that NaN is no, as ∞/∞ of an absurd measurement gives: a command
        # passes where it surely lies within every interval.
        ends = np.array(list(stages.values()))  # (stages, low and high, commands)
        command, acted = np.array(target, dtype=np.float64), []
        if not _is_within(ends, command).all():
            for name, (low, high) in stages.items():
                cut = np.minimum(np.maximum(command, low), high)
                if (cut != command).any():
                    acted.append(name)
                command = cut
            outside = ~_is_within(ends, command)
            if outside.any():
                stage, worst = np.argwhere(outside)[0]
                return _fault(
                    "contradiction",
                    f"{self.drives.commands[worst]}: no command keeps the limit of "
                    f"{list(stages)[stage]} and those after it",
                )
        if not np.isfinite(command).all():
            return _fault("finite", "a command would not be a number")
        for name in acted:
            self.counts[name] = self.counts.get(name, 0) + 1
        self._last = command
        return Filtered(np.array(command), FINE, tuple(acted))

    def _bound(
        self, q: Floats, dq: Floats, speed_share: float, widen: Bounds | None
    ) -> dict[str, Bounds]:
        """Stage → interval of each command, in order; endless where a stage has
        none."""
        kinds = self.drives.kinds
        if len(set(kinds)) == 1:
            return self._bound_kind(kinds[0], q, dq, speed_share, widen)
        endless = np.full(len(kinds), np.inf)
        stages: dict[str, Bounds] = dict.fromkeys(STAGES, (-endless, endless))
        for kind in dict.fromkeys(kinds):
            own = np.array([each == kind for each in kinds])
            bounds = self._bound_kind(kind, q, dq, speed_share, widen)
            for name, (low, high) in bounds.items():
                others = stages[name]
                stages[name] = (
                    np.where(own, low, others[0]),
                    np.where(own, high, others[1]),
                )
        return stages

    def _bound_kind(
        self,
        kind: CommandKind,
        q: Floats,
        dq: Floats,
        speed_share: float,
        widen: Bounds | None,
    ) -> dict[str, Bounds]:
        if kind == "position":
            return self._bound_positions(q, dq, speed_share, widen)
        if kind == "velocity":
            return self._bound_velocities(q, speed_share, widen)
        return self._bound_efforts(kind, q, dq, speed_share, widen)

    def _bound_positions(
        self, q: Floats, dq: Floats, speed_share: float, widen: Bounds | None
    ) -> dict[str, Bounds]:
        drives = self.drives
        assert self._last is not None
        step = speed_share * drives.speed * self.period  # κ v_max dt
        soft = drives.kp > 0
        gain = np.where(soft, drives.kp, 1.0)
        reach = np.where(soft, drives.torque / gain, np.inf)
        window = np.where(np.isfinite(reach), reach, _UNKNOWN_GAINS)
        if self.settings.tracking is not None:
            window = np.minimum(reach, self.settings.tracking)
        window = np.where(drives.is_driven, window, np.inf)
        lean = np.where(soft, drives.kd * dq / gain, 0.0)  # kd q̇ / kp
        low, high = self._soft(widen)
        margin = _stopping_distance(dq, drives.acceleration)
        # a drive that rests beyond a soft limit may be told to stay there
        rest = np.clip(drives.rest, drives.lower, drives.upper)
        at_low, at_high = rest < low, rest > high
        low, high = np.where(at_low, rest, low), np.where(at_high, rest, high)
        slow = margin <= _CREEP
        low = np.where((dq < 0) & ~(at_low & slow), low + margin, low)
        high = np.where((dq > 0) & ~(at_high & slow), high - margin, high)
        return {
            # |y − y_last| ≤ κ v_max dt
            "rate": (self._last - step, self._last + step),
            # |y − q| ≤ Δ
            "tracking": (q - window, q + window),
            # |kp (y − q) − kd q̇| ≤ τ_max, solved for y
            "torque": (q + lean - reach, q + lean + reach),
            # soft limits, less q̇²/(2a) on the side that the joint moves towards
            "position": (
                np.maximum(low, drives.command_lower),
                np.minimum(high, drives.command_upper),
            ),
        }

    def _bound_velocities(
        self, q: Floats, speed_share: float, widen: Bounds | None
    ) -> dict[str, Bounds]:
        drives = self.drives
        assert self._last is not None
        most = speed_share * drives.speed
        step = drives.acceleration * self.period
        low, high = self._soft(widen)
        ahead = _stoppable(high - q, drives.acceleration, self.period)
        behind = _stoppable(q - low, drives.acceleration, self.period)
        return {
            # |Δv| ≤ a dt
            "rate": (self._last - step, self._last + step),
            # |v| ≤ κ v_max
            "speed": (
                np.maximum(-most, drives.command_lower),
                np.minimum(most, drives.command_upper),
            ),
            # v² ≤ a · distance to the limit
            "position": (-behind, ahead),
        }

    def _bound_efforts(
        self,
        kind: CommandKind,
        q: Floats,
        dq: Floats,
        speed_share: float,
        widen: Bounds | None,
    ) -> dict[str, Bounds]:
        drives = self.drives
        low, high = drives.command_lower, drives.command_upper
        if kind == "torque":
            low, high = np.maximum(low, -drives.torque), np.minimum(high, drives.torque)
        most = speed_share * drives.speed
        fade = np.where(np.isfinite(most), _FADE * most, 1.0)
        # 1 up to (1 − fade) κ v_max, falling to 0 at κ v_max
        up = np.where(np.isfinite(most), np.clip((most - dq) / fade, 0.0, 1.0), 1.0)
        down = np.where(np.isfinite(most), np.clip((most + dq) / fade, 0.0, 1.0), 1.0)
        soft_low, soft_high = self._soft(widen)
        margin = _stopping_distance(dq, drives.acceleration)
        # Asked so that NaN is no: only what is surely within may be driven outwards.
        below = q + np.where(dq > 0, margin, 0.0) < soft_high
        above = q - np.where(dq < 0, margin, 0.0) > soft_low
        return {
            "torque": (low, high),
            "speed": (_share(down, low), _share(up, high)),
            "position": (
                np.where(above, low, np.maximum(low, 0.0)),
                np.where(below, high, np.minimum(high, 0.0)),
            ),
        }

    def _soft(self, widen: Bounds | None) -> Bounds:
        drives = self.drives
        half = (drives.upper - drives.lower) / 2
        cut = np.where(np.isfinite(half), (1 - self.settings.soft_range) * half, 0.0)
        low, high = drives.lower + cut, drives.upper - cut
        if widen is not None:
            low, high = np.minimum(low, widen[0]), np.maximum(high, widen[1])
        return low, high


@dataclass(slots=True)
class Activations:
    """How often the filter had to act lately; too often is a fault.

    A policy that leans on its guards is not the policy that was certified.
    """

    period: float
    settings: FilterSettings
    _seen: dict[str, list[bool]] = field(default_factory=dict)

    def judge(self, acted: tuple[str, ...], *, expected: tuple[str, ...]) -> Decision:
        """`expected` stages may act at any time: rate, while speed is staged."""
        length = max(1, math.ceil(self.settings.window / self.period))
        for name in {*self._seen, *acted}:
            seen = self._seen.setdefault(name, [])
            seen.append(name in acted)
            del seen[:-length]
            share = sum(seen) / length
            if share > self.settings.activation_share and name not in expected:
                return Decision(
                    GuardVerdict.DAMP,
                    "filter",
                    f"the limit of {name} acted in {share:.0%} of the last "
                    f"{self.settings.window:g} s",
                )
        return FINE


def _stopping_distance(velocity: Floats, acceleration: Floats) -> Floats:
    """q̇²/(2a); 0 where nothing bounds the deceleration, also of absurd speeds."""
    distance = velocity**2 / (2 * acceleration)
    return np.where(np.isinf(acceleration), 0.0, distance)


def _stoppable(distance: Floats, acceleration: Floats, period: float) -> Floats:
    """Speed from which half the acceleration stops within a distance; ≥ 0.

    Never more than goes that far within one period.
    """
    room = np.maximum(distance, 0.0)
    brakes = np.where(room > 0, acceleration, 0.0)  # no 0 · ∞
    return np.minimum(np.sqrt(brakes * room), room / period)


def _share(share: Floats, limit: Floats) -> Floats:
    """share · limit, 0 where the share is 0 and nothing limits."""
    return np.where(share > 0, limit * np.where(share > 0, share, 1.0), 0.0)


def _is_within(ends: Floats, command: Floats) -> NDArray[np.bool_]:
    """(stages, commands) of (stages, 2, commands) intervals; no for NaN."""
    return (ends[:, 0] <= command) & (command <= ends[:, 1])


def _are_finite(values: tuple[Floats, ...]) -> bool:
    return all(np.isfinite(value).all() for value in values)


def _fault(guard: str, reason: str) -> Filtered:
    return Filtered(None, Decision(GuardVerdict.DAMP, guard, reason))
