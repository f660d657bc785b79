"""Worlds whose e moves while they run."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.parameters import Draws
from realworthy.parameters.processes import Course, Process
from realworthy.simulators.simulator import Array, Simulator, Worlds, to_numpy


class ChangingParameters(Simulator):
    """A simulator with processes: payloads that jump, delays that jitter, batteries.

    Also adds each world's own command noise (`action_noise`). Everything else is the
    wrapped simulator's.
    """

    def __init__(
        self, simulator: Simulator, processes: Sequence[Process], *, seed: int
    ) -> None:
        self.simulator = simulator
        self.bound, self.world_count = simulator.bound, simulator.world_count
        self.substeps = simulator.substeps
        space, count = self.bound.space, self.world_count
        self.course = Course(space, processes, count, seed=seed)
        self._noise = Draws(seed, "action noise")
        self._steps = 0

    def write(self, samples: ArrayLike, worlds: Worlds = None) -> None:
        ids = self.check_worlds(worlds)
        samples = self.bound.check_samples(samples)
        self.simulator.write(samples, ids)
        self.course.begin(np.broadcast_to(samples, (len(ids), samples.shape[1])), ids)

    def reset(
        self,
        worlds: Worlds = None,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        ids = self.check_worlds(worlds)
        self.course.restart(ids)
        if len(self.bound.space) and len(ids):
            self.simulator.write(self.course.now[ids], ids)
        self.simulator.reset(ids, qpos=qpos, qvel=qvel, command=command)

    def step(self, command: ArrayLike | Array) -> None:
        changed = self.course.advance(self.period)
        if len(changed):
            self.simulator.write(self.course.now[changed], changed)
        sd = self.field("own.action_noise")
        if sd.any():
            worlds, width = np.arange(self.world_count), sd.shape[1]
            normal = self._noise.normal(worlds, width, episode=self._steps)
            command = to_numpy(command) + sd * normal
        self._steps += 1
        self.simulator.step(command)

    def refresh(self) -> None:
        self.simulator.refresh()

    def array(self, name: str) -> Array:
        return self.simulator.array(name)

    def field(self, name: str) -> NDArray[np.float64]:
        return self.simulator.field(name)

    def state(self, worlds: Worlds = None) -> NDArray[np.float64]:
        return self.simulator.state(worlds)

    def restore(self, state: ArrayLike, worlds: Worlds = None) -> None:
        self.simulator.restore(state, worlds)

    def outcomes(self) -> NDArray[np.int64]:
        return self.simulator.outcomes()
