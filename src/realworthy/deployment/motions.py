"""Careful motions of our own: to a pose, holding it, a joint's small wiggle."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.decision import FINE, Decision
from realworthy.deployment.guarded_robot import GuardedRobot
from realworthy.deployment.state_machine import Phase
from realworthy.robots import State

Floats = NDArray[np.float64]
_SPEED = 0.5
"""[rad/s] at most on the way to a pose, or a quarter of the slowest drive's."""
_POSE_TOLERANCE = 1e-3
"""[rad] from a pose within which no approach is needed: an encoder of 4096 steps
resolves 1.5e-3."""


def move_to(guarded: GuardedRobot, pose: Floats, *, least: float) -> Decision:
    """Leads a position-driven robot to a (commands,) pose, in `least` [s] or longer.

    Half a cosine per joint, all at once; the phase is MOVE_TO_DEFAULT.
    """
    guarded.machine.change(Phase.MOVE_TO_DEFAULT, guarded.clock.now())
    state = guarded.robot.read()
    decision = guarded.watchdogs.judge_rest(state)
    if decision.is_fault:
        return guarded.fault(decision)
    begin = guarded.drives.of_joints(state.position)
    if guarded.filter.last is not None and guarded.drives.kind == "position":
        begin = guarded.filter.last
    far = float(np.abs(pose - begin).max(initial=0.0))
    speed = min(_SPEED, 0.25 * float(guarded.drives.speed.min(initial=np.inf)))
    seconds = max(least, math.pi / 2 * far / speed) if far > _POSE_TOLERANCE else 0.0
    count = math.ceil(seconds / guarded.period)
    for k in range(1, count + 1):
        share = 0.5 - 0.5 * math.cos(math.pi * k / count)
        target = begin + share * (pose - begin)
        decision = guarded.step(_constant(target), rest=state.position)
        if decision.is_fault:
            return decision
    return FINE


def hold(guarded: GuardedRobot, target: Floats, *, seconds: float) -> Decision:
    """Follows one command for a while; the phase is HOLD."""
    guarded.machine.change(Phase.HOLD, guarded.clock.now())
    for _ in range(math.ceil(seconds / guarded.period)):
        decision = guarded.step(_constant(target))
        if decision.is_fault:
            return decision
    return FINE


def _constant(target: Floats) -> Callable[[State], Floats]:
    return lambda state: target
