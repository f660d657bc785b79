"""How a floating base moved, where a recording has it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings import Recording
from realworthy.twins import BoundTwin
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_POSE = tuple(
    [f"base.position.{axis}" for axis in "xyz"]
    + [f"base.orientation.{axis}" for axis in "wxyz"]
)
_MOTION = tuple(
    [f"base.velocity.{axis}" for axis in "xyz"]
    + [f"base.gyro.{axis}" for axis in "xyz"]
)


@dataclass(frozen=True)
class BaseMotion:
    """Pose and velocity of a floating base at each row."""

    pose: Floats
    """(T, 7) position in the world [m] and unit quaternion w-x-y-z."""
    motion: Floats
    """(T, 6) velocity in the world [m/s], turning in the base's own frame [rad/s]."""
    qpos: int
    dof: int
    """Where the free joint begins in `qpos` and `qvel`."""

    def put(self, qpos: Floats, qvel: Floats, rows: NDArray[np.intp]) -> None:
        """Writes the base at some rows into (worlds, …) states."""
        qpos[:, self.qpos : self.qpos + 7] = self.pose[rows]
        qvel[:, self.dof : self.dof + 6] = self.motion[rows]

    def cut(self, rows: slice) -> "BaseMotion":
        """Some rows of it."""
        return replace(self, pose=self.pose[rows], motion=self.motion[rows])


def has_base(recording: Recording) -> bool:
    """Whether the pose of the base was recorded."""
    return all(name in recording.signals for name in _POSE)


def read_base(bound: BoundTwin, recording: Recording) -> BaseMotion | None:
    """The recorded motion of the base, differentiated where only its pose was."""
    base = Layout(bound).base
    if base is None or not has_base(recording):
        return None
    pose = np.stack([recording.signals[name] for name in _POSE], axis=1)
    pose[:, 3:] /= np.linalg.norm(pose[:, 3:], axis=1, keepdims=True)
    motion = np.zeros((len(pose), 6))
    motion[:, :3] = np.gradient(pose[:, :3], recording.time, axis=0)
    for column, name in enumerate(_MOTION):
        if name in recording.signals:
            motion[:, column] = recording.signals[name]
    return BaseMotion(pose, motion, *base)


def join_bases(bases: list[BaseMotion]) -> BaseMotion | None:
    """Several recordings' motions end to end."""
    if not bases:
        return None
    pose = np.concatenate([base.pose for base in bases])
    motion = np.concatenate([base.motion for base in bases])
    return BaseMotion(pose, motion, bases[0].qpos, bases[0].dof)
