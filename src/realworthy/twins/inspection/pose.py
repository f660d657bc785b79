"""A model in its home pose, where masses, gains and contacts are judged."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Posed:
    """A model, its state at rest in the home pose, and which pose that is."""

    model: mujoco.MjModel
    data: mujoco.MjData
    pose: str
    """`home` or another keyframe's name, or `qpos0` for a model without keyframes."""
    apparent_inertia: NDArray[np.float64]
    """(dofs,) what each degree of freedom feels when the others are free to move."""


def pose_home(model: mujoco.MjModel) -> Posed:
    """Keyframe `home`, else the first keyframe, else the model's reference pose."""
    data = mujoco.MjData(model)
    pose = "qpos0"
    if model.nkey:
        key = max(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home"), 0)
        mujoco.mj_resetDataKeyframe(model, data, key)
        data.qvel[:] = 0.0
        pose = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, key) or f"key {key}"
    mujoco.mj_forward(model, data)
    return Posed(model, data, pose, _compute_apparent_inertia(model, data))


def _compute_apparent_inertia(
    model: mujoco.MjModel, data: mujoco.MjData
) -> NDArray[np.float64]:
    """1 / (M⁻¹)ᵢᵢ; the diagonal of M itself where M cannot be inverted."""
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    try:
        mobility = np.diag(np.linalg.inv(mass))
    except np.linalg.LinAlgError:
        return np.diag(mass).copy()
    return np.where(mobility > 0, 1.0 / np.maximum(mobility, 1e-12), np.diag(mass))
