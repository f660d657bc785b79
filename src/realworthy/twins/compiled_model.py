"""A compiled model and the numbers that MuJoCo has no field for."""

from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import UnknownName

OWN_PREFIX = "own."
PUSH_COLUMNS = ("x", "y", "z", "start", "duration")


@dataclass(frozen=True, slots=True)
class CompiledModel:
    """`model`, and `own`: our fields by name, each of one world's shape.

    `own.sensor_scale`, `own.sensor_bias`, `own.sensor_noise` (nsensordata,)
        measured = scale · true + bias + noise · N(0, 1)
    `own.action_noise` (nu,)
        standard deviation of what is added to each command
    `own.push` (nbody, 5)
        force x, y, z [N] in the world frame, start and duration [s]
    `own.initial_qpos` (nq,), `own.initial_qvel` (nv,), `own.initial_ctrl` (nu,)
        where a reset begins, and the command that had held until then
    `own.law.<actuator>.<kind>` ()
        a number of an actuator's explicit law
    """

    model: mujoco.MjModel
    own: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    objects: tuple[str, ...] = ()
    """Floating bodies that are no part of the robot."""

    def nominal(self, name: str) -> NDArray[np.float64]:
        """One world's remembered values of a field, MuJoCo's or ours."""
        if name.startswith(OWN_PREFIX):
            return self.own[name]
        if name.startswith("opt."):
            return np.asarray(getattr(self.model.opt, name[4:]))
        return getattr(self.model, name)

    def id(self, kind: mujoco.mjtObj, name: str) -> int:
        """Index of a named object; a missing one is an error with its near misses."""
        index = mujoco.mj_name2id(self.model, kind, name)
        if index < 0:
            element = kind.name.removeprefix("mjOBJ_").lower()
            names = object_names(self.model, kind)
            raise UnknownName(element, name, names, owner="the model", hint="")
        return index


def object_names(model: mujoco.MjModel, kind: mujoco.mjtObj) -> tuple[str, ...]:
    """Names of all objects of a kind, in order; unnamed ones are left out."""
    counts = {
        mujoco.mjtObj.mjOBJ_BODY: model.nbody,
        mujoco.mjtObj.mjOBJ_JOINT: model.njnt,
        mujoco.mjtObj.mjOBJ_ACTUATOR: model.nactuator,
        mujoco.mjtObj.mjOBJ_SENSOR: model.nsensor,
        mujoco.mjtObj.mjOBJ_GEOM: model.ngeom,
        mujoco.mjtObj.mjOBJ_HFIELD: model.nhfield,
        mujoco.mjtObj.mjOBJ_LIGHT: model.nlight,
        mujoco.mjtObj.mjOBJ_CAMERA: model.ncam,
        mujoco.mjtObj.mjOBJ_MATERIAL: model.nmat,
    }
    names = (mujoco.mj_id2name(model, kind, i) for i in range(counts[kind]))
    return tuple(name for name in names if name)


def find_object_bodies(compiled: CompiledModel) -> set[str]:
    """Names of all bodies of objects, those that hang on them included."""
    model = compiled.model
    roots = [compiled.id(mujoco.mjtObj.mjOBJ_BODY, name) for name in compiled.objects]
    bodies = np.flatnonzero(np.isin(model.body_rootid, roots))
    return {model.body(body).name for body in bodies.tolist()}


def own_fields(model: mujoco.MjModel) -> dict[str, NDArray[np.float64]]:
    """Our fields at their neutral values; a reset begins at keyframe `home`, if any."""
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
    if key < 0 and model.nkey:
        key = 0
    return {
        "own.sensor_scale": np.ones(model.nsensordata),
        "own.sensor_bias": np.zeros(model.nsensordata),
        "own.sensor_noise": np.zeros(model.nsensordata),
        "own.action_noise": np.zeros(model.nu),
        "own.push": np.zeros((model.nbody, len(PUSH_COLUMNS))),
        "own.initial_qpos": (model.key_qpos[key] if key >= 0 else model.qpos0).copy(),
        "own.initial_qvel": (
            model.key_qvel[key].copy() if key >= 0 else np.zeros(model.nv)
        ),
        "own.initial_ctrl": (
            model.key_ctrl[key].copy() if key >= 0 else np.zeros(model.nu)
        ),
    }
