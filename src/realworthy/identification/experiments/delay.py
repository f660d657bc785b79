"""Delay between a command and its effect, from steps of several sizes both ways.

While a joint rises after a step, friction and gravity are constants, so it answers as
a second-order system to a step that comes `delay` late:

    q(t) = q₀ + A (1 − e^{−ζωt′}(cos ω_d t′ + ζω/ω_d sin ω_d t′)),  t′ = t − delay

with one A per step and ω, ζ and the delay in common. The time until a joint has moved
by a threshold counts the rise as delay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import BadRecording
from realworthy.identification.experiments.joint_commands import (
    JointBench,
    drive_joint,
    get_signal,
)
from realworthy.recordings import Recording
from realworthy.robots import Robot

Floats = NDArray[np.float64]
_RISE_SHARE = 0.7
"""Share of a step's answer up to which it is fitted: the joint still moves one way."""
_SECONDS_BEFORE_STEP = 0.05
"""[s] before a step from which its start is known."""
_MAX_DELAY = 0.25
"""[s] that a delay may have."""


@dataclass(kw_only=True, slots=True)
class DelaySettings:
    """Which steps are sent."""

    sizes: Sequence[float] = (0.1, 0.2, 0.3)
    """In the command's unit, each there and back."""
    centre: float = 0.0
    hold: float = 0.8
    """[s] after each step."""
    repeats: int = 2


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Dead time of a drive; the sum of what command and measurement take."""

    seconds: float
    sd: float
    """[s]"""
    natural_frequency: float
    """ω [rad/s] of the answer."""
    damping_ratio: float
    step_count: int
    note: str = (
        "Sum of the delays of command and measurement; one clock cannot separate them."
    )


def record_delay(
    robot: Robot,
    joint: str,
    settings: DelaySettings | None = None,
    bench: JointBench | None = None,
) -> Recording:
    """Sends the steps to a position-controlled robot."""
    values = plan_steps(settings or DelaySettings(), robot.info.rate)
    return drive_joint(robot, joint, values, ("position",), bench)


def plan_steps(settings: DelaySettings, rate: float) -> Floats:
    """(steps,) goals: from the centre by each size, up and down, and back."""
    hold = np.ones(round(settings.hold * rate))
    parts = [settings.centre * hold]
    for _ in range(settings.repeats):
        for size in settings.sizes:
            for sign in (1, -1):
                parts += [(settings.centre + sign * size) * hold]
                parts += [settings.centre * hold]
    return np.concatenate(parts)


def measure_delay(recording: Recording, joint: str) -> Delay:
    """The delay of a joint from any recording of steps in its position command."""
    from scipy.optimize import least_squares

    position = get_signal(recording, f"{joint}.position")
    command = get_signal(recording, f"{joint}.command")
    answers = _cut_answers(recording.time, position, command)
    if len(answers) < 2:
        raise BadRecording(
            f"{recording.owner} has {len(answers)} steps that '{joint}' answers; two "
            "or more are needed.",
            hint="record_delay sends such steps.",
        )

    def residuals(x: Floats) -> Floats:
        delay, omega, zeta = x[0], np.exp(x[1]), np.exp(x[2])
        parts = []
        for t, q in answers:
            shape = respond(t - delay, omega, zeta)
            design = np.stack([np.ones_like(t), shape], axis=1)
            fitted = np.linalg.lstsq(design, q, rcond=None)[0]  # q₀ and A
            parts.append(q - design @ fitted)
        return np.concatenate(parts)

    bounds = ([-0.01, 0.0, -3.0], [_MAX_DELAY, 7.0, 3.0])
    tries = [
        least_squares(
            residuals, [d, np.log(w), 0.0], bounds=bounds, x_scale=[0.01, 1, 1]
        )
        for d in (0.002, 0.02)
        for w in (8.0, 25.0, 80.0)
    ]
    best = min(tries, key=lambda one: one.cost)
    freedom = len(best.fun) - 3 - 2 * len(answers)
    spread = 2 * best.cost / max(1, freedom)
    covariance = spread * np.linalg.pinv(best.jac.T @ best.jac)
    return Delay(
        seconds=float(best.x[0]),
        sd=float(np.sqrt(covariance[0, 0])),
        natural_frequency=float(np.exp(best.x[1])),
        damping_ratio=float(np.exp(best.x[2])),
        step_count=len(answers),
    )


def trace_answers(
    recording: Recording, joint: str, found: Delay
) -> list[tuple[Floats, Floats]]:
    """Of each step: [s] since it was sent, and the share of the way that was gone."""
    position = get_signal(recording, f"{joint}.position")
    command = get_signal(recording, f"{joint}.command")
    traces = []
    for t, q in _cut_answers(recording.time, position, command):
        shape = respond(t - found.seconds, found.natural_frequency, found.damping_ratio)
        design = np.stack([np.ones_like(t), shape], axis=1)
        start, size = np.linalg.lstsq(design, q, rcond=None)[0]
        traces.append((t, (q - start) / size))
    return traces


def respond(t: Floats, omega: float, zeta: float) -> Floats:
    """Answer of a second-order system to a unit step at t = 0, however damped."""
    late = np.maximum(t, 0.0)
    root = np.sqrt(complex(zeta**2 - 1)) or 1e-6
    fast, slow = -omega * (zeta + root), -omega * (zeta - root)
    free = (slow * np.exp(fast * late) - fast * np.exp(slow * late)) / (fast - slow)
    return np.real(1 + free)


def _cut_answers(
    time: Floats, position: Floats, command: Floats
) -> list[tuple[Floats, Floats]]:
    """Time since each step and position, until most of the way is gone."""
    jumps = np.flatnonzero(np.abs(np.diff(command)) > 1e-6) + 1
    ends = np.append(jumps[1:], len(time))
    noise = np.std(np.diff(position, n=2)) / np.sqrt(6)
    found = []
    for jump, end in zip(jumps, ends, strict=True):
        begin = int(np.searchsorted(time, time[jump] - _SECONDS_BEFORE_STEP))
        before = np.median(position[begin : jump + 1])
        far = np.median(position[max(jump, end - 5) : end]) - before
        gone = (position[jump:end] - before) / (far or 1.0)
        last = jump + int(np.argmax(gone > _RISE_SHARE))
        if abs(far) > 20 * noise and abs(far) > 1e-3 and last - jump >= 4:
            rows = slice(begin, last + 1)
            found.append((time[rows] - time[jump], position[rows]))
    return found
