"""The pose that a legged robot stands in, and what is made of it: terms, actions."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.policies.action import ActionMap
from realworthy.policies.terms import Gravity, Linear, Term
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.legged.locomotion import require_base
from realworthy.tasks.task import Input, Start
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout
from realworthy.twins.roles.part import CHOSEN, RobotPart
from realworthy.twins.signal_sensors import command_names

_SAME = 1e-9
"""[rad], or of a quaternion: a difference that rounding makes."""


@dataclass(frozen=True, slots=True)
class Stance:
    """A twin's joints with position input, in the order of its commands, at home."""

    joints: tuple[str, ...]
    commands: tuple[str, ...]
    """Signals, one for each joint."""
    angles: tuple[float, ...]
    """[rad] of the joints when the robot stands."""
    targets: tuple[float, ...]
    """[rad] of the commands then; beyond the angles, because joints sag."""
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    """[rad] ends of the joints."""
    height: float
    """[m] of the base when the robot stands."""
    gyro: str
    orientation: str
    """Sensors of the base; the base's own where the robot has no imu."""

    def build_terms(self, inputs: Sequence[Input]) -> tuple[Term, ...]:
        """What such a robot measures, its last action and what it is told."""
        return (
            Linear(name="gyro", signals=_spell(self.gyro, "xyz"), scale=(0.25,)),
            Gravity(name="gravity", signals=_spell(self.orientation, "wxyz")),
            Linear(
                name="joints",
                signals=tuple(f"{joint}.position" for joint in self.joints),
                offset=self.angles,
            ),
            Linear(
                name="speeds",
                signals=tuple(f"{joint}.velocity" for joint in self.joints),
                scale=(0.05,),
            ),
            Linear(
                name="last_action",
                signals=tuple(f"{name}.action" for name in self.commands),
            ),
            Linear(name="command", signals=tuple(one.name for one in inputs)),
        )

    def build_action(self, scale: RobotPart[float], clip: float) -> ActionMap:
        """Targets of the joints about those of standing."""
        return ActionMap(
            commands=self.commands,
            offset=self.targets,
            scale=(scale.value or 0.0,) * len(self.commands),
            clip=clip,
        )

    def find_swaps(
        self, image: Mapping[str, tuple[str, float]] | None
    ) -> dict[str, tuple[str, float]] | None:
        """Joints and commands → what takes their place in the mirror, and its sign.

        `image` is the robot's own; None where its sides differ, at home as well.
        """
        if image is None or not {*self.joints} <= {*image}:
            return None
        stems = [command.removesuffix(".command") for command in self.commands]
        places = {joint: i for i, joint in enumerate(self.joints)}
        swaps = {}
        for i, joint in enumerate(self.joints):
            partner, sign = image[joint]
            if partner not in places:
                return None
            k = places[partner]
            for values in (self.angles, self.targets):
                if abs(values[i] - sign * values[k]) > _SAME:
                    return None
            swaps[joint], swaps[stems[i]] = (partner, sign), (stems[k], sign)
        return swaps


class Beginning:
    """Starts episodes near the stance, whichever way it looks."""

    def __init__(self, scene: Scene, stance: Stance) -> None:
        base = scene.find_base()
        assert base is not None
        self._qpos, self._dof = base
        self._joints, _ = scene.find_joints(stance.joints)
        self.width = 7 + len(stance.joints)
        """Random numbers that a start takes."""

    def draw(self, scene: Scene, u: Tensor) -> Start:
        """From (worlds, width) numbers in (0, 1).

        Yaw anything, joints ±0.1 rad from home, the base ±0.3 m/s and ±0.3 rad/s.
        """
        qpos = scene.initial_qpos.repeat(scene.world_count, 1)
        half = math.pi * (u[:, 0] - 0.5)
        w, z = self._qpos + 3, self._qpos + 6
        qpos[:, w : z + 1] = 0.0
        qpos[:, w], qpos[:, z] = torch.cos(half), torch.sin(half)
        qpos[:, self._joints] += 0.2 * (u[:, 7:] - 0.5)
        qpos[:, self._qpos + 2] += 0.01
        qvel = scene.zeros(scene.nv)
        qvel[:, self._dof : self._dof + 6] = 0.6 * (u[:, 1:7] - 0.5)
        return Start(qpos, qvel)


def read_stance(twin: Twin, legs: Collection[str] = ()) -> Stance:
    """The stance of a twin, from its home keyframe; of the joints `legs`, if given."""
    bound = bind(twin)
    model, layout = bound.model, Layout(bound)
    lines = [x for x in describe_commands(bound) if not legs or x.joint in legs]
    bad = [line.signal for line in lines if line.kind != "position" or not line.joint]
    if bad:
        raise RealworthyError(
            f"Legged tasks command joints' positions, but {twin.owner} has "
            f"'{bad[0]}', which is no position of a joint.",
            hint="Give its joints position servos; torque motors get them anyway.",
        )
    joints = tuple(str(line.joint) for line in lines)
    order = command_names(model)
    places = [order.index(line.signal) for line in lines]
    joint = model.joint(require_base(twin).joint)
    qpos, told = (bound.compiled.own[f"own.initial_{x}"] for x in ("qpos", "ctrl"))
    ends = layout.joint_ranges()
    return Stance(
        joints=joints,
        commands=tuple(line.signal for line in lines),
        angles=tuple(float(qpos[layout.joint(joint)[0]]) for joint in joints),
        targets=tuple(float(told[i]) for i in places),
        lower=tuple(ends[joint][0] for joint in joints),
        upper=tuple(ends[joint][1] for joint in joints),
        height=float(qpos[joint.qposadr[0] + 2]),
        gyro=_find_sensor(bound, "gyro"),
        orientation=_find_sensor(bound, "orientation"),
    )


def choose_action_scale(twin: Twin, usual: float) -> RobotPart[float]:
    """[rad] that a joint's target moves per unit of action: as chosen, else `usual`."""
    chosen = twin.role_choices.action_scale
    scale, reason = (chosen, CHOSEN) if chosen else (usual, "that of this task")
    return RobotPart(scale, reason, f"{scale:g} rad per unit of action")


def _find_sensor(bound: BoundTwin, kind: str) -> str:
    """The first sensor of a kind: the robot's own come before those of its base.

    It measures in the base's own axes, so that x is ahead.
    """
    model = bound.model
    base = model.body(require_base(bound.twin).body).id
    for i in range(model.nsensor):
        name = model.sensor(i).name
        if name.endswith(kind) and _is_aligned(model, i, base):
            return name
    raise RealworthyError(
        f"{bound.twin.owner} measures no {kind} in the axes of its base.",
        hint="Legged tasks need a floating base, or an imu.",
    )


def _is_aligned(model: mujoco.MjModel, sensor: int, base: int) -> bool:
    """Whether a sensor sits on a body and has its axes."""
    kind, owner = int(model.sensor_objtype[sensor]), int(model.sensor_objid[sensor])
    if kind == mujoco.mjtObj.mjOBJ_SITE:
        turned = np.abs(model.site_quat[owner, 1:]).max() > _SAME
        return bool(model.site_bodyid[owner] == base and not turned)
    return kind == mujoco.mjtObj.mjOBJ_XBODY and owner == base


def _spell(sensor: str, axes: str) -> tuple[str, ...]:
    return tuple(f"{sensor}.{axis}" for axis in axes)
