"""A reality behind the `Robot` interface."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.realities.chance import RealityChance
from realworthy.realities.interface import Translator
from realworthy.realities.reality import Reality, load_reality
from realworthy.realities.reports import Reports
from realworthy.realities.stand_in_drives import StandInDrives
from realworthy.realities.truth import robot_joints
from realworthy.realities.worlds import RealityWorlds
from realworthy.robots import Command, Mode, Robot, RobotInfo, State
from realworthy.twins import Twin, bind, load_twin
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout
from realworthy.twins.model_sources import builtin_names

Floats = NDArray[np.float64]
_ONLY = np.array([0])
"""The world of one robot."""


class StandIn(Robot):
    """A robot in this process: time passes only in `wait`, as fast as it can.

    It answers commands with measurements and nothing else; what is true stays inside.
    Every `connect` begins a trial with noise of its own; stand-ins of equal seed give
    equal measurements trial by trial.
    """

    def __init__(self, reality: Reality, *, seed: int | None = None) -> None:
        self._reality, self._twin = reality.name, reality.twin
        self._faults = reality.file.interface
        worlds = RealityWorlds(reality, seed=seed, thread_count=1)
        twin_layout = Layout(bind(reality.twin))
        joints = robot_joints(reality.twin, twin_layout)
        translator = Translator(self._faults, joints, worlds.lines)
        self._worlds, self._chance = worlds, RealityChance(worlds.seed, 1)
        self._chance.begin(_ONLY)
        self._driving = StandInDrives(self._faults, worlds, translator, twin_layout)
        self._reports = Reports(reality, worlds, translator, twin_layout, self._chance)
        self._info = describe_robot(
            twin_layout, joints, self._reports.others, worlds.period
        )
        self._begin()

    @property
    def info(self) -> RobotInfo:
        return self._info

    @property
    def twin(self) -> Twin:
        """The twin that its makers know; the truth is another."""
        return self._twin

    @property
    def steps_time(self) -> bool:
        return True

    def connect(self) -> None:
        """Puts the stand-in back to its start, cold and at rest, for another trial."""
        self._chance.numbers += 1
        self._begin()

    def read(self) -> State:
        return self._newest

    def write(self, command: Command) -> None:
        """Takes a command; one that is not finite, or after a stop, is ignored."""
        values = np.array(command.values, dtype=np.float64)
        if values.shape != (len(self._info.commands),):
            raise RealworthyError(
                f"Robot '{self._info.name}' takes {len(self._info.commands)} numbers "
                f"in a command, not {values.shape}.",
                hint=f"In order: {', '.join(self._info.commands)}.",
            )
        if self._mode is Mode.STOPPED or not np.isfinite(values).all():
            return
        self._mode = Mode.RUN
        self._command = values

    def wait(self, seconds: float) -> None:
        """Steps the physics, in whole substeps; what is left over is owed.

        With jitter it is measured a little before or after each beat; beats stay.
        """
        if not 0 <= seconds < math.inf:
            raise RealworthyError(f"A robot cannot wait for {seconds} s.")
        self._chance.tick += 1
        # Two samples with jitter of their own are √2 times as far apart as one is off.
        sd = self._faults.jitter / math.sqrt(2)
        jitter = self._chance.normal("jitter", sd, 1, _ONLY)[0, 0]
        self._owed += seconds
        substeps = max(0, round((self._owed + jitter) / self._worlds.timestep))
        if substeps:
            self._owed -= substeps * self._worlds.timestep
            self._advance(substeps)
            self._measure()

    def damp(self) -> None:
        if self._mode is not Mode.STOPPED:
            self._mode = Mode.DAMP

    def stop(self) -> None:
        self._mode = Mode.STOPPED

    @property
    def _time(self) -> float:
        return float(self._worlds.simulator.array("time")[0])

    def _begin(self) -> None:
        self._chance.tick[:] = 0
        self._worlds.reset(int(self._chance.numbers[0]))
        self._driving.reset()
        self._reports.begin(_ONLY)
        self._mode = Mode.DAMP
        self._command = np.zeros(len(self._info.commands))
        self._owed = 0.0
        self._newest = self._sample(sequence=0)

    def _advance(self, substeps: int) -> None:
        command = self._command if self._mode is Mode.RUN else None
        if command is not None:
            sd = self._worlds.simulator.field("own.action_noise")[0]
            noise = self._chance.normal("action noise", sd, len(command), _ONLY)
            command = command + noise[0]
        while substeps:
            goal, held = self._driving.drive(command, substeps)
            held = 1 if self._reports.keeps_past else held
            self._worlds.step(goal, held)
            self._reports.remember()
            substeps -= held
        if self._worlds.has_diverged():
            raise RealworthyError(
                f"Reality '{self._reality}' diverged at {self._time:.3f} s: its "
                "physics is no longer finite or within reason.",
                hint="Try smaller commands, softer effects or a timestep_factor below "
                "1; connect() starts anew.",
            )

    def _measure(self) -> None:
        if self._chance.happens("loss", self._faults.loss)[0]:
            return  # on the way: the newest stays the newest
        sequence = self._newest.sequence + 1
        if self._chance.happens("stale", self._faults.stale_samples)[0]:
            self._newest = replace(
                self._newest, time=self._time, sequence=sequence, mode=self._mode
            )
        else:
            self._newest = self._sample(sequence)

    def _sample(self, sequence: int) -> State:
        report = self._reports.make(_ONLY)[0]
        position, velocity, torque, others = self._reports.split(report)
        return State(
            time=self._time,
            sequence=sequence,
            position=position,
            velocity=velocity,
            torque=torque,
            others=others,
            mode=self._mode,
        )


def describe_robot(
    layout: Layout,
    joints: tuple[str, ...],
    other_signals: tuple[str, ...],
    period: float,
) -> RobotInfo:
    """What is on a robot's datasheet: names and limits of its twin."""
    lines = describe_commands(layout.bound)
    kind = lines[0].kind if len({line.kind for line in lines}) == 1 else None
    return RobotInfo(
        name=layout.bound.twin.name,
        joints=joints,
        commands=tuple(line.signal for line in lines),
        command_kind=kind,
        rate=1 / period,
        command_lower=np.array([line.lower for line in lines]),
        command_upper=np.array([line.upper for line in lines]),
        other_signals=other_signals,
    )


def open_stand_in(name: str) -> StandIn:
    """The stand-in of a shipped reality, or of a `*.reality.yaml`."""
    return StandIn(load_reality(name))


def find_twin(robot: Robot, twin: Twin | Path | str | None = None) -> Twin:
    """The twin asked for; where none is, the one that the robot names.

    A stand-in in this process has one. A name from the network is only looked for among
    the built-in twins, and never taken for a path.
    """
    if twin:
        return load_twin(twin)
    if isinstance(robot, StandIn):
        return robot.twin
    named = robot.info.name
    if named in builtin_names():
        return load_twin(named)
    raise RealworthyError(
        f"The robot calls itself '{named}', and no built-in twin has that name.",
        hint="Say which twin it has: --twin my_robot.twin.yaml, or any TWIN.",
    )
