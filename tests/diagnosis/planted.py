"""Recordings of stand-ins with planted faults."""

import msgspec
import numpy as np

from realworthy.deployment import play
from realworthy.realities import StandIn, make_reality
from realworthy.realities.file import RealityFile

NOISE = {"position": 1e-3, "velocity": 1e-2}


def record(twin, *, seed=0, seconds=10.0, amplitude=3.0, noise=NOISE, **told):
    """A stand-in of a torque-driven twin, driven by three sines per motor [N·m]."""
    file = {"schema": 1, "twin": twin, "seed": seed, "noise": noise, **told}
    robot = StandIn(make_reality("hidden", msgspec.convert(file, RealityFile)))
    rng = np.random.default_rng(seed + 1)
    t = np.arange(round(seconds * robot.info.rate)) / robot.info.rate
    waves = [
        np.sin(
            2 * np.pi * np.outer(t, rng.uniform(0.3, 1.6, 3)) + rng.uniform(0, 6, 3)
        ).mean(1)
        for _ in robot.info.commands
    ]
    return play(robot, amplitude * np.stack(waves, axis=1))
