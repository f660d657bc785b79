"""Forces on every joint along recordings: what is given, and what the motion needs.

Two balances, each zero where twin and robot agree:

    drive:      reported torque - kp · (command - position) + kd · velocity
    mechanics:  torque that the measured motion needs - torque that the motor gives

Columns of a regression must not share the noise of what they explain, or a rotor's
inertia explains the noise of accelerations. So suspects see the motion that the twin
predicts, drawn slowly to the measured one; only what is off zero is measured.

The second takes the reported torque where there is one, so that it holds whatever the
drive does, and the drive's law where there is none. Every signal goes through one
Gaussian kernel, whose derivatives give velocity and acceleration: filtering and
differentiating commute, and nothing is late.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.forces.bodies import BodyMotion, follow_bodies
from realworthy.diagnosis.log.drives import (
    Drive,
    Limits,
    find_command,
    find_torque,
    read_limits,
)
from realworthy.gap.noise import estimate_noise
from realworthy.recordings import Recording
from realworthy.simulators.replay import Track
from realworthy.simulators.replay.track import lay_out_all
from realworthy.twins import Twin
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]

KERNEL = 0.018
"""[s] Standard deviation of the kernel: half of a 7 Hz tone passes."""
RATE = 30.0
"""[Hz] at which balances are judged; the kernel passes a quarter of half that rate."""
DRAWN = 0.08
"""[s] Kernel of what is measured in the motion that suspects see."""
CALM = 0.3
"""[s] The same where a play would make much of noise."""
CLEAR_OF_NOISE = 160.0
"""Times its noise that a joint must move for that not to be needed."""
DIVERGED = 0.5
"""Of a joint's motion: from there on a prediction is of no use."""
EXCITED = 3.0
"""Times the noise of its speed that a joint must move for friction to have a side."""
MIN_SECONDS = 2.0
"""[s]"""
EDGE = 3.0
"""Kernels at either end that are left out."""
SLOW_SIGN = 0.03
"""Of a joint's rms speed: below it the direction of dry friction is not certain."""
SATURATED = 0.97


@dataclass(frozen=True)
class JointMotion:
    """One joint along one recording as suspects see it, at all rows."""

    position: Floats
    velocity: Floats
    acceleration: Floats
    calm: Floats
    """Position as it is predicted, hardly drawn to what was measured."""
    command: Floats
    """As it acts on average around a row; zeros of a joint without a drive."""
    raw_command: Floats
    """As it was logged."""
    law: Floats
    """[N·m] by the twin's drive around a row."""
    reported_law: Floats
    """[N·m] by the twin's drive where the torque is read."""
    free: NDArray[np.bool_]
    """Rows at which the drive is not at its limit."""
    reported: Floats | None
    """[N·m] as logged."""
    read_command: Floats | None = None
    """The command as it acts where the torque is read."""


@dataclass(frozen=True)
class BalancedRun:
    """One recording."""

    time: Floats
    rate: float
    keep: NDArray[np.intp]
    """Rows that are judged."""
    needed: Floats
    """(kept rows, joints) [N·m] by the twin for the measured motion."""
    joints: dict[str, JointMotion]
    given: dict[str, Floats]
    """Joint → [N·m] by its motor at the rows that are judged, as well as is known."""
    off_law: dict[str, Floats]
    """Joint → [N·m] of reported torque less its drive's law, where it is reported."""
    bodies: BodyMotion
    speed_noise: dict[str, float]
    """Joint → [rad/s or m/s] that encoder noise leaves in speeds behind the kernel."""


@dataclass(frozen=True)
class Balance:
    """All recordings of one robot."""

    twin: Twin
    layout: Layout
    joints: tuple[str, ...]
    drives: dict[str, Drive]
    limits: dict[str, float]
    stretches: list[BalancedRun]
    excited: tuple[str, ...]
    """Joints that move by more than the noise of their speed."""
    targets: dict[tuple[str, str], list[Floats]]
    """(`drive` or `mechanics`, joint) → what is off zero, one array per stretch."""

    def smooth(self, stretch: BalancedRun, values: Floats) -> Floats:
        """Values of all rows as they are judged."""
        return _smooth(values, stretch.rate)[stretch.keep]


def balance_forces(
    twin: Twin, recordings: Sequence[Recording], simulated: Sequence[Floats]
) -> Balance | None:
    """Balances along recordings; None where a drive has no law that is known here.

    `simulated` are (rows, joints) positions that the twin predicts along each of them.
    """
    limits = read_limits(twin)
    long = [k for k, r in enumerate(recordings) if r.duration > MIN_SECONDS]
    if not long:
        return None
    tracks = lay_out_all(twin, [recordings[k] for k in long])
    simulated = [simulated[k] for k in long]
    layout = Layout(tracks[0].bound)
    if tracks[0].bound.drives or layout.base is not None:
        return None
    if set(limits.drives) != set(layout.driven_joints):
        return None
    kinds = {drive.kind for drive in limits.drives.values()}
    if not kinds <= {"position", "torque"}:
        return None
    if any(d.kind == "position" and d.kp <= 0 for d in limits.drives.values()):
        return None
    joints = tuple(
        j for j in tracks[0].joints if j not in _tied(layout) and j in layout.joints
    )
    clear = _find_clear(tracks)
    stretches = [
        _measure(track, path, joints, clear, limits)
        for track, path in zip(tracks, simulated, strict=True)
        if track.joints == tracks[0].joints
    ]
    excited = _find_excited(stretches, joints)
    targets: dict[tuple[str, str], list[Floats]] = {}
    for stretch in stretches:
        for i, joint in enumerate(joints):
            off = stretch.needed[:, i] - stretch.given[joint]
            if joint in excited or not _has_friction(layout, joint):
                targets.setdefault(("mechanics", joint), []).append(off)
            if joint in stretch.off_law:
                key = ("drive", joint)
                targets.setdefault(key, []).append(stretch.off_law[joint])
    return Balance(
        twin=twin,
        layout=layout,
        joints=joints,
        drives=dict(limits.drives),
        limits=dict(limits.torques),
        excited=excited,
        stretches=stretches,
        targets={
            key: parts for key, parts in targets.items() if len(parts) == len(stretches)
        },
    )


def _find_clear(tracks: Sequence[Track]) -> set[str]:
    """Joints that some recording moves far beyond the noise of their encoders."""
    found = set()
    for track in tracks:
        noise = estimate_noise(track.recording, track.joints).position
        for i, joint in enumerate(track.joints):
            if track.position[:, i].std() > CLEAR_OF_NOISE * noise[joint]:
                found.add(joint)
    return found


def _has_friction(layout: Layout, joint: str) -> bool:
    return bool(layout.bound.model.dof_frictionloss[layout.joint(joint)[1]] > 0)


def _find_excited(
    stretches: Sequence[BalancedRun], joints: Sequence[str]
) -> tuple[str, ...]:
    found = []
    for joint in joints:
        moved = [
            float(np.sqrt(np.mean(s.joints[joint].velocity ** 2)))
            / s.speed_noise[joint]
            for s in stretches
        ]
        if max(moved) > EXCITED:
            found.append(joint)
    return tuple(found)


def _tied(layout: Layout) -> set[str]:
    """Joints that constraints tie to others."""
    model = layout.bound.model
    found = set()
    for k in range(model.neq):
        if model.eq_type[k] == mujoco.mjtEq.mjEQ_JOINT:
            for i in (model.eq_obj1id[k], model.eq_obj2id[k]):
                if i >= 0:
                    found.add(model.joint(int(i)).name)
    return found


def _measure(
    track: Track,
    path: Floats,
    joints: Sequence[str],
    clear: set[str],
    twin_limits: Limits,
) -> BalancedRun:
    drives, limits = twin_limits.drives, twin_limits.torques
    from scipy.interpolate import CubicSpline

    recording, layout = track.recording, Layout(track.bound)

    time, rate = recording.time, recording.rate
    position = track.position
    even = time[0] + np.arange(len(time)) / rate
    margin = int(np.ceil(EDGE * _width(rate)))
    stride = max(1, round(rate / RATE))
    keep = np.arange(margin, len(time) - margin, stride)

    beat = np.stack([np.interp(even, time, q) for q in position.T], axis=1)
    states = [
        np.stack([np.interp(time, even, x) for x in _derive(beat, rate, k).T], 1)
        for k in (0, 1, 2)
    ]
    needed = follow_bodies(track, keep, *(state[keep] for state in states)).needed
    is_clear = np.array([joint in clear for joint in track.joints])
    noise = estimate_noise(recording, track.joints).position
    calm = _draw(position, path, rate, CALM)
    path = _draw(position, path, rate, DRAWN)
    calm = np.where(is_clear, path, calm)
    curves = CubicSpline(time, path)
    rows = [np.asarray(curves(time, k), np.float64) for k in (0, 1, 2)]
    inertia = _feel_inertia(track, position.mean(axis=0))
    seen, given, off_law = {}, {}, {}
    for joint in joints:
        i = track.joints.index(joint)
        drive, limit = drives.get(joint), limits.get(joint, np.inf)
        dof = layout.joint(joint)[1]
        share = 0.0 if drive is None else _settled(drive, float(inertia[dof]), rate)
        states_seen = [row[:, i] for row in rows]
        one = _see(recording, joint, drive, limit, (*states_seen, calm[:, i]), share)
        seen[joint] = one
        q, v = (state[:, i] for state in states[:2])
        law, read_law = (
            _smooth_law(drive, c, q, v, limit, rate) for c in _commands_around(one)
        )
        if one.reported is None:
            given[joint] = law[keep]
        else:
            reported = _smooth(one.reported, rate)
            given[joint] = (reported + law - read_law)[keep]
            off_law[joint] = (reported - read_law)[keep]
    bodies = follow_bodies(track, keep, *(_smooth(row, rate)[keep] for row in rows))
    dofs = [layout.joint(joint)[1] for joint in joints]
    needed = needed[:, dofs]
    model = layout.bound.model
    for i, joint in enumerate(joints):
        friction = float(model.dof_frictionloss[dofs[i]])
        if friction:
            turned = _smooth(direction(seen[joint].velocity), rate)
            needed[:, i] += friction * turned[keep]
    width = _width(rate)
    of_speed = rate / (2 * np.pi**0.25 * width**1.5)
    speeds = {joint: noise[joint] * of_speed + 1e-6 for joint in joints}
    return BalancedRun(time, rate, keep, needed, seen, given, off_law, bodies, speeds)


def _draw(position: Floats, path: Floats, rate: float, span: float) -> Floats:
    """The predicted motion, drawn slowly to the measured one."""
    from scipy.ndimage import gaussian_filter1d

    off = position - path
    spread = position.std(axis=0) + 1e-9
    is_lost = np.sqrt(np.mean((off - off.mean(axis=0)) ** 2, axis=0)) > (
        DIVERGED * spread
    )
    path = np.where(is_lost | ~np.isfinite(path).all(axis=0), 0.0, path)
    slow = gaussian_filter1d(
        position - path, max(1.0, span * rate), axis=0, mode="nearest"
    )
    return np.asarray(path + slow, np.float64)


def _see(
    recording: Recording,
    joint: str,
    drive: Drive | None,
    limit: float,
    states: Sequence[Floats],
    settled: float,
) -> JointMotion:
    q, v, a, calm = states
    count = len(recording.time)
    name = None if drive is None else find_command(recording, joint, drive)
    if drive is None or name is None:
        nothing, every = np.zeros(count), np.ones(count, dtype=bool)
        return JointMotion(
            q, v, a, calm, nothing, nothing, nothing, nothing, every, None
        )
    command = recording.signals[name]
    before = np.concatenate([command[:1], command[:-1]])
    read_command = before + settled * (command - before)
    early = drive_torque(drive, read_command, q, v, limit)
    late = drive_torque(drive, command, q, v, limit)
    law = 0.5 * (early + late)
    reported = _read_torque(recording, joint, early)
    read = early
    if reported is not None:
        # What is reported is read before a row's command acts, or after.
        first, second = (float(np.var(reported - x)) for x in (early, late))
        read = late if second < 0.9 * first else early
    return JointMotion(
        position=q,
        velocity=v,
        acceleration=a,
        calm=calm,
        command=0.5 * (before + command),
        raw_command=command,
        law=law,
        reported_law=read,
        free=np.abs(law) < SATURATED * limit,
        reported=reported,
        read_command=command if read is late else read_command,
    )


def _feel_inertia(track: Track, position: Floats) -> Floats:
    """(dofs,) inertia [kg·m²] that each joint feels in a pose, the others held."""
    model, layout = track.bound.model, Layout(track.bound)
    data = mujoco.MjData(model)
    data.qpos[:] = track.bound.compiled.own["own.initial_qpos"]
    for joint, value in zip(track.joints, position, strict=True):
        data.qpos[layout.joint(joint)[0]] = value
    mujoco.mj_fwdPosition(model, data)
    masses = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, masses)
    return np.diag(masses).copy()


def _settled(drive: Drive, inertia: float, rate: float) -> float:
    """Share of a command's step that a quick drive has run off when torque is read.

    Right after a step of the command the torque jumps by kp · step; the joint then
    catches up in its mechanical time J / kd. Where that is short against a row, what
    is read before the next step has settled, though mean speeds do not show it:
    ½ (1 - φ) of the step, φ = (1 - exp(-x)) / x, x = kd / (J · rate).
    """
    if drive.kind != "position" or drive.kd <= 0:
        return 0.0
    x = max(drive.kd / (max(inertia, 1e-9) * rate), 1e-6)
    return float(0.5 * (1 - (1 - np.exp(-x)) / x))


def _commands_around(one: JointMotion) -> tuple[Floats, Floats]:
    """Commands as they act around rows, and where the torque is read."""
    read = one.command if one.read_command is None else one.read_command
    return one.command, read


def _smooth_law(
    drive: Drive | None,
    command: Floats,
    q: Floats,
    v: Floats,
    limit: float,
    rate: float,
) -> Floats:
    """[N·m] of a drive behind the kernel, from states that have passed it already."""
    if drive is None:
        return np.zeros_like(q)
    if drive.kind == "torque":
        return _smooth(drive_torque(drive, command, q, v, limit), rate)
    wanted = np.clip(command, drive.lower, drive.upper)
    free = drive.kp * (wanted - q) - drive.kd * v
    lost = np.clip(free, -limit, limit) - free
    state = -drive.kp * q - drive.kd * v
    return _smooth(drive.kp * wanted, rate) + state + _smooth(lost, rate)


def _read_torque(recording: Recording, joint: str, law: Floats) -> Floats | None:
    """Reported torque; a current on the scale at which it is nearest to the law."""
    name = find_torque(recording, joint)
    if name is None:
        return None
    values = recording.signals[name]
    if name.endswith(".torque"):
        return values
    energy = float(values @ values)
    if energy < 1e-12 or abs(np.corrcoef(values, law)[0, 1]) < 0.9:
        return None
    return values * (float(values @ law) / energy)


def drive_torque(
    drive: Drive, command: Floats, position: Floats, velocity: Floats, limit: float
) -> Floats:
    """[N·m] of a drive by its law."""
    if drive.kind == "torque":
        torque = drive.torque_per_command * np.clip(command, drive.lower, drive.upper)
    else:
        wanted = np.clip(command, drive.lower, drive.upper)
        torque = drive.kp * (wanted - position) - drive.kd * velocity
    return np.clip(torque, -limit, limit)


def direction(velocity: Floats, wide: float = 1.0) -> Floats:
    """-1 … 1, the direction of dry friction; uncertain next to standstill."""
    slow = wide * SLOW_SIGN * float(np.sqrt(np.mean(velocity**2))) + 1e-9
    return np.tanh(velocity / slow)


def _width(rate: float) -> float:
    """Rows of the kernel's standard deviation."""
    return max(1.0, KERNEL * rate)


def _smooth(values: Floats, rate: float) -> Floats:
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(
        gaussian_filter1d(values, _width(rate), axis=0, mode="nearest"), np.float64
    )


def _derive(values: Floats, rate: float, order: int) -> Floats:
    from scipy.ndimage import gaussian_filter1d

    found = gaussian_filter1d(
        values, _width(rate), axis=0, order=order, mode="nearest", truncate=5.0
    )
    return np.asarray(found * rate**order, np.float64)
