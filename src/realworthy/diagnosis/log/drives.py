"""What a twin says about its joints and drives, as far as a log can contradict it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from realworthy.recordings import Recording
from realworthy.recordings.sidecar import CommandKind
from realworthy.twins import Twin, bind
from realworthy.twins.commands import CommandLine, describe_commands, find_gains
from realworthy.twins.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """How one joint is commanded."""

    kind: CommandKind
    command: str
    """The twin's name of the signal; a log may name it after the joint."""
    lower: float
    upper: float
    """Ends of the command; ±inf where nothing clips it."""
    kp: float = 0.0
    """[N·m/rad] of a position drive; 0 where the twin does not say."""
    kd: float = 0.0
    """[N·m·s/rad]"""
    torque_per_command: float = 1.0
    """[N·m] on the joint per unit, of a torque drive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a twin says that its joints can do; empty without a twin."""

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Joint → ends [rad or m]."""
    torques: Mapping[str, float] = field(default_factory=dict)
    """Joint → largest torque [N·m]."""
    drives: Mapping[str, Drive] = field(default_factory=dict)
    """Joint → its drive, where it has exactly one with one input."""
    poses: tuple[Mapping[str, float], ...] = ()
    """Keyframes, joint → position [rad or m]; what a default pose may be."""


def read_limits(twin: Twin | None) -> Limits:
    """Ranges, torques, drives and keyframes of a twin; empty without a twin."""
    if twin is None:
        return Limits()
    layout = Layout(bind(twin))
    torques = {
        joint: float(layout.torque_limits[layout.actuator(joint)])
        for joint in layout.driven_joints
    }
    model = layout.bound.model
    places = {joint: layout.joint(joint)[0] for joint in layout.joints}
    poses = tuple(
        {joint: float(model.key_qpos[k, place]) for joint, place in places.items()}
        for k in range(model.nkey)
    )
    return Limits(
        ranges=layout.joint_ranges(),
        torques=torques,
        drives=_list_drives(twin, layout),
        poses=poses,
    )


def find_command(recording: Recording, joint: str, drive: Drive) -> str | None:
    """The signal that commands a joint, under the twin's name or the joint's."""
    known = (drive.command, f"{joint}.command", f"{joint}.command.{drive.kind}")
    return next((name for name in known if name in recording.signals), None)


def find_torque(recording: Recording, joint: str) -> str | None:
    """The torque of a joint's motor, or its current, which is proportional to it."""
    known = (f"{joint}.torque", f"{joint}.current")
    return next((name for name in known if name in recording.signals), None)


def _list_drives(twin: Twin, layout: Layout) -> dict[str, Drive]:
    lines: dict[str, list[CommandLine]] = {}
    for line in describe_commands(layout.bound):
        if line.joint is not None:
            lines.setdefault(line.joint, []).append(line)
    drives = {}
    for joint, (line, *others) in lines.items():
        if others or joint not in layout.driven_joints:
            continue
        kp, kd = find_gains(twin, line) or (0.0, 0.0)
        gain = float(layout.torque_gains[layout.actuator(joint)])
        drives[joint] = Drive(
            kind=line.kind,
            command=line.signal,
            lower=line.lower,
            upper=line.upper,
            kp=kp,
            kd=kd,
            torque_per_command=gain if np.isfinite(gain) and gain else 1.0,
        )
    return drives
