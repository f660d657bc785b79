"""What robots report of the truth: the measuring law, then faults of the interface."""

import math

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters.inertia import rotation
from realworthy.realities.chance import RealityChance
from realworthy.realities.effects import Quantisation
from realworthy.realities.interface import Translator
from realworthy.realities.reality import Reality
from realworthy.realities.worlds import RealityWorlds
from realworthy.sensors.stages import (
    compute_reading,
    fill,
    quantise,
    recall,
    remember,
)
from realworthy.twins.layout import Layout, Measured
from realworthy.twins.signal_sensors import signal_names

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
_JOINT_SIGNALS = ("position", "velocity", "torque")


class Reports:
    """From true `sensordata` to what the robots of some worlds say, newest truth last.

    Truths are kept and noise is drawn when a report is made (`sensors/stages.py`). What
    all sensors have (scale, bias and noise of e) comes first, then the noise of the
    reality's file, then steps of encoders, then signs, units, order and frames.
    """

    def __init__(
        self,
        reality: Reality,
        worlds: RealityWorlds,
        translator: Translator,
        twin_layout: Layout,
        chance: RealityChance,
        *,
        spread: float = 0.0,
    ) -> None:
        """`spread` [s]: how much older than its clock offset a report may be."""
        file, joints = reality.file, translator.joints
        self._faults, self._noise, self._chance = file.interface, file.noise, chance
        self._translator, self._layout = translator, worlds.layout
        self._simulator, self._timestep = worlds.simulator, worlds.timestep
        self.signals = signal_names(twin_layout.bound.model)
        """Names of the columns of a report: those of the twin."""
        self.unreported = _list_unreported(twin_layout, joints)
        """Those that no robot has, such as that of a link in play; they are NaN."""
        true, told = worlds.simulator.signals, self.signals
        own = {name: [f"{joint}.{name}" for joint in joints] for name in _JOINT_SIGNALS}
        self._places = {k: [true.index(name) for name in own[k]] for k in own}
        self._targets = {k: [told.index(name) for name in own[k]] for k in own}
        taken = {name for names in own.values() for name in names} | {*self.unreported}
        self.others = tuple(name for name in true if name in told and name not in taken)
        """Signals besides those of the joints."""
        self._others = [true.index(name) for name in self.others]
        self._other_targets = [told.index(name) for name in self.others]
        steps = {e.joint: e.step for e in file.effects if isinstance(e, Quantisation)}
        self._steps = np.array([steps.get(joint, 0.0) for joint in joints])
        self._turn = rotation(_find_quaternions(np.array([file.interface.frame]))[0])
        fields = (f"own.sensor_{name}" for name in ("scale", "bias", "noise"))
        self._fields = [worlds.simulator.field(name) for name in fields]
        offset = file.interface.clock_offset
        self._age = math.ceil((offset - 1e-9) / self._timestep)
        oldest = offset + spread
        self._depth = math.ceil(oldest / self._timestep) + 2 if oldest else 1
        self._past = fill(self._truth, self._depth)
        """(worlds, substeps, true signals) what was true, the newest first."""

    @property
    def keeps_past(self) -> bool:
        """Whether every substep is to be remembered."""
        return self._depth > 1

    @property
    def _truth(self) -> Floats:
        return self._simulator.array("sensordata")

    def begin(self, worlds: Ids) -> None:
        """What is true of some worlds now has been for ever."""
        self._past[worlds] = fill(self._truth[worlds], self._depth)

    def remember(self) -> None:
        """Keeps what is true now, for reports that are made later."""
        self._past = remember(self._past, self._truth)

    def make(self, worlds: Ids, *, older: Ids | int = 0) -> Floats:
        """(n, signals) reports of some worlds; `older` by so many substeps."""
        truth = recall(self._past, np.full(len(worlds), self._age) + older, worlds)
        scale, bias, sd = (field[worlds] for field in self._fields)
        noise = self._chance.normal("sensor noise", sd, truth.shape[1], worlds)
        row = compute_reading(truth, scale=scale, bias=bias, noise=[noise])
        report = np.full((len(worlds), len(self.signals)), np.nan)
        for name in _JOINT_SIGNALS:
            report[:, self._targets[name]] = self._report_joints(name, row, worlds)
        self._disturb_inertial(row, worlds)
        report[:, self._other_targets] = row[:, self._others]
        return report

    def split(self, report: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Position, velocity and torque of the joints, and `others`, of one report."""
        position, velocity, torque = (
            report[self._targets[name]] for name in _JOINT_SIGNALS
        )
        return position, velocity, torque, report[self._other_targets]

    def _report_joints(self, name: str, row: Floats, worlds: Ids) -> Floats:
        """(n, joints) under the names, signs and units by which the robot reports."""
        sd, width = getattr(self._noise, name), len(self._steps)
        noise = self._chance.normal(f"measured {name}", sd, width, worlds)
        measured = compute_reading(row[:, self._places[name]], noise=[noise])
        if name == "position":
            return self._translator.report_position(quantise(measured, self._steps))
        if name == "velocity":
            return self._translator.report_velocity(measured)
        return self._translator.report_torque(measured)

    def _disturb_inertial(self, row: Floats, worlds: Ids) -> None:
        for kind in ("gyro", "acceleration"):
            for number, place in enumerate(self._layout.sensors(kind)):
                noisy = row[:, place] + self._draw(kind, number, worlds)
                row[:, place] = noisy @ self._turn.T
        for number, place in enumerate(self._layout.sensors("orientation")):
            error = _find_quaternions(self._draw("orientation", number, worlds))
            turned = _multiply(row[:, place], error)
            is_last = self._faults.quaternion_order == "xyzw"
            row[:, place] = np.roll(turned, -1, axis=1) if is_last else turned

    def _draw(self, kind: Measured, number: int, worlds: Ids) -> Floats:
        sd = getattr(self._noise, kind)
        return self._chance.normal(f"measured {kind} {number}", sd, 3, worlds)


def _list_unreported(layout: Layout, joints: tuple[str, ...]) -> tuple[str, ...]:
    hidden = [joint for joint in layout.joints if joint not in joints]
    return tuple(f"{joint}.{name}" for joint in hidden for name in _JOINT_SIGNALS)


def _find_quaternions(vectors: Floats) -> Floats:
    """(n, 4) w, x, y, z of (n, 3) rotation vectors [rad]."""
    angle = np.linalg.norm(vectors, axis=1, keepdims=True)
    axis = vectors / np.where(angle > 0, angle, 1.0)
    return np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], axis=1)


def _multiply(first: Floats, second: Floats) -> Floats:
    """(n, 4) the rotations `second`, then `first`."""
    w, v, u, x = first[:, :1], first[:, 1:], second[:, :1], second[:, 1:]
    scalar = w * u - (v * x).sum(axis=1, keepdims=True)
    return np.concatenate([scalar, w * x + u * v + np.cross(v, x)], axis=1)
