"""Which unit a joint's position and torque have."""

from collections.abc import Iterable

import mujoco

from realworthy.gap import Gap, RecordingGap

_JOINT, _SLIDE = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtJoint.mjJNT_SLIDE
_OF_TORQUE = {"rad": "N·m", "m": "N"}


def find_units(gap: Gap | RecordingGap) -> dict[str, str]:
    """Joint → `rad`, or `m` for a slide."""
    units: dict[str, str] = {}
    for one in gap.recordings if isinstance(gap, Gap) else (gap,):
        bound = one.track.bound
        for joint in one.track.joints:
            kind = bound.model.jnt_type[bound.compiled.id(_JOINT, joint)]
            units[joint] = "m" if kind == _SLIDE else "rad"
    return units


def join_units(units: Iterable[str]) -> str:
    """The unit of a figure over several joints: `rad`, `m`, or `rad or m`."""
    found = set(units)
    return " or ".join(unit for unit in _OF_TORQUE if unit in found)


def to_torque_unit(unit: str) -> str:
    """Of a joint whose position has this unit."""
    return _OF_TORQUE[unit]
