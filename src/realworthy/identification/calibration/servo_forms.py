"""What recordings say a servo has: load friction, and a motor that saturates.

Which terms a servo needs is discrete, so it is chosen by experiments left out. Every
form is fitted to the others with long time steps, each joint by itself; a richer one is
taken only where it predicts better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from realworthy.actuators import MotorDc
from realworthy.identification.calibration.duty_servos import (
    find_duty_servos,
    list_servo_parameters,
)
from realworthy.identification.calibration.servo_search import search_servo_numbers
from realworthy.identification.problem.drives_alone import DrivesAlone
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.levenberg_marquardt import LeastSquaresSettings
from realworthy.identification.validation.friction_models import frictions
from realworthy.twins import Twin
from realworthy.twins.structure import set_timestep

_RICHER_ERROR_RATIO = 0.95
"""Share of a simpler form's error that a richer one must reach."""
_FIRST_LOAD_FRICTION = 0.2
"""Load friction of a small gearbox, to begin with."""
_COMPARISON_TIMESTEP, _FIT_TIMESTEP = 0.006, 0.003
"""[s] of a time step for comparisons, and for a fit."""
_LEFT_OUT_EVERY = 3
"""One experiment out of so many is left out."""
SERVO_FIT = LeastSquaresSettings(iterations=15, share=1e-3)
"""Of a servo's numbers: sticking makes the cost rough, and more steps gain nothing."""
Pose = Callable[[Twin, Sequence[str]], Problem]
"""Makes the problem of fitting named numbers of a twin."""


class ServoForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is in the description of a servo beside its numbers."""

    friction: str = "m1"
    """m1 is dry and viscous, m4 also grows with load and near rest."""
    saturates: bool = False
    """Whether torque grows less than current does."""

    def to_words(self) -> str:
        return f"{self.friction} with saturation" if self.saturates else self.friction


_FORMS = (
    ServoForm(),
    ServoForm(friction="m4"),
    ServoForm(friction="m4", saturates=True),
)
"""What is compared, the simplest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenForm:
    """The form that experiments which it has not seen ask for."""

    form: ServoForm
    values: dict[str, float]
    """Numbers of a search with it in the experiments that were not left out."""
    errors: dict[ServoForm, float]
    """Form → [rad] mean absolute error of experiments that were left out."""

    def to_words(self) -> str:
        tried = ", ".join(f"{f.to_words()} {e:.3g} rad" for f, e in self.errors.items())
        return (
            f"The servo is described by {self.form.to_words()} (experiments left out: "
            f"{tried}). Friction m1 is dry and viscous, m4 grows with load and near "
            "rest; a motor with saturation gives less torque per current the more of "
            "it flows."
        )


def apply_form(twin: Twin, form: ServoForm) -> Twin:
    """The twin with this form at every servo; terms that it lacked at a first guess.

    Load friction begins at 0.2. Numbers of a twin without it hold on average: a motor
    that has to push against it is stronger by (1 + K) / (1 − K). Saturation begins at
    the current at which the motor as given stalls.
    """
    names = find_duty_servos(twin)
    joints = [twin.actuators[name].joint for name in names]
    shaped = frictions(twin, joints, [form.friction])[form.friction].twin
    values: dict[str, float] = {}
    for name in names:
        load = f"{name}.load_friction"
        if load in shaped.space and load not in twin.space:
            resistance = shaped.space[f"{name}.resistance"].nominal
            values[load] = _FIRST_LOAD_FRICTION
            values[f"{name}.resistance"] = (
                resistance * (1 - _FIRST_LOAD_FRICTION) / (1 + _FIRST_LOAD_FRICTION)
            )
    shaped = shaped.with_values(values) if values else shaped
    drives = {}
    for name in names:
        actuator = shaped.actuators[name]
        if isinstance(actuator.motor, MotorDc):
            motor = _shape_motor(actuator.motor, form)
            drives[name] = msgspec.structs.replace(actuator, motor=motor)
    return shaped.with_actuators(drives) if drives else shaped


def choose_servo_form(twin: Twin, pose: Pose) -> ChosenForm:
    """Compares forms on the same experiments left out, the simplest first.

    Each is compared with the best so far, also where the one before it was no better:
    load friction may tell only beside a motor that saturates.
    """
    best: ChosenForm | None = None
    errors: dict[ServoForm, float] = {}
    for form in _FORMS:
        tried = _try(twin, form, pose)
        errors |= tried.errors
        if best is None or errors[form] < _RICHER_ERROR_RATIO * errors[best.form]:
            best = tried
    assert best is not None
    return replace(best, errors=errors)


def _try(twin: Twin, form: ServoForm, pose: Pose) -> ChosenForm:
    shaped = apply_form(twin, form)
    problem = pose(
        lengthen_steps(shaped, _COMPARISON_TIMESTEP), list_servo_parameters(shaped)
    )
    seen, unseen = split_experiments(problem)
    z = search_servo_numbers(DrivesAlone(seen), problem.start_z, searches=1)
    error = float(DrivesAlone(unseen).errors(z).mean())
    values = problem.space.values(problem.coordinates.from_z(z))
    return ChosenForm(form=form, values=values, errors={form: error})


def refine_servo_numbers(problem: Problem) -> dict[str, float]:
    """What all experiments say from where the problem's twin has them."""
    z = search_servo_numbers(DrivesAlone(problem), problem.start_z)
    return problem.space.values(problem.coordinates.from_z(z))


def split_experiments(problem: Problem) -> tuple[Problem, Problem]:
    """Two of three experiments, and the others; all for both where there is one.

    A whole gain of the firmware would be a fairer test, and a noisier one: where an arm
    sticks, its few recordings end at one pose or another by chance.
    """
    present = sorted({piece.recording for piece in problem.pieces})
    unseen = present[1::_LEFT_OUT_EVERY] or present
    seen = [i for i in present if i not in unseen] or present
    return problem.restricted(seen), problem.restricted(unseen)


def _shape_motor(motor: MotorDc, form: ServoForm) -> MotorDc:
    stall = motor.supply_voltage / motor.resistance
    current = (motor.saturation_current or stall) if form.saturates else None
    return msgspec.structs.replace(motor, saturation_current=current)


def lengthen_steps(twin: Twin, timestep: float = _FIT_TIMESTEP) -> Twin:
    """The twin with time steps [s] that are enough for a replay of servos."""
    longer = max(timestep, float(twin.compiled.model.opt.timestep))
    return twin.edited(partial(set_timestep, timestep=longer))
