"""Inverse dynamics along a track: which torques does the measured motion call for?"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.simulators.replay import Track
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]
_ROWS = 4000


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
