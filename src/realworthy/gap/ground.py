"""Is the floor of a model where the robot's was?

A scene often comes with a floor at the height of the base, and the arm was screwed to
the edge of a table. Recorded poses that lie deep in that floor say so, whatever the
drives are like.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings import Recording
from realworthy.simulators.clearance import find_lowest, has_ground, measure_depth
from realworthy.simulators.replay import Track, lay_out_all
from realworthy.twins import Twin, bind

Floats = NDArray[np.float64]
_LOOK = 0.2
"""[s] between the poses that are looked at."""
_THROUGH = 0.05
"""Share of the robot's size: how deep a pose is that no encoder's offset explains,
since those are believed to within 0.05 rad."""
_MIN_POSES_BELOW_GROUND = 3
"""Poses below the ground that are evidence: one or two may be slips of an encoder."""

THROUGH_FLOOR = (
    "Recorded poses lie deep in the floor of the model: it is not where the robot's "
    "was, and replays are pushed out of it."
)


@dataclass(frozen=True, slots=True)
class LowGround:
    """The lowest recorded pose: the robot's ground lies there, or below."""

    height: float
    """[m]"""
    depth: float
    """[m] how deep recorded poses lie in the floor of the model."""
    recordings: tuple[str, ...]
    """Those that go through it."""

    def to_words(self) -> str:
        where = ", ".join(self.recordings[:3])
        more = len(self.recordings) - 3
        return (
            f"The floor of the model is not where the robot's was: recorded poses lie "
            f"up to {self.depth:.3f} m in it ({where}"
            f"{f' and {more} more' if more > 0 else ''}), and whatever is under the "
            f"robot lies at {self.height:.3f} m or below."
        )


def find_low_ground(
    twin: Twin, recordings: Sequence[Recording], joints: Sequence[str]
) -> LowGround | None:
    """What recordings show of a floor that they go through; None where they do not."""
    if twin.base is not None or not has_ground(bind(twin)):
        return None
    lowest, deepest, count, names = np.inf, 0.0, 0, list[str]()
    for track in lay_out_all(twin, recordings):
        poses, depth = _look(track, joints)
        through = _count_through(track, depth)
        if through:
            names.append(track.recording.name)
        lowest = min(lowest, find_lowest(track.bound, joints, poses).min())
        deepest, count = max(deepest, depth.max()), count + through
    if count < _MIN_POSES_BELOW_GROUND:
        return None
    return LowGround(float(lowest), float(deepest), tuple(names))


def goes_through_floor(track: Track, joints: Sequence[str]) -> bool:
    """Whether poses of one recording lie deep in the model's floor."""
    if track.base is not None or track.hangs or not has_ground(track.bound):
        return False
    return _count_through(track, _look(track, joints)[1]) >= _MIN_POSES_BELOW_GROUND


def _look(track: Track, joints: Sequence[str]) -> tuple[Floats, Floats]:
    """(poses, joints) of a recording now and then, and (poses,) how deep they lie."""
    stride = max(1, round(_LOOK * track.recording.rate))
    poses = track.position[::stride, [track.joints.index(j) for j in joints]]
    return poses, measure_depth(track.bound, joints, poses)


def _count_through(track: Track, depth: Floats) -> int:
    return int((depth > _THROUGH * track.bound.model.stat.extent).sum())
