"""Two driven wheels on one axle: from wheel speeds to motion and back.

[v; ω] = D [v_L; v_R] with D = [[1/2, 1/2], [−1/d, 1/d]], v_L and v_R the speeds of the
wheels' rims [m/s], d the track [m].
"""

from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheels:
    """What a differential drive's model says of its wheels; the left one first."""

    joints: tuple[str, str]
    commands: tuple[str, str]
    """Signals that carry the wheels' speeds [rad/s]."""
    radii: tuple[float, float]
    """[m]"""
    track: float
    """[m] between the points where the wheels touch the ground."""
    limit: float
    """[rad/s] that both wheels can be asked for, forwards and backwards."""

    @property
    def top_speed(self) -> float:
        """[m/s] straight ahead."""
        return self.limit * min(self.radii)

    def compute_motion(self, speeds: Tensor) -> Tensor:
        """(…, 2) wheel speeds [rad/s] → (…, 2) forward [m/s] and turn [rad/s]."""
        left, right = speeds[..., 0] * self.radii[0], speeds[..., 1] * self.radii[1]
        return torch.stack([(left + right) / 2, (right - left) / self.track], dim=-1)

    def compute_speeds(self, motion: Tensor) -> Tensor:
        """(…, 2) forward [m/s] and turn [rad/s] → (…, 2) wheel speeds [rad/s]."""
        forward, turn = motion.unbind(-1)
        half = turn * self.track / 2
        left, right = forward - half, forward + half
        return torch.stack([left / self.radii[0], right / self.radii[1]], dim=-1)

    def slow_down(self, speeds: Tensor) -> Tensor:
        """(…, 2) wheel speeds within `limit`, on a circle of the same radius."""
        largest = speeds.abs().amax(-1, keepdim=True)
        return speeds * (self.limit / largest.clamp(min=1e-9)).clamp(max=1.0)


def find_wheels(twin: Twin) -> Wheels:
    """Reads wheels, track and limits from a twin's model.

    The base looks along x; each wheel turns at a commanded speed and touches the ground
    with round shapes around its joint.
    """
    bound = bind(twin)
    model, lines = bound.model, describe_commands(bound)
    if len(lines) != 2 or any(line.kind != "velocity" for line in lines):
        kinds = ", ".join(f"{line.signal} ({line.kind})" for line in lines)
        raise RealworthyError(
            f"A differential drive has two inputs, the speeds of its wheels; twin"
            f" '{twin.name}' has {kinds or 'none'}.",
            hint="Try the built-in twin 'diffdrive'.",
        )
    if twin.base is None:
        raise RealworthyError(
            f"Twin '{twin.name}' stands still: its base has no free joint.",
            hint="A base that drives is a body with a free joint.",
        )
    limit = min(min(-line.lower, line.upper) for line in lines)
    if not 0 < limit < np.inf:
        raise RealworthyError(
            f"The wheel speeds of twin '{twin.name}' have no limits on both sides.",
            hint="Give its actuators a ctrlrange [rad/s] such as -6 6.",
        )
    joints = [str(line.joint) for line in lines]
    ids = [int(model.joint(joint).id) for joint in joints]
    sides = [_find_side(model, i) for i in ids]
    left, right = (0, 1) if sides[0] > sides[1] else (1, 0)
    return Wheels(
        joints=(joints[left], joints[right]),
        commands=(lines[left].signal, lines[right].signal),
        radii=(
            _find_radius(model, ids[left], twin),
            _find_radius(model, ids[right], twin),
        ),
        track=sides[left] - sides[right],
        limit=limit,
    )


def _find_side(model: mujoco.MjModel, joint: int) -> float:
    """How far a wheel is to the left in the base's frame [m]; it hangs on the base."""
    body = int(model.jnt_bodyid[joint])
    return float(model.body_pos[body, 1] + model.jnt_pos[joint, 1])


def _find_radius(model: mujoco.MjModel, joint: int, twin: Twin) -> float:
    """[m] of the largest shape of a wheel that can touch the ground."""
    round_shapes = (
        mujoco.mjtGeom.mjGEOM_SPHERE,
        mujoco.mjtGeom.mjGEOM_CAPSULE,
        mujoco.mjtGeom.mjGEOM_CYLINDER,
        mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    )
    touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    found = touches & (model.geom_bodyid == model.jnt_bodyid[joint])
    found &= np.isin(model.geom_type, [int(shape) for shape in round_shapes])
    if not found.any():
        raise RealworthyError(
            f"Wheel '{model.joint(joint).name}' of twin '{twin.name}' has no round"
            " shape that can touch the ground."
        )
    return float(model.geom_size[found, 0].max())
