"""What the sensors of a reality report: truth with noise and wrong bookkeeping."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters.inertia import rotation
from realworthy.realities.chance import Chance
from realworthy.realities.effects import Quantisation
from realworthy.realities.file import RealityFile
from realworthy.realities.interface import Translator
from realworthy.realities.worlds import RealityWorlds
from realworthy.twins.layout import Layout, Measured
from realworthy.twins.measured import signal_names

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
Report = tuple[Floats, Floats, Floats, Floats]
"""Position, velocity and torque of the joints, and the other signals."""
_JOINT_SIGNALS = ("position", "velocity", "torque")


class Measuring:
    """From true `sensordata` to what the robot reports: signals that its twin has."""

    def __init__(
        self,
        file: RealityFile,
        worlds: RealityWorlds,
        translator: Translator,
        twin_layout: Layout,
        chance: Chance,
    ) -> None:
        self._noise, self._faults = file.noise, file.interface
        self._translator, self._chance = translator, chance
        self._simulator = worlds.simulator
        joints = translator.joints
        signals = worlds.simulator.signals
        known = set(signal_names(twin_layout.bound.model))
        own = {name: [f"{joint}.{name}" for joint in joints] for name in _JOINT_SIGNALS}
        taken = {signal for names in own.values() for signal in names}
        taken |= _unreported(twin_layout, joints)
        self.others = tuple(s for s in signals if s in known and s not in taken)
        self._other_places = [signals.index(signal) for signal in self.others]
        self._places = {
            name: [signals.index(signal) for signal in names]
            for name, names in own.items()
        }
        steps = {e.joint: e.step for e in file.effects if isinstance(e, Quantisation)}
        self._steps = np.array([steps.get(joint, 0.0) for joint in joints])
        self._turn = rotation(_quaternion(np.array(file.interface.frame)))
        self._layout = worlds.layout
        self._past: deque[tuple[float, Floats]] = deque()

    def reset(self) -> None:
        self._past.clear()
        self.remember()

    def remember(self) -> None:
        """Keeps what is true now, for reports that are made later."""
        time = float(self._simulator.array("time")[0])
        self._past.append((time, np.array(self._simulator.array("sensordata")[0])))

    def report(self) -> Report:
        """What the robot says now; the truth of `clock_offset` ago."""
        wanted = self._past[-1][0] - self._faults.clock_offset + 1e-9
        while len(self._past) > 1 and self._past[1][0] <= wanted:
            self._past.popleft()
        row = self._degrade(self._past[0][1])
        position, velocity, torque = (
            row[self._places[name]]
            + self._chance.normal(
                f"measured {name}", getattr(self._noise, name), len(self._steps)
            )
            for name in _JOINT_SIGNALS
        )
        step = np.where(self._steps > 0, self._steps, 1.0)
        position = np.where(self._steps > 0, np.round(position / step) * step, position)
        return (
            self._translator.report_position(position),
            self._translator.report_velocity(velocity),
            self._translator.report_torque(torque),
            self._report_others(row),
        )

    def _degrade(self, row: Floats) -> Floats:
        """Scale, bias and noise that are part of e."""
        scale, bias, sd = (
            self._simulator.field(f"own.sensor_{name}")[0]
            for name in ("scale", "bias", "noise")
        )
        return scale * row + bias + self._chance.normal("sensor noise", sd, len(row))

    def _report_others(self, row: Floats) -> Floats:
        for kind in ("gyro", "acceleration"):
            for number, place in enumerate(self._layout.sensors(kind)):
                row[place] = self._turn @ (row[place] + self._draw(kind, number))
        for number, place in enumerate(self._layout.sensors("orientation")):
            error = _quaternion(self._draw("orientation", number))
            turned = _multiply(row[place], error)
            last = self._faults.quaternion_order == "xyzw"
            row[place] = np.roll(turned, -1) if last else turned
        return row[self._other_places]

    def _draw(self, kind: Measured, number: int) -> Floats:
        sd = getattr(self._noise, kind)
        return self._chance.normal(f"measured {kind} {number}", sd, 3)


def _unreported(twin_layout: Layout, joints: tuple[str, ...]) -> set[str]:
    """Joint signals of the twin that no robot has, such as that of a link in play."""
    hidden = [joint for joint in twin_layout.joints if joint not in joints]
    return {f"{joint}.{name}" for joint in hidden for name in _JOINT_SIGNALS}


def _quaternion(vector: Floats) -> Floats:
    """(w, x, y, z) of a rotation vector [rad]."""
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle else np.zeros(3)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def _multiply(first: Floats, second: Floats) -> Floats:
    """The rotation `second`, then `first`."""
    w, v = first[0], first[1:]
    return np.array(
        [
            w * second[0] - v @ second[1:],
            *(w * second[1:] + second[0] * v + np.cross(v, second[1:])),
        ]
    )
