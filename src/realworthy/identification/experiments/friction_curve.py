"""Friction over speed, from slow ramps in both directions over the same poses.

Torque at constant speed is gravity and friction. Gravity is the same upwards and
downwards, friction is not, so that ramps both ways tell them apart:

    τ = g(q) + sgn(v) τ_f(|v|),  τ_f(v) = c + b v [+ (s − c) exp(−(v/v_s)²)]

Goals of a ramp are stairs, and torque is read at the foot of each, just before the next
goal: a stiff servo then reads low by kp v T/2, which looks like negative damping. The
servo's kp is estimated from the recording itself, and the mean over a stair is used.

A joint that is stuck has no speed of its own, so constant torques with a regression on
speed are biased; here speed is commanded and torque is what is measured.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

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
_TRANSIENT_SHARE, _STEADY_SECONDS = 0.5, 0.02
"""Share of a ramp before it counts, and of its speed by which it may change then."""
_MIN_STRIBECK_SPEED, _MAX_STRIBECK_SPEED = 0.02, 20.0
"""[rad/s] Stribeck velocities between which one is looked for, over the speeds."""
_MIN_SPEEDS, _LAW_STARTS = 3, 4
"""Speeds for a curve of two numbers with one to check it; slowest ramps in which the
breakaway is looked for."""
_SERVO, _LAGS = 0.8, 12
"""Share of torque that a servo's law must explain, and rows that it may be late."""


@dataclass(kw_only=True, slots=True)
class FrictionCurveSettings:
    """Which ramps are driven."""

    speeds: Sequence[float] = (
        0.03, 0.05, 0.08, 0.12, 0.18, 0.26, 0.38, 0.55, 0.8, 1.1, 1.5, 2.0
    )  # fmt: skip
    """[rad/s], each up and down."""
    span: float = 0.6
    """[rad] of a ramp; a whole turn where the joint can, to average cogging."""
    centre: float = 0.0
    """[rad]"""
    pause: float = 0.3
    """[s] between ramps."""


@dataclass(frozen=True, kw_only=True)
class FrictionCurve:
    """Friction torque at several speeds, and the law that they follow."""

    speed: Floats = field(repr=False)
    """(n,) [rad/s] as measured."""
    torque: Floats = field(repr=False)
    """(n,) [N·m] friction, gravity taken off."""
    torque_sd: Floats = field(repr=False)
    """(n,) [N·m]"""
    damping: float
    """b [N·m·s/rad]"""
    damping_sd: float
    coulomb_friction: float
    """c [N·m]"""
    coulomb_friction_sd: float
    stribeck_friction: float
    """s − c [N·m]; 0 where speeds left out in turn are predicted as well without."""
    stribeck_velocity: float | None
    """v_s [rad/s]"""
    breakaway: tuple[float, float]
    """[N·m] between which joints at rest gave way."""
    servo_kp: float
    """[N·m/rad] of the drive, as the recording shows it; 0 where it is no servo."""
    warnings: tuple[str, ...]


def record_friction_curve(
    robot: Robot,
    joint: str,
    settings: FrictionCurveSettings | None = None,
    bench: JointBench | None = None,
) -> Recording:
    """Drives the ramps on a position-controlled robot; seconds = 2 Σ span/speed."""
    s = settings or FrictionCurveSettings()
    values = plan_ramps(s, robot.info.rate)
    return drive_joint(robot, joint, values, ("position",), bench)


def plan_ramps(settings: FrictionCurveSettings, rate: float) -> Floats:
    """(steps,) goals [rad]: from the centre to one end, then up and down per speed."""
    low = settings.centre - settings.span / 2
    high = settings.centre + settings.span / 2
    rest = np.ones(round(settings.pause * rate))
    ease = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, round(rate)))
    parts = [settings.centre + (low - settings.centre) * ease, low * rest]
    for speed in settings.speeds:
        steps = max(2, round((high - low) / speed * rate))
        ramp = np.linspace(0, 1, steps)
        parts += [low + (high - low) * ramp, high * rest]
        parts += [high + (low - high) * ramp, low * rest]
    return np.concatenate(parts)


def measure_friction_curve(recording: Recording, joint: str) -> FrictionCurve:
    """The friction curve of a joint from ramps with `<joint>.torque` and `.command`."""
    position = get_signal(recording, f"{joint}.position")
    torque = get_signal(recording, f"{joint}.torque")
    command = get_signal(recording, f"{joint}.command")
    ramps = _find_ramps(recording.time, command)
    torque, servo_kp = _average_stairs(recording.time, position, torque, command)
    points, unsteady = _solve(recording.time, position, torque, ramps)
    if len(points) < _MIN_SPEEDS:
        raise BadRecording(
            f"{recording.owner} has {len(points)} speeds of '{joint}' in both "
            f"directions; a friction curve needs {_MIN_SPEEDS}.",
            hint="record_friction_curve drives such ramps.",
        )
    speed, friction, sd = np.array(points).T
    law, warnings = _choose_law(speed, friction, sd)
    spread = _spread(law, speed, friction, sd)
    if unsteady:
        fastest = ", ".join(f"{x:.2g}" for x in sorted(set(unsteady)))
        warnings += (
            f"Ramps of {fastest} rad/s did not reach a steady speed and are left out: "
            "use a longer span.",
        )
    return FrictionCurve(
        speed=speed,
        torque=friction,
        torque_sd=sd,
        damping=law[1],
        damping_sd=float(spread[1]),
        coulomb_friction=law[0],
        coulomb_friction_sd=float(spread[0]),
        stribeck_friction=law[2],
        stribeck_velocity=law[3] if law[2] else None,
        breakaway=_find_breakaway(position, torque, ramps),
        servo_kp=servo_kp,
        warnings=warnings,
    )


def compute_friction(curve: FrictionCurve, speed: Floats) -> Floats:
    """(n,) [N·m] of the law at speeds [rad/s] above 0."""
    near = 0.0
    if curve.stribeck_velocity:
        near = curve.stribeck_friction * np.exp(
            -((speed / curve.stribeck_velocity) ** 2)
        )
    return curve.coulomb_friction + curve.damping * speed + near


def _find_ramps(time: Floats, command: Floats) -> list[tuple[slice, float]]:
    """Rows over which the goal moves at constant speed, with that speed."""
    slope = np.diff(command) / np.diff(time)
    same = np.abs(np.diff(slope)) < 1e-3 + 0.02 * np.abs(slope[1:])
    edges = np.flatnonzero(~same) + 1
    borders = np.concatenate([[0], edges, [len(slope)]])
    ramps = []
    for first, last in itertools.pairwise(borders):
        speed = float(np.median(slope[first:last])) if last > first else 0.0
        if last - first > 20 and abs(speed) > 1e-3:
            ramps.append((slice(int(first), int(last) + 1), speed))
    return ramps


def _average_stairs(
    time: Floats, position: Floats, torque: Floats, command: Floats
) -> tuple[Floats, float]:
    """(rows,) mean torque until the next row, where the drive is a servo; else as is.
    And its kp, or 0.

    The drive is held against τ_k = kp (u_{k−n} − q_k) − kd v_k for several lags n.
    """
    velocity = np.gradient(position, time)
    best, kp, lag = _SERVO, 0.0, 1
    for n in range(1, min(_LAGS, len(time) // 4)):
        error = command[:-n] - position[n:]
        design = np.stack([error, velocity[n:], np.ones(len(error))], axis=1)
        answer = np.linalg.lstsq(design, torque[n:], rcond=None)[0]
        explained = 1 - np.var(torque[n:] - design @ answer) / np.var(torque[n:])
        if explained > best:
            best, kp, lag = float(explained), float(answer[0]), n
    jump = np.diff(command, prepend=command[0])
    jump = np.concatenate([np.zeros(lag - 1), jump[: len(jump) - lag + 1]])
    following = np.append(torque[1:], torque[-1])
    if kp <= 0:
        return torque, 0.0
    return 0.5 * (torque + kp * jump + following), kp


def _solve(
    time: Floats,
    position: Floats,
    torque: Floats,
    ramps: list[tuple[slice, float]],
) -> tuple[list[tuple[float, float, float]], list[float]]:
    """Speed, friction and its sd for each speed; and speeds that did not settle.

    One regression over the settled rows of all ramps: friction of either sign at each
    speed, and gravity over the pose, which slow ramps tell for fast ones.
    """
    settled: dict[float, list[tuple[slice, float]]] = {}
    unsteady = []
    for rows, speed in ramps:
        length = rows.stop - rows.start
        late = slice(rows.start + int(_TRANSIENT_SHARE * length), rows.stop - 1)
        halves = np.array_split(np.arange(late.start, late.stop), 2)
        v = [np.polyfit(time[h], position[h], 1)[0] for h in halves]
        if abs(v[0] - v[1]) > _STEADY_SECONDS * abs(speed):
            unsteady.append(abs(speed))
        else:
            key = round(abs(speed), 4)
            settled.setdefault(key, []).append((late, float(np.mean(v))))
    both = {k: r for k, r in settled.items() if len({np.sign(v) for _, v in r}) == 2}
    if not both:
        return [], unsteady
    rows = [rows for runs in both.values() for rows, _ in runs]
    q = np.concatenate([position[r] for r in rows])
    tau = np.concatenate([torque[r] for r in rows])
    columns = [np.ones_like(q), q, np.cos(q), np.sin(q), q**2]
    for key in both:
        parts = [
            np.full(r.stop - r.start, np.sign(v) * (key == other))
            for other, runs in both.items()
            for r, v in runs
        ]
        columns.append(np.concatenate(parts))
    design = np.stack(columns, axis=1)
    answer, _, rank, _ = np.linalg.lstsq(design, tau, rcond=1e-10)
    left = tau - design @ answer
    variance = float(left @ left) / max(1, len(tau) - int(rank))
    sd = np.sqrt(variance * np.diag(np.linalg.pinv(design.T @ design)))
    points = []
    for k, runs in enumerate(both.values()):
        speed = float(np.mean([abs(v) for _, v in runs]))
        place = len(columns) - len(both) + k
        points.append((speed, float(answer[place]), float(sd[place])))
    return points, unsteady


def _choose_law(
    speed: Floats, friction: Floats, sd: Floats
) -> tuple[tuple[float, float, float, float], tuple[str, ...]]:
    """c, b, s − c, v_s by leaving out each speed in turn; the simple one on a tie."""
    sd = _widen(friction, sd)
    plain, rich = (
        np.array([_miss(speed, friction, sd, k, with_s) for k in range(len(speed))])
        for with_s in (False, True)
    )
    gain = plain - rich
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    chosen = bool(len(speed) > _MIN_SPEEDS + 2 and gain.mean() > max(error, 0.5))
    c, b, s, v = _fit(speed, friction, sd, stribeck=chosen)
    remarks = []
    if abs(gain.mean()) <= 2 * error and gain.mean() > 0.5:
        remarks.append(
            "Whether friction grows near rest is not certain: add slow ramps."
        )
    if c < 0 or b < 0:
        remarks.append(
            "Friction falls with speed or is negative: check signs and ramps."
        )
    return (c, b, s, v), tuple(remarks)


def _widen(friction: Floats, sd: Floats) -> Floats:
    """No law is exact."""
    return np.maximum(sd, 0.003 * np.abs(friction).max())


def _spread(
    law: tuple[float, float, float, float], speed: Floats, friction: Floats, sd: Floats
) -> Floats:
    """(c, b …) standard deviations of the law, no smaller than it misses the points."""
    c, b, s, v = law
    sd = _widen(friction, sd)
    bump = np.exp(-((speed / v) ** 2))
    columns = [np.ones_like(speed), speed]
    if s:
        columns += [bump, s * bump * 2 * speed**2 / v**3]  # ∂/∂(s − c), ∂/∂v_s
    design = np.stack(columns, axis=1) / sd[:, None]
    left = (c + b * speed + s * bump - friction) / sd
    freedom = max(1, len(speed) - len(columns))
    scatter = max(1.0, float(left @ left) / freedom)
    return np.sqrt(scatter * np.diag(np.linalg.pinv(design.T @ design)))


def _miss(speed: Floats, friction: Floats, sd: Floats, k: int, rich: bool) -> float:
    """Squared error of one speed, in sd, by a law fitted to the others."""
    rest = np.arange(len(speed)) != k
    c, b, s, v = _fit(speed[rest], friction[rest], sd[rest], stribeck=rich)
    predicted = c + b * speed[k] + s * np.exp(-((speed[k] / v) ** 2))
    return float(((predicted - friction[k]) / sd[k]) ** 2)


def _fit(
    speed: Floats, friction: Floats, sd: Floats, *, stribeck: bool
) -> tuple[float, float, float, float]:
    """Weighted least squares; v_s by trying many, the others are linear."""
    best, least = (0.0, 0.0, 0.0, 1.0), np.inf
    if stribeck:  # what it adds cannot be negative
        plain = _fit(speed, friction, sd, stribeck=False)
        best, least = (
            plain,
            float(np.sum(((plain[0] + plain[1] * speed - friction) / sd) ** 2)),
        )
    tried = np.geomspace(
        max(_MIN_STRIBECK_SPEED, speed.min()), min(_MAX_STRIBECK_SPEED, speed.max()), 40
    )
    for v in tried if stribeck else [1.0]:
        columns = [np.ones_like(speed), speed]
        if stribeck:
            columns.append(np.exp(-((speed / v) ** 2)))
        design = np.stack(columns, axis=1) / sd[:, None]
        answer = np.linalg.lstsq(design, friction / sd, rcond=None)[0]
        cost = float(np.sum((design @ answer - friction / sd) ** 2))
        s = float(answer[2]) if stribeck else 0.0
        if cost < least and s >= 0:
            best, least = (float(answer[0]), float(answer[1]), s, float(v)), cost
    return best


def _find_breakaway(
    position: Floats, torque: Floats, ramps: list[tuple[slice, float]]
) -> tuple[float, float]:
    """Least and most friction that starts of the slowest ramps had to overcome.

    Gravity is what both directions have in common, a parabola over the pose.
    """
    slowest = sorted(ramps, key=lambda ramp: abs(ramp[1]))[:_LAW_STARTS]
    moving = [
        (position[rows], torque[rows], np.full(len(position[rows]), np.sign(speed)))
        for rows, speed in slowest
    ]
    q, tau, sign = (np.concatenate(parts) for parts in zip(*moving, strict=True))
    design = np.stack([np.ones_like(q), q, q**2, sign], axis=1)
    answer = np.linalg.lstsq(design, tau, rcond=None)[0]
    needed = []
    for rows, speed in slowest:
        off = np.abs(position[rows] - position[rows][0])
        first = max(2, int(np.argmax(off > 0.1 * off.max())))
        start = position[rows][0]
        gravity = answer[0] + answer[1] * start + answer[2] * start**2
        needed.append(float(np.max(np.sign(speed) * (torque[rows][:first] - gravity))))
    return min(needed), max(needed)
