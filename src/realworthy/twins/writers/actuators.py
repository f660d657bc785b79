"""Gains, limits, gear, motor constants and delay of MuJoCo's own actuators."""

import math
from collections.abc import Callable

import mujoco

from realworthy.errors import BadModel
from realworthy.twins.compiled_model import CompiledModel, object_names
from realworthy.twins.writers.joints import is_slide
from realworthy.twins.writers.writer import (
    FieldSlot,
    Group,
    ModelEdit,
    SlotEdit,
    Writer,
    between,
    ratio,
)

_ACTUATOR = mujoco.mjtObj.mjOBJ_ACTUATOR
_AFFINE = mujoco.mjtBias.mjBIAS_AFFINE
_FIXED = mujoco.mjtGain.mjGAIN_FIXED
_DC = mujoco.mjtGain.mjGAIN_DCMOTOR


def _all(compiled: CompiledModel) -> tuple[str, ...]:
    return object_names(compiled.model, _ACTUATOR)


def _where(
    test: Callable[[mujoco.MjModel, int], bool],
) -> Callable[[CompiledModel], tuple[str, ...]]:
    def elements(compiled: CompiledModel) -> tuple[str, ...]:
        names = object_names(compiled.model, _ACTUATOR)
        model = compiled.model
        return tuple(n for n in names if test(model, compiled.id(_ACTUATOR, n)))

    return elements


def is_position_servo(model: mujoco.MjModel, actuator: int) -> bool:
    """gain·(command − position) − …: gainprm[0] = −biasprm[1] > 0."""
    gain = model.actuator_gainprm[actuator, 0]
    return bool(
        model.actuator_gaintype[actuator] == _FIXED
        and model.actuator_biastype[actuator] == _AFFINE
        and model.actuator_biasprm[actuator, 1] < 0
        and math.isclose(gain, -model.actuator_biasprm[actuator, 1], rel_tol=1e-6)
    )


def is_pid(model: mujoco.MjModel, actuator: int) -> bool:
    """A servo with several inputs: position, velocity, torque."""
    return bool(model.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_PID)


def is_velocity_servo(model: mujoco.MjModel, actuator: int) -> bool:
    """gain·(command − velocity): gainprm[0] = −biasprm[2] > 0, no position term."""
    gain = model.actuator_gainprm[actuator, 0]
    return bool(
        model.actuator_gaintype[actuator] == _FIXED
        and model.actuator_biastype[actuator] == _AFFINE
        and model.actuator_biasprm[actuator, 1] == 0
        and model.actuator_biasprm[actuator, 2] < 0
        and math.isclose(gain, -model.actuator_biasprm[actuator, 2], rel_tol=1e-6)
    )


def is_dc_motor(model: mujoco.MjModel, actuator: int) -> bool:
    return bool(model.actuator_gaintype[actuator] == _DC)


def _edit_kp(compiled: CompiledModel, name: str) -> ModelEdit:
    i = compiled.id(_ACTUATOR, name)
    slots = [FieldSlot("actuator_biasprm", (i, 1), -1.0)]
    if not is_pid(compiled.model, i):
        slots.append(FieldSlot("actuator_gainprm", (i, 0)))
    return SlotEdit(compiled, slots)


def _edit_kd(compiled: CompiledModel, name: str) -> ModelEdit:
    i = compiled.id(_ACTUATOR, name)
    slots = [FieldSlot("actuator_biasprm", (i, 2), -1.0)]
    if is_velocity_servo(compiled.model, i):
        slots.append(FieldSlot("actuator_gainprm", (i, 0)))
    return SlotEdit(compiled, slots)


def _limit_place(model: mujoco.MjModel, actuator: int) -> tuple[str, int] | None:
    """Field and row that hold an actuator's symmetric torque limit, if it has one."""
    joint = int(model.actuator_trnid[actuator, 0])
    places = [("actuator_forcerange", "actuator_forcelimited", actuator)]
    if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT:
        places.append(("jnt_actfrcrange", "jnt_actfrclimited", joint))
    for field, limited, row in places:
        low, high = getattr(model, field)[row]
        symmetric = high > 0 and math.isclose(low, -high, rel_tol=1e-6)
        if getattr(model, limited)[row] and symmetric:
            return field, row
    return None


def _edit_torque_limit(compiled: CompiledModel, name: str) -> ModelEdit:
    i = compiled.id(_ACTUATOR, name)
    place = _limit_place(compiled.model, i)
    if place is None:
        raise BadModel(
            f"Actuator '{name}' has no symmetric torque limit to change.",
            hint='Give it forcerange="-LIMIT LIMIT" in the model.',
        )
    field, row = place
    return SlotEdit(
        compiled, [FieldSlot(field, (row, 1)), FieldSlot(field, (row, 0), -1.0)]
    )


def _edit_slot(field: str, *index: int) -> Callable[[CompiledModel, str], ModelEdit]:
    def edit(compiled: CompiledModel, name: str) -> ModelEdit:
        place = (compiled.id(_ACTUATOR, name), *index)
        return SlotEdit(compiled, [FieldSlot(field, place)])

    return edit


def _on_slides(unit: str) -> Callable[[CompiledModel, str], str]:
    """A writer's `own_unit`: of drives whose joint slides; empty for all others."""

    def find(compiled: CompiledModel, name: str) -> str:
        model, i = compiled.model, compiled.id(_ACTUATOR, name)
        drives_joint = model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT
        slides = drives_joint and is_slide(model, int(model.actuator_trnid[i, 0]))
        return unit if slides else ""

    return find


def _make_room_for_delay(
    spec: mujoco.MjSpec, compiled: CompiledModel, name: str, longest: float
) -> None:
    """A history of commands that reaches back over the longest delay.

    Linear interpolation keeps the response smooth in the delay; with MuJoCo's default,
    zero-order hold, delays within one time step are not distinguishable.
    """
    actuator = spec.actuator(name)
    samples = math.ceil(longest / spec.option.timestep - 1e-9) + 1
    actuator.nsample = max(int(actuator.nsample), samples)
    actuator.interp = 1


KP = Writer(
    kind="kp",
    unit="N·m/rad",
    group=Group.ACTUATOR,
    elements=_where(lambda m, i: is_position_servo(m, i) or is_pid(m, i)),
    edit=_edit_kp,
    lower=0.0,
    own_unit=_on_slides("N/m"),
    spread=ratio(0.8, 1.2),
)
KD = Writer(
    kind="kd",
    unit="N·m·s/rad",
    group=Group.ACTUATOR,
    elements=_where(
        lambda m, i: is_position_servo(m, i) or is_velocity_servo(m, i) or is_pid(m, i)
    ),
    edit=_edit_kd,
    lower=0.0,
    own_unit=_on_slides("N·s/m"),
    spread=ratio(0.8, 1.2),
)
TORQUE_LIMIT = Writer(
    kind="torque_limit",
    unit="N·m",
    group=Group.ACTUATOR,
    elements=_where(lambda m, i: _limit_place(m, i) is not None),
    edit=_edit_torque_limit,
    lower=0.0,
    own_unit=_on_slides("N"),
    spread=ratio(0.85, 1.0),
)
GEAR = Writer(
    kind="gear",
    unit="1",
    group=Group.ACTUATOR,
    elements=_all,
    edit=_edit_slot("actuator_gear", 0),
)
RESISTANCE = Writer(
    kind="resistance",
    unit="Ω",
    group=Group.ACTUATOR,
    elements=_where(is_dc_motor),
    edit=_edit_slot("actuator_gainprm", 0),
    lower=0.0,
    spread=ratio(0.8, 1.2),
)
TORQUE_CONSTANT = Writer(
    kind="torque_constant",
    unit="N·m/A",
    group=Group.ACTUATOR,
    elements=_where(is_dc_motor),
    edit=_edit_slot("actuator_gainprm", 1),
    lower=0.0,
    spread=ratio(0.9, 1.1),
)
DELAY = Writer(
    kind="delay",
    unit="s",
    group=Group.DELAY,
    elements=_all,
    edit=_edit_slot("actuator_delay"),
    lower=0.0,
    upper=0.1,
    prepare=_make_room_for_delay,
    spread=between(0.0, 0.02),
)
ACTION_NOISE = Writer(
    kind="action_noise",
    unit="of the command",
    group=Group.ACTUATOR,
    elements=_all,
    edit=lambda compiled, name: SlotEdit(
        compiled,
        [
            FieldSlot("own.action_noise", (k,))
            for k in _control_places(compiled, compiled.id(_ACTUATOR, name))
        ],
    ),
    lower=0.0,
)


def _control_places(compiled: CompiledModel, actuator: int) -> range:
    first = int(compiled.model.actuator_ctrladr[actuator])
    return range(first, first + int(compiled.model.actuator_ctrlnum[actuator]))
