"""A dog's 27 joints as points: x, y, z [m] in columns, y up, 60 rows a second."""

import gzip
from pathlib import Path

import numpy as np

from realworthy.artefacts import check_bytes, read_bytes, reading
from realworthy.errors import BadFile
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.layout import (
    MotionLayout,
    Request,
    build_figure,
    turn_up,
)

_RATE = 60.0
_COUNT = 27
_KNOWN = {0: "pelvis", 3: "neck"} | {
    **{6: "front_left_hip", 8: "front_left_knee", 10: "front_left_toe"},
    **{11: "front_right_hip", 13: "front_right_knee", 15: "front_right_toe"},
    **{16: "rear_left_hip", 17: "rear_left_knee", 19: "rear_left_toe"},
    **{20: "rear_right_hip", 21: "rear_right_knee", 23: "rear_right_toe"},
}
NAMES = tuple(_KNOWN.get(i, f"joint{i}") for i in range(_COUNT))


def _read(path: Path, request: Request) -> Motion:
    data = read_bytes(path)
    if path.suffix.lower() == ".gz":
        with reading(path, "a whole gzip file"):
            data = gzip.decompress(data)
    check_bytes(path, 16 * len(data))
    with reading(path, "a table of numbers"):
        rows = np.loadtxt(data.decode().splitlines(), delimiter=",", ndmin=2)
    if rows.shape[1] != 3 * _COUNT:
        raise BadFile(
            path, f"it has {rows.shape[1]} columns; {_COUNT} joints have {3 * _COUNT}."
        )
    points = turn_up(rows.reshape(len(rows), _COUNT, 3))
    return build_figure(path, request.rate or _RATE, NAMES, points)


LAYOUT = MotionLayout(
    summary="a dog's joints as points (27, y up)",
    layout="a .txt or .txt.gz with 81 columns: x, y, z of 27 joints",
    read=_read,
    suffixes=("_joint_pos.txt", "_joint_pos.txt.gz"),
)
