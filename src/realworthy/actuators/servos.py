"""Hobby servos as Better Actuator Models publishes them (github.com/Rhoban/bam).

A parameter file of that project is JSON with the names in `NAMES`, the friction model
and the servo it belongs to. What the firmware does with an error is not in the file; it
is in `SERVOS`, as that project measured it.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from realworthy.actuators.actuator import Actuator
from realworthy.actuators.controllers import ControllerDuty
from realworthy.actuators.friction import Friction
from realworthy.actuators.motors import MotorDc
from realworthy.artefacts import read_bytes, reading
from realworthy.errors import BadFile, UnknownName

NAMES: dict[str, str] = {
    "kt": "torque_constant",
    "R": "resistance",
    "armature": "armature",
    "friction_base": "coulomb_friction",
    "friction_viscous": "damping",
    "friction_stribeck": "stribeck_friction",
    "dtheta_stribeck": "stribeck_velocity",
    "alpha": "stribeck_exponent",
    "load_friction_base": "load_friction",
    "load_friction_motor": "load_friction_motor",
    "load_friction_external": "load_friction_external",
    "load_friction_stribeck": "stribeck_load_friction",
    "load_friction_motor_stribeck": "stribeck_load_friction_motor",
    "load_friction_external_stribeck": "stribeck_load_friction_external",
    "load_friction_motor_quad": "quadratic_load_friction_motor",
    "load_friction_external_quad": "quadratic_load_friction_external",
}
"""Name in a file of parameters → kind."""

_MOTOR = {"torque_constant", "resistance"}


@dataclass(frozen=True, slots=True)
class Servo:
    """Firmware of a servo: duty = kp × error_gain × error."""

    error_gain: float
    """Duty per radian and unit of the firmware's gain."""
    supply_voltage: float
    max_duty: float = 1.0
    slew_rate: float | None = None


SERVOS: dict[str, Servo] = {
    "mx64": Servo(0.158, 15.0, max_duty=0.9625),
    "mx106": Servo(0.158, 15.0, max_duty=0.9625),
    "xl320": Servo(0.05048199, 7.5),
    # 4096 counts a turn, gain divided by 256, 885 = full duty
    "xl330": Servo(4096 / (2 * math.pi) / (256 * 885), 7.5),
    "sts3215": Servo(0.166, 7.4, max_duty=0.97, slew_rate=3400 * 2 * math.pi / 4096),
}


def load_servo(
    path: Path | str, *, joint: str, kp: float, supply_voltage: float | None = None
) -> Actuator:
    """The actuator of a published parameter file, at firmware gain `kp`.

    Values are those of the file, also where they lie outside the default boxes. The
    file's `q_offset` is an error of its bench, not of the servo, and is left out.
    """
    path = Path(path)
    with reading(path, "JSON with keys"):
        tree = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    name = str(tree.get("actuator"))
    if name not in SERVOS:
        raise UnknownName(
            "servo",
            name,
            SERVOS,
            owner="Realworthy",
            hint="See actuators/servos.py.",
        )
    servo = SERVOS[name]
    numbers = {NAMES[key]: value for key, value in tree.items() if key in NAMES}
    armature = numbers.pop("armature", None)
    motor = {kind: numbers.pop(kind) for kind in _MOTOR & numbers.keys()}
    try:
        return Actuator(
            joint=joint,
            controller=ControllerDuty(
                duty_gain=kp * servo.error_gain, max_duty=servo.max_duty
            ),
            motor=msgspec.convert(
                {
                    "supply_voltage": supply_voltage or servo.supply_voltage,
                    "kind": "dc",
                    **motor,
                },
                MotorDc,
            ),
            friction=msgspec.convert({"kind": tree.get("model"), **numbers}, Friction),
            slew_rate=servo.slew_rate,
            armature=msgspec.convert(armature, float | None),
        )
    except msgspec.ValidationError as error:
        raise BadFile(path, f"{error}.") from None
