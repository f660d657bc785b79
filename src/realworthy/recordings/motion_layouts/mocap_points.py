"""Joints of a person as points, in one array (rows, joints, 3) [m]; z is up."""

from pathlib import Path

import numpy as np

from realworthy.artefacts import check_readable, reading
from realworthy.errors import BadFile
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.layout import (
    MotionLayout,
    Request,
    build_figure,
)

_FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")


def _list_arm(side: str) -> tuple[str, ...]:
    fingers = (f"{side}Hand{finger}{i}" for finger in _FINGERS for i in (1, 2, 3))
    return (
        *(f"{side}{part}" for part in ("Shoulder", "Arm", "ForeArm", "Hand")),
        *fingers,
    )


def _list_leg(side: str) -> tuple[str, ...]:
    return tuple(f"{side}{part}" for part in ("UpLeg", "Leg", "Foot", "ToeBase"))


_NAMES = (
    *(
        "Hips",
        "Spine",
        "Spine1",
        "Neck",
        "Head",
        *_list_arm("Left"),
        *_list_arm("Right"),
    ),
    *(*_list_leg("Left"), *_list_leg("Right"), "LeftFootMod", "RightFootMod"),
)
"""The 53 of OmniRetarget's captures, whose names are upstream's."""


def _read(path: Path, request: Request) -> Motion:
    check_readable(path)
    with reading(path, "one plain NumPy array"):
        points = np.load(path, allow_pickle=False).astype(np.float64)
    if points.ndim != 3 or points.shape[2] != 3:
        raise BadFile(path, f"its shape is {points.shape}; (rows, joints, 3) is meant.")
    if request.rate is None:
        raise BadFile(
            path, "it does not say its rate.", hint="Say rows per second: --rate-in 120"
        )
    names = request.joints if len(request.joints) == points.shape[1] else _NAMES
    return build_figure(path, request.rate, names, points)


LAYOUT = MotionLayout(
    summary="a person's joints as points in one array (53, as OmniRetarget has them)",
    layout="a .npy of the shape (rows, 53, 3)",
    read=_read,
    suffixes=(".npy",),
)
