"""Foreign layouts of motions, read into ours: metres, z up, quaternions w-x-y-z.

`MOTION_LAYOUTS` is the whole list. A reader hands out what its file says; the unit, and
whether the result can be a body at all, is checked here, in one place.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from realworthy.artefacts import check_readable
from realworthy.errors import BadFile, RealworthyError, UnknownName
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts import (
    amass,
    asap,
    bvh,
    dog_keypoints,
    lafan1_csv,
    mocap_points,
    motion_imitation,
    tracking_npz,
)
from realworthy.recordings.motion_layouts.layout import MotionLayout, Request
from realworthy.recordings.motion_layouts.scale import check_size, read_unit, scale

__all__ = ["MOTION_LAYOUTS", "MotionLayout", "find_layout", "read_foreign"]

MOTION_LAYOUTS: dict[str, MotionLayout] = {
    "bvh": bvh.LAYOUT,
    "amass": amass.LAYOUT,
    "lafan1_csv": lafan1_csv.LAYOUT,
    "tracking_npz": tracking_npz.LAYOUT,
    "asap": asap.LAYOUT,
    "dog_keypoints": dog_keypoints.LAYOUT,
    "motion_imitation": motion_imitation.LAYOUT,
    "mocap_points": mocap_points.LAYOUT,
}


def find_layout(path: Path) -> str:
    """The layout that the end of a name gives away; empty where it does not."""
    name = path.name.lower()
    return next(
        (
            layout
            for layout, each in MOTION_LAYOUTS.items()
            if name.endswith(each.suffixes)
        ),
        "",
    )


def read_foreign(
    path: Path,
    layout: str,
    *,
    unit: float | str | None = None,
    rate: float | None = None,
    joints: Sequence[str] = (),
    regressor: Path | None = None,
) -> Motion:
    """A motion of a foreign layout, with lengths checked to be metres."""
    if layout not in MOTION_LAYOUTS:
        raise UnknownName(
            "layout of motions",
            layout,
            tuple(MOTION_LAYOUTS),
            owner="Realworthy",
            listing="realworthy show importers",
        )
    check_readable(path)
    if rate is not None and not (np.isfinite(rate) and rate > 0):
        raise RealworthyError(f"A motion cannot have {rate:g} rows per second.")
    try:
        read = MOTION_LAYOUTS[layout].read(
            path, Request(rate, tuple(joints), regressor)
        )
        found = scale(read, read_unit(unit))
    except BadFile:
        raise
    except RealworthyError as error:
        raise BadFile(path, error.problem, hint=error.hint) from None
    check_size(found, path, is_given=unit is not None)
    return found
