"""Motors that give a share of what they should: heat and a sagging supply."""

import numpy as np
from numpy.typing import NDArray

from realworthy.realities.effects import SupplySag, ThermalFade
from realworthy.realities.forces import rewritten
from realworthy.simulators import MujocoCpu, SubstepEffect
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
_FIELDS = (
    "actuator_gainprm",
    "actuator_biasprm",
    "actuator_forcerange",
    "jnt_actfrcrange",
)


class Strength:
    """Scales what the motors of every world give, from remembered nominals.

    Motors, servos and explicit drives give that share of their torque, at their limits
    too. A native DC motor gets a share of its voltage when the supply sags (its
    no-load speed falls with it), and more resistance when it is hot.
    """

    def __init__(self, layout: Layout, simulator: MujocoCpu) -> None:
        self._layout, self._simulator = layout, simulator
        self._ctrl = simulator.array("ctrl")
        self._fields = {name: simulator.expand(name) for name in _FIELDS}
        self._base = {name: values.copy() for name, values in self._fields.items()}

    def reset(self, worlds: Ids) -> None:
        """Full strength, of the e that was just written."""
        for name in _FIELDS:
            self._base[name][worlds] = rewritten(self._simulator, name, worlds)
            self._fields[name][worlds] = self._base[name][worlds]

    def apply(self, hot: Floats, supply: Floats) -> None:
        """(worlds, actuators) shares that heat and the supply leave, this substep."""
        layout, strength = self._layout, hot * supply
        explicit, volts = layout.explicit_controls, layout.voltage_controls
        self._ctrl[:, explicit] *= strength[:, layout.explicit_actuators]
        self._ctrl[:, volts] *= supply[:, layout.voltage_actuators]
        dc = layout.dc_actuators  # their first gain is the resistance
        resistance = self._base["actuator_gainprm"][:, dc, 0]
        self._fields["actuator_gainprm"][:, dc, 0] = resistance / hot[:, dc]
        servos = layout.servo_actuators
        for name, width in (("gainprm", 3), ("biasprm", 3), ("forcerange", 2)):
            field = f"actuator_{name}"
            scaled = self._base[field][:, servos, :width] * strength[:, servos, None]
            self._fields[field][:, servos, :width] = scaled
        limited, joints = layout.limited_servos
        ends = self._base["jnt_actfrcrange"][:, joints] * strength[:, limited, None]
        self._fields["jnt_actfrcrange"][:, joints] = ends


class Weakness(SubstepEffect):
    """Scales torque by strength = (1 − loss · heat) (1 − loss · load)."""

    def __init__(self, layout: Layout, effects: list[ThermalFade | SupplySag]) -> None:
        self.layout, self.effects = layout, effects
        self.limits, self.gears = layout.torque_limits, np.abs(layout.gears)

    def start(self, simulator: MujocoCpu) -> None:
        self.timestep = simulator.timestep
        self.force = simulator.array("actuator_force")
        self.motors = Strength(self.layout, simulator)
        self.level = np.zeros((simulator.world_count, len(self.effects)))
        self.strength = np.ones_like(self.force)

    def reset(self, worlds: Ids) -> None:
        self.level[worlds] = 0.0
        self.strength[worlds] = 1.0
        self.motors.reset(worlds)

    def act(self) -> None:
        torque = np.abs(self.force) * self.gears
        hot, supply = np.ones_like(torque), np.ones_like(torque)
        for column, effect in enumerate(self.effects):
            if isinstance(effect, ThermalFade):
                i = self.layout.actuator(effect.joint)
                rated = effect.rated_torque or 0.5 * self.limits[i]
                heat = np.minimum((torque[:, i] / rated) ** 2, 1.0)
                level = self._approach(column, heat, effect.time_constant)
                hot[:, i] *= 1 - effect.loss * level
            else:
                asked = torque / self.strength
                load = np.minimum((asked / self.limits).mean(1), 1.0)
                level = self._approach(column, load, effect.time_constant)
                supply *= 1 - effect.loss * level[:, None]
        self.strength[:] = hot * supply
        self.motors.apply(hot, supply)

    def _approach(self, column: int, target: Floats, time_constant: float) -> Floats:
        keep = np.exp(-self.timestep / time_constant)
        self.level[:, column] = keep * self.level[:, column] + (1 - keep) * target
        return self.level[:, column]
