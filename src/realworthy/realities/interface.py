"""Faults of bookkeeping between a robot and its log, and how they change both.

A true position q of joint j is reported as scale · sign · q + encoder_offset, in the
place of another joint where the order is wrong. Position commands are understood in the
same coordinates, so that the robot follows them; `default_pose` moves only what the
robot makes of a command.
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError, UnknownName

Floats = NDArray[np.float64]


class Interface(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands between the robot and the numbers that it reports."""

    joint_order: list[str] = []
    """All joints, in the order in which the robot really sends them under the names."""
    joint_sign: list[str] = []
    """Joints that count the other way."""
    unit_scale: dict[str, float] = {}
    """Joint → factor on its reported angles and speeds, such as 57.2958."""
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
    """[s] standard deviation of the time between samples."""
    loss: float = 0.0
    """Probability that a sample is missing (`dropped_samples`)."""
    stale_samples: float = 0.0
    """Probability that a sample repeats the one before with a new time."""
    frame: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rotation vector [rad] from the true to the reported frame of the gyro."""
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
                raise UnknownName("joint", joint, joints, owner="the robot", hint="")
        if self.joint_order and sorted(self.joint_order) != sorted(joints):
            raise RealworthyError(
                "interface: joint_order must name every joint once.",
                hint=f"Joints: {', '.join(joints)}.",
            )


class Translator:
    """Between true joints and what the robot reports under their names."""

    def __init__(self, faults: Interface, joints: tuple[str, ...]) -> None:
        faults.check_joints(joints)
        names = faults.joint_order or list(joints)
        self.joints = joints
        self._order = np.array([joints.index(name) for name in names], dtype=np.intp)
        sign = [-1.0 if joint in faults.joint_sign else 1.0 for joint in joints]
        self._sign = np.array(sign)
        self._factor = self._sign * [faults.unit_scale.get(j, 1.0) for j in joints]
        self._offset = np.array([faults.encoder_offset.get(j, 0.0) for j in joints])
        self._pose = np.array([faults.default_pose.get(j, 0.0) for j in joints])

    def report_position(self, true: Floats) -> Floats:
        return (self._factor * true + self._offset)[self._order]

    def report_velocity(self, true: Floats) -> Floats:
        return (self._factor * true)[self._order]

    def report_torque(self, true: Floats) -> Floats:
        return (self._sign * true)[self._order]

    def understand(self, joint: str, kind: str, value: float) -> tuple[str, float]:
        """The true joint that a command for `joint` reaches, and its true value."""
        true = int(self._order[self.joints.index(joint)])
        if kind == "position":
            value = (value - self._offset[true]) / self._factor[true] + self._pose[true]
        elif kind == "velocity":
            value = value / self._factor[true]
        else:
            value = value * self._sign[true]
        return self.joints[true], float(value)
