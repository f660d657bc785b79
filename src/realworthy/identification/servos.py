"""Drives that closed their own loops while recording, and what a twin lacks of them.

A twin may take the voltage of a motor while the recordings hold the goals that its
firmware followed. Where sidecars say the firmware's gain (`<drive>.duty_gain`), the
loop is closed in the twin: what is replayed are then goals, and errors do not run away.
Where they say a temperature, the winding's resistance may follow it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from realworthy.actuators import Actuator, ControllerDuty, ControllerVoltage, MotorDc
from realworthy.actuators.motors import Thermal
from realworthy.identification.frictions import describe_drive, frictions
from realworthy.identification.least_squares import polish
from realworthy.identification.levenberg import LeastSquaresSettings
from realworthy.identification.problem import Problem
from realworthy.identification.stages import believe
from realworthy.identification.validation import predict
from realworthy.recordings import Recording
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.structure import set_timestep

_STILL = 1e6
"""[J/K] of a winding that no run warms: its temperature is what recordings say."""
_MOTOR = ("resistance", "torque_constant")
_WARMTH = "temperature_coefficient"
_KEPT = ("stribeck_exponent",)
_MODELS = ("m1", "m4")
"""Frictions that are compared: dry and viscous, and with load and rest."""
_BETTER = 0.95
"""Share of the simplest one's held-out error that a richer friction must reach."""
_LOAD = 0.2
"""Load friction of a small gearbox, to begin with."""
_COARSE = 0.006
"""[s] of a time step for comparisons."""
_WEIGHT = 1e3
"""Squared size of residuals beside white noise that is expected of a servo's replay."""
_ROUGH = LeastSquaresSettings(iterations=12, share=1e-3)


def close_loops(twin: Twin, recordings: Sequence[Recording]) -> Twin:
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


def find_servos(twin: Twin) -> tuple[str, ...]:
    """Names of drives whose firmware sets a duty by the error of position."""
    return tuple(
        name
        for name, actuator in twin.actuators.items()
        if isinstance(actuator.controller, ControllerDuty)
    )


def with_friction(twin: Twin, model: str) -> Twin:
    """The twin with another model of friction at every servo."""
    joints = [twin.actuators[name].joint for name in find_servos(twin)]
    return frictions(twin, joints, [model])[model].twin


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A model of friction that experiments which it has not seen ask for."""

    model: str
    values: dict[str, float]
    """Numbers of a rough fit with it."""
    weight: float
    """Squared size of its residuals beside white noise."""
    errors: dict[str, float]
    """Model → [rad] of experiments that were left out."""

    def to_words(self) -> str:
        tried = ", ".join(f"{m} {e:.3g} rad" for m, e in self.errors.items())
        return (
            f"Friction of the servo: {self.model} (experiments left out: {tried}; m1 "
            "is dry and viscous, m4 grows with load and near rest)."
        )


def choose_friction(
    twin: Twin, pose: Callable[[Twin, Sequence[str]], Problem]
) -> Chosen:
    """Compares frictions on the same experiments left out, the simplest first.

    `pose` makes the problem of fitting named numbers of a twin.
    """
    best: Chosen | None = None
    errors: dict[str, float] = {}
    for model in _MODELS:
        tried = begin_loaded(with_friction(twin, model))
        problem = pose(_coarsen(tried), list_numbers(tried))
        seen, unseen = _split(problem)
        prior = believe(seen, seen.start_z, _WEIGHT)
        fit = polish(seen, seen.start_z, prior, _ROUGH)
        errors[model] = float(np.mean(list(predict(unseen, fit.z)[0].values())))
        if best is None or errors[model] < _BETTER * errors[best.model]:
            weight = fit.weight
            best = Chosen(model=model, values=fit.e, weight=weight, errors=errors)
    assert best is not None
    return best


def _coarsen(twin: Twin) -> Twin:
    """Longer time steps: enough to compare models."""
    timestep = max(_COARSE, float(twin.compiled.model.opt.timestep))
    return twin.edited(partial(set_timestep, timestep=timestep))


def begin_loaded(twin: Twin) -> Twin:
    """The twin with some load friction to begin with, and the torque that it costs.

    Numbers of a twin without load friction hold on average: a motor that has to push
    against it is stronger by (1 + K) / (1 − K).
    """
    values = {}
    for name in find_servos(twin):
        load = f"{name}.load_friction"
        if load in twin.space:
            resistance = twin.space[f"{name}.resistance"].nominal
            values[load] = _LOAD
            values[f"{name}.resistance"] = resistance * (1 - _LOAD) / (1 + _LOAD)
    return twin.with_values(values) if values else twin


def _split(problem: Problem) -> tuple[Problem, Problem]:
    """Two of three experiments, and the others; all for both where there is one."""
    present = sorted({piece.recording for piece in problem.pieces})
    unseen = present[1::3] or present
    seen = [i for i in present if i not in unseen] or present
    return problem.restricted(seen), problem.restricted(unseen)


def list_numbers(twin: Twin) -> tuple[str, ...]:
    """What to fit of servos: motors, friction, rotors, encoders, warmth."""
    names: list[str] = []
    for name in find_servos(twin):
        actuator = twin.actuators[name]
        kinds = [*_MOTOR]
        if actuator.friction is not None:
            fields = actuator.friction.__struct_fields__
            kinds += [kind for kind in fields if kind not in _KEPT]
        names += [f"{name}.{kind}" for kind in kinds]
        names.append(f"{actuator.joint}.position.sensor_bias")
        if isinstance(actuator.motor, MotorDc) and actuator.motor.thermal is not None:
            names.append(f"{name}.{_WARMTH}")
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
                thermal_capacity=_STILL,
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
