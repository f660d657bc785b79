"""People and dogs that are formulas: their steps are known."""

import numpy as np
import pytest

from realworthy.recordings.motion import Motion
from realworthy.recordings.poses import Poses

NO_SOLVER = "mink is not installed: pip install 'realworthy[retarget]'"
STEP, STRIDE = 1.2, 0.9
"""[s] of two steps, and [m] that they go."""


def place_foot(phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strides gone by and height [m] of a foot; it stands for 60 % of a stride."""
    whole, part = np.floor(phase), phase % 1.0
    swing = np.clip((part - 0.6) / 0.4, 0, 1)
    return whole + (swing - np.sin(2 * np.pi * swing) / (2 * np.pi)), 0.12 * np.sin(
        np.pi * swing
    ) ** 2


def bend(hip: np.ndarray, ankle: np.ndarray, upper: float, lower: float) -> np.ndarray:
    """(rows, 3) of a knee that points to +y, where the person goes."""
    way = ankle - hip
    length = np.minimum(np.linalg.norm(way, axis=1), 0.999 * (upper + lower))
    along = (upper**2 - lower**2 + length**2) / (2 * length)
    out = np.sqrt(np.maximum(upper**2 - along**2, 0))
    unit = way / np.linalg.norm(way, axis=1, keepdims=True)
    ahead = np.cross(unit, [-1.0, 0, 0])
    return (
        hip
        + along[:, None] * unit
        + out[:, None] * ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
    )


def make_person(
    *, legs: float = 1.0, arms: float = 1.0, seconds: float = 3.0, rate: float = 100.0
) -> Motion:
    """Walks along +y on flat feet, arms bent; joints as BVH calls them."""
    t = np.arange(round(seconds * rate)) / rate
    zero = 0 * t
    upper, lower = 0.42 * legs, 0.41 * legs
    speed = STRIDE * legs / STEP
    hips = np.stack([zero, speed * t, zero + 0.08 + 0.93 * (upper + lower)], axis=1)
    found = {"Hips": hips}
    for side, sign, start in (("Left", -1, 0.0), ("Right", 1, 0.5)):
        hip = hips + np.array([0.09 * sign, 0, 0])
        strides, height = place_foot(t / STEP + start)
        y = STRIDE * legs * (strides - start + 0.3)
        ankle = np.stack([hip[:, 0], y, 0.08 + legs * height], axis=1)
        found[f"{side}UpLeg"], found[f"{side}Foot"] = hip, ankle
        found[f"{side}Leg"] = bend(hip, ankle, upper, lower)
        found[f"{side}ToeBase"] = ankle + np.array([0, 0.14, -0.05])
        shoulder = hips + np.array([0.19 * sign, 0, 0.5])
        swing = 0.3 * np.sin(2 * np.pi * (t / STEP + start))
        down = np.stack([zero, np.sin(swing), -np.cos(swing)], axis=1)
        ahead = np.stack([zero, np.cos(swing), np.sin(swing)], axis=1)
        elbow = shoulder + 0.28 * arms * down
        found[f"{side}Arm"], found[f"{side}ForeArm"] = shoulder, elbow
        found[f"{side}Hand"] = elbow + 0.25 * arms * (0.8 * ahead + 0.6 * down)
    found["Spine"] = hips + np.array([0, 0, 0.12])
    found["Neck"] = hips + np.array([0, 0, 0.52])
    return to_motion(t, found)


def make_dog(*, seconds: float = 2.0, rate: float = 60.0) -> Motion:
    """Trots along +x; points as the captures of a dog call them."""
    t = np.arange(round(seconds * rate)) / rate
    found: dict[str, np.ndarray] = {}
    for name, x, y, start in (
        ("front_left", 0.2, 0.08, 0.0),
        ("front_right", 0.2, -0.08, 0.5),
        ("rear_left", -0.2, 0.08, 0.5),
        ("rear_right", -0.2, -0.08, 0.0),
    ):
        strides, height = place_foot(t / 0.6 + start)
        hip = np.stack([x + 0.5 * t, 0 * t + y, 0 * t + 0.36], axis=1)
        toe_x = x + 0.3 * (strides - start + 0.3)
        found[f"{name}_hip"] = hip
        found[f"{name}_toe"] = np.stack([toe_x, 0 * t + y, 0.03 + height / 2], axis=1)
    return to_motion(t, found)


def to_motion(time: np.ndarray, points: dict[str, np.ndarray]) -> Motion:
    bodies = Poses(tuple(points), np.stack(list(points.values()), axis=1))
    return Motion(time, (), np.empty((len(time), 0)), bodies=bodies)


@pytest.fixture
def person() -> Motion:
    return make_person()


@pytest.fixture
def dog() -> Motion:
    return make_dog()
