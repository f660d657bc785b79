"""The simulator under check, and how its traces are compared."""

from dataclasses import dataclass, field

import numpy as np

from realworthy.simulators.conformance.robot import (
    CHANGES,
    SUBSTEPS,
    Build,
    ConformanceTrace,
    Floats,
    bind_twin,
    start,
)
from realworthy.simulators.simulator import Simulator, to_numpy
from realworthy.twins import BoundTwin

STEPS = 40


class Broken(Exception):
    """A promise that was not kept."""


@dataclass(slots=True)
class ConformanceSubject:
    """The simulator under check."""

    build: Build
    tolerance: float
    """Largest difference of positions [rad, m] from plain MuJoCo."""
    bound: BoundTwin = field(default_factory=bind_twin)

    def begin(self, samples: Floats, command: Floats) -> Simulator:
        """A fresh simulator with one world for each sample, at the start of a trial."""
        simulator = self.build(self.bound, len(samples), SUBSTEPS)
        start(simulator, samples, command)
        return simulator

    def vary(self, world_count: int) -> Floats:
        """Samples in which every change has its own size in every world."""
        space = self.bound.space
        share = np.random.default_rng(1).uniform(0.3, 1.0, (world_count, len(CHANGES)))
        rows = []
        for world in share:
            values = dict(space.values(space.nominal))
            for (name, value), part in zip(CHANGES.items(), world, strict=True):
                values[name] += part * (value - values[name])
            rows.append(space.vector(values))
        return np.array(rows)


def read_array(simulator: Simulator, name: str) -> Floats:
    return np.array(to_numpy(simulator.array(name)), dtype=np.float64)


def pick_worlds(trace: ConformanceTrace, chosen: slice | list[int]) -> ConformanceTrace:
    return ConformanceTrace(
        *(x[:, chosen] for x in (trace.qpos, trace.qvel, trace.sensordata))
    )


def pick_steps(trace: ConformanceTrace, chosen: slice) -> ConformanceTrace:
    return ConformanceTrace(
        *(x[chosen] for x in (trace.qpos, trace.qvel, trace.sensordata))
    )


def check_same(found: ConformanceTrace, expected: ConformanceTrace, after: str) -> None:
    for name in ("qpos", "qvel", "sensordata"):
        gap = np.abs(getattr(found, name) - getattr(expected, name))
        if gap.any():
            step, world = np.argwhere(gap.any(-1))[0]
            raise Broken(
                f"{name} differs after {after}: by {np.nanmax(gap):.2g}, first in step "
                f"{step} of world {world}"
            )


def check_within(error: float, allowed: float, what: str) -> None:
    if not error <= allowed:
        raise Broken(f"{what}: off by {error:.2g}, allowed {allowed:.2g}")
