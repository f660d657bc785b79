"""Logs of stand-in robots in motion, healthy or with planted faults."""

from collections.abc import Mapping

import numpy as np

from realworthy.deployment import lenient, play
from realworthy.realities import (
    Interface,
    RealityFile,
    RealityNoise,
    StandIn,
    make_reality,
)
from realworthy.recordings import Recording
from realworthy.robots import RobotInfo

ROBOTS = ("pendulum", "arm", "diffdrive", "quadruped")
SECONDS = {"pendulum": 8.0, "arm": 6.0, "diffdrive": 5.0, "quadruped": 8.0}
NOISE = RealityNoise(
    position=0.0005,
    velocity=0.01,
    torque=0.02,
    orientation=0.001,
    gyro=0.01,
    acceleration=0.05,
)
SIZES = {"position": 0.25, "velocity": 0.7, "torque": 0.15}
"""Share of half the range of a command that a motion uses."""
STAND = {"hip": 0.0, "thigh": 0.8, "calf": -1.5}
"""[rad] around which the quadruped moves."""


def record(
    robot: str,
    seed: int,
    interface: Interface | None = None,
    *,
    noise: RealityNoise = NOISE,
    scales: Mapping[str, float] | None = None,
) -> Recording:
    """A smooth random motion of `robot`; `scales` multiplies commands, by joint."""
    file = RealityFile(
        schema=1,
        twin=robot,
        seed=seed,
        interface=interface or Interface(),
        noise=noise,
    )
    stand_in = StandIn(make_reality(f"{robot} {seed}", file))
    commands = move(stand_in.info, SECONDS[robot], seed)
    for i, name in enumerate(stand_in.info.commands):
        commands[:, i] *= (scales or {}).get(name.removesuffix(".command"), 1.0)
    return play(stand_in, commands, settings=lenient())


def move(info: RobotInfo, seconds: float, seed: int) -> np.ndarray:
    """(steps, commands): four sines each, of random frequency and phase."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * info.rate)) / info.rate
    columns = []
    for name, low, high in zip(
        info.commands, info.command_lower, info.command_upper, strict=True
    ):
        frequencies, phases = rng.uniform(0.3, 2.0, 4), rng.uniform(0, 2 * np.pi, 4)
        waves = np.sin(2 * np.pi * np.outer(time, frequencies) + phases).sum(axis=1) / 2
        size = SIZES[str(info.command_kind)] * (high - low) / 2
        ramp = np.clip(time / 0.5, 0, 1)
        part = name.removesuffix(".command").split("_")[-1]
        centre = STAND.get(part, (low + high) / 2)
        columns.append(np.clip(centre + ramp * size * waves, low, high))
    return np.stack(columns, axis=1)
