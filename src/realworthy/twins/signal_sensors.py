"""What a robot with this body would measure, as sensors named like recorded signals."""

import mujoco

from realworthy.twins.floating_base import FloatingBase, list_free_bodies

_SIMPLE = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
_JOINT_SENSORS = {
    "position": mujoco.mjtSensor.mjSENS_JOINTPOS,
    "velocity": mujoco.mjtSensor.mjSENS_JOINTVEL,
    "torque": mujoco.mjtSensor.mjSENS_JOINTACTFRC,
}
_BASE_SENSORS = {
    "position": mujoco.mjtSensor.mjSENS_FRAMEPOS,
    "orientation": mujoco.mjtSensor.mjSENS_FRAMEQUAT,
    "velocity": mujoco.mjtSensor.mjSENS_FRAMELINVEL,
}
INPUT_NAMES = {"pos": "position", "vel": "velocity", "ff": "torque"}
AXES = {1: ("",), 3: (".x", ".y", ".z"), 4: (".w", ".x", ".y", ".z")}


def add_sensors(spec: mujoco.MjSpec, base: FloatingBase | None) -> None:
    """Adds `<joint>.position|velocity|torque` and, for floating bodies, `base.…`.

    The robot's floating base is `base`; other bodies keep their names. A torque is that
    of the actuators on the joint.
    """
    existing = {sensor.name for sensor in spec.sensors}

    def add(name: str, kind: mujoco.mjtSensor, on: mujoco.mjtObj, of: str) -> None:
        if name not in existing:
            spec.add_sensor(name=name, type=kind, objtype=on, objname=of)

    for joint in spec.joints:
        if joint.type in _SIMPLE:
            for signal, kind in _JOINT_SENSORS.items():
                add(
                    f"{joint.name}.{signal}",
                    kind,
                    mujoco.mjtObj.mjOBJ_JOINT,
                    joint.name,
                )
    for body, _ in list_free_bodies(spec):
        prefix = "base" if base and body.name == base.body else body.name
        for signal, kind in _BASE_SENSORS.items():
            add(f"{prefix}.{signal}", kind, mujoco.mjtObj.mjOBJ_XBODY, body.name)
        site = f"{prefix}.frame"
        if site not in {s.name for s in body.sites}:
            body.add_site(name=site, group=5, size=[0.001] * 3)
        kind = mujoco.mjtSensor.mjSENS_GYRO
        add(f"{prefix}.gyro", kind, mujoco.mjtObj.mjOBJ_SITE, site)


def signal_names(model: mujoco.MjModel) -> list[str]:
    """One signal name for each number in `sensordata`, such as `base.orientation.w`."""
    names = []
    for i in range(model.nsensor):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SENSOR, i) or f"sensor{i}"
        width = int(model.sensor_dim[i])
        suffixes = AXES.get(width) or tuple(f".{k}" for k in range(width))
        names += [name + suffix for suffix in suffixes]
    return names


def command_names(model: mujoco.MjModel) -> list[str]:
    """One signal name for each number in `ctrl`.

    The first input of an actuator is `<actuator>.command`, others are
    `<actuator>.command.velocity` and so on.
    """
    names = []
    for i in range(model.nactuator):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i)
        for k in range(int(model.actuator_ctrlnum[i])):
            named = mujoco.mj_actuatorInputName(model, i, k) or str(k)
            input_name = INPUT_NAMES.get(named, named)
            names.append(f"{name}.command" + (f".{input_name}" if k else ""))
    return names
