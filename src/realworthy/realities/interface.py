"""Faults of the interface between a robot and its log, and how they change both.

A true position q of joint j is reported as scale · sign · q + encoder_offset, in the
place of another joint where the order is wrong. Position commands are understood in the
same coordinates, so that the robot follows them; `default_pose` moves only what the
robot makes of a command.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.twins.commands import CommandLine

Floats = NDArray[np.float64]


class Interface(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What stands between the robot and the numbers that it reports."""

    joint_order: list[str] = []
    """All joints, in the order in which the robot really sends them under the names."""
    joint_sign: list[str] = []
    """Joints that count the other way."""
    unit_scale: dict[str, float] = {}
    """Joint → factor on its reported angles and speeds, such as 57.2958; above 0."""
    encoder_offset: dict[str, float] = {}
    """Joint → added to its reported position [rad]."""
    default_pose: dict[str, float] = {}
    """Joint → added to position commands by the robot [rad]."""
    clock_offset: float = 0.0
    """[s] by which measurements are older than the commands they are logged with."""
    command_kind: str = ""
    """`velocity`: the robot takes position commands for velocities."""
    rate: float = 0.0
    """[Hz] at which the robot takes in new commands; 0: as they come."""
    jitter: float = 0.0
    """[s] standard deviation of the time between samples, in whole substeps."""
    loss: float = 0.0
    """Probability that a sample is missing (`dropped_samples`)."""
    stale_samples: float = 0.0
    """Probability that a sample repeats the one before with a new time."""
    frame: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rotation vector [rad]: gyro and accelerometer report R(frame) · true."""
    quaternion_order: str = "wxyz"
    """`xyzw`: the orientation's w comes last."""

    def __post_init__(self) -> None:
        if self.command_kind not in ("", "velocity"):
            raise RealworthyError(
                f"interface: command_kind is '{self.command_kind}'.",
                hint="A stand-in can take position commands for: velocity.",
            )
        if self.quaternion_order not in ("wxyz", "xyzw"):
            raise RealworthyError(
                f"interface: quaternion_order is '{self.quaternion_order}'.",
                hint="Write wxyz or xyzw.",
            )
        for name in ("loss", "stale_samples"):
            if not 0 <= getattr(self, name) < 1:
                raise RealworthyError(
                    f"interface: {name} is not a probability below 1."
                )
        for name in ("clock_offset", "rate", "jitter"):
            if not 0 <= getattr(self, name) < math.inf:
                raise RealworthyError(
                    f"interface: {name} is {getattr(self, name):g}; it must be 0 or "
                    "more."
                )
        for joint, scale in self.unit_scale.items():
            if not 0 < scale < math.inf:
                raise RealworthyError(
                    f"interface: unit_scale of '{joint}' is {scale:g}; it must be "
                    "above 0.",
                    hint="A joint that counts the other way belongs in joint_sign.",
                )
        shifts = (*self.encoder_offset.values(), *self.default_pose.values())
        if not all(map(math.isfinite, (*shifts, *self.frame))):
            raise RealworthyError(
                "interface: encoder_offset, default_pose and frame must be finite."
            )

    def check_joints(self, joints: tuple[str, ...]) -> None:
        """Raises for a joint that the robot does not have."""
        named = (
            *self.joint_order,
            *self.joint_sign,
            *self.unit_scale,
            *self.encoder_offset,
            *self.default_pose,
        )
        for joint in named:
            if joint not in joints:
                owner = "interface: the robot"
                raise UnknownName("joint", joint, joints, owner=owner, hint="")
        if self.joint_order and sorted(self.joint_order) != sorted(joints):
            raise RealworthyError(
                "interface: joint_order must name every joint once.",
                hint=f"Joints: {', '.join(joints)}.",
            )


class Translator:
    """Between true joints and motors and what the robot calls by their names."""

    def __init__(
        self,
        faults: Interface,
        joints: tuple[str, ...],
        lines: Sequence[CommandLine],
    ) -> None:
        names = faults.joint_order or list(joints)
        self.joints, self._lines = joints, lines
        self._takes_velocities = faults.command_kind == "velocity"
        self._order = [joints.index(name) for name in names]
        sign = [-1.0 if joint in faults.joint_sign else 1.0 for joint in joints]
        self._sign = np.array(sign)
        self._factor = self._sign * [faults.unit_scale.get(j, 1.0) for j in joints]
        self._offset = np.array([faults.encoder_offset.get(j, 0.0) for j in joints])
        self._pose = np.array([faults.default_pose.get(j, 0.0) for j in joints])
        self._routes = self._plan()

    def report_position(self, true: Floats) -> Floats:
        """(…, joints) in the robot's coordinates."""
        return (self._factor * true + self._offset)[..., self._order]

    def report_velocity(self, true: Floats) -> Floats:
        return (self._factor * true)[..., self._order]

    def report_torque(self, true: Floats) -> Floats:
        return (self._sign * true)[..., self._order]

    def understand(self, values: Floats) -> Floats:
        """A command as the robot makes of it: what each true actuator is asked."""
        understood = np.array(values)
        for source, joint, target in self._routes:
            kind = self._lines[source].kind
            understood[target] = self._true(joint, kind, float(values[source]))
        return understood

    def _plan(self) -> list[tuple[int, int, int]]:
        """Place of each number of a command, the joint that it reaches, and its place.

        Where the order is wrong it reaches another joint; joints without a motor are
        passed over.
        """
        places: dict[str, list[int]] = {joint: [] for joint in self.joints}
        for place, line in enumerate(self._lines):
            if line.joint in places:
                places[line.joint].append(place)
        routes = []
        for name, sources in places.items():
            joint = self._order[self.joints.index(name)]
            while sources and not places[self.joints[joint]]:
                joint = self._order[joint]
            targets = places[self.joints[joint]]
            routes += [(s, joint, t) for s, t in zip(sources, targets, strict=False)]
        return routes

    def _true(self, joint: int, kind: str, value: float) -> float:
        if kind == "position" and self._takes_velocities:
            kind = "velocity"
        if kind == "position":
            value = (value - self._offset[joint]) / self._factor[joint]
            return float(value + self._pose[joint])
        if kind == "velocity":
            return float(value / self._factor[joint])
        return float(value * self._sign[joint])
