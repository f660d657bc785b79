"""AMASS-like archives: rotations of a body model's joints, z up.

The body model is its owners' and is not here: the file brings its joints' positions
(`joints`), or the user gives an archive with the model's rest joints, or the regressor
that finds them, under the names that such models use.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts.arrays import read_arrays
from realworthy.errors import BadFile, RealworthyError
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.layout import (
    MotionLayout,
    Request,
    build_figure,
    get_array,
    get_rate,
)

Floats = NDArray[np.float64]
SMPL_JOINTS = (
    *("pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee"),
    *("spine2", "left_ankle", "right_ankle", "spine3", "left_foot", "right_foot"),
    *("neck", "left_collar", "right_collar", "head", "left_shoulder"),
    *("right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist"),
    *("left_hand", "right_hand"),
)
"""Of the body model with 24 joints; the larger ones begin with the same 22."""
_BODY = 22


def _read(path: Path, request: Request) -> Motion:
    arrays = read_arrays(path)
    rate = request.rate or get_rate(
        path, arrays, "mocap_framerate", "mocap_frame_rate", "fps"
    )
    names = request.joints or SMPL_JOINTS
    for name in ("joints", "joint_positions"):
        if name in arrays:
            points = get_array(path, arrays, name, 3)
            names = names if request.joints else _name(points.shape[1])
            return build_figure(path, rate, names, points)
    if request.regressor is None:
        raise BadFile(
            path,
            "it holds rotations without the positions of the joints they turn.",
            hint="Give the body model's archive: --regressor model.npz (J_regressor, "
            "v_template, kintree_table), or add an array 'joints' (rows, joints, 3).",
        )
    rest, parents = read_regressor(request.regressor, arrays.get("betas"))
    poses, trans = (
        get_array(path, arrays, "poses", 2),
        get_array(path, arrays, "trans", 2),
    )
    count = min(_BODY, len(rest), poses.shape[1] // 3)
    vectors = poses[:, : 3 * count].reshape(len(poses), count, 3)
    places = pose_joints(rest[:count], parents[:count], vectors)
    return build_figure(path, rate, _name(count), places + trans[:, None])


def _name(count: int) -> tuple[str, ...]:
    """As many names as there are joints; those beyond the body are numbered."""
    known = SMPL_JOINTS if count == len(SMPL_JOINTS) else SMPL_JOINTS[:_BODY]
    return (*known, *(f"joint{i}" for i in range(len(known), count)))[:count]


def read_regressor(path: Path, betas: NDArray | None) -> tuple[Floats, list[int]]:
    """(joints, 3) [m] at rest and the parent of each, of a body of this shape."""
    arrays = read_arrays(path)
    table = arrays.get("kintree_table", arrays.get("parents"))
    if table is None:
        raise BadFile(
            path, "it has no 'kintree_table' or 'parents': the parent of each joint."
        )
    parents = [int(p) for p in np.atleast_2d(table)[0].astype(np.int64)]
    parents[0] = -1
    if "joints" in arrays:
        rest = get_array(path, arrays, "joints", 2)
    else:
        shape = get_array(path, arrays, "v_template", 2)
        if betas is not None and "shapedirs" in arrays:
            directions = get_array(path, arrays, "shapedirs", 3)
            size = min(directions.shape[2], len(np.ravel(betas)))
            shape = shape + directions[..., :size] @ np.ravel(betas)[:size]
        rest = get_array(path, arrays, "J_regressor", 2) @ shape
    if len(parents) != len(rest) or any(p >= i for i, p in enumerate(parents)):
        raise BadFile(path, "its table of parents does not fit its joints.")
    return rest, parents


def pose_joints(rest: Floats, parents: list[int], vectors: Floats) -> Floats:
    """(rows, joints, 3) by forward kinematics; `vectors` are rotations [rad]."""
    from scipy.spatial.transform import Rotation

    if vectors.shape[1:] != rest.shape:
        raise RealworthyError(
            f"{vectors.shape[1]} rotations do not fit {len(rest)} joints."
        )
    turns = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix()
    turns = turns.reshape(*vectors.shape, 3)
    place = np.tile(rest, (len(vectors), 1, 1))
    turn = turns.copy()
    for i, parent in enumerate(parents):
        if parent >= 0:
            turn[:, i] = turn[:, parent] @ turns[:, i]
            place[:, i] = place[:, parent] + turn[:, parent] @ (rest[i] - rest[parent])
    return place


LAYOUT = MotionLayout(
    summary="body models' rotations as AMASS has them, or their joints",
    layout="an .npz with joints (rows, joints, 3), or poses and trans, and a rate",
    read=_read,
)
