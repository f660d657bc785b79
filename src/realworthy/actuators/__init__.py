"""Actuators: what stands between a command and the torque at a joint.

Here live descriptions (`Actuator`, which twin files hold as YAML) and explicit laws
that run on numpy arrays and torch tensors alike, many worlds at a time: delays,
firmware controllers, motors, friction M1 to M6, learned drives, and a bench to try one
joint on.
Not here: MuJoCo's forms of the same actuators (`twins`), numbers believed about them
(`parameters`), fitting them (`identification`), training networks (`identification`).
This room imports `parameters`, `artefacts` and `errors` only; no mujoco, no torch.
"""

from realworthy.actuators.actuator import Actuator
from realworthy.actuators.arrays import Array, State
from realworthy.actuators.bench import BenchLoad, BenchTrace, simulate_bench
from realworthy.actuators.controllers import (
    CommandKind,
    Controller,
    ControllerDuty,
    ControllerGoal,
    ControllerPosition,
    ControllerPositionVelocity,
    ControllerTorque,
    ControllerVelocity,
    ControllerVoltage,
)
from realworthy.actuators.delay import DelayBeyondLimit, DelayLine, Interpolation
from realworthy.actuators.friction import (
    Friction,
    FrictionM1,
    FrictionM2,
    FrictionM3,
    FrictionM4,
    FrictionM5,
    FrictionM6,
    apply_friction,
    compute_friction,
)
from realworthy.actuators.kinds import KINDS, BadActuator, compute_box
from realworthy.actuators.law import ActuatorLaw, ActuatorOutput, build_law
from realworthy.actuators.motors import (
    Motor,
    MotorDc,
    MotorIdeal,
    MotorTorqueSpeed,
    Thermal,
)
from realworthy.actuators.network import MotorNetwork, anydrive_v3, unitree_go1
from realworthy.actuators.servos import SERVOS, load_servo

__all__ = [
    "KINDS",
    "SERVOS",
    "Actuator",
    "ActuatorLaw",
    "ActuatorOutput",
    "Array",
    "BadActuator",
    "BenchLoad",
    "BenchTrace",
    "CommandKind",
    "Controller",
    "ControllerDuty",
    "ControllerGoal",
    "ControllerPosition",
    "ControllerPositionVelocity",
    "ControllerTorque",
    "ControllerVelocity",
    "ControllerVoltage",
    "DelayBeyondLimit",
    "DelayLine",
    "Friction",
    "FrictionM1",
    "FrictionM2",
    "FrictionM3",
    "FrictionM4",
    "FrictionM5",
    "FrictionM6",
    "Interpolation",
    "Motor",
    "MotorDc",
    "MotorIdeal",
    "MotorNetwork",
    "MotorTorqueSpeed",
    "State",
    "Thermal",
    "anydrive_v3",
    "apply_friction",
    "build_law",
    "compute_box",
    "compute_friction",
    "load_servo",
    "simulate_bench",
    "unitree_go1",
]
