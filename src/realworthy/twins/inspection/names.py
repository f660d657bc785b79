"""Names of a model's elements, with a stand-in for those that have none."""

import mujoco

_WORDS = {
    mujoco.mjtObj.mjOBJ_BODY: "body",
    mujoco.mjtObj.mjOBJ_JOINT: "joint",
    mujoco.mjtObj.mjOBJ_GEOM: "geom",
    mujoco.mjtObj.mjOBJ_ACTUATOR: "actuator",
    mujoco.mjtObj.mjOBJ_SENSOR: "sensor",
}


def name_of(model: mujoco.MjModel, kind: mujoco.mjtObj, number: int) -> str:
    """The element's name, or `joint #3`, which no name can be."""
    found = mujoco.mj_id2name(model, kind, number)
    return found or f"{_WORDS.get(kind, 'element')} #{number}"


def is_named(model: mujoco.MjModel, kind: mujoco.mjtObj, number: int) -> bool:
    """Whether the file names the element."""
    return bool(mujoco.mj_id2name(model, kind, number))


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    """Name of a joint, or its stand-in."""
    return name_of(model, mujoco.mjtObj.mjOBJ_JOINT, joint)


def actuator_name(model: mujoco.MjModel, actuator: int) -> str:
    """Name of an actuator, or its stand-in."""
    return name_of(model, mujoco.mjtObj.mjOBJ_ACTUATOR, actuator)


def body_name(model: mujoco.MjModel, body: int) -> str:
    """Name of a body, or its stand-in."""
    return name_of(model, mujoco.mjtObj.mjOBJ_BODY, body)
