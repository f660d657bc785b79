"""One trial of a policy: PASSIVE, MOVE_TO_DEFAULT, HOLD, RUN, and the way out."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.adaptive import AdaptiveGoals
from realworthy.deployment.decision import Decision
from realworthy.deployment.guarded_robot import GuardedRobot
from realworthy.deployment.motions import hold, move_to
from realworthy.deployment.session import Ended, run_session
from realworthy.deployment.state_machine import Phase
from realworthy.policies import Contract, Linear, Pilot
from realworthy.robots import State

Floats = NDArray[np.float64]
_WARM_UP = 3
"""Times that a policy is asked before it counts: libraries load, memory is taken."""


@dataclass(kw_only=True, slots=True)
class TrialSettings:
    """How long, how far, how fast."""

    seconds: float = 10.0
    """For which the policy runs."""
    move_seconds: float = 2.5
    """Least time for the way to the default pose, and back."""
    hold_seconds: float = 0.5
    """Of rest before the policy runs."""


def run_trial(
    guarded: GuardedRobot,
    pilot: Pilot,
    settings: TrialSettings,
    *,
    speed_share: float,
    adaptive: AdaptiveGoals | None = None,
) -> Ended:
    """Runs a policy once; the robot brakes when this returns, whatever happened.

    Nothing is raised: errors and interruptions are in what is returned. `adaptive`
    moves the policy's goals, before the guards see them.
    """
    pose = find_pose(guarded, pilot)
    return run_session(
        guarded,
        lambda: _run(guarded, pilot, settings, speed_share, pose, adaptive),
        pose=pose,
        retreat_seconds=settings.move_seconds,
    )


def find_pose(guarded: GuardedRobot, pilot: Pilot) -> Floats | None:
    """(commands,) of a zero action, where those are positions; None otherwise."""
    if guarded.drives.kind != "position":
        return None
    rest = pilot.policy.contract.rest_commands
    return np.array([rest[name] for name in guarded.drives.commands])


def _run(
    guarded: GuardedRobot,
    pilot: Pilot,
    settings: TrialSettings,
    speed_share: float,
    pose: Floats | None,
    adaptive: AdaptiveGoals | None,
) -> Decision:
    state = guarded.robot.read()
    for _ in range(_WARM_UP):  # while the robot brakes: a first time may take long
        pilot.act(state)
    if pose is not None:
        decision = move_to(guarded, pose, least=settings.move_seconds)
        if decision.is_fault:
            return decision
    still = np.zeros(guarded.drives.width) if pose is None else pose
    # A drive of torque has nothing to hold with: it brakes until the policy runs.
    seconds = settings.hold_seconds if guarded.drives.can_hold else 0.0
    decision = hold(guarded, still, seconds=seconds)
    if decision.is_fault:
        return decision
    guarded.machine.change(Phase.RUN, guarded.clock.now())
    pilot.reset()
    if adaptive is not None:
        adaptive.begin(guarded.robot.read())
    choose = _Choosing(guarded, pilot, adaptive)
    for _ in range(max(1, math.ceil(settings.seconds / guarded.period))):
        decision = guarded.step(choose, speed_share=speed_share, is_policy=True)
        if decision.is_fault:
            return decision
        choose.settle()
    return decision


class _Choosing:
    """Asks the pilot, keeps what it saw and said, and tells it what became of it."""

    def __init__(
        self, guarded: GuardedRobot, pilot: Pilot, adaptive: AdaptiveGoals | None
    ) -> None:
        self._guarded, self._pilot, self._adaptive = guarded, pilot, adaptive
        contract = pilot.policy.contract
        action, normaliser = contract.action, contract.normaliser
        self._smooths = action.smoothing < 1
        order = [guarded.drives.commands.index(name) for name in action.commands]
        self._order = np.array(order)
        self._offset = np.array(action.offset)
        self._scale = np.array(action.scale)
        self._judged = _find_unbounded(contract)
        self._mean = self._sd = None
        if normaliser is not None:
            self._mean = np.array(normaliser.mean)[self._judged]
            self._sd = np.array(normaliser.sd)[self._judged]

    def __call__(self, state: State) -> Floats:
        pilot, log = self._pilot, self._guarded.log
        commands = pilot.act(state)
        log.note_policy(pilot.observation, pilot.action)
        if self._mean is not None and self._sd is not None:
            seen = pilot.observation[self._judged]
            self._guarded.deviation = (seen - self._mean) / self._sd
        if self._adaptive is not None:
            commands = self._adaptive.adapt(commands, state, self._guarded.period)
        return commands

    def settle(self) -> None:
        """Smoothing goes on from what was sent, not from what was asked."""
        entry = self._guarded.log.last
        if entry is None:
            return
        assert entry.command is not None
        asked = entry.command
        if self._adaptive is not None:
            self._adaptive.settle(entry.target, entry.command)
            asked = entry.command - self._adaptive.shift
        if self._smooths and entry.acted:
            sent = asked[self._order]
            scale = np.where(self._scale == 0, 1.0, self._scale)
            used = (sent - self._offset) / scale
            self._pilot.used = np.where(self._scale == 0, self._pilot.used, used)


def _find_unbounded(contract: Contract) -> NDArray[np.bool_]:
    """(width,) which numbers of an observation can be unlike training at all.

    Sines, directions and actions are bounded, and a start that a policy soon leaves is
    rare among them in training: far from the mean, and nothing strange.
    """
    actions = set(contract.action.names)
    parts = [
        np.full(
            term.width * term.history,
            isinstance(term, Linear) and actions.isdisjoint(term.signals),
        )
        for term in contract.terms
    ]
    return np.concatenate(parts)
