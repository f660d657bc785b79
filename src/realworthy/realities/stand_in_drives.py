"""How a stand-in's actuators get their commands: understood, taken in, or braking."""

import math

import numpy as np
from numpy.typing import NDArray

from realworthy.realities.interface import Interface, Translator
from realworthy.realities.worlds import RealityWorlds
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_BRAKING_TIME = 0.1
"""[s] in which a torque-driven joint of the twin loses most of its speed."""
_BOUNCE = 0.5
"""Share of a motor's speed that braking may take within one substep."""


class StandInDrives:
    """From a command as sent to what reaches the actuators, in true coordinates."""

    def __init__(
        self,
        faults: Interface,
        worlds: RealityWorlds,
        translator: Translator,
        twin_layout: Layout,
    ) -> None:
        self._faults, self._worlds, self._translator = faults, worlds, translator
        self._lower = np.array([line.lower for line in worlds.lines])
        self._upper = np.array([line.upper for line in worlds.lines])
        self._qpos = worlds.simulator.array("qpos")
        self._qvel = worlds.simulator.array("qvel")
        self._time = worlds.simulator.array("time")
        self._held, self._braked = self._plan_braking(twin_layout)
        signals = worlds.simulator.signals
        self._encoders = [
            (place, signals.index(f"{line.joint}.position"))
            for place, line in enumerate(worlds.lines)
            if line.kind == "position" and line.joint in worlds.layout.joints
        ]
        self.reset()

    def reset(self) -> None:
        self._asked: Floats | None = None
        self._goal = self._brake()
        self._beat = -1

    def drive(self, command: Floats | None, substeps: int) -> tuple[Floats, int]:
        """What reaches the actuators, and for how many of the coming substeps.

        None brakes: position servos hold wherever they are, so that only their damping
        acts, velocity servos hold zero speed, voltages are zero, and torques are
        −inertia/0.1 s · velocity, within the limits of the command. Inertia is that of
        the joint in the twin's zero pose, at most what keeps the motor from bouncing.
        """
        wait = self._take_in(command)
        if self._asked is None:
            self._goal = self._brake()
            return self._goal, 1
        if self._faults.command_kind == "velocity":
            moved = self._goal + self._asked * self._worlds.timestep
            self._goal = np.clip(moved, self._lower, self._upper)
            return self._goal, 1
        self._goal = np.clip(self._asked, self._lower, self._upper)
        return self._goal, min(substeps, wait) if wait else substeps

    def _take_in(self, command: Floats | None) -> int:
        """Looks for a new command; returns substeps until the next look, 0: never."""
        rate, time = self._faults.rate, float(self._time[0])
        beat = math.floor(time * rate + 1e-6)
        looks = rate == 0 or beat > self._beat
        self._beat = beat
        if command is None:
            self._asked = None
        elif looks:
            self._asked = self._follow_encoders(self._translator.understand(command))
        if rate == 0:
            return 0
        left = ((beat + 1) / rate - time) / self._worlds.timestep
        return max(1, math.ceil(left - 1e-6))

    def _follow_encoders(self, command: Floats) -> Floats:
        """A servo goes where its encoder, scale and bias included, reads the goal."""
        scale, bias = (
            self._worlds.simulator.field(f"own.sensor_{name}")[0]
            for name in ("scale", "bias")
        )
        for place, sensor in self._encoders:
            command[place] = (command[place] - bias[sensor]) / scale[sensor]
        return command

    def _brake(self) -> Floats:
        command = np.zeros(len(self._worlds.lines))
        for place, q in self._held:
            command[place] = self._qpos[0, q]
        for place, dof, gain in self._braked:
            command[place] = -gain * self._qvel[0, dof]
        return np.clip(command, self._lower, self._upper)

    def _plan_braking(
        self, twin_layout: Layout
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int, float]]]:
        """Commands that hold a position, and those that brake by torque, with gain."""
        layout, timestep = self._worlds.layout, self._worlds.timestep
        held, braked = [], []
        for place, line in enumerate(self._worlds.lines):
            if line.joint not in twin_layout.joints:
                continue
            q, dof = layout.joint(line.joint)
            if line.kind == "position":
                held.append((place, q))
            elif line.kind == "torque":
                inertia = twin_layout.inertias[twin_layout.joint(line.joint)[1]]
                most = _BOUNCE * layout.inertias[dof] / timestep
                torque = min(inertia / _BRAKING_TIME, most)
                gain = layout.torque_gains[layout.actuator(line.joint)]
                braked.append((place, dof, torque / gain))
        return held, braked
