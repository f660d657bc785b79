"""How every body of a twin moves along a recording, and what that asks of joints."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.simulators.replay import Track
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_NUDGE = 1e-4
"""[rad or m] over which a slope is taken."""
_SLOPE_ROWS = 2
"""Rows after which slopes are taken anew."""


@dataclass(frozen=True)
class BodyMotion:
    """(rows, …) along one recording, world frame."""

    names: tuple[str, ...]
    """Bodies with mass."""
    mass: Floats
    inertia: Floats
    """(bodies, 3) principal."""
    jacobian: Floats
    """(rows, bodies, 3, dofs) of centres of mass."""
    turning: Floats
    """(rows, bodies, 3, dofs)"""
    acceleration: Floats
    """(rows, bodies, 3) of centres of mass, less gravity."""
    speed: Floats
    """(rows, bodies, 3) angular."""
    twist: Floats
    """(rows, bodies, 3) angular acceleration."""
    frame: Floats
    """(rows, bodies, 3, 3) of the body."""
    principal: Floats
    """(rows, bodies, 3, 3) of the inertia."""
    needed: Floats
    """(rows, dofs) torque without drives and dry friction."""
    rigid: Floats
    """(rows, dofs) of it what bodies alone ask, without springs, damping and rotors."""
    slope: Floats
    """(rows, dofs, dofs) of what gravity and springs ask, by positions."""
    gravity: Floats
    """(3,)"""

    def by_mass(self, body: int) -> Floats:
        """(rows, dofs) torque [N·m] of all of a body's mass, and its inertia."""
        force = self.mass[body] * self.acceleration[:, body]
        axes, moments = self.principal[:, body], self.inertia[body]
        speed = np.einsum("nij,ni->nj", axes, self.speed[:, body])
        twist = np.einsum("nij,ni->nj", axes, self.twist[:, body])
        moment = moments * twist + np.cross(speed, moments * speed)
        world = np.einsum("nij,nj->ni", axes, moment)
        return np.einsum("nij,ni->nj", self.jacobian[:, body], force) + np.einsum(
            "nij,ni->nj", self.turning[:, body], world
        )

    def by_shift(self, body: int, axis: int) -> Floats:
        """(rows, dofs) torque [N·m] per metre that a centre of mass is off."""
        arm = self.frame[:, body, :, axis]
        speed, twist = self.speed[:, body], self.twist[:, body]
        change = np.cross(twist, arm) + np.cross(speed, np.cross(speed, arm))
        acceleration = self.acceleration[:, body]
        # d/dp of J_pᵀ m a_p, J_p = J_c - [p]× J_r
        by_arm = np.einsum(
            "nij,ni->nj", self.turning[:, body], np.cross(arm, acceleration)
        )
        by_force = np.einsum("nij,ni->nj", self.jacobian[:, body], change)
        return self.mass[body] * (by_arm + by_force)

    def by_gravity(self, change: Sequence[float]) -> Floats:
        """(rows, dofs) torque [N·m] that another gravity asks for."""
        force = -self.mass[:, None] * np.asarray(change)
        return np.einsum("nbij,bi->nj", self.jacobian, force)


def follow_bodies(
    track: Track,
    rows: NDArray[np.intp],
    position: Floats,
    velocity: Floats,
    acceleration: Floats,
) -> BodyMotion:
    """Motion of bodies at (rows, joints) states; other joints rest at home."""
    model = track.bound.model
    layout = Layout(track.bound)
    places = [layout.joint(joint) for joint in track.joints]
    qpos, dofs = [q for q, _ in places], [v for _, v in places]
    data = mujoco.MjData(model)
    data.qpos[:] = track.bound.compiled.own["own.initial_qpos"]
    bodies = [b for b in range(1, model.nbody) if model.body_mass[b] > 0]
    bodies = [b for b in bodies if int(model.body_dofnum[: b + 1].sum()) > 0]
    count, size, nv = len(rows), len(bodies), model.nv
    jacobian, turning = np.empty((2, count, size, 3, nv))
    rate_j, rate_r = np.empty((2, count, size, 3, nv))
    frame, principal = np.empty((2, count, size, 3, 3))
    needed, rigid = np.empty((2, count, nv))
    slope = np.zeros((count, nv, nv))
    whole, speeds, accelerations = (
        np.empty(nv),
        np.zeros((count, nv)),
        np.zeros((count, nv)),
    )
    speeds[:, dofs], accelerations[:, dofs] = velocity, acceleration

    def still() -> Floats:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        data.qvel[:] = 0.0
        mujoco.mj_comVel(model, data)
        mujoco.mj_passive(model, data)
        mujoco.mj_rne(model, data, 0, whole)
        return whole - data.qfrc_passive

    for k in range(count):
        data.qpos[qpos] = position[k]
        if k % _SLOPE_ROWS == 0:
            own = still()
            for i, (place, dof) in enumerate(places):
                data.qpos[place] = position[k, i] + _NUDGE
                slope[k, :, dof] = (still() - own) / _NUDGE
                data.qpos[place] = position[k, i]
        else:
            slope[k] = slope[k - 1]
        data.qvel[:], data.qacc[:] = speeds[k], accelerations[k]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_passive(model, data)
        mujoco.mj_rne(model, data, 1, whole)
        rigid[k] = whole
        needed[k] = whole - data.qfrc_passive
        for i, b in enumerate(bodies):
            centre = data.xipos[b]
            mujoco.mj_jac(model, data, jacobian[k, i], turning[k, i], centre, b)
            mujoco.mj_jacDot(model, data, rate_j[k, i], rate_r[k, i], centre, b)
        frame[k] = data.xmat[bodies].reshape(size, 3, 3)
        principal[k] = data.ximat[bodies].reshape(size, 3, 3)
    needed += model.dof_armature * accelerations
    gravity = np.asarray(model.opt.gravity, dtype=np.float64).copy()
    return BodyMotion(
        names=tuple(model.body(b).name for b in bodies),
        mass=np.asarray(model.body_mass)[bodies],
        inertia=np.asarray(model.body_inertia)[bodies],
        jacobian=jacobian,
        turning=turning,
        acceleration=np.einsum("nbij,nj->nbi", jacobian, accelerations)
        + np.einsum("nbij,nj->nbi", rate_j, speeds)
        - gravity,
        speed=np.einsum("nbij,nj->nbi", turning, speeds),
        twist=np.einsum("nbij,nj->nbi", turning, accelerations)
        + np.einsum("nbij,nj->nbi", rate_r, speeds),
        frame=frame,
        principal=principal,
        needed=needed,
        rigid=rigid,
        slope=slope,
        gravity=gravity,
    )
