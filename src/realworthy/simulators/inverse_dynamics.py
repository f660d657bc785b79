"""Inverse dynamics along a track: which torques does the measured motion call for?"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.simulators.replay import Track
from realworthy.twins import Twin, bind
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_ROWS = 4000
_ROWS_PER_LINEARISATION = 16
"""Rows after which inertias and slopes are computed anew: they depend on the pose
alone, which changes slowly against the rate of a log."""
_NUDGE = 1e-4
"""[rad or m] over which a slope is taken."""


@dataclass(frozen=True, slots=True)
class Loads:
    """What each joint turns against along a measured motion, (rows, joints)."""

    torque: Floats
    """[N·m] gravity, and what the motion of all other joints calls for."""
    slope: Floats
    """[N·m/rad] of gravity with the joint's own position."""
    inertia: Floats
    """[kg·m²] that the joint feels, its armature left out."""


def joint_loads(
    track: Track,
    rows: NDArray[np.intp],
    position: Floats,
    velocity: Floats,
    acceleration: Floats,
) -> Loads:
    """Loads of every joint at rows of a track, at (rows, joints) states.

    Without drives, dry friction, damping, rotors and contacts: what is left when a
    joint is looked at alone. Joints that were not measured rest at the home pose.
    """
    model = track.bound.model
    layout = Layout(track.bound)
    places = [layout.joint(joint) for joint in track.joints]
    qpos, dofs = [q for q, _ in places], [v for _, v in places]
    data = mujoco.MjData(model)
    data.qpos[:] = track.bound.compiled.own["own.initial_qpos"]
    whole = np.empty(model.nv)

    def invert() -> Floats:
        """(joints,) for what is in `data`; of passive forces, springs alone."""
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_passive(model, data)
        mujoco.mj_rne(model, data, 1, whole)
        return (whole - data.qfrc_spring)[dofs]

    shape = (len(rows), len(dofs))
    needed, slope, inertia = np.empty(shape), np.empty(shape), np.empty(shape)
    for k in range(len(rows)):
        if k % _ROWS_PER_LINEARISATION == 0:
            data.qpos[qpos], data.qvel[:], data.qacc[:] = position[k], 0.0, 0.0
            still = invert()
            for i, (place, dof) in enumerate(places):
                data.qacc[dof] = 1.0
                inertia[k, i] = invert()[i] - still[i]
                data.qacc[dof] = 0.0
                data.qpos[place] += _NUDGE
                slope[k, i] = (invert()[i] - still[i]) / _NUDGE
                data.qpos[place] -= _NUDGE
        else:
            slope[k], inertia[k] = slope[k - 1], inertia[k - 1]
        data.qpos[qpos], data.qvel[dofs] = position[k], velocity[k]
        data.qacc[dofs] = acceleration[k]
        needed[k] = invert()
    return Loads(needed - inertia * acceleration, slope, inertia)


def missing_torques(
    track: Track,
    rows: NDArray[np.intp],
    position: Floats,
    velocity: Floats,
    acceleration: Floats,
) -> Floats:
    """(rows, joints) torque that the motion needs beyond what the model delivers.

    Zero where the model is right. States are (rows, joints) at the given rows of the
    track; other joints rest at the home pose. A positive number means that something
    the model lacks pushes the joint forwards.
    """
    model = track.bound.model
    layout = Layout(track.bound)
    places = [layout.joint(joint) for joint in track.joints]
    qpos, dofs = [q for q, _ in places], [v for _, v in places]
    data = mujoco.MjData(model)
    data.qpos[:] = track.bound.compiled.own["own.initial_qpos"]
    late = np.round(model.actuator_delay / track.timestep).astype(np.intp)
    late = np.repeat(late, model.actuator_ctrlnum)
    columns = np.arange(model.nu)
    found = np.empty((len(rows), len(dofs)))
    undelayed = model.actuator_delay.copy()
    model.actuator_delay[:] = 0.0  # the commands below are already the delayed ones
    try:
        for k, row in enumerate(track.rows[rows]):
            data.qpos[qpos], data.qvel[dofs] = position[k], velocity[k]
            # a held command jumps at a row; the derivative there sees both sides of it
            after = track.control[np.maximum(row - late, 0), columns]
            before = track.control[np.maximum(row - late - 1, 0), columns]
            data.ctrl[:] = 0.5 * (before + after)
            data.qacc[:] = 0.0
            data.qacc[dofs] = acceleration[k]
            mujoco.mj_inverse(model, data)
            needed = data.qfrc_inverse[dofs].copy()
            mujoco.mj_fwdActuation(model, data)
            found[k] = needed - data.qfrc_actuator[dofs]
    finally:
        model.actuator_delay[:] = undelayed
    return found


def joint_inertia(track: Track) -> Floats:
    """(joints,) inertia that each joint feels in the reference pose [kg·m²]."""
    layout = Layout(track.bound)
    dofs = [layout.joint(joint)[1] for joint in track.joints]
    return np.asarray(track.bound.model.dof_M0)[dofs]


def motor_torques(track: Track) -> Floats:
    """(rows, driven joints) torque that the model's motors give as measured [N·m].

    At the measured states, for the commands of the row, delays left out; computed on up
    to 4,000 rows and held in between.
    """
    model, layout = track.bound.model, Layout(track.bound)
    driven = [layout.joint(joint)[1] for joint in layout.driven_joints]
    places = [layout.joint(joint) for joint in track.joints]
    qpos, dofs = [q for q, _ in places], [v for _, v in places]
    data = mujoco.MjData(model)
    data.qpos[:] = track.bound.compiled.own["own.initial_qpos"]
    stride = max(1, len(track.rows) // _ROWS)
    chosen = np.arange(0, len(track.rows), stride)
    found = np.empty((len(chosen), len(driven)))
    for k, row in enumerate(chosen):
        data.qpos[qpos], data.qvel[dofs] = track.position[row], track.velocity[row]
        data.ctrl[:] = track.control[track.rows[row]]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        found[k] = data.qfrc_actuator[driven]
    return np.repeat(found, stride, axis=0)[: len(track.rows)]


def find_joint_inertia(
    twin: Twin, joint: str, position: float | None = None, *, armature: bool = True
) -> float:
    """[kg·m²] that the twin's joint feels at a position, by default at home.

    Without `armature` only links count, all other joints at home.
    """
    bound = bind(twin)
    layout, model = Layout(bound), bound.model
    data = mujoco.MjData(model)
    data.qpos[:] = bound.compiled.own["own.initial_qpos"]
    place, dof = layout.joint(joint)
    if position is not None:
        data.qpos[place] = position
    mujoco.mj_fwdPosition(model, data)
    masses = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, masses)
    rotor = 0.0 if armature else float(model.dof_armature[dof])
    return float(masses[dof, dof]) - rotor
