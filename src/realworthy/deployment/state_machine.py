"""The phases of a trial, which may follow which, and a stop that stays."""

import enum
from dataclasses import dataclass, field


class Phase(enum.StrEnum):
    """What the robot is allowed to do."""

    OFF = "off"
    """Nobody speaks to it."""
    PASSIVE = "passive"
    """It brakes softly and is measured."""
    MOVE_TO_DEFAULT = "move_to_default"
    """It is led slowly to where a trial begins, or ends."""
    HOLD = "hold"
    """It stays where it is."""
    RUN = "run"
    """It follows the policy."""
    FAULT_DAMP = "fault_damp"
    """It brakes, because a guard or a person said so."""
    STOPPED = "stopped"
    """Emergency stop: only a person's reset leads out of it."""


_NEXT: dict[Phase, tuple[Phase, ...]] = {
    Phase.OFF: (Phase.PASSIVE,),
    Phase.PASSIVE: (Phase.MOVE_TO_DEFAULT, Phase.HOLD, Phase.OFF),
    Phase.MOVE_TO_DEFAULT: (Phase.HOLD, Phase.PASSIVE),
    Phase.HOLD: (Phase.RUN, Phase.MOVE_TO_DEFAULT, Phase.PASSIVE),
    Phase.RUN: (Phase.HOLD, Phase.MOVE_TO_DEFAULT, Phase.PASSIVE),
    Phase.FAULT_DAMP: (Phase.PASSIVE,),
    Phase.STOPPED: (),
}
"""Beside these, every phase may become FAULT_DAMP or STOPPED, but STOPPED neither."""


@dataclass(frozen=True, slots=True)
class PhaseChange:
    """One step from phase to phase."""

    time: float
    """[s] on the loop's clock."""
    before: Phase
    after: Phase
    reason: str


@dataclass(slots=True)
class Machine:
    """The phase now, and how it came to be.

    A step that is not allowed does not raise: it becomes FAULT_DAMP, with the reason.
    """

    phase: Phase = Phase.OFF
    changes: list[PhaseChange] = field(default_factory=list)

    @property
    def may_follow(self) -> bool:
        """Whether commands may be sent at all."""
        return self.phase in (Phase.MOVE_TO_DEFAULT, Phase.HOLD, Phase.RUN)

    def change(self, phase: Phase, time: float, reason: str = "") -> Phase:
        """Asks for a phase; returns the one that it is now."""
        if phase is self.phase or self.phase is Phase.STOPPED:
            return self.phase
        always = (Phase.FAULT_DAMP, Phase.STOPPED)
        if phase not in (*_NEXT[self.phase], *always):
            reason = f"{self.phase} may not become {phase}" + (
                f" ({reason})" if reason else ""
            )
            phase = Phase.FAULT_DAMP
        self.changes.append(PhaseChange(time, self.phase, phase, reason))
        self.phase = phase
        return phase

    def reset(self, time: float, who: str) -> None:
        """A person says that it is safe again; only out of STOPPED."""
        if self.phase is Phase.STOPPED:
            reason = f"reset by {who}"
            self.changes.append(PhaseChange(time, self.phase, Phase.OFF, reason))
            self.phase = Phase.OFF
