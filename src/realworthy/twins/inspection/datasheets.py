"""What a vendor states of a drive, and where a model disagrees."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import msgspec
import mujoco
import numpy as np

from realworthy.artefacts.numbers import Finite, NotNegative
from realworthy.twins.inspection.actuation import (
    actuator_kind,
    actuators_of,
    is_voltage_driven,
    joint_force_limit,
    reflected_armature,
)
from realworthy.twins.inspection.findings import ModelFinding, Severity, group
from realworthy.twins.inspection.names import joint_name

_TOLERANCE = 0.05


class Datasheet(
    msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """Numbers of one joint's drive at its output shaft; the unstated stay out."""

    gear: Finite | None = None
    """Turns of the rotor per turn of the joint."""
    rotor_inertia: NotNegative | None = None
    """Before the gear [kg·m²]."""
    torque_limit: NotNegative | None = None
    """Peak or stall torque [N·m], or force [N]."""
    speed_limit: NotNegative | None = None
    """No-load speed [rad/s or m/s]."""
    armature: NotNegative | None = None
    """Reflected inertia of the drive, gear² · rotor_inertia [kg·m²]."""
    mass: NotNegative | None = None
    """Mass of the link that the joint moves [kg]."""
    source: str | None = None


@dataclass(frozen=True, slots=True)
class _Mismatch:
    """One number of a model beside the same number of its datasheet."""

    joint: str
    quantity: str
    modelled: float
    stated: float
    remark: str = ""

    @property
    def ratio(self) -> float:
        return self.modelled / self.stated

    @property
    def detail(self) -> str:
        return f"{self.modelled:.4g} against {self.stated:.4g} stated{self.remark}"


def inspect_datasheet(
    model: mujoco.MjModel, datasheet: Mapping[str, Datasheet]
) -> list[ModelFinding]:
    """Findings where the model's number and the stated one are over 5 % apart.

    A model that is stronger, quicker or otherwise larger than stated is a warning. One
    that is weaker may be a software limit, which is a note.
    """
    joints = {joint_name(model, j): j for j in range(model.njnt)}
    unknown: dict[str, str] = {}
    mismatches: list[_Mismatch] = []
    for name, sheet in datasheet.items():
        if name not in joints:
            nearest = get_close_matches(name, joints, n=1)
            unknown[name] = f"nearest is {nearest[0]}" if nearest else "none is like it"
            continue
        compared = _compare(model, joints[name], sheet)
        mismatches += [m for m in compared if abs(m.ratio - 1) > _TOLERANCE]
    findings = group(
        "datasheet_unknown_joint",
        "error",
        unknown,
        "datasheet of a joint that the model does not have",
        hint="Name it as the model does.",
    )
    return findings + _report(mismatches)


def _compare(
    model: mujoco.MjModel, joint: int, sheet: Datasheet
) -> Iterator[_Mismatch]:
    name = joint_name(model, joint)
    if sheet.gear:
        for i in actuators_of(model, joint):
            gear = abs(float(model.actuator_gear[i, 0]))
            if gear != 1:  # gear 1: commands are meant at the output shaft
                yield _Mismatch(name, "gear", gear, sheet.gear)
    yield from _compare_armature(model, joint, sheet)
    limit = joint_force_limit(model, joint)
    if sheet.torque_limit and limit is not None:
        yield _Mismatch(name, "torque_limit", limit, sheet.torque_limit)
    speed = _compute_speed_limit(model, joint)
    if sheet.speed_limit and speed is not None:
        yield _Mismatch(name, "speed_limit", speed, sheet.speed_limit)
    if sheet.mass:
        mass = float(model.body_mass[model.jnt_bodyid[joint]])
        yield _Mismatch(name, "mass", mass, sheet.mass)


def _compare_armature(
    model: mujoco.MjModel, joint: int, sheet: Datasheet
) -> Iterator[_Mismatch]:
    stated = sheet.armature
    if stated is None and sheet.gear and sheet.rotor_inertia:
        stated = sheet.gear**2 * sheet.rotor_inertia
    if not stated:
        return
    modelled = reflected_armature(model, joint)
    rotor = sheet.rotor_inertia
    forgotten = rotor is not None and np.isclose(modelled, rotor, rtol=_TOLERANCE)
    remark = ", the gear's square is forgotten" if forgotten else ""
    yield _Mismatch(joint_name(model, joint), "armature", modelled, stated, remark)


def _compute_speed_limit(model: mujoco.MjModel, joint: int) -> float | None:
    """Largest speed that a velocity servo is asked for, or a DC motor has unloaded."""
    drives = actuators_of(model, joint)
    if len(drives) != 1:
        return None
    actuator, first = drives[0], model.actuator_ctrladr[drives[0]]
    if not model.actuator_ctrllimited[first]:
        return None
    control = float(np.abs(model.actuator_ctrlrange[first]).max())
    gear = abs(float(model.actuator_gear[actuator, 0]))
    if actuator_kind(model, actuator) == "velocity":
        return control / gear
    if not is_voltage_driven(model, actuator):
        return None
    resistance, constant = (float(p) for p in model.actuator_gainprm[actuator, :2])
    dof = model.jnt_dofadr[joint]
    force = gear * control * constant / resistance - float(model.dof_frictionloss[dof])
    braking = gear**2 * constant**2 / resistance + float(model.dof_damping[dof])
    return max(force, 0.0) / braking


def _report(mismatches: list[_Mismatch]) -> list[ModelFinding]:
    """One finding for every quantity and direction."""
    details: dict[tuple[str, Severity], dict[str, str]] = {}
    for mismatch in mismatches:
        weaker = mismatch.ratio < 1 and mismatch.quantity.endswith("_limit")
        severity: Severity = "note" if weaker else "warning"
        of_kind = details.setdefault((mismatch.quantity, severity), {})
        of_kind[mismatch.joint] = mismatch.detail
    return [
        finding
        for (quantity, severity), of_kind in details.items()
        for finding in group(
            f"datasheet_{quantity}",
            severity,
            of_kind,
            f"{quantity.replace('_', ' ')} differs from the datasheet",
            hint="Correct the model, or the datasheet in the twin file.",
        )
    ]
