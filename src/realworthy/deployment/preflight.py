"""Before anything runs: is this the robot that the policy was made for?

Its description is held against the contract; its states must come often enough, by a
clock that goes like ours; its motors must be cool; and every joint is moved a little
alone, which shows commands that reach another joint or turn it the wrong way round.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.deployment.guarded_robot import GuardedRobot
from realworthy.deployment.state_machine import Phase
from realworthy.robots import State

Floats = NDArray[np.float64]
_LISTEN = 0.5
"""[s] for which states are counted."""
_RATE_SHARE = 0.9
"""Of the control rate at which new states must come."""
_CLOCK_SHARE = 0.02
"""By which the robot's clock may go faster or slower than ours."""
_MIN_RESPONSE_CORRELATION = 0.5
"""Correlation of a joint's motion with its wiggle from which it answers: below it, less
than a quarter (0.5²) of the motion's variance is explained by the command."""
_PART = 0.15
"""Share of a wiggle that a joint must make to have answered it."""


@dataclass(kw_only=True, slots=True)
class WiggleSettings:
    """How a joint is moved to see whether it is the one."""

    seconds: float = 0.6
    positions: tuple[float, ...] = (0.08, 0.16)
    """[rad] of a position drive, until it answers: dry friction may hold it."""
    velocity: float = 0.2
    """[rad/s] of a velocity drive."""
    efforts: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    """Shares of the range of a drive of torque or voltage, until it answers."""


@dataclass(frozen=True, slots=True)
class PreflightCheck:
    """One thing that was looked at."""

    name: str
    passed: bool
    text: str


def check_states(guarded: GuardedRobot) -> list[PreflightCheck]:
    """How often states come, how the robot's clock goes, how warm it is."""
    clock, robot = guarded.clock, guarded.robot
    seen: list[tuple[float, State]] = []
    begin = clock.now()
    while clock.now() - begin < _LISTEN:
        state = robot.read()
        if not seen or state.sequence != seen[-1][1].sequence:
            seen.append((clock.now(), state))
        clock.sleep_until(clock.now() + guarded.period / 4)
    wanted = 1 / guarded.period
    if len(seen) < 3:
        return [
            PreflightCheck("rate", False, f"{len(seen)} states came in {_LISTEN:g} s")
        ]
    passed = seen[-1][0] - seen[0][0]
    rate = (len(seen) - 1) / passed
    ratio = (seen[-1][1].time - seen[0][1].time) / passed
    tolerance = max(_CLOCK_SHARE, 2 * guarded.period / passed)
    checks = [
        PreflightCheck(
            "rate",
            rate >= _RATE_SHARE * wanted,
            f"{rate:.0f} states/s seen, {wanted:.0f} needed",
        ),
        PreflightCheck(
            "clock",
            abs(ratio - 1) <= tolerance,
            f"the robot's clock goes {ratio:.3f} times as fast as ours",
        ),
        check_numbers(seen[-1][1]),
    ]
    return [*checks, *check_warmth(guarded, seen[-1][1])]


def check_numbers(state: State) -> PreflightCheck:
    values = np.concatenate(
        [state.position, state.velocity, state.torque, state.others]
    )
    strange = int((~np.isfinite(values)).sum())
    return PreflightCheck(
        "numbers", not strange, f"{strange} of {len(values)} are not numbers"
    )


def check_warmth(guarded: GuardedRobot, state: State) -> list[PreflightCheck]:
    """Temperatures and batteries, where the robot reports any."""
    checks = []
    most = guarded.watchdogs.settings.temperature
    for name, value in zip(guarded.robot.info.other_signals, state.others, strict=True):
        if name.endswith(".temperature"):
            share = guarded.watchdogs.settings.warn_share
            checks.append(
                PreflightCheck(
                    name, value < share * most, f"{value:.0f} °C of {most:.0f}"
                )
            )
        elif name.startswith("battery."):
            checks.append(PreflightCheck(name, bool(value > 0), f"{value:.3g}"))
    return checks


def wiggle(guarded: GuardedRobot, settings: WiggleSettings) -> list[PreflightCheck]:
    """Moves each joint a little alone; a check for each command that drives one.

    The robot must be in phase HOLD, its drives at rest.
    """
    checks = []
    for place, joint in enumerate(guarded.drives.joints):
        if joint >= 0:
            checks.append(_wiggle_one(guarded, place, settings))
            if guarded.machine.phase is not Phase.HOLD:
                break
    return checks


def _wiggle_one(
    guarded: GuardedRobot, place: int, settings: WiggleSettings
) -> PreflightCheck:
    name, kind = guarded.drives.commands[place], guarded.drives.kind
    sizes = settings.positions
    if kind == "velocity":
        most = float(guarded.drives.speed[place])
        sizes = (min(settings.velocity, 0.2 * most),)
    elif kind != "position":
        most = _largest_effort(guarded, place)
        if not math.isfinite(most):
            return PreflightCheck(name, False, "its drive states no largest torque")
        sizes = tuple(share * most for share in settings.efforts)
    check = PreflightCheck(name, False, "it was not moved")
    for size in sizes:
        answer = _try(guarded, place, size, settings.seconds)
        if isinstance(answer, str):
            return PreflightCheck(name, False, answer)
        check = _judge(guarded, place, answer, size)
        if check.passed or "other way" in check.text or "moves" in check.text:
            return check
    return check


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """What every joint did beside what the one was asked: (steps, joints), (steps,)."""

    moved: Floats
    asked: Floats


def _try(
    guarded: GuardedRobot, place: int, size: float, seconds: float
) -> _Answer | str:
    """One wiggle; what was measured, or why it was broken off."""
    kind, drives = guarded.drives.kind, guarded.drives
    count = max(8, math.ceil(seconds / guarded.period))
    phase = 2 * np.pi * np.arange(1, count + 1) / count
    last = guarded.filter.last
    assert last is not None
    rest = np.array(last) if kind == "position" else np.zeros(drives.width)
    if kind == "position":
        middle = (drives.lower[place] + drives.upper[place]) / 2
        inwards = -1.0 if np.isfinite(middle) and rest[place] > middle else 1.0
        shape = inwards * size * (0.5 - 0.5 * np.cos(phase))
        asked = shape
    elif kind == "velocity":
        shape = size * np.sin(phase)
        asked = shape
    else:  # what a free mass does with the torque: its velocity
        shape = size * np.sin(phase)
        asked = size * (1 - np.cos(phase)) / 2
    measured: list[Floats] = []

    def choose(offset: float) -> Callable[[State], Floats]:
        def target(state: State) -> Floats:
            values = state.position if kind == "position" else state.velocity
            measured.append(np.array(values))
            return rest + offset * np.eye(drives.width)[place]

        return target

    for offset in [*shape, *np.zeros(count // 4)]:
        decision = guarded.step(choose(float(offset)))
        if decision.is_fault:
            return decision.reason
    moved = np.array(measured[: count + count // 4])
    padded = np.concatenate([asked, np.zeros(len(moved) - count)])
    return _Answer(moved - moved[0], padded)


def _judge(
    guarded: GuardedRobot, place: int, answer: _Answer, size: float
) -> PreflightCheck:
    drives, joints = guarded.drives, guarded.robot.info.joints
    own, name = drives.joints[place], drives.commands[place]
    alike, part = _compare(answer)
    strength = np.abs(alike) * (np.abs(part) if drives.kind == "position" else 1.0)
    is_servo = drives.kind in ("position", "velocity")
    answers = abs(alike[own]) >= _MIN_RESPONSE_CORRELATION and (
        not is_servo or abs(part[own]) >= _PART
    )
    if answers and alike[own] < 0:
        return PreflightCheck(name, False, f"{joints[own]} turns the other way round")
    other = int(np.argmax(strength))
    enough = not is_servo or abs(part[other]) >= _PART
    foreign = other != own and abs(alike[other]) >= _MIN_RESPONSE_CORRELATION and enough
    if foreign and (not answers or (is_servo and strength[other] > 2 * strength[own])):
        return PreflightCheck(
            name, False, f"it moves {joints[other]}, not {joints[own]}"
        )
    if not answers:
        return PreflightCheck(name, False, f"{joints[own]} did not answer")
    return PreflightCheck(
        name, True, f"{joints[own]} answers (correlation {alike[own]:.2f})"
    )


def _compare(answer: _Answer) -> tuple[Floats, Floats]:
    """Per joint: the best correlation with what was asked, some steps late, and size.

    A drive needs time to answer; up to a quarter of the wiggle is allowed.
    """
    count = len(answer.asked)
    best = np.zeros(answer.moved.shape[1])
    part = np.zeros_like(best)
    for late in range(count // 5 + 1):
        asked = np.concatenate([np.zeros(late), answer.asked[: count - late]])
        asked = asked - asked.mean()
        moved = answer.moved - answer.moved.mean(axis=0)
        product = asked @ moved
        norms = np.linalg.norm(asked) * np.linalg.norm(moved, axis=0)
        alike = product / np.maximum(norms, 1e-12)
        better = np.abs(alike) > np.abs(best)
        best = np.where(better, alike, best)
        part = np.where(better, product / max(float(asked @ asked), 1e-12), part)
    return best, part


def _largest_effort(guarded: GuardedRobot, place: int) -> float:
    drives = guarded.drives
    ends = [drives.command_upper[place], -drives.command_lower[place]]
    if drives.kind == "torque":
        ends.append(drives.torque[place])
    return float(min(ends))
