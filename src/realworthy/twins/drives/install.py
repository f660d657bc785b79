"""Actuators of a twin file in MuJoCo: the native form where there is one, else a law.

| description | native form |
|---|---|
| torque, ideal motor | `motor` |
| position or velocity servo, ideal motor | affine gain and bias |
| position and velocity servo, ideal motor | `pid` without integral |
| voltage, dc motor without inductance, heat, saturation or current limit | `dcmotor` |
| friction M1 | `frictionloss` (stiff) and `damping` of the joint |
| delay | command history, linear or held |
| backlash | a second hinge |

Everything else, and every drive with a network, runs as the explicit law of
`realworthy.actuators`, once per substep.
"""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from realworthy.actuators import (
    Actuator,
    ActuatorLaw,
    BadActuator,
    ControllerPosition,
    ControllerPositionVelocity,
    ControllerTorque,
    ControllerVelocity,
    ControllerVoltage,
    FrictionM1,
    MotorDc,
    MotorIdeal,
    build_law,
)
from realworthy.errors import UnknownName
from realworthy.twins.drives.fallback import LawWithFallback
from realworthy.twins.structure import add_backlash
from realworthy.twins.twin import Twin
from realworthy.twins.writers.joints import STIFF_FRICTION

LONGEST_DELAY = 100_000
"""[time steps] for which commands are kept at most."""
_JOINT = mujoco.mjtTrn.mjTRN_JOINT
_SERVOS = ControllerPosition | ControllerVelocity | ControllerPositionVelocity
_POSITION_VELOCITY, _AND_TORQUE = 0b011, 0b100  # MuJoCo's inputs of a `pid` actuator


@dataclass(frozen=True, slots=True)
class ExplicitDrive:
    """An actuator whose torque a law computes at every substep."""

    name: str
    joint: str
    law: ActuatorLaw | LawWithFallback


def install_drives(spec: mujoco.MjSpec, twin: Twin) -> tuple[ExplicitDrive, ...]:
    """Replaces actuators of the model by the twin's; returns the explicit ones."""
    explicit = []
    for name, actuator in twin.actuators.items():
        joint = spec.joint(actuator.joint)
        if joint is None:
            names = [j.name for j in spec.joints]
            raise UnknownName(
                "joint", actuator.joint, names, owner=f"twin '{twin.name}'", hint=""
            )
        _check_delay(actuator, float(spec.option.timestep))
        for old in list(spec.actuators):
            if old.name == name or old.target == actuator.joint:
                spec.delete(old)
        network = twin.networks.get(name)
        is_native = has_native_form(actuator) and network is None
        _install_joint(spec, actuator, is_native=is_native)
        if is_native:
            _install_native(spec, name, actuator)
        else:
            timestep = float(spec.option.timestep)
            law = build_law(actuator, timestep=timestep, folder=twin.folder)
            ruled = law if network is None else network.guard(law)
            explicit.append(ExplicitDrive(name, actuator.joint, ruled))
            _add_actuator(spec, name, actuator.joint)
    return tuple(explicit)


def _check_delay(actuator: Actuator, timestep: float) -> None:
    """A history of commands must fit into memory, world by world."""
    limit = actuator.get_delay_limit()
    if limit > LONGEST_DELAY * timestep:
        raise BadActuator(
            f"actuator of '{actuator.joint}': a delay of {limit:g} s is more than "
            f"{LONGEST_DELAY} time steps.",
            hint="Delays are in seconds.",
        )


def has_native_form(actuator: Actuator) -> bool:
    """Whether MuJoCo can run this actuator by itself."""
    controller, motor = actuator.controller, actuator.motor
    plain = (
        actuator.slew_rate is None
        and actuator.soft_saturation is None
        and actuator.strength == 1.0
        and actuator.gear == 1.0
        and (actuator.friction is None or isinstance(actuator.friction, FrictionM1))
    )
    if isinstance(controller, _SERVOS):
        plain = plain and controller.velocity_filter is None
    if isinstance(controller, ControllerTorque | _SERVOS):
        return plain and isinstance(motor, MotorIdeal)
    return (
        plain
        and isinstance(controller, ControllerVoltage)
        and isinstance(motor, MotorDc)
        and motor.inductance is None
        and motor.thermal is None
        and motor.current_limit is None
        and not motor.current_table
        and motor.saturation_current is None
        and motor.back_emf_constant in (None, motor.torque_constant)
    )


def _install_joint(spec: mujoco.MjSpec, actuator: Actuator, *, is_native: bool) -> None:
    joint = spec.joint(actuator.joint)
    if actuator.armature is not None:
        joint.armature = actuator.armature
    if actuator.friction is not None:
        is_plain = is_native and isinstance(actuator.friction, FrictionM1)
        friction = actuator.friction if is_plain else FrictionM1()
        joint.frictionloss = friction.coulomb_friction  # a law writes its own budget
        joint.damping = np.array([friction.damping, 0.0, 0.0])
        joint.solimp_friction = STIFF_FRICTION
    if actuator.backlash:
        add_backlash(spec, actuator.joint, actuator.backlash)


def _install_native(spec: mujoco.MjSpec, name: str, actuator: Actuator) -> None:
    made = _add_actuator(spec, name, actuator.joint)
    controller = actuator.controller
    if isinstance(controller, ControllerPosition):
        made.set_to_position(kp=controller.kp, kv=controller.kd)
    elif isinstance(controller, ControllerVelocity):
        made.set_to_velocity(kv=controller.kd)
    elif isinstance(controller, ControllerPositionVelocity):
        inputs = _POSITION_VELOCITY | (_AND_TORQUE if controller.feed_forward else 0)
        made.set_to_pid(kp=controller.kp, kv=controller.kd, ctrlspec=inputs)
    elif isinstance(controller, ControllerVoltage) and isinstance(
        actuator.motor, MotorDc
    ):
        _set_dc_motor(made, controller, actuator.motor)
    if actuator.torque_limit is not None:
        made.forcerange = [-actuator.torque_limit, actuator.torque_limit]
        made.forcelimited = True
        if isinstance(controller, ControllerTorque):
            made.ctrlrange = made.forcerange.copy()
            made.ctrllimited = True
    limit = actuator.get_delay_limit()
    if limit > 0:
        made.nsample = math.ceil(limit / spec.option.timestep - 1e-9) + 1
        made.interp = 1 if actuator.interpolation == "linear" else 0
        made.delay = actuator.delay


def _set_dc_motor(
    made: mujoco.MjsActuator, controller: ControllerVoltage, motor: MotorDc
) -> None:
    constants = np.array([motor.torque_constant, motor.torque_constant])
    made.set_to_dcmotor(motorconst=constants, resistance=motor.resistance)
    volts = controller.max_duty * motor.supply_voltage
    made.ctrlrange = [-volts, volts]
    made.ctrllimited = True


def _add_actuator(spec: mujoco.MjSpec, name: str, joint: str) -> mujoco.MjsActuator:
    return spec.add_actuator(name=name, target=joint, trntype=_JOINT)
