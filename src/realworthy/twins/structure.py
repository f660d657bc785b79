"""Changes to a model's structure: play, flex, liquid, obstacles, limits, time step."""

import mujoco
import numpy as np

from realworthy.errors import BadModel
from realworthy.twins.compiled_model import own_fields
from realworthy.twins.keyframes import keep_keyframes
from realworthy.twins.model_sources import compile_spec

_HINGE, _SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
_ROTOR = 1e-4
"""[kg·m²] given to a motor without armature, which would otherwise have no inertia."""
_PLAY_SOLIMP = np.array([0.99, 0.99, 0.001, 0.5, 2.0])
"""solimp of the ends of a play: harder rings against a spring, softer yields to it."""
_EVERYTHING, _OTHERWISE_UNTOUCHED = 0xFFFF, 0x8000
"""Bits of `contype` and `conaffinity`."""
TABLE = "table"
"""Name of the surface that `add_table` puts under a robot."""
_FIRST = 100
"""`priority` of its contacts: they are as smooth as it is."""
_BESIDE = 1e-3
"""[m] along itself by which it is moved: MuJoCo reads no height of a plane at 0."""


def play_joint(joint: str) -> str:
    """Name of the joint that lets the link of `joint` turn within its play."""
    return f"{joint}.play"


def flex_joint(joint: str) -> str:
    """Name of the joint that lets the link of `joint` turn against its spring."""
    return f"{joint}.flex"


def add_backlash(spec: mujoco.MjSpec, joint: str, width: float) -> str:
    """Free play of `width` [rad] after the motor; returns the name of the new joint.

    Two coincident hinges: the motor, its friction and its encoder stay on the first,
    and the link turns on the second, which moves freely within ±width/2.
    """
    with keep_keyframes(spec):
        play = _add_second_joint(spec, joint, play_joint(joint))
        play.limited = True
        in_degrees = spec.compiler.degree and play.type == _HINGE
        half = np.rad2deg(width / 2) if in_degrees else width / 2
        play.range = [-half, half]
        play.solref_limit = [2 * spec.option.timestep, 1.0]
        play.solimp_limit = _PLAY_SOLIMP
    return play.name


def add_flexibility(
    spec: mujoco.MjSpec, joint: str, *, stiffness: float, damping: float
) -> str:
    """A spring [N·m/rad] and damper after the motor; returns the new joint's name."""
    with keep_keyframes(spec):
        flex = _add_second_joint(spec, joint, flex_joint(joint))
        flex.stiffness = [stiffness, 0.0, 0.0]
        flex.damping = [damping, 0.0, 0.0]
        flex.limited = False
    return flex.name


def _add_second_joint(spec: mujoco.MjSpec, joint: str, name: str) -> mujoco.MjsJoint:
    first = _find_joint(spec, joint)
    body = first.parent
    names = [j.name for j in body.joints]
    allowed = {joint, play_joint(joint), flex_joint(joint)}
    if name in names or not allowed.issuperset(names):
        raise BadModel(
            f"'{joint}' cannot get a second joint: its body '{body.name}' has the "
            f"joints {', '.join(names)}.",
            hint="Play and flex follow a joint that moves its body alone, once each.",
        )
    if not first.armature > 0:
        first.armature = _ROTOR
    second = body.add_joint(
        name=name, type=first.type, pos=first.pos.copy(), axis=first.axis.copy()
    )
    if len(names) > 1:  # something must have inertia between play and spring
        second.armature = _ROTOR
    return second


def add_drag(spec: mujoco.MjSpec, joint: str, coefficient: float) -> None:
    """Air around a joint's link: − coefficient · q̇ |q̇| [N·m·s²/rad²] beside damping."""
    element = _find_joint(spec, joint)
    damping = np.array(element.damping)
    damping[1] += coefficient
    element.damping = damping


def add_cable(
    spec: mujoco.MjSpec, joint: str, *, stiffness: float, rest: float
) -> None:
    """A cable [N·m/rad] that pulls a joint's link towards `rest` [rad].

    Beside a spring that the joint has, both become one.
    """
    element = _find_joint(spec, joint)
    springs = np.array(element.stiffness)
    in_degrees = spec.compiler.degree and element.type == _HINGE
    wanted = np.rad2deg(rest) if in_degrees else rest
    total = springs[0] + stiffness
    element.springref = (springs[0] * element.springref + stiffness * wanted) / total
    springs[0] = total
    element.stiffness = springs


def _find_joint(spec: mujoco.MjSpec, joint: str) -> mujoco.MjsJoint:
    element = spec.joint(joint)
    if element is None or element.type not in (_HINGE, _SLIDE):
        raise BadModel(
            f"There is no hinge or slide called '{joint}' in the model.",
            hint="realworthy show TWIN lists the joints.",
        )
    return element


def add_slosh(
    spec: mujoco.MjSpec, body: str, *, mass: float, length: float, damping: float
) -> None:
    """A liquid in a body: a point of `mass` [kg] on a pendulum that swings every way.

    It hangs along gravity in the initial pose, with the mass at the body's centre of
    mass, and adds to the body's own mass.
    """
    container = spec.body(body)
    if container is None or body == "world":
        raise BadModel(
            f"There is no body called '{body}' in the model.",
            hint="realworthy show TWIN lists the bodies.",
        )
    model = compile_spec(spec, spec.modelname)
    data = mujoco.MjData(model)
    data.qpos[:] = own_fields(model)["own.initial_qpos"]
    mujoco.mj_kinematics(model, data)
    strength = np.linalg.norm(model.opt.gravity)
    gravity = model.opt.gravity / strength if strength else np.array([0.0, 0.0, -1.0])
    down = data.body(body).xmat.reshape(3, 3).T @ gravity
    with keep_keyframes(spec):
        pivot = model.body(body).ipos - length * down
        liquid = container.add_body(name=f"{body}.slosh", pos=pivot)
        ball = liquid.add_joint(
            name=f"{body}.slosh", type=mujoco.mjtJoint.mjJNT_BALL, limited=False
        )
        ball.damping = [damping, 0.0, 0.0]
        liquid.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=[0.1 * length, 0, 0],
            pos=length * down,
            mass=mass,
            contype=0,
            conaffinity=0,
        )


def add_obstacle(
    spec: mujoco.MjSpec, *, position: tuple[float, ...], size: tuple[float, ...]
) -> None:
    """A box [half sizes, m] fixed in the world that every body of the robot can touch.

    The shapes of a body that touches nothing in the model touch the obstacle, and still
    nothing else.
    """
    _let_touch(spec)
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=list(position),
        size=list(size),
        contype=_EVERYTHING,
        conaffinity=_EVERYTHING,
        rgba=[0.6, 0.3, 0.2, 1.0],
    )


def add_table(spec: mujoco.MjSpec, height: float) -> None:
    """A smooth, level surface at `height` [m] that carries what comes down on it.

    It takes the place of level planes that the model has. It holds nothing sideways:
    how a robot slides on it is not in the model.
    """
    if spec.geom(TABLE) is not None:
        raise BadModel(
            f"The model has a shape called '{TABLE}' already.",
            hint="Rename it, or leave `table` out of the twin's file.",
        )
    for plane in spec.worldbody.geoms:
        if plane.type == mujoco.mjtGeom.mjGEOM_PLANE and _is_level(plane):
            plane.pos[2], plane.contype, plane.conaffinity = height, 0, 0
    _let_touch(spec)
    spec.worldbody.add_geom(
        name=TABLE,
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        pos=[_BESIDE, 0.0, height],
        size=[1.0, 1.0, 0.1],
        contype=_EVERYTHING,
        conaffinity=_EVERYTHING,
        condim=1,
        priority=_FIRST,
        rgba=[0.6, 0.5, 0.4, 0.5],
    )


def _is_level(plane: mujoco.MjsGeom) -> bool:
    is_plain = plane.alt.type == mujoco.mjtOrientation.mjORIENTATION_QUAT
    return is_plain and not plane.quat[1:3].any()


def _let_touch(spec: mujoco.MjSpec) -> None:
    """Lets bodies that touch nothing in the model touch what is added, and only it."""
    for body in spec.bodies:
        shapes = list(body.geoms)
        if body.name != "world" and not any(g.contype or g.conaffinity for g in shapes):
            for shape in shapes:
                shape.conaffinity = _OTHERWISE_UNTOUCHED


def limit_torque(spec: mujoco.MjSpec, joint: str, limit: float) -> None:
    """Lets no actuator on a joint give more than `limit` [N·m] to it."""
    actuators = [actuator for actuator in spec.actuators if actuator.target == joint]
    if not actuators:
        raise BadModel(
            f"No actuator drives a joint called '{joint}'.",
            hint="realworthy show TWIN lists the actuators.",
        )
    for actuator in actuators:
        force = limit / abs(float(actuator.gear[0]))
        actuator.forcerange = [-force, force]
        actuator.forcelimited = True


def set_timestep(spec: mujoco.MjSpec, timestep: float) -> None:
    """Integrates with this time step [s]."""
    spec.option.timestep = timestep
