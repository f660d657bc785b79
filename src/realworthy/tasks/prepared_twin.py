"""What a task adds to a twin, in simulation, where the model lacks it.

A floor, feet that feel, servos where motors take torques, and a home pose. What a twin
has stays as it is, unless its roles choose otherwise; a prepared twin is prepared again
without a change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from realworthy.errors import UnknownName
from realworthy.tasks.servos import add_servos
from realworthy.twins import Twin
from realworthy.twins.roles import Foot
from realworthy.twins.sources import compile_spec

_HOME = "home"


@dataclass(frozen=True, slots=True)
class PreparedTwin:
    """A twin with what it lacked, and a line for each thing that was added."""

    twin: Twin
    added: tuple[str, ...] = ()

    def add(self, edit: Callable[[mujoco.MjSpec], object], line: str) -> "PreparedTwin":
        return PreparedTwin(self.twin.prepared(edit), (*self.added, line))


def prepare_home(twin: Twin) -> PreparedTwin:
    """At home as its roles choose."""
    choice, prepared = twin.role_choices.home, PreparedTwin(twin)
    keys = [key.name for key in twin.base_spec.keys]
    if not choice or choice == _HOME == twin.roles.home.value:
        return prepared
    if choice not in keys:
        raise UnknownName("keyframe", choice, keys, owner=twin.owner)

    def edit(spec: mujoco.MjSpec) -> None:
        chosen, first = spec.key(choice), spec.key(_HOME) or spec.keys[0]
        for name in ("qpos", "qvel", "ctrl"):
            setattr(first, name, getattr(chosen, name))

    return PreparedTwin(twin.prepared(edit))


def prepare_walker(at_home: PreparedTwin, feet: Sequence[Foot]) -> PreparedTwin:
    """A robot on feet that feel, on a floor, and that takes positions."""
    prepared = _add_imu(_add_floor(at_home))
    if not len(list(at_home.twin.base_spec.keys)):
        prepared = _add_home(prepared, at_home.twin, feet)
    missing = [foot for foot in feet if not foot.feels]
    if missing:
        names = ", ".join(foot.body for foot in missing)
        prepared = prepared.add(
            lambda spec: [_add_touch(spec, foot) for foot in missing],
            f"a touch sensor at each of {len(missing)} feet ({names})",
        )
    return add_servos(prepared)


def _add_floor(prepared: PreparedTwin) -> PreparedTwin:
    plane, field = mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD
    shapes = prepared.twin.spec().worldbody.geoms  # its table is among them
    if any(shape.type in (plane, field) for shape in shapes):
        return prepared

    def edit(spec: mujoco.MjSpec) -> None:
        taken = {shape.name for shape in spec.geoms}
        name = "floor" if "floor" not in taken else "added_floor"
        spec.worldbody.add_geom(name=name, type=plane, size=[0, 0, 0.1])

    return prepared.add(edit, "a floor, level at height 0")


def _add_imu(prepared: PreparedTwin) -> PreparedTwin:
    """Says so: every floating base has one, see `twins/signal_sensors.py`."""
    gyro, base = mujoco.mjtSensor.mjSENS_GYRO, prepared.twin.base
    has = any(sensor.type == gyro for sensor in prepared.twin.base_spec.sensors)
    if has or base is None:
        return prepared
    line = f"an imu at '{base.body}': gyro and orientation"
    return PreparedTwin(prepared.twin, (*prepared.added, line))


def _add_touch(spec: mujoco.MjSpec, foot: Foot) -> None:
    name, body = foot.site, spec.body(foot.body)
    body.add_site(
        name=name,
        pos=foot.centre,
        quat=foot.upright,
        size=[foot.radius] * 3,
        rgba=[0, 0, 0, 0],
        group=4,
    )
    spec.add_sensor(
        name=f"{name}_contact",
        type=mujoco.mjtSensor.mjSENS_TOUCH,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname=name,
    )


def _add_home(prepared: PreparedTwin, twin: Twin, feet: Sequence[Foot]) -> PreparedTwin:
    """Where there is no keyframe: every joint at zero, the lowest foot on the floor."""
    base = twin.base
    assert base is not None
    model = twin.compiled.model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)  # of the zero pose
    lows = []
    for foot in feet:
        body = model.body(foot.body).id
        turn = data.xmat[body].reshape(3, 3)
        lows.append((data.xpos[body] + turn @ np.array(foot.lowest))[2])
    qpos = model.qpos0.copy()
    qpos[int(model.joint(base.joint).qposadr[0]) + 2] -= min(lows)

    def edit(spec: mujoco.MjSpec) -> None:
        plain = compile_spec(spec, twin.name)
        ctrl = [_find_rest(plain, i, qpos) for i in range(plain.nu)]
        spec.add_key(name=_HOME, qpos=qpos, ctrl=ctrl)

    return prepared.add(edit, "a home pose: every joint at zero, feet on the ground")


def _find_rest(model: mujoco.MjModel, actuator: int, qpos: np.ndarray) -> float:
    """Where a servo's joint is; 0 of others."""
    is_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
    is_servo = model.actuator_biasprm[actuator, 1] < 0
    if not (is_joint and is_servo):
        return 0.0
    return float(qpos[model.jnt_qposadr[model.actuator_trnid[actuator, 0]]])
