"""Torques and friction that act on the joints of a reality at every substep."""

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import Draws
from realworthy.realities.effects import (
    Cable,
    Drag,
    Hysteresis,
    LoadFriction,
    Stribeck,
)
from realworthy.simulators import MujocoCpu, SubstepEffect
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]


class JointForces(SubstepEffect):
    """Drag, cables, hysteresis and random torques, summed into `qfrc_applied`.

    Drag and cables act on the link, behind play and flex; the others on the motor.
    """

    def __init__(
        self,
        layout: Layout,
        effects: list[Drag | Cable | Hysteresis],
        *,
        process_noise: float,
        seed: int,
    ) -> None:
        self.effects = [(effect, *layout.link(effect.joint)) for effect in effects]
        self.noisy_dofs = layout.driven_dofs
        self.process_noise = process_noise
        self.seed, self.trial, self.substep = seed, 0, 0

    def start(self, simulator: MujocoCpu) -> None:
        self.qpos, self.qvel = simulator.array("qpos"), simulator.array("qvel")
        self.force = simulator.array("qfrc_applied")
        self.timestep, self.substeps = simulator.timestep, simulator.substeps
        self.worlds = np.arange(simulator.world_count)
        self.bristle = np.zeros((simulator.world_count, len(self.effects)))
        self.random = np.zeros_like(self.force)

    def reset(self, worlds: Ids) -> None:
        self.bristle[worlds] = 0.0
        self.force[worlds] = 0.0
        self.substep = 0

    def act(self) -> None:
        self._draw_noise()
        self.force[:] = self.random
        for column, (effect, places, dofs) in enumerate(self.effects):
            if isinstance(effect, Hysteresis):
                torque = self._slip(column, effect, self.qvel[:, dofs[0]])
                self.force[:, dofs[0]] += torque
                continue
            if isinstance(effect, Drag):
                velocity = self.qvel[:, dofs].sum(1)
                torque = -effect.coefficient * velocity * np.abs(velocity)
            else:
                angle = self.qpos[:, places].sum(1)
                torque = -effect.stiffness * (angle - effect.rest)
            self.force[:, dofs] += torque[:, None]

    def _slip(self, column: int, effect: Hysteresis, velocity: Floats) -> Floats:
        torque = self.bristle[:, column]
        move = velocity * self.timestep
        torque[:] = dahl(torque, move, effect.torque, effect.stiffness)
        return -torque

    def _draw_noise(self) -> None:
        if self.process_noise and self.substep % self.substeps == 0:
            draws = Draws(self.seed, f"process noise {self.trial}")
            width = len(self.noisy_dofs)
            normal = draws.normal(self.worlds, width, episode=self.substep)
            self.random[:, self.noisy_dofs] = self.process_noise * normal
        self.substep += 1


class JointFriction(SubstepEffect):
    """Dry friction beyond Coulomb's, written as the joint's friction of the substep."""

    def __init__(self, layout: Layout, effects: list[Stribeck | LoadFriction]) -> None:
        self.effects = [(effect, layout.joint(effect.joint)[1]) for effect in effects]
        self.explicit = layout.explicit_dofs

    def start(self, simulator: MujocoCpu) -> None:
        self.simulator = simulator
        self.qvel = simulator.array("qvel")
        self.torque = simulator.array("qfrc_actuator")
        self.friction = simulator.expand("dof_frictionloss")
        self.base = self.friction.copy()

    def reset(self, worlds: Ids) -> None:
        self.base[worlds] = rewritten(self.simulator, "dof_frictionloss", worlds)
        self.friction[worlds] = self.base[worlds]

    def act(self) -> None:
        explicit = self.explicit  # their laws have just written a budget
        self.base[:, explicit] = self.friction[:, explicit]
        extra = np.zeros_like(self.base)
        for effect, dof in self.effects:
            if isinstance(effect, Stribeck):
                share = np.exp(-((self.qvel[:, dof] / effect.velocity) ** 2))
                extra[:, dof] += effect.static * share
            else:
                extra[:, dof] += effect.coefficient * np.abs(self.torque[:, dof])
        self.friction[:] = self.base + extra


def rewritten(simulator: MujocoCpu, name: str, worlds: Ids) -> Floats:
    """A field as `write` leaves it, right after a write: e without effects."""
    if name in simulator.bound.fields:
        return simulator.expand(name)[worlds]
    return np.asarray(simulator.bound.compiled.nominal(name))


def dahl(
    torque: Floats, move: Floats, slip: Floats | float, stiffness: Floats | float
) -> Floats:
    """Friction after a small move: dF/dq = stiffness · (1 − F/slip · sgn q̇), exact.

    `slip` is the torque at which it slips; with none there is no friction.
    """
    side = np.sign(move)
    most = np.where(np.asarray(slip) > 0, slip, 1.0)
    decay = np.exp(-stiffness * np.abs(move) / most)
    after = side * most + (torque - side * most) * decay
    return np.where((move == 0) | (np.asarray(slip) <= 0), torque, after)
