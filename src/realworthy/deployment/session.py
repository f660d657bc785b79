"""From connecting a robot to letting go of it: one way out, whatever happens between.

A session runs a body that moves the robot step by step, and then, in every case: back
to a safe pose if the robot can still be led there, and braking. Faults end it with
their reason; exceptions and Ctrl-C take the same way out and are handed on in what is
returned. Ctrl-\\ stops at once.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.decision import Decision, GuardVerdict
from realworthy.deployment.guarded_robot import GuardedRobot
from realworthy.deployment.motions import move_to
from realworthy.deployment.signals import EmergencyStop, Signals, holding_signals
from realworthy.deployment.state_machine import Phase

Floats = NDArray[np.float64]


class TrialOutcome(enum.StrEnum):
    """How a session ended."""

    DONE = "done"
    """It went through."""
    FAULT = "fault"
    """A guard ended it."""
    STOPPED = "stopped"
    """Emergency stop; a person must reset it."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or SIGTERM."""
    ERROR = "error"
    """Something raised."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended, why, and what it left for whoever called."""

    outcome: TrialOutcome
    reason: str
    error: BaseException | None = None
    retreated: bool = False
    """Whether the robot was led back to its safe pose."""


def run_session(
    guarded: GuardedRobot,
    body: Callable[[], Decision],
    *,
    pose: Floats | None = None,
    retreat_seconds: float = 0.0,
) -> Ended:
    """Connects, runs `body`, leads back to `pose` if there is one, brakes, lets go.

    The robot brakes when this returns. Nothing is raised: errors and interruptions are
    in what is returned. `body` ends with the last decision of the guards.
    """
    ended = Ended(TrialOutcome.DONE, "")
    with holding_signals() as signals:
        try:
            with signals.let_in():
                guarded.connect()
                decision = body()
            if decision.is_fault:
                stops = decision.verdict is GuardVerdict.STOP
                outcome = TrialOutcome.STOPPED if stops else TrialOutcome.FAULT
                ended = Ended(outcome, decision.reason)
        except EmergencyStop:
            ended = Ended(TrialOutcome.STOPPED, _stop_now(guarded))
        except KeyboardInterrupt as error:
            ended = Ended(TrialOutcome.INTERRUPTED, "interrupted", error)
        except BaseException as error:
            ended = Ended(TrialOutcome.ERROR, f"{type(error).__name__}: {error}", error)
        retreated, failure = _leave(guarded, pose, retreat_seconds, signals)
        error = ended.error or guarded.interruption or signals.to_error()
    outcome = ended.outcome
    if guarded.machine.phase is Phase.STOPPED:
        outcome, error = TrialOutcome.STOPPED, None
    elif outcome is TrialOutcome.DONE and failure:
        outcome = TrialOutcome.FAULT
    if outcome is TrialOutcome.DONE and error is not None:
        outcome = TrialOutcome.INTERRUPTED
    reason = "; ".join(filter(None, [ended.reason, failure]))
    return Ended(outcome, reason, error, retreated)


def _leave(
    guarded: GuardedRobot, pose: Floats | None, seconds: float, signals: Signals
) -> tuple[bool, str]:
    """The way out: to the safe pose where that is possible, then braking, always.

    Whether the pose was reached, and what failed. Signals cut in on the way to the
    pose only, and then the robot brakes at once.
    """
    retreated, failure = False, ""
    try:
        if pose is not None and guarded.machine.may_follow:
            with signals.let_in():
                decision = move_to(guarded, pose, least=seconds)
            retreated, failure = not decision.is_fault, decision.reason
    except EmergencyStop:
        failure = _stop_now(guarded)
    except KeyboardInterrupt as error:
        guarded.interruption = error
        failure = "interrupted on the way to the safe pose"
    except BaseException as error:
        failure = f"on the way to the safe pose: {error!r}"
    failed = guarded.brake(stops=guarded.machine.phase is Phase.STOPPED)
    now = guarded.clock.now()
    guarded.machine.change(Phase.PASSIVE, now)
    guarded.machine.change(Phase.OFF, now)
    try:
        guarded.robot.close()
    except BaseException as error:  # it was told to brake already
        failed = failed or f"closing failed: {error!r}"
    return retreated, "; ".join(filter(None, [failure, failed]))


def _stop_now(guarded: GuardedRobot) -> str:
    """Emergency stop by the operator; the reason."""
    reason = "emergency stop by the operator"
    guarded.fault(Decision(GuardVerdict.STOP, "operator", reason))
    return reason
