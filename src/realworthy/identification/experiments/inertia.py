"""Inertia of a joint from ± torque pulses around one pose.

τ = I q̈ + b q̇ + c sgn q̇ + a cos q + d sin q, held against smooth windows φ that vanish
at their ends. Partial integration moves derivatives from the noisy position to φ:

    ∫ τ φ = I ∫ q φ″ − b ∫ q φ′ + c ∫ sgn(q̇) φ + a ∫ cos q φ + d ∫ sin q φ

so nothing is ever differentiated. One sample of τ/q̈ counts friction and gravity as
inertia instead.
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
_WINDOW = 0.12
"""[s] length of φ."""
_STILL = 0.02
"""Share of the largest speed below which the sign of a speed is not trusted."""


@dataclass(kw_only=True, slots=True)
class InertiaSettings:
    """Which pulses are sent."""

    torques: Sequence[float] = (0.5, 1.0)
    """[N·m], each in both directions, beyond `hold`."""
    hold: float = 0.0
    """[N·m] that keeps the joint at its pose."""
    pulse: float = 0.08
    """[s]"""
    pause: float = 0.6
    """[s]"""
    repeats: int = 4


@dataclass(frozen=True, kw_only=True)
class JointInertia:
    """What a joint's drive has to accelerate, with sd."""

    inertia: float
    """[kg·m²] seen by the joint near the pose: links, rotor and all."""
    inertia_sd: float
    damping: float
    """[N·m·s/rad]"""
    coulomb_friction: float
    """[N·m]"""
    gravity: float
    """[N·m] at the mean pose."""
    window_count: int


def record_inertia(
    robot: Robot,
    joint: str,
    settings: InertiaSettings | None = None,
    bench: JointBench | None = None,
) -> Recording:
    """Sends the pulses to a torque-controlled robot that is at its pose."""
    values = plan_pulses(settings or InertiaSettings(), robot.info.rate)
    return drive_joint(robot, joint, values, ("torque",), bench)


def plan_pulses(settings: InertiaSettings, rate: float) -> Floats:
    """(steps,) torques [N·m]: each size forth, back twice as long, and forth again."""
    unit, rest = np.ones(round(settings.pulse * rate)), round(settings.pause * rate)
    parts = [np.zeros(rest)]
    for k in range(settings.repeats):
        for size in settings.torques:
            sign = 1.0 if k % 2 == 0 else -1.0
            doublet = np.concatenate([unit, -unit, -unit, unit])
            parts += [sign * size * doublet, np.zeros(rest)]
    return settings.hold + np.concatenate(parts)


def measure_inertia(recording: Recording, joint: str) -> JointInertia:
    """Inertia from any recording with `<joint>.torque` in which the joint is shaken."""
    position = get_signal(recording, f"{joint}.position")
    torque = get_signal(recording, f"{joint}.torque")
    rows = max(7, round(_WINDOW * recording.rate) | 1)
    if len(position) < 4 * rows:
        raise BadRecording(
            f"{recording.owner} is too short: {len(position)} rows, four windows of "
            f"{rows} are needed.",
            hint="record_inertia sends suitable pulses.",
        )
    design, told = _integrate(position, torque, rows, 1 / recording.rate)
    size = np.linalg.norm(design, axis=0)
    size[size == 0] = 1.0
    answer, _, rank, _ = np.linalg.lstsq(design / size, told, rcond=1e-8)
    left = told - design / size @ answer
    # windows overlap by half: every second one is worth nothing of its own
    variance = 2 * float(left @ left) / max(1, len(told) - int(rank))
    covariance = variance * np.linalg.pinv((design / size).T @ (design / size))
    values = answer / size
    here = np.mean(position)
    return JointInertia(
        inertia=float(values[0]),
        inertia_sd=float(np.sqrt(covariance[0, 0]) / size[0]),
        damping=float(values[1]),
        coulomb_friction=float(values[2]),
        gravity=float(values[3] * np.cos(here) + values[4] * np.sin(here)),
        window_count=len(told),
    )


def _integrate(
    position: Floats, torque: Floats, rows: int, period: float
) -> tuple[Floats, Floats]:
    """(windows, 5) integrals of the regressors and (windows,) of torque."""
    s = np.linspace(-1, 1, rows)
    half = 0.5 * (rows - 1) * period  # ds/dt = 1/half
    phi = (1 - s**2) ** 4
    first = -8 * s * (1 - s**2) ** 3 / half
    second = (-8 * (1 - s**2) ** 3 + 48 * s**2 * (1 - s**2) ** 2) / half**2
    speed = np.convolve(position, -first[::-1], "same") / phi.sum()
    moving = np.abs(speed) > _STILL * np.abs(speed).max()
    sign = np.sign(speed) * moving
    # a row reports the torque that was held until it: shift by half a period
    held = 0.5 * (torque + np.append(torque[1:], torque[-1]))
    columns = [(position, second), (position, -first), (sign, phi)]
    columns += [(np.cos(position), phi), (np.sin(position), phi)]
    places = np.arange(0, len(position) - rows, rows // 2)
    windows = places[:, None] + np.arange(rows)
    busy = moving[windows].mean(1) > 0.5
    windows = windows[busy]
    design = np.stack([(f[windows] * w).sum(1) for f, w in columns], axis=1)
    return design, (held[windows] * phi).sum(1)
