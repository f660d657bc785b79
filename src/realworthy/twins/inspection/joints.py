"""Checks of joints: names, ranges, friction."""

import mujoco
import numpy as np

from realworthy.twins.inspection.actuation import actuator_kind, actuators_of
from realworthy.twins.inspection.findings import ModelFinding, group
from realworthy.twins.inspection.names import is_named, joint_name
from realworthy.twins.inspection.pose import Posed

_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
_POSSIBLE_DEGREE_SPAN = 4.01 * np.pi
"""[rad] span of a limited hinge, just over two turns, beyond which its limits may be
degrees that were read as radians."""
_PROBABLE_DEGREE_SPAN = 8 * np.pi
"""[rad] four turns: 25 read as radians is an ordinary range of 25 degrees."""
_MIN_RADIAN_SPAN = 0.12
"""[rad] span of a driven hinge below which radians were probably read as degrees: a
whole turn, 2π, becomes 0.11 where a compiler takes it for degrees."""
_STIFF_IMPEDANCE = 0.99  # friction with less of it creeps


def inspect_joints(posed: Posed) -> list[ModelFinding]:
    """Findings about every joint of a posed model."""
    model = posed.model
    return [
        *_inspect_names(model),
        *_inspect_ranges(model),
        *_inspect_units(model),
        *_inspect_home_in_range(posed),
        *_inspect_friction(model),
    ]


def _scalar_joints(model: mujoco.MjModel) -> list[int]:
    return [j for j in range(model.njnt) if int(model.jnt_type[j]) in {_HINGE, _SLIDE}]


def _inspect_names(model: mujoco.MjModel) -> list[ModelFinding]:
    details = {
        joint_name(model, joint): ""
        for joint in _scalar_joints(model)
        if not is_named(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    }
    return group(
        "unnamed_joint",
        "warning",
        details,
        "no name, so no recording can have its signals",
        hint='Add name="…" to the joint.',
    )


def _inspect_ranges(model: mujoco.MjModel) -> list[ModelFinding]:
    wrong: dict[str, str] = {}
    ignored: dict[str, str] = {}
    endless: dict[str, str] = {}
    for joint in _scalar_joints(model):
        low, high = (float(bound) for bound in model.jnt_range[joint])
        name, shown = joint_name(model, joint), f"{low:.4g} to {high:.4g}"
        stated = low != 0 or high != 0
        if low >= high and (stated or model.jnt_limited[joint]):
            wrong[name] = shown
        elif stated and not model.jnt_limited[joint]:
            ignored[name] = shown
        elif not model.jnt_limited[joint] and _has_position_servo(model, joint):
            endless[name] = ""
    return [
        *group(
            "range_reversed",
            "error",
            wrong,
            "range is empty or reversed",
            hint="The lower bound comes first.",
        ),
        *group(
            "range_ignored",
            "warning",
            ignored,
            "range is stated but not enforced",
            hint='Set limited="true", or compiler autolimits="true".',
        ),
        *group(
            "range_missing",
            "note",
            endless,
            "position servo on a joint without a range",
            hint="Right for a joint that turns without end; else state its end stops.",
        ),
    ]


def _has_position_servo(model: mujoco.MjModel, joint: int) -> bool:
    return any(
        actuator_kind(model, i) == "position" for i in actuators_of(model, joint)
    )


def _inspect_units(model: mujoco.MjModel) -> list[ModelFinding]:
    wide: dict[str, str] = {}
    widest: dict[str, str] = {}
    narrow: dict[str, str] = {}
    for joint in range(model.njnt):
        if model.jnt_type[joint] != _HINGE or not model.jnt_limited[joint]:
            continue
        low, high = model.jnt_range[joint]
        if high - low > _POSSIBLE_DEGREE_SPAN:
            found = widest if high - low > _PROBABLE_DEGREE_SPAN else wide
            found[joint_name(model, joint)] = f"{high - low:.4g} rad"
        elif 0 < high - low < _MIN_RADIAN_SPAN and actuators_of(model, joint):
            narrow[joint_name(model, joint)] = f"{high - low:.4g} rad"
    return [
        *group(
            "range_units",
            "warning",
            widest,
            "range spans more than four turns, as degrees read as radians would",
            hint='Check compiler angle="degree" or "radian".',
        ),
        *group(
            "range_units",
            "note",
            wide,
            "range spans more than two turns",
            hint='Right for some robots; else check compiler angle="radian".',
        ),
        *group(
            "range_units",
            "warning",
            narrow,
            "driven joint that hardly moves, as radians read as degrees would",
            hint='MJCF is in degrees unless compiler angle="radian" is set.',
        ),
    ]


def _inspect_home_in_range(posed: Posed) -> list[ModelFinding]:
    model = posed.model
    details: dict[str, str] = {}
    for joint in _scalar_joints(model):
        low, high = model.jnt_range[joint]
        position = float(posed.data.qpos[model.jnt_qposadr[joint]])
        beyond = max(low - position, position - high)
        if model.jnt_limited[joint] and low < high and beyond > 1e-3:
            details[joint_name(model, joint)] = (
                f"{position:.4g} ({low:.4g} to {high:.4g})"
            )
    return group(
        "home_outside_range",
        "note" if posed.pose == "qpos0" else "warning",
        details,
        f"pose '{posed.pose}' lies outside the joint's range",
        hint="A simulation that starts there is kicked by the joint limits.",
    )


def _inspect_friction(model: mujoco.MjModel) -> list[ModelFinding]:
    details: dict[str, str] = {}
    for joint in range(model.njnt):
        dof = model.jnt_dofadr[joint]
        loss = float(model.dof_frictionloss[dof])
        if loss > 0 and model.dof_solimp[dof, 0] < _STIFF_IMPEDANCE:
            details[joint_name(model, joint)] = f"{loss:.3g}"
    return group(
        "soft_friction",
        "note",
        details,
        "dry friction is soft: a joint at rest creeps under a load that friction "
        "should hold (frictionloss in N·m)",
        hint='Set solimpfriction="0.9999 0.9999 0.001" and a short solreffriction. A '
        "URDF has neither: save it as MJCF (mujoco.MjSpec.from_file, compile, to_xml) "
        "and set them there.",
    )
