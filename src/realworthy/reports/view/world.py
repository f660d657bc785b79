"""One simulated robot: where its bodies are, what it measures, how it is pushed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.realities.stand_in import describe_robot
from realworthy.realities.truth import robot_joints
from realworthy.recordings.signals import unit_of_command
from realworthy.robots import RobotInfo, State
from realworthy.sensors.stages import compute_reading
from realworthy.simulators import MujocoCpu
from realworthy.twins.commands import CommandLine, describe_commands
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BodyPoses:
    """Where every body is, the world itself first."""

    position: Floats
    """(bodies, 3) [m]"""
    quaternion: Floats
    """(bodies, 4) w-x-y-z"""


class World:
    """World 0 of a simulator, seen as a robot and as something to draw."""

    def __init__(self, simulator: MujocoCpu, *, seed: int = 0) -> None:
        self.simulator, self.bound = simulator, simulator.bound
        self.layout = Layout(self.bound)
        self.joints = robot_joints(self.bound.twin, self.layout)
        self._chance = np.random.default_rng(seed)
        signals = simulator.signals
        self._places = [
            [signals.index(f"{joint}.{kind}") for joint in self.joints]
            for kind in ("position", "velocity", "torque")
        ]
        taken = {place for places in self._places for place in places}
        self._others = [i for i in range(len(signals)) if i not in taken]
        self._sequence = 0

    @cached_property
    def info(self) -> RobotInfo:
        """Of a robot that measures whatever the twin has a sensor for."""
        others = tuple(self.simulator.signals[i] for i in self._others)
        return describe_robot(self.layout, self.joints, others, self.simulator.period)

    def find_places(self, commands: Sequence[str]) -> list[int]:
        """Where some commands are among all; the robot's own order."""
        return [i for i, name in enumerate(self.info.commands) if name in commands]

    def describe_for(self, commands: Sequence[str]) -> RobotInfo:
        """As a robot that takes these commands alone; the others rest at home."""
        info, kept = self.info, self.find_places(commands)
        kinds = {self.lines[i].kind for i in kept}
        return replace(
            info,
            commands=tuple(info.commands[i] for i in kept),
            command_kind=kinds.pop() if len(kinds) == 1 else None,
            command_lower=info.command_lower[kept],
            command_upper=info.command_upper[kept],
        )

    @cached_property
    def lines(self) -> tuple[CommandLine, ...]:
        """What it can be told, in order."""
        return describe_commands(self.bound)

    @cached_property
    def units(self) -> dict[str, str]:
        """Joint → `rad`, or `m` for a slide."""
        model, slide = self.bound.model, mujoco.mjtJoint.mjJNT_SLIDE
        kinds = {joint: model.joint(joint).type[0] for joint in self.joints}
        return {j: "m" if kind == slide else "rad" for j, kind in kinds.items()}

    def find_unit(self, line: CommandLine) -> str:
        """Of one number of a command."""
        unit = self.units.get(line.joint or "")
        return unit_of_command(line.kind, slides=None if unit is None else unit == "m")

    @cached_property
    def base(self) -> int | None:
        """The robot's body that floats; None: it is fixed."""
        base = self.bound.twin.base
        return None if base is None else int(self.bound.model.body(base.body).id)

    def poses(self) -> BodyPoses:
        simulator = self.simulator
        return BodyPoses(
            simulator.array("xpos")[0].copy(), simulator.array("xquat")[0].copy()
        )

    def state(self) -> State:
        """What it measures now, with scale and bias of its sensors but no noise."""
        simulator = self.simulator
        row = compute_reading(
            np.array(simulator.array("sensordata")[0]),
            scale=simulator.field("own.sensor_scale")[0],
            bias=simulator.field("own.sensor_bias")[0],
        )
        self._sequence += 1
        position, velocity, torque = (row[places] for places in self._places)
        return State(
            time=float(simulator.array("time")[0]),
            sequence=self._sequence,
            position=position,
            velocity=velocity,
            torque=torque,
            others=row[self._others],
        )

    def find_commands(self, command: Floats) -> Floats:
        """(joints,) the first command to each joint; NaN where it takes none."""
        found = np.full(len(self.joints), np.nan)
        for value, line in zip(command[::-1], self.lines[::-1], strict=True):
            if line.joint in self.joints:
                found[self.joints.index(line.joint)] = value
        return found

    def push(self, speed: float) -> None:
        """Another speed at once: of a floating base along the ground, in a direction
        drawn at random [m/s]; else of every joint, to either side [rad/s or m/s].

        Objects beside the robot are never pushed."""
        qvel, dofs = self.simulator.array("qvel"), self.layout.robot_dofs
        if self.layout.base is None:
            qvel[0, dofs] += speed * self._chance.choice((-1.0, 1.0), len(dofs))
        else:
            _, first = self.layout.base
            angle = self._chance.uniform(0, 2 * np.pi)
            qvel[0, first] += speed * np.cos(angle)
            qvel[0, first + 1] += speed * np.sin(angle)
        self.simulator.refresh()
