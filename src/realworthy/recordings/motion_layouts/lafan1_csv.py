"""Robot motions as retargeted LAFAN1 is shared: numbers in columns without a heading.

Root x, y, z [m], its quaternion x-y-z-w, then one angle [rad] per joint, 30 rows a
second. The provider's documents say the order of joints; the file does not.
"""

from pathlib import Path

import numpy as np

from realworthy.artefacts import read_bytes, reading, writing
from realworthy.errors import BadFile, RealworthyError
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.layout import (
    MotionLayout,
    Request,
    build_base,
    count_clock,
)

_RATE = 30.0


def _read(path: Path, request: Request) -> Motion:
    text = read_bytes(path)
    with reading(path, "a table of numbers without a heading"):
        rows = np.loadtxt(text.decode().splitlines(), delimiter=",", ndmin=2)
    count = rows.shape[1] - 7
    if count < 1:
        raise BadFile(
            path, f"it has {rows.shape[1]} columns; base and joints have 8 up."
        )
    if not request.joints:
        raise BadFile(
            path,
            f"it has {count} joints and does not name them.",
            hint="Name the robot (--twin or --to), whose order of joints it then has.",
        )
    if len(request.joints) != count:
        raise BadFile(
            path,
            f"it has {count} joints, and the robot has {len(request.joints)}.",
            hint=f"The robot's: {', '.join(request.joints)}.",
        )
    base = build_base(path, rows[:, :3], rows[:, 3:7])
    clock = count_clock(len(rows), request.rate or _RATE)
    return Motion(clock, request.joints, rows[:, 7:], base=base)


def write_lafan1(motion: Motion, path: Path | str, *, overwrite: bool = False) -> None:
    """Writes base and joints; the clock must be regular, and is not in the file."""
    if motion.base is None or motion.base.quaternion is None:
        raise RealworthyError(
            "A motion without a base cannot be written in this layout."
        )
    xyzw = np.roll(motion.base.quaternion[:, 0], -1, axis=1)
    rows = np.concatenate([motion.base.position[:, 0], xyzw, motion.position], axis=1)
    with writing(path, overwrite=overwrite) as temporary:
        lines = (",".join(map(repr, row)) for row in rows.tolist())
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


LAYOUT = MotionLayout(
    summary="robot motions as retargeted LAFAN1 has them (quaternion x-y-z-w)",
    layout="a .csv without heading: root x, y, z, quaternion x-y-z-w, joint angles",
    read=_read,
)
