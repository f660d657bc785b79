"""Rows that say what a compiled model holds, in SI units, by name."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.twins.inspection.actuation import (
    actuator_kind,
    driven_joint,
    force_range,
    gains,
    joint_force_limit,
    reflected_armature,
)
from realworthy.twins.inspection.names import (
    actuator_name,
    body_name,
    joint_name,
    name_of,
)

Vector = tuple[float, float, float]
Range = tuple[float, float]

_JOINT_TYPES = {
    mujoco.mjtJoint.mjJNT_FREE: "free",
    mujoco.mjtJoint.mjJNT_BALL: "ball",
    mujoco.mjtJoint.mjJNT_SLIDE: "slide",
    mujoco.mjtJoint.mjJNT_HINGE: "hinge",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyRow:
    """Mass properties of one body, in its own frame."""

    name: str
    mass: float
    centre_of_mass: Vector
    principal_inertia: Vector
    """About the centre of mass, largest first as MuJoCo sorts it [kg·m²]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRow:
    """One joint; numbers of its first degree of freedom where it has several."""

    name: str
    type: str
    """`hinge`, `slide`, `ball` or `free`."""
    limited: bool
    range: Range | None
    damping: float
    frictionloss: float
    armature: float
    """What actuators add (their armature times gear²) included."""
    force_limit: float | None
    """Most that its actuators can give [N·m or N]; None: no limit, or undriven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActuatorRow:
    """One actuator; `ctrlrange` is that of its first input."""

    name: str
    joint: str
    """The joint it drives; empty if it drives a tendon, a site or a body."""
    kind: str
    """`motor`, `position`, `velocity`, `dcmotor`, `pid`, `muscle`, … or `general`."""
    gear: float
    ctrlrange: Range | None
    forcerange: Range | None
    kp: float | None
    kd: float | None
    delay: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorRow:
    """One sensor, the thing it is attached to, and how many numbers it gives."""

    name: str
    type: str
    object: str
    dimension: int
    delay: float


def read_bodies(model: mujoco.MjModel) -> tuple[BodyRow, ...]:
    """Every body but the world."""
    return tuple(
        BodyRow(
            name=body_name(model, body),
            mass=float(model.body_mass[body]),
            centre_of_mass=vector(model.body_ipos[body]),
            principal_inertia=vector(model.body_inertia[body]),
        )
        for body in range(1, model.nbody)
    )


def read_joints(model: mujoco.MjModel) -> tuple[JointRow, ...]:
    """Every joint, in the order of the model."""
    rows: list[JointRow] = []
    for joint in range(model.njnt):
        dof = model.jnt_dofadr[joint]
        limited = bool(model.jnt_limited[joint])
        rows.append(
            JointRow(
                name=joint_name(model, joint),
                type=_JOINT_TYPES[mujoco.mjtJoint(model.jnt_type[joint])],
                limited=limited,
                range=pair(model.jnt_range[joint]) if limited else None,
                damping=float(model.dof_damping[dof]),
                frictionloss=float(model.dof_frictionloss[dof]),
                armature=reflected_armature(model, joint),
                force_limit=joint_force_limit(model, joint),
            )
        )
    return tuple(rows)


def read_actuators(model: mujoco.MjModel) -> tuple[ActuatorRow, ...]:
    """Every actuator, in the order of the model."""
    rows: list[ActuatorRow] = []
    for actuator in range(model.nactuator):
        first_input = model.actuator_ctrladr[actuator]
        has_range = model.actuator_ctrlnum[actuator] > 0 and bool(
            model.actuator_ctrllimited[first_input]
        )
        kp, kd = gains(model, actuator)
        joint = driven_joint(model, actuator)
        rows.append(
            ActuatorRow(
                name=actuator_name(model, actuator),
                joint="" if joint is None else joint_name(model, joint),
                kind=actuator_kind(model, actuator),
                gear=float(model.actuator_gear[actuator, 0]),
                ctrlrange=pair(model.actuator_ctrlrange[first_input])
                if has_range
                else None,
                forcerange=force_range(model, actuator),
                kp=kp,
                kd=kd,
                delay=float(model.actuator_delay[actuator]),
            )
        )
    return tuple(rows)


def read_sensors(model: mujoco.MjModel) -> tuple[SensorRow, ...]:
    """Every sensor, in the order of the model."""
    rows: list[SensorRow] = []
    for sensor in range(model.nsensor):
        kind = mujoco.mjtObj(model.sensor_objtype[sensor])
        known = kind != mujoco.mjtObj.mjOBJ_UNKNOWN
        number = int(model.sensor_objid[sensor])
        type_name = mujoco.mjtSensor(model.sensor_type[sensor]).name
        rows.append(
            SensorRow(
                name=name_of(model, mujoco.mjtObj.mjOBJ_SENSOR, sensor),
                type=type_name.removeprefix("mjSENS_").lower(),
                object=name_of(model, kind, number) if known and number >= 0 else "",
                dimension=int(model.sensor_dim[sensor]),
                delay=float(model.sensor_delay[sensor]),
            )
        )
    return tuple(rows)


def vector(values: NDArray[np.float64]) -> Vector:
    """Three floats, for a row."""
    x, y, z = values
    return float(x), float(y), float(z)


def pair(values: NDArray[np.float64]) -> Range:
    """Two floats, for a row."""
    low, high = values
    return float(low), float(high)
