"""The physics of a reality: true e, true structure, true effects."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.realities.effects import (
    Cable,
    Drag,
    Hysteresis,
    LoadFriction,
    Stribeck,
    SupplySag,
    ThermalFade,
)
from realworthy.realities.forces import JointForces, JointFriction
from realworthy.realities.motor_strength import Weakness
from realworthy.realities.reality import Reality
from realworthy.realities.truth import control_period
from realworthy.simulators import MujocoCpu, Outcome, SubstepEffect
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout


class RealityWorlds:
    """`world_count` copies of one reality that differ only in their process noise."""

    def __init__(
        self,
        reality: Reality,
        world_count: int = 1,
        *,
        seed: int | None = None,
        thread_count: int = 0,
    ) -> None:
        file, self.bound = reality.file, reality.truth
        self.layout = Layout(self.bound)
        self.lines = describe_commands(self.bound)
        self.seed = file.seed if seed is None else seed
        self.timestep = float(self.bound.model.opt.timestep)
        self.period = control_period(file, reality.twin)
        self._e = self.bound.space.vector(file.parameters)
        self._forces = _build_forces(reality, self.layout, self.seed)
        self._effects = (*self._forces, *_build_effects(reality, self.layout))
        self.simulator = MujocoCpu(
            self.bound,
            world_count,
            substeps=round(self.period / self.timestep),
            thread_count=thread_count,
            effects=self._effects,
        )
        self.reset()

    def reset(self, trial: int = 0) -> None:
        """Back to time zero, cold and at rest, with the process noise of a trial."""
        self._renew(np.arange(self.simulator.world_count))
        for forces in self._forces:
            forces.trial = trial
        self.simulator.reset()

    def begin(
        self,
        worlds: NDArray[np.intp],
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        command: ArrayLike | None = None,
    ) -> None:
        """Some worlds back to time zero and cold, where told or in the initial pose.

        The others go on. Process noise is new in all of them.
        """
        self._renew(worlds)
        for forces in self._forces:
            forces.trial += 1
        self.simulator.reset(worlds, qpos=qpos, qvel=qvel, command=command)

    def reseed(self, seed: int) -> None:
        """Process noise of another seed, from the next `reset` or `begin` on."""
        self.seed = seed
        for forces in self._forces:
            forces.seed, forces.trial = seed, 0

    def step(self, command: ArrayLike, substeps: int) -> None:
        """Holds a command for some substeps."""
        self.simulator.substeps = substeps
        self.simulator.step(command)

    def has_diverged(self) -> bool:
        return bool((self.simulator.outcomes() == Outcome.DIVERGED).any())

    def _renew(self, worlds: NDArray[np.intp]) -> None:
        """True e without what effects made of it, for initial forces to be computed."""
        if len(self._e):
            self.simulator.write(self._e, worlds)
        for effect in self._effects:
            effect.reset(worlds)


def _build_forces(reality: Reality, layout: Layout, seed: int) -> list[JointForces]:
    """None or one."""
    noise, effects = reality.file.noise.process, reality.file.effects
    chosen = [e for e in effects if isinstance(e, Drag | Cable | Hysteresis)]
    if not chosen and not noise:
        return []
    return [JointForces(layout, chosen, process_noise=noise, seed=seed)]


def _build_effects(reality: Reality, layout: Layout) -> list[SubstepEffect]:
    effects = reality.file.effects
    friction = [e for e in effects if isinstance(e, Stribeck | LoadFriction)]
    weakness = [e for e in effects if isinstance(e, ThermalFade | SupplySag)]
    built: list[SubstepEffect] = []
    if friction:
        built.append(JointFriction(layout, friction))
    if weakness:
        built.append(Weakness(layout, weakness))
    return built
