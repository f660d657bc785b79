"""What a task adds to a twin, in simulation, where the model lacks it.

A floor, feet that feel, servos where motors take torques, and a home pose. What a twin
has stays as it is, unless its roles choose otherwise; a prepared twin is prepared again
without a change.

Of a servo in place of a motor, kp is the motor's torque limit over 0.6 rad; where no
limit is stated, three times the moment of the weight that the joint may hold takes its
place. kd damps the joint's inertia at home to a ratio of 0.7, the joint's own damping
included. No servo is stiffer than the physics' time step can follow. A twin's role
`gains` takes the place of the rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import UnknownName
from realworthy.twins import Twin, bind
from realworthy.twins.commands import CommandLine, describe_commands
from realworthy.twins.layout import Layout
from realworthy.twins.model_sources import compile_spec
from realworthy.twins.roles import Foot, RobotPart
from realworthy.twins.roles.part import CHOSEN

_HOME = "home"
_IN_PLACE = "in place of"


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


Floats = NDArray[np.float64]
_LEAD = 0.6
"""[rad] of error at which a servo gives all its torque: 23.7 N·m make 40 N·m/rad, as on
quadrupeds of 15 kg, and 200 N·m make 330 N·m/rad, as at hips of humanoids of 50 kg."""
_RATIO = 0.7
"""Damping ratio of a joint that nothing touches."""
_WEIGHTS = 3.0
"""Times the moment of its weight that a joint can give where no limit is stated."""
_STIFF = 0.2
"""Most of ω·dt, natural frequency times the time step: far from 2, where a step by step
integration becomes unstable."""


def add_servos(prepared: "PreparedTwin") -> "PreparedTwin":
    """Each motor that takes a torque of one joint takes a position instead."""
    twin, plain = prepared.twin, mujoco.mjtBias.mjBIAS_NONE
    has_motors = any(a.biastype == plain for a in twin.base_spec.actuators)
    if not has_motors and twin.role_choices.gains is None:
        return prepared
    bound = bind(twin)
    described = {actuator.joint for actuator in twin.actuators.values()}
    motors = {
        line.signal.partition(".command")[0]: line
        for line in describe_commands(bound)
        if line.joint is not None
        and line.joint not in described
        and (
            line.kind == "torque"
            or (line.kind == "position" and twin.role_choices.gains)
        )
    }
    motors = {n: line for n, line in motors.items() if _is_plain(bound.model, n, line)}
    if not motors:
        return prepared
    gains = {name: _find_gains(twin, line) for name, line in motors.items()}
    layout, home = Layout(bound), bound.compiled.own["own.initial_qpos"]
    ranges = layout.joint_ranges()
    limits = {n: _find_limit(layout, line) for n, line in motors.items()}

    def edit(spec: mujoco.MjSpec) -> None:
        for actuator in spec.actuators:
            line = motors.get(actuator.name)
            if line is None:
                continue
            kp, kd = gains[actuator.name]
            actuator.set_to_position(kp=kp, kv=kd)
            if line.kind == "torque":
                _limit(actuator, limits[actuator.name], ranges[str(line.joint)])
        if not len(list(spec.keys)):
            return
        key = spec.key("home") or spec.keys[0]
        ctrl = bound.compiled.own["own.initial_ctrl"].copy()
        for name, line in motors.items():
            if line.kind == "torque":
                place = int(bound.model.actuator_ctrladr[bound.model.actuator(name).id])
                ctrl[place] = home[layout.joint(str(line.joint))[0]]
        key.ctrl = ctrl

    return prepared.add(edit, _describe(motors, gains))


def describe_gains(prepared: PreparedTwin, commands: Sequence[str]) -> RobotPart[str]:
    """kp and kd of the servos behind some commands, and where they come from."""
    space, stems = prepared.twin.space, [x.removesuffix(".command") for x in commands]
    found = {
        kind: tuple(
            abs(space[f"{stem}.{kind}"].nominal)
            for stem in stems
            if f"{stem}.{kind}" in space
        )
        for kind in ("kp", "kd")
    }
    words = ", ".join(f"{kind} {_span(each)}" for kind, each in found.items() if each)
    reason = "the servos of the twin have them"
    if any(_IN_PLACE in line for line in prepared.added):
        reason = "of servos that were added: docs/twins.md has the rule"
    if prepared.twin.role_choices.gains is not None:
        reason = CHOSEN
    return RobotPart(words, reason, words)


def _describe(
    motors: dict[str, CommandLine], gains: dict[str, tuple[float, float]]
) -> str:
    kp, kd = zip(*gains.values(), strict=True)
    spans = f"kp {_span(kp)} N·m/rad, kd {_span(kd)} N·m·s/rad"
    torque = sum(line.kind == "torque" for line in motors.values())
    if not torque:
        return f"the chosen gains of {len(motors)} position servos ({spans})"
    what = f"position servo {_IN_PLACE} a torque motor"
    if torque > 1:
        what = f"position servos {_IN_PLACE} {torque} torque motors"
    return f"{what} ({spans})"


def _span(values: tuple[float, ...]) -> str:
    low, high = min(values), max(values)
    return f"{low:.3g}" if high - low < 1e-9 else f"{low:.3g} … {high:.3g}"


def _is_plain(model: mujoco.MjModel, name: str, line: CommandLine) -> bool:
    """Whether it is a motor or servo without dynamics of its own."""
    actuator = model.actuator(name).id
    is_simple = model.actuator_dyntype[actuator] == mujoco.mjtDyn.mjDYN_NONE
    is_fixed = model.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_FIXED
    bias = model.actuator_biastype[actuator]
    kind = mujoco.mjtBias.mjBIAS_NONE if line.kind == "torque" else None
    return bool(is_simple and is_fixed and (kind is None or bias == kind))


def _limit(
    actuator: mujoco.MjsActuator, torque: float, range_: tuple[float, float]
) -> None:
    actuator.gear = [1.0, 0, 0, 0, 0, 0]
    actuator.forcelimited = np.isfinite(torque)
    if np.isfinite(torque):
        actuator.forcerange = [-torque, torque]
    actuator.ctrllimited = bool(np.isfinite(range_).all())
    if np.isfinite(range_).all():
        actuator.ctrlrange = list(range_)


def _find_limit(layout: Layout, line: CommandLine) -> float:
    return float(layout.torque_limits[layout.actuator(str(line.joint))])


def _find_gains(twin: Twin, line: CommandLine) -> tuple[float, float]:
    if twin.role_choices.gains is not None:
        return twin.role_choices.gains
    bound = bind(twin)
    layout, model = Layout(bound), bound.model
    data = mujoco.MjData(model)
    data.qpos[:] = bound.compiled.own["own.initial_qpos"]
    mujoco.mj_forward(model, data)
    joint = int(model.joint(str(line.joint)).id)
    dof = int(model.jnt_dofadr[joint])
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    inertia = float(mass[dof, dof])
    limit = _find_limit(layout, line)
    torque = (
        limit if np.isfinite(limit) else _WEIGHTS * _find_moment(model, data, joint)
    )
    stiffest = inertia * (_STIFF / model.opt.timestep) ** 2
    kp = min(torque / _LEAD, stiffest)
    kd = 2 * _RATIO * np.sqrt(kp * inertia) - float(model.dof_damping[dof])
    return float(kp), max(float(kd), 0.0)


def _find_moment(model: mujoco.MjModel, data: mujoco.MjData, joint: int) -> float:
    """[N·m] of the weight beyond a joint, or of a robot that stands on it, at most."""
    body = int(model.jnt_bodyid[joint])
    beyond = [body]
    for other in range(body + 1, model.nbody):
        if int(model.body_parentid[other]) in beyond:
            beyond.append(other)
    anchor = data.xanchor[joint]
    lever = max(float(np.linalg.norm(data.xipos[b] - anchor)) for b in beyond)
    root = int(model.body_rootid[body])
    floats = model.body_dofnum[root] == 6
    mass = model.body_subtreemass[root if floats else body]
    return 9.81 * float(mass) * lever
