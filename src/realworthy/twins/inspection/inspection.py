"""The whole report on a model: what it holds and what looks wrong in it."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco

from realworthy.twins.inspection.actuators import inspect_actuators
from realworthy.twins.inspection.bodies import inspect_bodies
from realworthy.twins.inspection.contacts import inspect_contacts
from realworthy.twins.inspection.contradictions import inspect_others
from realworthy.twins.inspection.datasheets import Datasheet, inspect_datasheet
from realworthy.twins.inspection.findings import ModelFinding, Severity
from realworthy.twins.inspection.joints import inspect_joints
from realworthy.twins.inspection.pose import pose_home
from realworthy.twins.inspection.tables import (
    ActuatorRow,
    BodyRow,
    JointRow,
    SensorRow,
    Vector,
    read_actuators,
    read_bodies,
    read_joints,
    read_sensors,
    vector,
)

_ORDER: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What a model holds, in SI units, and `findings`, the gravest first."""

    total_mass: float
    centre_of_gravity: Vector
    """In the world, in the pose below [m]."""
    pose: str
    """`home` or another keyframe's name, or `qpos0` for a model without keyframes."""
    bodies: tuple[BodyRow, ...]
    joints: tuple[JointRow, ...]
    actuators: tuple[ActuatorRow, ...]
    sensors: tuple[SensorRow, ...]
    findings: tuple[ModelFinding, ...]


def inspect(
    model: mujoco.MjModel,
    datasheet: Mapping[str, Datasheet] | None = None,
    others: Mapping[str, mujoco.MjModel] | None = None,
) -> Inspection:
    """Weighs and checks a model; never raises for what it finds.

    `datasheet` maps joints to what their vendor states. `others` maps titles to other
    files of the same robot, such as its URDF, whose joints, bodies and actuators of the
    same names are compared with this model's.
    """
    posed = pose_home(model)
    findings = [
        *inspect_bodies(model),
        *inspect_joints(posed),
        *inspect_actuators(posed),
        *inspect_contacts(posed),
        *inspect_datasheet(model, datasheet or {}),
        *inspect_others(model, others or {}),
    ]
    return Inspection(
        total_mass=float(model.body_mass.sum()),
        centre_of_gravity=vector(posed.data.subtree_com[0]),
        pose=posed.pose,
        bodies=read_bodies(model),
        joints=read_joints(model),
        actuators=read_actuators(model),
        sensors=read_sensors(model),
        findings=tuple(sorted(findings, key=lambda f: _ORDER.index(f.severity))),
    )
