"""Archives that trackers of motions train on: base, joints and bodies of a robot.

`fps`; `joint_pos` (rows, joints), or with the base before it (rows, 7 + joints) and the
quaternion w-x-y-z; `joint_names`; `body_pos_w`, `body_quat_w` (w-x-y-z), `body_names`;
`object_pos_w`, `object_quat_w`.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts.arrays import read_arrays
from realworthy.errors import BadFile
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.layout import (
    MotionLayout,
    Request,
    build_base,
    count_clock,
    get_array,
    get_rate,
)
from realworthy.recordings.poses import Poses


def _read(path: Path, request: Request) -> Motion:
    arrays = read_arrays(path)
    rate = request.rate or get_rate(path, arrays, "fps")
    position = get_array(path, arrays, "joint_pos", 2)
    bodies = _read_bodies(path, arrays)
    named = arrays.get("joint_names")
    names = tuple(map(str, named)) if named is not None else request.joints
    if not names:
        raise BadFile(
            path,
            "it does not name its joints.",
            hint="Name the robot (--twin or --to), whose order of joints it then has.",
        )
    base = None
    if position.shape[1] == len(names) + 7:
        xyzw = np.roll(position[:, 3:7], -1, axis=1)
        base, position = build_base(path, position[:, :3], xyzw), position[:, 7:]
    elif bodies is not None and bodies.quaternion is not None:
        first = int(bodies.names[:1] == ("world",))
        base = replace(bodies.take(bodies.names[first : first + 1]), names=("base",))
    if position.shape[1] != len(names):
        raise BadFile(
            path,
            f"it has {position.shape[1]} joints, and {len(names)} names of joints.",
        )
    thing = None
    if "object_pos_w" in arrays:
        place = get_array(path, arrays, "object_pos_w", 2)[:, None]
        turn = get_array(path, arrays, "object_quat_w", 2)[:, None]
        thing = Poses(("object",), place, turn)
    clock = count_clock(len(position), rate)
    return Motion(clock, names, position, base=base, bodies=bodies, objects=thing)


def _read_bodies(path: Path, arrays: dict[str, NDArray]) -> Poses | None:
    if "body_pos_w" not in arrays:
        return None
    place = get_array(path, arrays, "body_pos_w", 3)
    turn = get_array(path, arrays, "body_quat_w", 3)
    named = arrays.get("body_names")
    count = place.shape[1]
    names = [f"body{i}" for i in range(count)] if named is None else map(str, named)
    return Poses(tuple(names), place, turn)


LAYOUT = MotionLayout(
    summary="motions that trackers train on: base, joints, bodies, object",
    layout="an .npz with fps, joint_pos, and mostly body_pos_w, body_quat_w, names",
    read=_read,
)
