"""Logs of simulated robots with random interface faults; independent of `realities`.

MuJoCo steps the twin's model, numpy writes the columns, and a fault changes columns
only. The healthy log of the same motion is kept beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np

from realworthy.recordings import Recording, Sidecar
from realworthy.twins import Twin, bind, load_twin

TWINS = (
    "arm",
    "double_pendulum",
    "menagerie:dynamixel_2r",
    "menagerie:kuka_iiwa_14",
)
RATE = 100.0
SECONDS = 10.0
NOISE = 3e-4
QUANTITIES = ("position", "velocity", "torque")
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Robot:
    twin: Twin
    model: mujoco.MjModel
    joints: tuple[str, ...]
    """In the order of the actuators."""
    kind: str
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Planted:
    name: str
    """Of the cause."""
    joints: tuple[str, ...]
    """Empty where any will do."""
    columns: Columns
    is_mapping: bool = True


@lru_cache
def build(name: str) -> Robot:
    twin = load_twin(name)
    model = bind(twin).model
    joints = [int(model.actuator_trnid[i, 0]) for i in range(model.nu)]
    names = tuple(model.joint(i).name for i in joints)
    is_servo = model.actuator_biastype[0] == mujoco.mjtBias.mjBIAS_AFFINE
    low, high = np.array(model.actuator_ctrlrange, dtype=float).T
    limited = np.array(model.actuator_ctrllimited, dtype=bool)
    wide = 3.0 if is_servo else 1.0
    low, high = np.where(limited, low, -wide), np.where(limited, high, wide)
    return Robot(twin, model, names, "position" if is_servo else "torque", low, high)


def move(robot: Robot, rng: np.random.Generator) -> np.ndarray:
    """(rows, joints) sines and a few steps around the middle of the range."""
    time = np.arange(round(SECONDS * RATE)) / RATE
    frequencies = rng.uniform(0.15, 0.9, (3, len(robot.joints)))
    phases = rng.uniform(0, 2 * np.pi, frequencies.shape)
    waves = np.sin(2 * np.pi * frequencies * time[:, None, None] + phases).mean(axis=1)
    steps = rng.choice([-0.3, 0.0, 0.3], (8, len(robot.joints)))
    waves += steps[np.minimum((time / SECONDS * 8).astype(int), 7)]
    half = np.minimum(0.5 * (robot.high - robot.low), 1.5)
    middle = 0.5 * (robot.high + robot.low)
    share = 0.35 if robot.kind == "position" else 0.5
    return middle + share * half * waves


def run(
    robot: Robot, commands: np.ndarray, position: np.ndarray, velocity: np.ndarray
) -> Columns:
    """Noise-free columns; a row is measured just before its command is sent."""
    model, data = robot.model, mujoco.MjData(robot.model)
    ids = [model.joint(name) for name in robot.joints]
    qpos = [int(j.qposadr[0]) for j in ids]
    qvel = [int(j.dofadr[0]) for j in ids]
    data.qpos[qpos], data.qvel[qvel] = position, velocity
    substeps = round(1 / RATE / model.opt.timestep)
    rows = {quantity: np.empty_like(commands) for quantity in QUANTITIES}
    gear = model.actuator_gear[:, 0]
    for k, command in enumerate(commands):
        rows["position"][k], rows["velocity"][k] = data.qpos[qpos], data.qvel[qvel]
        mujoco.mj_forward(model, data)  # the force of the command before
        rows["torque"][k] = data.actuator_force * gear
        data.ctrl[:] = command
        for _ in range(substeps):
            mujoco.mj_step(model, data)
    # Drives tell velocities as differences of positions, from the row before to this.
    rows["velocity"][1:] = np.diff(rows["position"], axis=0) * RATE
    columns = {}
    for i, joint in enumerate(robot.joints):
        for quantity in QUANTITIES:
            columns[f"{joint}.{quantity}"] = rows[quantity][:, i]
        columns[f"{joint}.command"] = commands[:, i]
    return columns


def log(robot: Robot, rng: np.random.Generator) -> Columns:
    """A healthy log with `time`: settled first, noisy, stamps jitter."""
    commands = move(robot, rng)
    model = robot.model
    start = np.array(commands[0]) if robot.kind == "position" else np.zeros(model.nu)
    settled = run(robot, np.repeat(commands[:1], 150, axis=0), start, 0 * start)
    start = np.array([settled[f"{j}.position"][-1] for j in robot.joints])
    if robot.kind == "torque":
        start = np.zeros(len(robot.joints))
    columns = run(robot, commands, start, 0 * start)
    for joint in robot.joints:
        noise = rng.normal(0, NOISE, len(commands))
        columns[f"{joint}.position"] = columns[f"{joint}.position"] + noise
        for quantity, part in (("velocity", 0.01), ("torque", 0.01)):
            name = f"{joint}.{quantity}"
            size = part * columns[name].std() + 1e-4
            columns[name] = columns[name] + rng.normal(0, size, len(commands))
    time = np.arange(len(commands)) / RATE + rng.uniform(-2e-4, 2e-4, len(commands))
    return {"time": time, **columns}


def record(robot: Robot, columns: Columns) -> Recording:
    signals = {n: v for n, v in columns.items() if n != "time"}
    kind = "position" if robot.kind == "position" else "torque"
    return Recording(columns["time"], signals, Sidecar(command_kind=kind, rate=RATE))


def plant(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    """One fault, drawn from those that this kind of robot can have."""
    kinds: list[Callable[[Robot, Columns, np.random.Generator], Planted]]
    kinds = [_sign, _order, _speeds, _clock, _late_commands, _normalised]
    if robot.kind == "position":
        kinds += [_degrees, _pose, _offset, _errors, _increments]
    kind = kinds[int(rng.integers(len(kinds)))]
    return kind(robot, healthy, rng)


def measure_error(robot: Robot, recording: Recording) -> float:
    """Mean over signals of rms against replays of half seconds, over the noise.

    Velocities and torques against those that the model has along the replay.
    """
    rows = int(0.5 * RATE)
    time = recording.time - recording.time[0]
    grid = np.arange(int(time[-1] * RATE)) / RATE
    names = [f"{j}.{q}" for j in robot.joints for q in QUANTITIES]
    values = {n: np.interp(grid, time, recording.signals[n]) for n in names}
    held = np.clip(np.searchsorted(time, grid + 0.4 / RATE) - 1, 0, len(time) - 1)
    commands = np.stack(
        [recording.signals[f"{j}.command"][held] for j in robot.joints], axis=1
    )
    squares = {name: [] for name in names}
    for first in range(rows, len(grid) - rows, rows):
        part = slice(first, first + rows)
        start = [
            np.array([values[f"{j}.{q}"][first] for j in robot.joints])
            for q in ("position", "velocity")
        ]
        played = run(robot, commands[part], *start)
        for name in names:
            off = played[name][1:] - values[name][part][1:]
            squares[name].append(float(np.mean(off**2)))
    scales = {"position": 0.01, "velocity": 0.1, "torque": 0.5}
    return float(
        np.mean(
            [
                min(np.sqrt(np.mean(square)) / scales[name.rsplit(".", 1)[1]], 100.0)
                for name, square in squares.items()
            ]
        )
    )


def _measured(columns: Columns, joint: str) -> list[str]:
    return [f"{joint}.{q}" for q in QUANTITIES if f"{joint}.{q}" in columns]


def _side(joint: str, columns: Columns, rng: np.random.Generator) -> list[str]:
    return _measured(columns, joint) if rng.random() < 0.5 else [f"{joint}.command"]


def _sign(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    joint = str(rng.choice(robot.joints))
    names = _side(joint, healthy, rng)
    return Planted("joint_sign", (joint,), healthy | {n: -healthy[n] for n in names})


def _order(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    first, second = (str(j) for j in rng.choice(robot.joints, 2, replace=False))
    names = _side(first, healthy, rng)
    ends = [name.removeprefix(first) for name in names]
    swapped = {first + e: healthy[second + e] for e in ends}
    swapped |= {second + e: healthy[first + e] for e in ends}
    return Planted("joint_order", (first, second), healthy | swapped)


def _speeds(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    factor = float(rng.choice([180 / np.pi, 30 / np.pi]))
    names = [f"{joint}.velocity" for joint in robot.joints]
    scaled = {n: factor * healthy[n] for n in names}
    return Planted("unit_scale", robot.joints, healthy | scaled)


def _degrees(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    joint = str(rng.choice(robot.joints))
    names = [f"{joint}.position", f"{joint}.velocity"]
    scaled = {n: np.degrees(healthy[n]) for n in names}
    return Planted("unit_scale", (joint,), healthy | scaled)


def _normalised(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    del rng
    half, middle = 0.5 * (robot.high - robot.low), 0.5 * (robot.high + robot.low)
    half = np.where(np.abs(half - 1) < 0.15, 2.0, half)  # a factor of 1 is none
    scaled = {
        f"{j}.command": (healthy[f"{j}.command"] - middle[i]) / half[i]
        for i, j in enumerate(robot.joints)
    }
    return Planted("command_kind", (), healthy | scaled)


def _clock(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    del robot
    factor = float(rng.choice([0.5, 0.8, 1.25, 1.6, 2.0]))
    return Planted("rate", (), healthy | {"time": healthy["time"] * factor})


def _late_commands(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    rows = int(rng.integers(2, 8))
    late = {
        name: np.concatenate(
            [np.repeat(healthy[name][:1], rows), healthy[name][:-rows]]
        )
        for name in (f"{joint}.command" for joint in robot.joints)
    }
    return Planted("clock_offset", (), healthy | late)


def _pose(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    joints = [str(j) for j in rng.choice(robot.joints, 2, replace=False)]
    sizes = rng.choice([-1, 1], 2) * rng.uniform(0.1, 0.8, 2)
    moved = {
        f"{j}.command": healthy[f"{j}.command"] - size
        for j, size in zip(joints, sizes, strict=True)
    }
    return Planted("default_pose", tuple(joints), healthy | moved)


def _offset(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    joint = str(rng.choice(robot.joints))
    size = float(rng.choice([-1, 1]) * rng.uniform(0.03, 0.2))
    moved = {f"{joint}.position": healthy[f"{joint}.position"] + size}
    return Planted("encoder_offset", (joint,), healthy | moved)


def _errors(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    del rng
    made = {
        f"{j}.command": healthy[f"{j}.command"] - healthy[f"{j}.position"]
        for j in robot.joints
    }
    return Planted("command_kind", (), healthy | made, is_mapping=False)


def _increments(robot: Robot, healthy: Columns, rng: np.random.Generator) -> Planted:
    del rng
    made = {
        f"{j}.command": np.diff(
            healthy[f"{j}.command"], prepend=healthy[f"{j}.command"][0]
        )
        for j in robot.joints
    }
    return Planted("command_kind", (), healthy | made, is_mapping=False)
