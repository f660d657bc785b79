"""The physics of a reality: true e, true structure, true effects."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.realities.effects import (
    Backlash,
    Cable,
    Contact,
    Drag,
    Flexibility,
    Hysteresis,
    LoadFriction,
    Saturation,
    Slosh,
    Stribeck,
    SupplySag,
    ThermalFade,
)
from realworthy.realities.forces import JointForces, JointFriction, Weakness
from realworthy.realities.reality import Reality
from realworthy.simulators import MujocoCpu, Outcome, SubstepEffect
from realworthy.twins import Twin, bind
from realworthy.twins.layout import Layout
from realworthy.twins.structure import (
    add_backlash,
    add_flexibility,
    add_obstacle,
    add_slosh,
    limit_torque,
    refine_physics,
)

Floats = NDArray[np.float64]


class RealityWorlds:
    """`world_count` copies of one reality that differ only in their noise."""

    def __init__(
        self,
        reality: Reality,
        world_count: int = 1,
        *,
        seed: int | None = None,
        thread_count: int = 0,
    ) -> None:
        file = reality.file
        self.seed = file.seed if seed is None else seed
        true_twin = _build_structure(reality)
        names = list(dict.fromkeys((*file.parameters, *_friction_names(reality))))
        space = true_twin.space.select(names)
        self._e = space.vector(file.parameters)
        self.bound = bind(true_twin, space)
        self.layout = Layout(self.bound)
        self.substeps = max(1, round(self._period(reality) / self.timestep))
        self.simulator = MujocoCpu(
            self.bound,
            world_count,
            substeps=self.substeps,
            thread_count=thread_count,
            effects=_build_effects(reality, self.layout, self.seed),
        )
        self.reset()

    @property
    def timestep(self) -> float:
        return float(self.bound.model.opt.timestep)

    def reset(self) -> None:
        """Back to time zero, cold and at rest."""
        if len(self._e):
            self.simulator.write(self._e)
        self.simulator.reset()

    def step(self, command: ArrayLike, substeps: int) -> None:
        """Holds a command for some substeps."""
        self.simulator.substeps = substeps
        self.simulator.step(command)

    def has_diverged(self) -> bool:
        return bool((self.simulator.outcomes() == Outcome.DIVERGED).any())

    def _period(self, reality: Reality) -> float:
        """[s] between commands: the file's rate, or four substeps of the twin."""
        if reality.file.rate > 0:
            return 1 / reality.file.rate
        return 4 * self.timestep / reality.file.timestep_factor


def _build_structure(reality: Reality) -> Twin:
    twin = reality.twin
    for effect in reality.file.effects:
        if isinstance(effect, Backlash):
            twin = twin.edited(lambda s, e=effect: add_backlash(s, e.joint, e.width))
        elif isinstance(effect, Flexibility):
            twin = twin.edited(
                lambda s, e=effect: add_flexibility(
                    s, e.joint, stiffness=e.stiffness, damping=e.damping
                )
            )
        elif isinstance(effect, Saturation):
            twin = twin.edited(lambda s, e=effect: limit_torque(s, e.joint, e.limit))
        elif isinstance(effect, Slosh):
            twin = twin.edited(
                lambda s, e=effect: add_slosh(
                    s, e.body, mass=e.mass, length=e.length, damping=e.damping
                )
            )
        elif isinstance(effect, Contact):
            twin = twin.edited(
                lambda s, e=effect: add_obstacle(s, position=e.position, size=e.size)
            )
    factor = reality.file.timestep_factor
    if factor != 1.0:
        twin = twin.edited(lambda s: refine_physics(s, timestep_factor=factor))
    return twin


def _friction_names(reality: Reality) -> list[str]:
    """Joints whose friction moves need the stiff friction that a bound one gets."""
    kinds = (Stribeck, LoadFriction)
    joints = [e.joint for e in reality.file.effects if isinstance(e, kinds)]
    explicit = {actuator.joint for actuator in reality.twin.actuators.values()}
    return [f"{joint}.coulomb_friction" for joint in joints if joint not in explicit]


def _build_effects(
    reality: Reality, layout: Layout, seed: int
) -> tuple[SubstepEffect, ...]:
    effects = reality.file.effects
    forces = [e for e in effects if isinstance(e, Drag | Cable | Hysteresis)]
    friction = [e for e in effects if isinstance(e, Stribeck | LoadFriction)]
    weakness = [e for e in effects if isinstance(e, ThermalFade | SupplySag)]
    noise = reality.file.noise.process
    built: list[SubstepEffect] = []
    if forces or noise:
        built.append(JointForces(layout, forces, process_noise=noise, seed=seed))
    if friction:
        built.append(JointFriction(layout, friction))
    if weakness:
        built.append(Weakness(layout, weakness))
    for effect in (*forces, *friction):
        layout.joint(effect.joint)  # an unknown joint is refused before the first step
    return tuple(built)
