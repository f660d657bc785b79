"""Motions of a Unitree G1 as ASAP shares them, with the person's joints beside them."""

from pathlib import Path

from realworthy.artefacts.arrays import read_arrays
from realworthy.errors import BadFile
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.amass import SMPL_JOINTS
from realworthy.recordings.motion_layouts.layout import (
    MotionLayout,
    Request,
    build_base,
    count_clock,
    get_array,
    get_rate,
)
from realworthy.recordings.poses import Poses

_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
JOINTS = (
    *(f"{side}_{name}_joint" for side in ("left", "right") for name in _LEG),
    *(f"waist_{name}_joint" for name in ("yaw", "roll", "pitch")),
    *(f"{side}_{name}_joint" for side in ("left", "right") for name in _ARM),
)


def _read(path: Path, request: Request) -> Motion:
    arrays = read_arrays(path)
    rate = request.rate or get_rate(path, arrays, "fps")
    position = get_array(path, arrays, "dof", 2)
    if position.shape[1] != len(JOINTS):
        raise BadFile(path, f"it has {position.shape[1]} joints, not {len(JOINTS)}.")
    place = get_array(path, arrays, "root_trans_offset", 2)
    base = build_base(path, place, get_array(path, arrays, "root_rot", 2))
    person = None
    if "smpl_joints" in arrays:
        points = get_array(path, arrays, "smpl_joints", 3)
        person = Poses(SMPL_JOINTS[: points.shape[1]], points)
    clock = count_clock(len(position), rate)
    return Motion(clock, JOINTS, position, base=base, bodies=person)


LAYOUT = MotionLayout(
    summary="Unitree G1 motions of ASAP, with the person they came from",
    layout="an .npz with dof, root_trans_offset, root_rot (x-y-z-w), fps, smpl_joints",
    read=_read,
)
