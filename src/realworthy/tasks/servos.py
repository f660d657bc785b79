"""Position servos in place of torque motors, with gains by a rule.

kp is the motor's torque limit over 0.6 rad; where no limit is stated, three times the
moment of the weight that the joint may hold takes its place. kd damps the joint's
inertia at home to a ratio of 0.7, the joint's own damping included. No servo is
stiffer than the physics' time step can follow. A twin's role `gains` takes the place
of the rule.
"""

from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.twins import Twin, bind
from realworthy.twins.commands import CommandLine, describe_commands
from realworthy.twins.layout import Layout

if TYPE_CHECKING:
    from realworthy.tasks.prepared_twin import PreparedTwin

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


def _describe(
    motors: dict[str, CommandLine], gains: dict[str, tuple[float, float]]
) -> str:
    kp, kd = zip(*gains.values(), strict=True)
    spans = f"kp {_span(kp)} N·m/rad, kd {_span(kd)} N·m·s/rad"
    torque = sum(line.kind == "torque" for line in motors.values())
    if not torque:
        return f"the chosen gains of {len(motors)} position servos ({spans})"
    what = "position servo in place of a torque motor"
    if torque > 1:
        what = f"position servos in place of {torque} torque motors"
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
