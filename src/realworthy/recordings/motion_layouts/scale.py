"""Units of length: which one a file has is asked for, never guessed."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from realworthy.errors import BadFile, RealworthyError
from realworthy.recordings.motion import Motion
from realworthy.recordings.poses import Poses

LENGTH_UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "cmu": 0.0254 / 0.45}
"""[m]; `cmu` is that of the CMU motion capture database."""
_SIZES = (0.25, 3.2)
"""[m] that people, animals and robots extend over; a small dog that sits has 0.5, a man
with his arms up 2.5 (2026-11-19)."""
_LIKELY = (0.8, 2.4)
"""[m] for which a unit is suggested: people and dogs of the clips here have 0.9 to 1.9.
"""


def read_unit(unit: float | str | None) -> float:
    """[m] of a unit by name or as a number; None: metres."""
    if unit is None:
        return 1.0
    if isinstance(unit, str) and unit in LENGTH_UNITS:
        return LENGTH_UNITS[unit]
    try:
        value = float(unit)
    except ValueError:
        value = np.nan
    if not (np.isfinite(value) and value > 0):
        raise RealworthyError(
            f"'{unit}' is no unit of length.",
            hint=f"Give {', '.join(LENGTH_UNITS)}, or a number of metres.",
        )
    return value


def scale(motion: Motion, unit: float) -> Motion:
    """The same motion with lengths times `unit`."""

    def grow(poses: Poses | None) -> Poses | None:
        return poses and replace(poses, position=poses.position * unit)

    if unit == 1.0:
        return motion
    return replace(
        motion,
        base=grow(motion.base),
        bodies=grow(motion.bodies),
        objects=grow(motion.objects),
    )


def measure_size(motion: Motion) -> float | None:
    """[m] that the bodies extend over, the median of all rows; None: no bodies."""
    if motion.bodies is None or len(motion.bodies.names) < 2:
        return None
    return float(np.median(np.linalg.norm(np.ptp(motion.bodies.position, 1), axis=1)))


def check_size(motion: Motion, path: Path, *, is_given: bool) -> None:
    """Raises where the bodies are too large or small for metres."""
    size = measure_size(motion)
    if size is None or _SIZES[0] <= size <= _SIZES[1]:
        return
    if is_given:
        hint = "That unit is not the file's: one is the length of 1 in it, in metres."
    else:
        fitting = [
            f"{n} ({size * value:.2f} m)"
            for n, value in LENGTH_UNITS.items()
            if _LIKELY[0] <= size * value <= _LIKELY[1]
        ]
        hint = "Say the file's unit: --unit cm, or the length of 1 in metres."
        if fitting:
            hint = f"Say the file's unit: --unit {' or '.join(fitting)} would fit."
    raise BadFile(path, f"its figure would be {size:.3g} m large.", hint=hint)
