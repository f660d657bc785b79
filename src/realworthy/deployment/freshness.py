"""Whether measurements are fresh: how old the newest is, and whether it is real."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.decision import FINE, Decision, GuardVerdict
from realworthy.robots import State
from realworthy.robots.clock import Ages

Floats = NDArray[np.float64]
_JUMP = 1.0
"""[s] by which a robot's clock may go on more than ours between two of its states: it
was set, or a stamp is damaged. Rates that differ are preflight's business."""
_REPEATS = 3
"""New states in a row that repeat positions: a bus that was busy repeats one or two."""
_ANOTHER = 1e-3
"""By which commands differ that should show in what is measured."""


@dataclass(slots=True)
class Freshness:
    """How old the newest state is, on our clock, whatever the robot's clock says.

    Over a wire the age counts from when the state was sent at the earliest, which the
    wire bounds by our own clock. Of a driver in this process it counts from the robot's
    stamp, and the quickest way seen is not counted (`Ages`).
    """

    _ages: Ages = field(default_factory=Ages)
    _newest: float = -math.inf
    """[s] robot's time."""
    _since: float = -math.inf
    """[s] our clock, when it came."""
    _sent_after: float | None = None

    def update(self, now: float, state: State) -> float:
        """[s] since the state was measured; ∞ where its stamp cannot be true."""
        if not math.isfinite(state.time):
            return math.inf
        if state.time > self._newest:
            if state.time - self._newest > now - self._since + _JUMP:
                return math.inf
            self._newest, self._since = state.time, now
            self._sent_after = state.sent_after
            self._ages.join(now, state.time)
        if self._sent_after is not None:
            return max(0.0, now - self._sent_after)
        return self._ages.find(now, self._newest)


@dataclass(slots=True)
class Frozen:
    """A robot that repeats itself: new stamps, old numbers."""

    travel: float
    """[rad] that a joint should have gone, by its own velocity, while its position
    never changed."""
    patience: float
    """[s] for which every measured number is the same while commands change, or while
    an effort pushes that some sensor should show."""
    _seen: State | None = None
    _since: float = 0.0
    """[s] robot's time, since when positions are the same."""
    _command: Floats | None = None
    """The first one sent since then."""
    _changed: float = math.inf
    """[s] robot's time, when commands first differed from it."""
    _newest: float = -math.inf
    _repeats: int = 0
    """New states in a row with the same positions."""

    def judge(
        self, state: State, command: Floats | None, *, pushes: bool = False
    ) -> Decision:
        """Trips where numbers stay that should not; `command` is the one sent last."""
        seen = self._seen
        if seen is None or (state.position != seen.position).any():
            self._begin(state, command)
            return FINE
        if state.time > self._newest:
            self._newest, self._repeats = state.time, self._repeats + 1
        elapsed = state.time - self._since
        fastest = float(np.abs(state.velocity).max(initial=0.0))
        if fastest * elapsed > self.travel and self._repeats >= _REPEATS:
            reason = f"positions did not change for {1e3 * elapsed:.0f} ms of motion"
            return Decision(GuardVerdict.DAMP, "frozen", reason)
        if (
            (state.velocity != seen.velocity).any()
            or (state.torque != seen.torque).any()
            or (state.others != seen.others).any()
        ):
            self._begin(state, command)
            return FINE
        should_show = pushes or self._differs(command)
        if should_show and self._changed == math.inf:
            self._changed = state.time
        if state.time - self._changed > self.patience:
            reason = f"no number changed for {1e3 * elapsed:.0f} ms of commands"
            return Decision(GuardVerdict.DAMP, "frozen", reason)
        return FINE

    def _begin(self, state: State, command: Floats | None) -> None:
        self._seen, self._since = state, state.time
        self._newest, self._repeats = state.time, 0
        self._command, self._changed = command, math.inf

    def _differs(self, command: Floats | None) -> bool:
        """Whether a command is another than the first one, by more than rounding."""
        if command is None or self._command is None:
            return False
        return bool(np.abs(command - self._command).max(initial=0.0) > _ANOTHER)
