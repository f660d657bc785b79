"""Motions of people and animals as motions of robots.

Here live figures (a person or a dog as named points), body maps (which parts of a robot
stand for them; written for some, drafted for others), targets in the robot's size,
inverse kinematics on `mink` with joint ranges, motor speeds, floor and the robot's own
parts as limits, and the metrics of a result.

Here do not live motions as such and the layouts they are read from (`recordings`), how
they are drawn (`reports`), and policies that track them (`tasks`, `learning`). May
import: everything from `twins` up, and mujoco; mink only where poses are solved.
"""

from realworthy.retargeting.body_map import BodyMap, load_map
from realworthy.retargeting.draft import draft_map
from realworthy.retargeting.metrics import RetargetMetrics
from realworthy.retargeting.retarget import Retargeting, RetargetSettings, retarget

__all__ = [
    "BodyMap",
    "RetargetMetrics",
    "RetargetSettings",
    "Retargeting",
    "draft_map",
    "load_map",
    "retarget",
]
