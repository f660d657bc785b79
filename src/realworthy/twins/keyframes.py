"""Keyframes of a model whose joints change."""

import contextlib
from collections.abc import Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.twins.model_sources import compile_spec

Ids = NDArray[np.intp]


@contextlib.contextmanager
def keep_keyframes(spec: mujoco.MjSpec) -> Iterator[None]:
    """Joints keep their places in keyframes when others are added or taken away.

    MuJoCo would only append zeros, and so shift every joint behind a new one.
    """
    before = compile_spec(spec, spec.modelname) if len(list(spec.keys)) else None
    yield
    if before is None:
        return
    after = compile_spec(spec, spec.modelname)
    names = {before.joint(j).name for j in range(before.njnt)}
    kept = [j for j in range(after.njnt) if after.joint(j).name in names]
    if not kept:
        return
    pairs = [(before.joint(after.joint(j).name).id, j) for j in kept]
    old_q, old_v = _join([find_places(before, old) for old, _ in pairs])
    new_q, new_v = _join([find_places(after, new) for _, new in pairs])
    for k, key in enumerate(spec.keys):
        positions, velocities = after.qpos0.copy(), np.zeros(after.nv)
        positions[new_q] = before.key_qpos[k, old_q]
        velocities[new_v] = before.key_qvel[k, old_v]
        key.qpos, key.qvel = positions, velocities


def find_places(model: mujoco.MjModel, joint: int) -> tuple[Ids, Ids]:
    """Where a joint is in `qpos` and in `qvel`."""
    widths = {mujoco.mjtJoint.mjJNT_FREE: (7, 6), mujoco.mjtJoint.mjJNT_BALL: (4, 3)}
    kind = mujoco.mjtJoint(int(model.jnt_type[joint]))
    wide, fast = widths.get(kind, (1, 1))
    first, second = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    return np.arange(first, first + wide), np.arange(second, second + fast)


def _join(places: list[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
    return np.concatenate([q for q, _ in places]), np.concatenate(
        [v for _, v in places]
    )
