"""Fits other quadrupeds for `QuadrupedVelocity`: feet that feel, servos, a floor."""

import mujoco

from realworthy.errors import RealworthyError
from realworthy.twins import Twin

_LEGS = ("FL", "FR", "RL", "RR")
_MARGIN = 1.3
"""Size of a foot's touch site over that of the foot: contacts lie inside it."""


def fit_quadruped(twin: Twin, *, kp: float = 40.0, kd: float = 1.0) -> Twin:
    """The twin with what it lacks; what it has stays as it is.

    Added are a floor; a site `<leg>_foot` and a touch sensor at each foot, which must
    be a sphere named `<leg>` or `<leg>_foot`; and position servos in place of motors,
    with gains `kp` [N·m/rad], `kd` [N·m·s/rad] and the motors' limits. It then stands
    in its first keyframe. No file holds such a twin.
    """

    def edit(spec: mujoco.MjSpec) -> None:
        _add_floor(spec)
        for leg in _LEGS:
            _add_foot(spec, leg, twin)
        _add_servos(spec, kp, kd, twin)

    return twin.edited(edit)


def _add_floor(spec: mujoco.MjSpec) -> None:
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    if not any(geom.type == plane for geom in spec.worldbody.geoms):
        spec.worldbody.add_geom(name="floor", type=plane, size=[0, 0, 0.1])


def _add_foot(spec: mujoco.MjSpec, leg: str, twin: Twin) -> None:
    name = f"{leg}_foot"
    if any(sensor.name == f"{name}_contact" for sensor in spec.sensors):
        return
    found = [g for g in spec.geoms if g.name in (leg, name)]
    if not found or found[0].type != mujoco.mjtGeom.mjGEOM_SPHERE:
        raise RealworthyError(
            f"{twin.owner} has no sphere named '{leg}' or '{name}' for its foot.",
            hint="Name the shape that touches the ground so.",
        )
    foot = found[0]
    if not any(site.name == name for site in spec.sites):
        size = [_MARGIN * float(foot.size[0])] * 3
        foot.parent.add_site(
            name=name, pos=foot.pos, size=size, rgba=[0, 0, 0, 0], group=4
        )
    spec.add_sensor(
        name=f"{name}_contact",
        type=mujoco.mjtSensor.mjSENS_TOUCH,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname=name,
    )


def _add_servos(spec: mujoco.MjSpec, kp: float, kd: float, twin: Twin) -> None:
    motors = [a for a in spec.actuators if a.biastype == mujoco.mjtBias.mjBIAS_NONE]
    if not motors:
        return
    if len(motors) < len(spec.actuators) or not spec.keys:
        raise RealworthyError(
            f"{twin.owner} has motors beside other actuators, or no keyframe.",
            hint="Give it position servos and a home keyframe by hand.",
        )
    joints = {joint.name: joint for joint in spec.joints}
    for motor in motors:
        limit = list(motor.ctrlrange)
        motor.set_to_position(kp=kp, kv=kd)
        motor.forcerange = [motor.gear[0] * x for x in limit]
        motor.ctrlrange = joints[motor.target].range
    angles = {}
    place = 0
    for joint in spec.joints:
        angles[joint.name] = place
        place += 7 if joint.type == mujoco.mjtJoint.mjJNT_FREE else 1
    home = spec.keys[0]
    home.ctrl = [home.qpos[angles[motor.target]] for motor in motors]
