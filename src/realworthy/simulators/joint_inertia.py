"""What a drive has to accelerate, by a twin."""

import mujoco
import numpy as np

from realworthy.twins import Twin, bind
from realworthy.twins.layout import Layout


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
