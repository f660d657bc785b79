"""Drives that closed their own loops while recording, and what a twin lacks of them.

A twin may take the voltage of a motor while the recordings hold the goals that its
firmware followed. Where sidecars say the firmware's gain (`<drive>.duty_gain`), the
loop is closed in the twin: what is replayed are then goals, and errors do not run away.
Where they say a temperature, the winding's resistance follows it as copper's does.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from realworthy.actuators import Actuator, ControllerDuty, ControllerVoltage, MotorDc
from realworthy.actuators.motors import Thermal
from realworthy.identification.validation.friction_models import describe_drive
from realworthy.recordings import Recording
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands

_UNHEATED_CAPACITY = 1e6
"""[J/K] of a winding that no run warms: its temperature is what recordings say."""
_MOTOR = ("resistance", "torque_constant", "saturation_current")
_UNFITTED = ("stribeck_exponent",)


def close_servo_loops(twin: Twin, recordings: Sequence[Recording]) -> Twin:
    """The twin with the firmware that recordings say; the same twin where none do."""
    drives = {}
    for line in describe_commands(bind(twin)):
        name = line.signal.removesuffix(".command")
        gains = _gather(recordings, f"{name}.duty_gain")
        if line.kind != "voltage" or line.joint is None or not gains:
            continue
        _, actuator = describe_drive(twin, line.joint)
        drives[name] = _close(actuator, name, recordings)
    return twin.with_actuators(drives) if drives else twin


def find_duty_servos(twin: Twin) -> tuple[str, ...]:
    """Names of drives whose firmware sets a duty by the error of position."""
    return tuple(
        name
        for name, actuator in twin.actuators.items()
        if isinstance(actuator.controller, ControllerDuty)
    )


def list_servo_parameters(twin: Twin) -> tuple[str, ...]:
    """What to fit of servos: motors, friction, rotors, encoders."""
    names: list[str] = []
    for name in find_duty_servos(twin):
        actuator = twin.actuators[name]
        kinds = [*_MOTOR]
        if actuator.friction is not None:
            fields = actuator.friction.__struct_fields__
            kinds += [kind for kind in fields if kind not in _UNFITTED]
        names += [f"{name}.{kind}" for kind in kinds]
        names.append(f"{actuator.joint}.position.sensor_bias")
        names.append(f"{actuator.joint}.armature")
    return tuple(n for n in names if n in twin.space)


def _close(actuator: Actuator, name: str, recordings: Sequence[Recording]) -> Actuator:
    gain = float(np.mean(_gather(recordings, f"{name}.duty_gain")))
    volts = _gather(recordings, f"{name}.supply_voltage")
    warmth = _gather(recordings, f"{name}.ambient_temperature")
    motor, controller = actuator.motor, actuator.controller
    most = controller.max_duty if isinstance(controller, ControllerVoltage) else 1.0
    if isinstance(motor, MotorDc):
        supply = float(np.mean(volts)) if volts else motor.supply_voltage
        thermal = motor.thermal
        if thermal is None and warmth and np.ptp(warmth) > 0:
            middle = float(np.mean(warmth))
            thermal = Thermal(
                thermal_resistance=1.0,
                thermal_capacity=_UNHEATED_CAPACITY,
                ambient_temperature=middle,
                reference_temperature=middle,
            )
        motor = msgspec.structs.replace(motor, supply_voltage=supply, thermal=thermal)
    return msgspec.structs.replace(
        actuator,
        controller=ControllerDuty(duty_gain=gain, max_duty=most),
        motor=motor,
    )


def _gather(recordings: Sequence[Recording], name: str) -> list[float]:
    told = [r.sidecar.parameters for r in recordings]
    return [values[name] for values in told if name in values]
