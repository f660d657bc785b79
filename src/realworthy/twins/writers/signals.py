"""Bias, scale, noise and delay of measured signals; where a reset begins."""

import math

import mujoco

from realworthy.twins.compiled_model import CompiledModel, object_names
from realworthy.twins.writers.joints import dof, is_slide, single_joints
from realworthy.twins.writers.writer import (
    FieldSlot,
    Group,
    ModelEdit,
    SlotEdit,
    Writer,
)

_SENSOR = mujoco.mjtObj.mjOBJ_SENSOR
_JOINT = mujoco.mjtObj.mjOBJ_JOINT
_OF_JOINT = {
    mujoco.mjtSensor.mjSENS_JOINTPOS: "",
    mujoco.mjtSensor.mjSENS_JOINTVEL: "/s",
}
"""Rates of an angle or a length."""
_UNITS = {
    mujoco.mjtSensor.mjSENS_GYRO: "rad/s",
    mujoco.mjtSensor.mjSENS_ACCELEROMETER: "m/s²",
    mujoco.mjtSensor.mjSENS_FRAMEPOS: "m",
    mujoco.mjtSensor.mjSENS_FRAMELINVEL: "m/s",
    mujoco.mjtSensor.mjSENS_FRAMEANGVEL: "rad/s",
    mujoco.mjtSensor.mjSENS_FORCE: "N",
    mujoco.mjtSensor.mjSENS_TORQUE: "N·m",
    mujoco.mjtSensor.mjSENS_TOUCH: "N",
}


def _sensors(compiled: CompiledModel) -> tuple[str, ...]:
    return object_names(compiled.model, _SENSOR)


def _find_unit(compiled: CompiledModel, name: str) -> str:
    """Of what a sensor measures; empty where it is not one of the usual ones."""
    model, i = compiled.model, compiled.id(_SENSOR, name)
    kind = mujoco.mjtSensor(model.sensor_type[i])
    if kind in _OF_JOINT:
        slides = is_slide(model, int(model.sensor_objid[i]))
        return ("m" if slides else "rad") + _OF_JOINT[kind]
    return _UNITS.get(kind, "")


def _edit_own(field: str):
    def edit(compiled: CompiledModel, name: str) -> ModelEdit:
        i = compiled.id(_SENSOR, name)
        first = int(compiled.model.sensor_adr[i])
        places = range(first, first + int(compiled.model.sensor_dim[i]))
        return SlotEdit(compiled, [FieldSlot(field, (k,)) for k in places])

    return edit


def _edit_delay(compiled: CompiledModel, name: str) -> ModelEdit:
    return SlotEdit(
        compiled, [FieldSlot("sensor_delay", (compiled.id(_SENSOR, name),))]
    )


def _make_room_for_delay(
    spec: mujoco.MjSpec, compiled: CompiledModel, name: str, longest: float
) -> None:
    sensor = spec.sensor(name)
    samples = math.ceil(longest / spec.option.timestep - 1e-9) + 1
    sensor.nsample = max(int(sensor.nsample), samples)
    sensor.interp = 1


def _edit_initial_position(compiled: CompiledModel, joint: str) -> ModelEdit:
    place = int(compiled.model.jnt_qposadr[compiled.id(_JOINT, joint)])
    return SlotEdit(compiled, [FieldSlot("own.initial_qpos", (place,))])


def _edit_initial_velocity(compiled: CompiledModel, joint: str) -> ModelEdit:
    return SlotEdit(compiled, [FieldSlot("own.initial_qvel", (dof(compiled, joint),))])


SENSOR_BIAS = Writer(
    kind="sensor_bias",
    unit="of the signal",
    group=Group.SENSOR,
    elements=_sensors,
    edit=_edit_own("own.sensor_bias"),
    own_unit=_find_unit,
)
SENSOR_SCALE = Writer(
    kind="sensor_scale",
    unit="1",
    group=Group.SENSOR,
    elements=_sensors,
    edit=_edit_own("own.sensor_scale"),
)
SENSOR_NOISE = Writer(
    kind="sensor_noise",
    unit="of the signal",
    group=Group.SENSOR,
    elements=_sensors,
    edit=_edit_own("own.sensor_noise"),
    lower=0.0,
    own_unit=_find_unit,
)
SENSOR_DELAY = Writer(
    kind="sensor_delay",
    unit="s",
    group=Group.SENSOR,
    elements=_sensors,
    edit=_edit_delay,
    lower=0.0,
    upper=0.1,
    prepare=_make_room_for_delay,
)
INITIAL_POSITION = Writer(
    kind="initial_position",
    unit="rad or m",
    group=Group.INITIAL,
    elements=single_joints,
    edit=_edit_initial_position,
)
INITIAL_VELOCITY = Writer(
    kind="initial_velocity",
    unit="rad/s or m/s",
    group=Group.INITIAL,
    elements=single_joints,
    edit=_edit_initial_velocity,
)
