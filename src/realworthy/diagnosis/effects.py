"""Effects that a twin may lack, with strengths of their own in every world."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from realworthy.realities.forces import dahl, rewritten
from realworthy.realities.motor_strength import Strength
from realworthy.simulators import MujocoCpu, SubstepEffect
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]

NEUTRAL = {
    "stribeck.static": 0.0,
    "stribeck.velocity": 1.0,
    "hysteresis.torque": 0.0,
    "hysteresis.stiffness": 1.0,
    "drag.coefficient": 0.0,
    "load_friction.coefficient": 0.0,
    "cable.stiffness": 0.0,
    "cable.rest": 0.0,
    "contact.stiffness": 0.0,
    "contact.position": 0.0,
    "contact.side": 1.0,
    "thermal_fade.loss": 0.0,
    "supply_sag.loss": 0.0,
}
"""Number of an effect → its value where there is no effect."""
FRICTION = ("stribeck", "load_friction")
"""Effects that write a joint's dry friction at every substep."""
ACTING = (*FRICTION, "hysteresis", "contact", "supply_sag")
"""Effects that act at every substep, on any twin."""
_SAG_TIME = 0.02
"""[s] in which a supply follows its load."""


class SuspectedEffects(SubstepEffect):
    """The laws of `realities`, each world with numbers of its own: (worlds, joints).

    Heat comes as a given loss of strength, since it lasts longer than what is
    simulated in one go.
    """

    def __init__(self, layout: Layout, stiff_joints: Iterable[str]) -> None:
        self.layout = layout
        self.joints = tuple(j for j in layout.joints if not _is_added(j))
        self.columns = {joint: i for i, joint in enumerate(self.joints)}
        self.stiff = [self.columns[j] for j in stiff_joints if j in self.columns]
        self.links = [layout.link(joint) for joint in self.joints]
        self.motor = np.array([dofs[0] for _, dofs in self.links], dtype=np.intp)
        driven = [j for j in layout.driven_joints if j in self.columns]
        self.driven = [self.columns[joint] for joint in driven]
        self.actuators = np.array([layout.actuator(j) for j in driven], np.intp)
        self.limits = layout.torque_limits
        self.gears = np.abs(layout.gears)

    def start(self, simulator: MujocoCpu) -> None:
        self.simulator, self.timestep = simulator, simulator.timestep
        self.qpos, self.qvel = simulator.array("qpos"), simulator.array("qvel")
        self.applied, self.ctrl = (
            simulator.array("qfrc_applied"),
            simulator.array("ctrl"),
        )
        self.torque = simulator.array("qfrc_actuator")
        self.force = simulator.array("actuator_force")
        shape = (simulator.world_count, len(self.joints))
        self.numbers = {name: np.full(shape, v) for name, v in NEUTRAL.items()}
        self.active = set()
        self.is_warm = False
        self.bristle = np.zeros(shape)
        self.level = np.zeros(simulator.world_count)
        self.strength = np.ones_like(self.force)
        self.motors = Strength(self.layout, simulator)
        self.friction = simulator.expand("dof_frictionloss") if self.stiff else None
        self.usual_friction = None if self.friction is None else self.friction.copy()

    def write(self, numbers: dict[str, Floats]) -> None:
        """Numbers of every effect for the coming play; those not named are neutral."""
        self.active: set[str] = set()
        for name, neutral in NEUTRAL.items():
            given = numbers.get(name)
            self.numbers[name][:] = neutral if given is None else given
            if given is not None and (given != neutral).any():
                self.active.add(name.split(".")[0])
        self.is_warm = "thermal_fade" in self.active
        if self.is_warm and not len(self.layout.explicit_controls):
            self.active.discard(
                "thermal_fade"
            )  # stays as it is: written once, at reset

    def reset(self, worlds: Ids) -> None:
        self.bristle[worlds] = 0.0
        self.level[worlds] = 0.0
        self.strength[worlds] = 1.0
        self.applied[worlds] = 0.0
        self.motors.reset(worlds)
        if self.is_warm:
            self.motors.apply(self._warm(), np.ones_like(self.force))
        if self.friction is not None and self.usual_friction is not None:
            usual = rewritten(self.simulator, "dof_frictionloss", worlds)
            self.usual_friction[worlds] = usual
            self.friction[worlds] = usual

    @property
    def is_idle(self) -> bool:
        return not self.active

    def act(self) -> None:
        if self.active & {"hysteresis", "drag", "cable", "contact"}:
            self._push()
        if self.active & set(FRICTION) and self.friction is not None:
            self._rub()
        if self.active & {"thermal_fade", "supply_sag"}:
            self._weaken()

    def _push(self) -> None:
        self.applied[:] = 0.0
        numbers, v = self.numbers, self.qvel[:, self.motor]
        if "hysteresis" in self.active:
            slip, stiffness = (
                numbers["hysteresis.torque"],
                numbers["hysteresis.stiffness"],
            )
            self.bristle[:] = dahl(self.bristle, v * self.timestep, slip, stiffness)
            self.applied[:, self.motor] -= self.bristle
        if not self.active & {"drag", "cable", "contact"}:
            return
        for i, (places, dofs) in enumerate(self.links):
            angle, speed = self.qpos[:, places].sum(1), self.qvel[:, dofs].sum(1)
            drag = numbers["drag.coefficient"][:, i]
            spring = numbers["cable.stiffness"][:, i]
            torque = -drag * speed * np.abs(speed)
            torque -= spring * (angle - numbers["cable.rest"][:, i])
            side = numbers["contact.side"][:, i]
            depth = side * (angle - numbers["contact.position"][:, i])
            push = numbers["contact.stiffness"][:, i] * np.maximum(depth, 0.0)
            self.applied[:, dofs] += (torque - side * push)[:, None]

    def _rub(self) -> None:
        assert self.friction is not None
        assert self.usual_friction is not None
        explicit = self.layout.explicit_dofs  # their laws have just written a budget
        self.usual_friction[:, explicit] = self.friction[:, explicit]
        dofs, numbers = self.motor[self.stiff], self.numbers
        v, torque = self.qvel[:, dofs], self.torque[:, dofs]
        width = numbers["stribeck.velocity"][:, self.stiff]
        extra = numbers["stribeck.static"][:, self.stiff] * np.exp(-((v / width) ** 2))
        extra += numbers["load_friction.coefficient"][:, self.stiff] * np.abs(torque)
        self.friction[:, dofs] = self.usual_friction[:, dofs] + extra

    def _warm(self) -> Floats:
        """(worlds, actuators) share of strength that heat leaves."""
        hot = np.ones_like(self.force)
        hot[:, self.actuators] -= self.numbers["thermal_fade.loss"][:, self.driven]
        return hot

    def _weaken(self) -> None:
        hot, supply = self._warm(), np.ones_like(self.force)
        if "supply_sag" in self.active:
            asked = np.abs(self.force) * self.gears / self.strength
            load = np.minimum((asked / self.limits).mean(1), 1.0)
            keep = np.exp(-self.timestep / _SAG_TIME)
            self.level[:] = keep * self.level + (1 - keep) * load
            loss = self.numbers["supply_sag.loss"].max(1)
            supply *= (1 - loss * self.level)[:, None]
        self.strength[:] = hot * supply
        self.motors.apply(hot, supply)


def _is_added(joint: str) -> bool:
    """Whether a joint is the play or the flex of another."""
    return joint.endswith((".play", ".flex"))
