"""Watchdogs: what is measured, and how fresh it is, decides whether to go on.

Each watchdog judges one thing and answers with a `Decision`; `Watchdogs` asks all of
them at every step and counts what they said. A limit counts as exceeded after three
measurements in a row beyond it: one odd sample is noise. Values that are not numbers
count at once.
"""

import math
from collections import Counter, deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.decision import FINE, Decision, GuardVerdict, worst
from realworthy.deployment.freshness import Freshness, Frozen
from realworthy.robots import Mode, RobotInfo, State
from realworthy.robots.limits import Limits

Floats = NDArray[np.float64]
_ROWS_TO_TRIP = 3
"""Rows in a row before a watchdog trips: one is a glitch of a measurement, and the
prediction below looks as far ahead."""
_SLACK = 0.05
"""[rad] by which a robot that rested outside its range may sag when it is led back."""
_MAX_RETURN_DISTANCE = 0.5
"""[rad or m] outside its range from which no robot is led back: a hanging link may rest
a little beyond a soft limit, an encoder with a wrong zero or a damaged number does so
by more."""
_ROUND_TRIP = 0.15
"""[s] within which a command should show in the robot's mode, at the latest."""


@dataclass(kw_only=True, slots=True)
class WatchdogSettings:
    """When to warn and when to act."""

    age_warn: float = 2.0
    """[periods] of the newest state's age."""
    age_trip: float = 5.0
    """Commands that may answer one state, itself included: an age of 4.5 periods."""
    overruns_in_a_row: int = 3
    overrun_share: float = 0.05
    """Of the steps within a second."""
    stall: float = 0.25
    """[s] by which the loop may be late at most: a robot's own deadline has passed by
    then, and nobody knows where it went meanwhile."""
    tilt_warn: float = math.radians(45)
    tilt_trip: float = math.radians(60)
    """[rad] of the base from upright, where the robot measures its orientation."""
    warn_share: float = 0.8
    """Of a limit of speed, torque or temperature, from which to warn."""
    torque_share: float = 1.1
    """Of the limit of torque, from which to trip: commands may use all of it, and
    what is measured is rough."""
    temperature: float = 80.0
    """[°C] of any `<joint>.temperature` that the robot reports."""
    position_slack: float = 0.003
    """[rad or m] beyond an end of its range at which a joint may be read: two steps of
    an encoder with 4096 in a turn. Fingers rest at an end, and noise is read beyond."""
    frozen_travel: float = 0.01
    """[rad] that a joint should have gone, by its own velocity, while its position
    never changed."""
    frozen_for: float = 0.25
    """[s] for which every measured number is the same while commands change, or an
    effort pushes."""
    envelope: float = 8.0
    """Standard deviations of an observation from the training mean."""
    envelope_share: float = 0.1
    """Of the numbers within half a second that may lie beyond."""
    operator_warn: float = 0.5
    operator_trip: float = 1.0
    """[s] since the operator's last heartbeat, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the watchdogs see of one step."""

    now: float
    """[s] on the loop's clock."""
    state: State
    command: Floats | None = None
    """The one sent last."""
    pushes: bool = False
    """Whether it is an effort that counts: a drive of torque or voltage follows it
    wherever the joint goes."""
    overrun: bool = False
    late: float = 0.0
    """[s] by which the loop was late."""
    deviation: Floats | None = None
    """Of the observation, in standard deviations of training."""
    operator_age: float | None = None
    """[s] since the operator's last heartbeat."""


class Watchdogs:
    """All watchdogs of a robot; `judge` every step in which commands may be sent."""

    def __init__(
        self,
        info: RobotInfo,
        limits: Limits,
        period: float,
        settings: WatchdogSettings | None = None,
    ) -> None:
        self.settings = settings or WatchdogSettings()
        self.period = period
        self.counts: Counter[str] = Counter()
        """`<guard>.<verdict>` → steps."""
        self.limits = limits
        self._places = [info.joints.index(joint) for joint in limits.joints]
        signals = info.other_signals
        self._hot = [i for i, s in enumerate(signals) if s.endswith(".temperature")]
        self._signals = signals
        self._upright = _find_orientation(signals)
        self.freshness = Freshness()
        self._frozen = Frozen(self.settings.frozen_travel, self.settings.frozen_for)
        self._over: Counter[str] = Counter()
        self._late: deque[bool] = deque(maxlen=max(1, round(1 / period)))
        self._strange: deque[float] = deque(maxlen=max(1, round(0.5 / period)))
        self._speed_before = np.zeros(len(limits.joints))
        self.rest: Floats | None = None
        """(joints,) where the robot rested at first, be it outside its range."""
        self._damped_since: float | None = None

    def judge(self, sample: Sample) -> Decision:
        """What to do now, and why; every answer but GO is counted."""
        decisions = [
            self._judge_mode(sample.state),
            self._judge_age(sample),
            self._judge_numbers(sample.state),
            self._judge_stall(sample.late),
        ]
        if not worst(decisions).is_fault:
            decisions += [
                self._frozen.judge(sample.state, sample.command, pushes=sample.pushes),
                *self._judge_limits(sample.state),
                self._judge_tilt(sample.state),
                self._judge_overruns(sample.overrun),
                self._judge_envelope(sample.deviation),
                self._judge_operator(sample.operator_age),
            ]
        for decision in decisions:
            if decision.verdict is not GuardVerdict.GO:
                self.counts[f"{decision.guard}.{decision.verdict.name.lower()}"] += 1
        return worst(decisions)

    def _judge_mode(self, state: State) -> Decision:
        if state.mode is Mode.STOPPED:
            return Decision(GuardVerdict.STOP, "mode", "the robot is in emergency stop")
        return FINE

    def judge_rest(self, state: State) -> Decision:
        """Whether a robot may be led away from where it rests at first."""
        numbers = self._judge_numbers(state)
        if numbers.is_fault:
            return numbers
        limits, q = self.limits, state.position[self._places]
        outside = np.maximum(limits.lower - q, q - limits.upper)
        i = int(np.argmax(outside)) if len(outside) else 0
        if not len(outside) or outside[i] <= _MAX_RETURN_DISTANCE:
            return FINE
        joint = limits.joints[i]
        reason = (
            f"{joint} is {outside[i]:.3g} rad outside its range: is its zero right?"
        )
        return Decision(GuardVerdict.DAMP, "position", reason)

    def judge_following(self, now: float, state: State) -> Decision:
        """Trips where the robot brakes though commands are sent: they do not arrive."""
        if state.mode is not Mode.DAMP:
            self._damped_since = None
            return FINE
        if self._damped_since is None:
            self._damped_since = now
        patience = max(self.settings.age_trip * self.period, _ROUND_TRIP)
        if now - self._damped_since <= patience:
            return FINE
        self.counts["command_link.damp"] += 1
        reason = "the robot brakes: our commands do not reach it"
        return Decision(GuardVerdict.DAMP, "command_link", reason)

    def _judge_age(self, sample: Sample) -> Decision:
        age = self.freshness.update(sample.now, sample.state)
        periods = age / self.period
        if not periods <= self.settings.age_trip - 0.5:
            reason = f"the newest state is {1e3 * age:.0f} ms old"
            if math.isinf(age):
                reason = "the robot's clock jumped, or its stamp is not a number"
            return Decision(GuardVerdict.DAMP, "state_age", reason)
        if periods > self.settings.age_warn:
            reason = f"the newest state is {1e3 * age:.0f} ms old"
            return Decision(GuardVerdict.WARN, "state_age", reason)
        return FINE

    def _judge_stall(self, late: float) -> Decision:
        if late <= self.settings.stall:
            return FINE
        reason = f"our own loop stood still for {1e3 * late:.0f} ms"
        return Decision(GuardVerdict.DAMP, "stall", reason)

    def _judge_numbers(self, state: State) -> Decision:
        for name in ("position", "velocity", "torque", "others"):
            if not np.isfinite(getattr(state, name)).all():
                reason = f"the robot reports a {name} that is not a number"
                return Decision(GuardVerdict.DAMP, "finite", reason)
        return FINE

    def _judge_limits(self, state: State) -> list[Decision]:
        limits, places = self.limits, self._places
        found = []
        q, dq = state.position[places], state.velocity[places]
        before, self._speed_before = self._speed_before, dq
        speed, torque = np.abs(dq), np.abs(state.torque[places])
        most = self.settings.torque_share * limits.torque
        found.append(
            self._compare("speed", limits.joints, speed, limits.speed, (before, dq))
        )
        found.append(self._compare("torque", limits.joints, torque, most))
        lower, upper = limits.lower, limits.upper
        if self.rest is not None:
            rest = self.rest[places]
            lower = np.minimum(lower, rest - _SLACK)
            upper = np.maximum(upper, rest + _SLACK)
        outside = np.maximum(lower - q, q - upper)
        names = limits.joints
        slack = np.full(len(names), self.settings.position_slack)
        found.append(self._compare("position", names, outside, slack))
        if self._hot:
            names = tuple(self._signals[i] for i in self._hot)
            most = np.full(len(names), self.settings.temperature)
            values = state.others[self._hot]
            found.append(self._compare("temperature", names, values, most))
        return found

    def _compare(
        self,
        what: str,
        names: tuple[str, ...],
        values: Floats,
        most: Floats,
        steps: tuple[Floats, Floats] | None = None,
    ) -> Decision:
        """Trips after three rows beyond a limit; warns from a share of it.

        `steps` are the values of the row before and of this one, with their signs: near
        a limit, a row counts that leads beyond it within three, so that a joint which
        falls is not let through while rows are counted.
        """
        near = values > self.settings.warn_share * most
        if not near.any():
            self._over[what] = 0
            return FINE
        near &= most > 0
        leads = beyond = values > most * (1 + 1e-6)
        if steps is not None:
            ahead = np.abs(steps[1] + _ROWS_TO_TRIP * (steps[1] - steps[0]))
            leads = beyond | (near & (ahead > most))
        self._over[what] = self._over[what] + 1 if leads.any() else 0
        tripped = self._over[what] >= _ROWS_TO_TRIP
        if not tripped and not near.any():
            return FINE
        i = int(np.argmax(2.0 * beyond + leads + near))
        unit = {"speed": "rad/s", "torque": "N·m", "temperature": "°C"}.get(what, "rad")
        if what == "position":
            reason = f"{names[i]} is {values[i]:.3g} rad outside its range"
        else:
            verb = "exceeds" if beyond[i] else "comes near"
            reason = f"{names[i]}: {what} {values[i]:.3g} {verb} {most[i]:.3g} {unit}"
        return Decision(
            GuardVerdict.DAMP if tripped else GuardVerdict.WARN, what, reason
        )

    def _judge_tilt(self, state: State) -> Decision:
        if not self._upright:
            return FINE
        w, x, y, z = state.others[self._upright]
        size = w * w + x * x + y * y + z * z
        if size == 0:
            return Decision(GuardVerdict.DAMP, "tilt", "the orientation has no length")
        up = (w * w - x * x - y * y + z * z) / size
        tilt = math.acos(min(1.0, max(-1.0, up)))
        over = tilt > self.settings.tilt_trip
        self._over["tilt"] = self._over["tilt"] + 1 if over else 0
        reason = f"the base is tilted by {math.degrees(tilt):.0f}°"
        if self._over["tilt"] >= _ROWS_TO_TRIP:
            return Decision(GuardVerdict.DAMP, "tilt", reason)
        if tilt > self.settings.tilt_warn:
            return Decision(GuardVerdict.WARN, "tilt", reason)
        return FINE

    def _judge_overruns(self, overrun: bool) -> Decision:
        self._late.append(overrun)
        if not overrun:
            return FINE
        last = list(self._late)[-self.settings.overruns_in_a_row :]
        share = sum(self._late) / (self._late.maxlen or 1)
        in_a_row = len(last) == self.settings.overruns_in_a_row and all(last)
        if in_a_row or share > self.settings.overrun_share:
            reason = f"the loop was late {sum(self._late)} times within a second"
            return Decision(GuardVerdict.HOLD, "overrun", reason)
        return Decision(GuardVerdict.WARN, "overrun", "the loop was late")

    def _judge_envelope(self, deviation: Floats | None) -> Decision:
        if deviation is None or not len(deviation):
            return FINE
        self._strange.append(float((np.abs(deviation) > self.settings.envelope).mean()))
        share = sum(self._strange) / (self._strange.maxlen or 1)
        if share <= 0.1 * self.settings.envelope_share:
            return FINE
        reason = f"{share:.0%} of what the policy sees is unlike its training"
        over = share > self.settings.envelope_share
        return Decision(
            GuardVerdict.HOLD if over else GuardVerdict.WARN, "envelope", reason
        )

    def _judge_operator(self, age: float | None) -> Decision:
        if age is None or age <= self.settings.operator_warn:
            return FINE
        over = age > self.settings.operator_trip
        reason = f"the operator was last heard {age:.1f} s ago"
        return Decision(
            GuardVerdict.HOLD if over else GuardVerdict.WARN, "operator", reason
        )


def _find_orientation(signals: tuple[str, ...]) -> list[int]:
    """Places of w, x, y, z of the base's orientation, or an IMU's; none: empty."""
    owners = [name.removesuffix(".w") for name in signals if name.endswith("tion.w")]
    for owner in sorted(owners, key=lambda name: name != "base.orientation"):
        names = [f"{owner}.{axis}" for axis in "wxyz"]
        if owner.endswith("orientation") and all(name in signals for name in names):
            return [signals.index(name) for name in names]
    return []
