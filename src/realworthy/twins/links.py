"""Bodies that single hinges turn: how far out their weight is, how long they swing."""

from collections.abc import Sequence

import mujoco
import numpy as np

from realworthy.twins.bind import BoundTwin
from realworthy.twins.commands import describe_commands

_BODY, _JOINT = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_JOINT


def find_links(bound: BoundTwin, joints: Sequence[str]) -> dict[str, str]:
    """Body → component of its centre of mass, for hinges of torque-driven machines.

    The component is the one that is largest across the joint's axis.
    """
    model = bound.model
    driven = {c.joint for c in describe_commands(bound) if c.kind == "torque"}
    found = {}
    for joint in joints if driven & set(joints) else ():
        number = mujoco.mj_name2id(model, _JOINT, joint)
        if number < 0 or model.jnt_type[number] != mujoco.mjtJoint.mjJNT_HINGE:
            continue
        body = int(model.jnt_bodyid[number])
        out = np.abs(model.body_ipos[body]) * (np.abs(model.jnt_axis[number]) < 0.5)
        name = mujoco.mj_id2name(model, _BODY, body)
        if name and out.max() > 0:
            found[name] = "xyz"[int(np.argmax(out))]
    return found


def swings_alone(model: mujoco.MjModel, joint: str) -> bool:
    """Whether a hinge turns one body and nothing else, itself on a body at rest."""
    number = mujoco.mj_name2id(model, _JOINT, joint)
    if number < 0 or model.jnt_type[number] != mujoco.mjtJoint.mjJNT_HINGE:
        return False
    body = int(model.jnt_bodyid[number])
    return not (model.body_parentid[1:] == body).any()


def compute_swing_length(model: mujoco.MjModel, joint: str) -> float:
    """[m] J/(m·c): inertia about a hinge, armature included, over mass times lever."""
    number = mujoco.mj_name2id(model, _JOINT, joint)
    body, dof = int(model.jnt_bodyid[number]), int(model.jnt_dofadr[number])
    axis = model.jnt_axis[number]
    lever = model.body_ipos[body] - model.jnt_pos[number]
    across = float(np.linalg.norm(lever - axis * (lever @ axis)))
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.body_iquat[body])
    own = float((rotation.reshape(3, 3).T @ axis) ** 2 @ model.body_inertia[body])
    mass = float(model.body_mass[body])
    turning = own + mass * across**2 + float(model.dof_armature[dof])
    return turning / (mass * across)
