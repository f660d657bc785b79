"""Changes to a model's structure: play and flex between a motor and its link."""

import mujoco

from realworthy.errors import BadModel

_HINGE, _SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
_ROTOR = 1e-4
"""[kg·m²] given to a motor without armature, which would otherwise have no inertia."""


def add_backlash(spec: mujoco.MjSpec, joint: str, width: float) -> str:
    """Free play of `width` [rad] after the motor; returns the name of the new joint.

    Two coincident hinges: the motor, its friction and its encoder stay on the first,
    and the link turns on the second, which moves freely within ±width/2.
    """
    play = _add_second_joint(spec, joint, f"{joint}.play")
    play.limited = True
    play.range = [-width / 2, width / 2]
    play.solref_limit = [2 * spec.option.timestep, 1.0]
    return play.name


def add_flexibility(
    spec: mujoco.MjSpec, joint: str, *, stiffness: float, damping: float
) -> str:
    """A spring [N·m/rad] and damper after the motor; returns the new joint's name."""
    flex = _add_second_joint(spec, joint, f"{joint}.flex")
    flex.stiffness = [stiffness, 0.0, 0.0]
    flex.damping = [damping, 0.0, 0.0]
    flex.limited = False
    return flex.name


def _add_second_joint(spec: mujoco.MjSpec, joint: str, name: str) -> mujoco.MjsJoint:
    first = spec.joint(joint)
    if first is None or first.type not in (_HINGE, _SLIDE):
        raise BadModel(
            f"There is no hinge or slide called '{joint}' in the model.",
            hint="realworthy show TWIN lists the joints.",
        )
    if not first.armature > 0:
        first.armature = _ROTOR
    return first.parent.add_joint(
        name=name, type=first.type, pos=first.pos.copy(), axis=first.axis.copy()
    )


def add_slosh(
    spec: mujoco.MjSpec, body: str, *, mass: float, length: float, damping: float
) -> None:
    """A liquid in a container: a pendulum of `mass` [kg] that hangs inside a body."""
    container = spec.body(body)
    if container is None or body == "world":
        raise BadModel(
            f"There is no body called '{body}' in the model.",
            hint="realworthy show TWIN lists the bodies.",
        )
    liquid = container.add_body(name=f"{body}.slosh")
    for axis in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
        letter = "xy"[axis.index(1.0) == 1]
        joint = liquid.add_joint(name=f"{body}.slosh_{letter}", type=_HINGE, axis=axis)
        joint.damping = [damping, 0.0, 0.0]
        joint.armature = 1e-6
    liquid.add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[0.25 * length, 0, 0],
        pos=[0, 0, -length],
        mass=mass,
        contype=0,
        conaffinity=0,
    )


def add_obstacle(
    spec: mujoco.MjSpec, *, position: tuple[float, ...], size: tuple[float, ...]
) -> None:
    """A box [half sizes, m] fixed in the world that everything can touch."""
    spec.worldbody.add_geom(
        name="obstacle",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=list(position),
        size=list(size),
        contype=0xFFFF,
        conaffinity=0xFFFF,
        rgba=[0.6, 0.3, 0.2, 1.0],
    )


def limit_torque(spec: mujoco.MjSpec, joint: str, limit: float) -> None:
    """Lets no actuator on a joint give more than `limit` [N·m]."""
    found = [actuator for actuator in spec.actuators if actuator.target == joint]
    if not found:
        raise BadModel(
            f"No actuator drives a joint called '{joint}'.",
            hint="realworthy show TWIN lists the actuators.",
        )
    for actuator in found:
        actuator.forcerange = [-limit, limit]
        actuator.forcelimited = True


def refine_physics(spec: mujoco.MjSpec, *, timestep_factor: float) -> None:
    """Integrates with another time step, so that even numerics differ from the twin."""
    spec.option.timestep *= timestep_factor
