"""Motions of a Unitree Laikago in JSON, as the project motion_imitation shares them.

The attitude of its base contains the turn that its model's root has.
"""

import json
from pathlib import Path

import numpy as np

from realworthy.artefacts import read_bytes, reading
from realworthy.errors import BadFile
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.layout import (
    MotionLayout,
    Request,
    build_base,
    count_clock,
)

JOINTS = tuple(
    f"{leg}_{joint}"
    for leg in ("FR", "FL", "RR", "RL")
    for joint in ("hip", "thigh", "calf")
)
_UP = (0.0, 1.0, 0.0)
"""The axis of the base that points up as the robot stands: its model's is y."""


def _read(path: Path, request: Request) -> Motion:
    with reading(path, "JSON with FrameDuration and Frames"):
        tree = json.loads(read_bytes(path))
        rows = np.array(tree["Frames"], dtype=np.float64)
        duration = float(tree["FrameDuration"])
    if rows.ndim != 2 or rows.shape[1] != 7 + len(JOINTS) or not duration > 0:
        raise BadFile(path, f"its Frames have the shape {rows.shape}, not (rows, 19).")
    base = build_base(path, rows[:, :3], rows[:, 3:7], up=_UP)
    clock = count_clock(len(rows), request.rate or 1 / duration)
    return Motion(clock, JOINTS, rows[:, 7:], base=base)


LAYOUT = MotionLayout(
    summary="Unitree Laikago motions of motion_imitation (quaternion x-y-z-w)",
    layout="a .txt of JSON: FrameDuration, Frames of 19 numbers",
    read=_read,
)
