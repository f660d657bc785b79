"""Effects that act at every substep: friction, forces and weakness of a reality."""

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import Draws
from realworthy.realities.effects import (
    Cable,
    Drag,
    Hysteresis,
    LoadFriction,
    Stribeck,
    SupplySag,
    ThermalFade,
)
from realworthy.simulators import MujocoCpu, SubstepEffect
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]


class JointForces(SubstepEffect):
    """Drag, cables, hysteresis and random torques, summed into `qfrc_applied`."""

    def __init__(
        self,
        layout: Layout,
        effects: list[Drag | Cable | Hysteresis],
        *,
        process_noise: float,
        seed: int,
    ) -> None:
        self.layout, self.effects = layout, effects
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
        self.trial += 1
        self.substep = 0

    def act(self) -> None:
        self._draw_noise()
        self.force[:] = self.random
        for column, effect in enumerate(self.effects):
            q, dof = self.layout.joint(effect.joint)
            velocity = self.qvel[:, dof]
            if isinstance(effect, Drag):
                torque = -effect.coefficient * velocity * np.abs(velocity)
            elif isinstance(effect, Cable):
                torque = -effect.stiffness * (self.qpos[:, q] - effect.rest)
            else:
                torque = self._slip(column, effect, velocity)
            self.force[:, dof] += torque

    def _slip(self, column: int, effect: Hysteresis, velocity: Floats) -> Floats:
        """Dahl: dF/dq = stiffness · (1 − F/torque · sgn q̇) over one substep."""
        move = velocity * self.timestep
        side = np.sign(move)
        torque = self.bristle[:, column]
        decay = np.exp(-effect.stiffness * np.abs(move) / effect.torque)
        torque = side * effect.torque + (torque - side * effect.torque) * decay
        self.bristle[:, column] = np.where(move == 0, self.bristle[:, column], torque)
        return -self.bristle[:, column]

    def _draw_noise(self) -> None:
        if self.process_noise and self.substep % self.substeps == 0:
            dofs = self.layout.driven_dofs
            draws = Draws(self.seed, f"process noise {self.trial}")
            normal = draws.normal(self.worlds, len(dofs), episode=self.substep)
            self.random[:, dofs] = self.process_noise * normal
        self.substep += 1


class JointFriction(SubstepEffect):
    """Dry friction beyond Coulomb's, written as the joint's friction of the substep."""

    def __init__(self, layout: Layout, effects: list[Stribeck | LoadFriction]) -> None:
        self.layout, self.effects = layout, effects

    def start(self, simulator: MujocoCpu) -> None:
        self.simulator = simulator
        self.qvel = simulator.array("qvel")
        self.torque = simulator.array("qfrc_actuator")
        self.friction = simulator.expand("dof_frictionloss")
        self.base = self.friction.copy()

    def reset(self, worlds: Ids) -> None:
        self.base[worlds] = _rewritten(self.simulator, "dof_frictionloss", worlds)

    def act(self) -> None:
        explicit = self.layout.explicit_dofs  # their laws have just written a budget
        self.base[:, explicit] = self.friction[:, explicit]
        extra = np.zeros_like(self.base)
        for effect in self.effects:
            _, dof = self.layout.joint(effect.joint)
            if isinstance(effect, Stribeck):
                share = np.exp(-((self.qvel[:, dof] / effect.velocity) ** 2))
                extra[:, dof] += effect.static * share
            else:
                extra[:, dof] += effect.coefficient * np.abs(self.torque[:, dof])
        self.friction[:] = self.base + extra


class Weakness(SubstepEffect):
    """Heat and a sagging supply: every motor gives a share of what it should."""

    _FIELDS = ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange")

    def __init__(self, layout: Layout, effects: list[ThermalFade | SupplySag]) -> None:
        self.layout, self.effects = layout, effects

    def start(self, simulator: MujocoCpu) -> None:
        self.simulator = simulator
        self.timestep = simulator.timestep
        self.force = simulator.array("actuator_force")
        self.ctrl = simulator.array("ctrl")
        self.fields = {name: simulator.expand(name) for name in self._FIELDS}
        self.base = {name: values.copy() for name, values in self.fields.items()}
        count = simulator.world_count
        self.level = np.zeros((count, len(self.effects)))
        self.limit = self.layout.torque_limits

    def reset(self, worlds: Ids) -> None:
        self.level[worlds] = 0.0
        for name in self._FIELDS:
            self.base[name][worlds] = _rewritten(self.simulator, name, worlds)

    def act(self) -> None:
        strength = np.ones_like(self.force)
        for column, effect in enumerate(self.effects):
            if isinstance(effect, ThermalFade):
                actuator = self.layout.actuator(effect.joint)
                rated = effect.rated_torque or 0.5 * self.limit[actuator]
                target = np.minimum((self.force[:, actuator] / rated) ** 2, 1.0)
                self._approach(column, target, effect.time_constant)
                strength[:, actuator] *= 1 - effect.loss * self.level[:, column]
            else:
                target = np.mean(np.abs(self.force) / self.limit, axis=1)
                self._approach(column, np.minimum(target, 1.0), effect.time_constant)
                strength *= 1 - effect.loss * self.level[:, column : column + 1]
        self._weaken(strength)

    def _approach(self, column: int, target: Floats, time_constant: float) -> None:
        keep = np.exp(-self.timestep / time_constant)
        self.level[:, column] = keep * self.level[:, column] + (1 - keep) * target

    def _weaken(self, strength: Floats) -> None:
        explicit = self.layout.explicit_controls
        self.ctrl[:, explicit] *= strength[:, self.layout.explicit_actuators]
        voltage = self.layout.voltage_controls
        self.ctrl[:, voltage] *= strength[:, self.layout.voltage_actuators]
        native = self.layout.servo_actuators
        for name, width in (("gainprm", 1), ("biasprm", 3), ("forcerange", 2)):
            field = f"actuator_{name}"
            scaled = self.base[field][:, native, :width] * strength[:, native, None]
            self.fields[field][:, native, :width] = scaled


def _rewritten(simulator: MujocoCpu, name: str, worlds: Ids) -> Floats:
    """A field as `write` leaves it: this world's e, without what effects added."""
    if name in simulator.bound.fields:
        return simulator.expand(name)[worlds]
    return np.asarray(simulator.bound.compiled.nominal(name))
