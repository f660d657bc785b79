"""Limits of a twin, where it states them, and careful ones where it does not."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from realworthy.errors import RealworthyError, UnknownName
from realworthy.robots.limits import Limits
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

_HALF_TURN = np.pi
"""[rad or m] that joints without ends may move from home."""
_ONE_TURN = 2 * np.pi
"""[rad/s] beyond which nothing is moved unless told, whatever a datasheet allows."""
_UNSTATED_SPEED = 3.0
"""[rad/s] where no datasheet states a speed."""


@dataclass(kw_only=True, slots=True)
class LimitSettings:
    """How close to a twin's limits a motion may come."""

    position_margin: float = 0.05
    """Share of a joint's range that is kept free at each end."""
    speed: float | None = None
    """[rad/s] for all joints; None: from the datasheet, at most one turn a second."""
    speed_share: float = 0.8
    """Of the datasheet's speed."""
    acceleration: float | None = None
    """[rad/s²] for all joints; None: ten times the speed, per second."""
    torque_share: float = 0.8
    """Of the twin's torque limit."""
    clearance: float = 0.01
    """[m] that parts keep between each other, and from the floor."""

    def __post_init__(self) -> None:
        for name in ("speed", "acceleration"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise RealworthyError(
                    f"The {name} limit is {value:g}; give one above 0."
                )
        for name in ("speed_share", "torque_share"):
            if not 0 < getattr(self, name) <= 1:
                raise RealworthyError(
                    f"{name} is {getattr(self, name):g}; it lies above 0, up to 1."
                )
        if not 0 <= self.position_margin < 0.5:
            raise RealworthyError(
                f"position_margin is {self.position_margin:g}; it lies in [0, 0.5)."
            )
        if not 0 <= self.clearance < 1:
            raise RealworthyError(
                f"clearance is {self.clearance:g} m; it lies in [0, 1)."
            )


def find_limits(twin: Twin, joints: Sequence[str] | None = None) -> Limits:
    """What the hardware stands, by model and datasheet, of driven joints.

    Where nothing is stated: half a turn from home, 3 rad/s, any torque.
    """
    layout = Layout(bind(twin))
    joints = check_joints(twin, layout, joints)
    ranges, home = layout.joint_ranges(), find_home(layout, joints)
    lower, upper = (
        np.array([ranges[joint][end] for joint in joints]) for end in (0, 1)
    )
    lower = np.where(np.isfinite(lower), lower, home - _HALF_TURN)
    upper = np.where(np.isfinite(upper), upper, home + _HALF_TURN)
    speed = np.array([_find_speed(twin, layout, joint) for joint in joints])
    torque = [layout.torque_limits[layout.actuator(joint)] for joint in joints]
    return Limits(
        joints=joints,
        lower=np.minimum(lower, home),
        upper=np.maximum(upper, home),
        speed=speed,
        acceleration=np.full(len(joints), np.inf),
        torque=np.array(torque, dtype=np.float64),
    )


def tighten(hard: Limits, home: np.ndarray, settings: LimitSettings) -> Limits:
    """The limits of a design: within the hard ones by what the settings say."""
    room = settings.position_margin * (hard.upper - hard.lower)
    cap = _ONE_TURN if settings.speed is None else settings.speed
    speed = np.minimum(settings.speed_share * hard.speed, cap)
    acceleration = (
        10.0 * speed
        if settings.acceleration is None
        else np.full(len(home), settings.acceleration)
    )
    return Limits(
        joints=hard.joints,
        lower=np.minimum(hard.lower + room, home),
        upper=np.maximum(hard.upper - room, home),
        speed=speed,
        acceleration=acceleration,
        torque=settings.torque_share * hard.torque,
    )


def find_home(layout: Layout, joints: Sequence[str]) -> np.ndarray:
    """(joints,) the pose in which the twin begins."""
    qpos = layout.bound.compiled.own["own.initial_qpos"]
    return np.array([qpos[layout.joint(joint)[0]] for joint in joints])


def stand(twin: Twin) -> Twin:
    """The twin as it can be excited: a robot on legs hangs, one on wheels stands.

    A floating base that only wheels drive (velocity commands, no ends) stays on the
    floor; nobody can promise that any other keeps its balance.
    """
    if twin.base is None:
        return twin
    layout = Layout(bind(twin))
    lines = describe_commands(layout.bound)
    ranges = layout.joint_ranges()
    rolls = all(
        line.kind == "velocity"
        and line.joint is not None
        and not np.isfinite(ranges[line.joint]).any()
        for line in lines
    )
    return twin if rolls else twin.hung()


def check_joints(
    twin: Twin, layout: Layout, asked: Sequence[str] | None
) -> tuple[str, ...]:
    """The driven joints, or those asked for."""
    for joint in asked or ():
        if joint not in layout.driven_joints:
            raise UnknownName(
                "driven joint", joint, layout.driven_joints, owner=twin.owner
            )
    joints = layout.driven_joints if asked is None else tuple(dict.fromkeys(asked))
    if not joints:
        raise RealworthyError(
            f"{twin.owner} has no joint that an actuator drives, so nothing can be "
            "excited.",
            hint="Give it actuators, in the model or in its *.twin.yaml.",
        )
    return joints


def _find_speed(twin: Twin, layout: Layout, joint: str) -> float:
    stated = twin.datasheet.get(joint)
    speeds = [
        line.upper
        for line in describe_commands(layout.bound)
        if line.joint == joint and line.kind == "velocity" and np.isfinite(line.upper)
    ]
    if stated is not None and stated.speed_limit is not None:
        speeds.append(stated.speed_limit)
    return min(speeds, default=_UNSTATED_SPEED)
