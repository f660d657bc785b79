"""Whether a trial reached its goal, as somebody beside the robot would see it.

What a robot measures itself may be wrong by what was hidden: an onlooker knows true
offsets of its encoders.
"""

from collections.abc import Mapping
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from realworthy.recordings import Recording
from realworthy.tasks.arm.chain import Chain
from realworthy.twins import bind, load_twin

Floats = NDArray[np.float64]
Numbers = Mapping[str, float]


class Onlooker(Protocol):
    """Looks at a trial: what was told to the policy, and what is true of the robot."""

    def __call__(self, trial: Recording, told: Numbers, truth: Numbers, /) -> bool: ...


def stands_upright(trial: Recording, told: Numbers, truth: Numbers) -> bool:
    """Within 0.12 rad of upright for the last 2 s."""
    angle = _find_angle(trial, "joint", truth)[_find_last(trial, 2.0)]
    return bool((np.abs(np.mod(angle, 2 * np.pi) - np.pi) < 0.12).all())


def moves_as_told(trial: Recording, told: Numbers, truth: Numbers) -> bool:
    """0.02 m/s and 0.1 rad/s off at most, on average over the last 2 s."""
    late = _find_last(trial, 2.0)
    time = trial.time[late]
    x, y = (trial.signals[f"base.position.{axis}"][late] for axis in "xy")
    yaw = np.unwrap(_find_yaw(trial)[late])
    heading = (yaw[1:] + yaw[:-1]) / 2
    gone = np.sum(np.diff(x) * np.cos(heading) + np.diff(y) * np.sin(heading))
    lasted = time[-1] - time[0]
    forward, turn = gone / lasted, (yaw[-1] - yaw[0]) / lasted
    off = abs(forward - told["goal.forward"]), abs(turn - told["goal.turn"])
    return bool(off[0] < 0.02 and off[1] < 0.1)


def reaches(trial: Recording, told: Numbers, truth: Numbers) -> bool:
    """The wrist within 0.02 m of its goal for the last 0.2 s."""
    chain = _find_chain()
    goal = np.array([told[f"goal.{axis}"] for axis in "xyz"])
    joints = [str(line.joint) for line in chain.lines]
    poses = np.stack([_find_angle(trial, joint, truth) for joint in joints], axis=1)
    late = poses[_find_last(trial, 0.2)]
    return all(np.linalg.norm(chain.locate(pose) - goal) < 0.02 for pose in late)


@cache
def _find_chain() -> Chain:
    return Chain(bind(load_twin("arm")), "wrist")


def _find_last(trial: Recording, seconds: float) -> NDArray[np.bool_]:
    return trial.time >= trial.time[-1] - seconds


def _find_angle(trial: Recording, joint: str, truth: Numbers) -> Floats:
    """[rad] (rows,) without what its encoder adds."""
    offset = truth.get(f"{joint}.position.sensor_bias", 0.0)
    return trial.signals[f"{joint}.position"] - offset


def _find_yaw(trial: Recording) -> Floats:
    w, x, y, z = (trial.signals[f"base.orientation.{axis}"] for axis in "wxyz")
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
