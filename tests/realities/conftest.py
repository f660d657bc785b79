"""Tiny twins with known numbers, and realities made of them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from realworthy.realities import (
    Interface,
    Reality,
    RealityFile,
    RealityNoise,
    make_reality,
)
from realworthy.realities.effects import Effect
from realworthy.realities.worlds import RealityWorlds
from realworthy.robots import Command, Robot, State

LINK, ARMATURE = 0.04, 0.01
INERTIA = LINK + ARMATURE
"""[kg·m²] of the link, of the motor, and of both."""
PERIOD = 0.004
"""[s] between commands to these twins: four substeps of 1 ms."""

MOTOR = '<motor name="hinge" joint="hinge" ctrlrange="-10 10"/>'
SERVO = (
    '<position name="hinge" joint="hinge" kp="50" kv="2" ctrlrange="-3 3" '
    'forcerange="-10 10"/>'
)
DC_MOTOR = (
    '<dcmotor name="hinge" joint="hinge" motorconst="0.5 0.5" resistance="2" '
    'input="voltage" ctrlrange="-12 12"/>'
)
"""Stall torque 0.5 · 12 / 2 = 3 N·m."""


def rotor(actuator: str = MOTOR, joint: str = "") -> str:
    """A hinge about the vertical, so that gravity does not matter."""
    return f"""
<mujoco model="rotor">
  <option timestep="0.001" integrator="implicitfast"/>
  <worldbody>
    <body name="rotor">
      <joint name="hinge" axis="0 0 1" armature="{ARMATURE}" {joint}/>
      <inertial pos="0 0 0" mass="1" diaginertia="{LINK} {LINK} {LINK}"/>
      <geom name="arm" type="box" pos="0.2 0 0" size="0.1 0.02 0.02" contype="0"
            conaffinity="0"/>
    </body>
  </worldbody>
  <actuator>{actuator}</actuator>
</mujoco>
"""


PAIR = """
<mujoco model="pair">
  <option timestep="0.001" integrator="implicitfast"/>
  <default>
    <joint axis="0 0 1" armature="0.02" damping="0.1"/>
    <position kp="30" kv="1" ctrlrange="-2 2" forcerange="-10 10"/>
  </default>
  <worldbody>
    <body name="left"><joint name="left"/><geom size="0.1" mass="1"/></body>
    <body name="free" pos="0 1 0">
      <joint name="free"/><geom size="0.1" mass="1"/>
    </body>
    <body name="right" pos="0 2 0">
      <joint name="right"/><geom size="0.12" mass="2"/>
    </body>
  </worldbody>
  <actuator>
    <position name="left" joint="left"/>
    <position name="right" joint="right" kp="45"/>
  </actuator>
</mujoco>
"""
"""Two servos, and a joint without a motor between them."""

FLOATER = """
<mujoco model="floater">
  <option timestep="0.001" gravity="0 0 0"/>
  <worldbody>
    <body name="trunk">
      <freejoint name="base"/>
      <geom type="box" size="0.1 0.2 0.3" mass="3"/>
      <site name="imu" euler="0 0 30"/>
      <body name="wheel" pos="0.3 0 0">
        <joint name="wheel" axis="1 2 3"/><geom size="0.1" mass="0.5"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="wheel" joint="wheel" ctrlrange="-5 5"/></actuator>
  <sensor>
    <gyro name="imu_gyro" site="imu"/>
    <accelerometer name="imu_accelerometer" site="imu"/>
    <framequat name="imu_orientation" objtype="site" objname="imu"/>
  </sensor>
</mujoco>
"""
"""A floating base with an inertial unit and a wheel that turns it."""

MakeReality = Callable[..., Reality]


@pytest.fixture
def make(tmp_path: Path) -> MakeReality:
    """A reality from an MJCF text and the parts of a reality file."""

    def make_from(
        model: str,
        *effects: Effect,
        parameters: Mapping[str, float] | None = None,
        interface: Interface | None = None,
        noise: RealityNoise | None = None,
        actuators: str = "",
        seed: int = 3,
        rate: float = 0.0,
        timestep_factor: float = 1.0,
    ) -> Reality:
        (tmp_path / "model.xml").write_text(model)
        (tmp_path / "test.twin.yaml").write_text(
            f"schema: 1\nname: test\nmodel: model.xml\nactuators: {{{actuators}}}\n"
        )
        file = RealityFile(
            schema=1,
            twin="test.twin.yaml",
            seed=seed,
            parameters=dict(parameters or {}),
            effects=list(effects),
            interface=interface or Interface(),
            noise=noise or RealityNoise(),
            rate=rate,
            timestep_factor=timestep_factor,
        )
        return make_reality("test", file, folder=tmp_path)

    return make_from


class Course:
    """What happened in one world, one row per substep: `time`, `qpos`, `qvel`, …"""

    def __init__(self, worlds: RealityWorlds, names: tuple[str, ...]) -> None:
        self._arrays = {name: worlds.simulator.array(name) for name in names}
        self._rows: dict[str, list[np.ndarray]] = {name: [] for name in names}

    def add(self) -> None:
        for name, rows in self._rows.items():
            rows.append(np.array(self._arrays[name][0]))

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array(self._rows[name])


def run(
    worlds: RealityWorlds,
    command: Callable[[float], float] | float,
    seconds: float,
    *names: str,
) -> Course:
    """Steps substep by substep under a command that may follow time [s]."""
    course = Course(worlds, ("time", "qpos", "qvel", "qfrc_actuator", *names))
    for k in range(round(seconds / worlds.timestep)):
        now = command(k * worlds.timestep) if callable(command) else command
        worlds.step(np.full(len(worlds.lines), now), 1)
        course.add()
    return course


def count_cycles(signal: np.ndarray, time: np.ndarray) -> float:
    """Frequency [Hz] of a swinging signal, from its rises through zero."""
    rises = np.flatnonzero((signal[:-1] < 0) & (signal[1:] >= 0))
    before, after = signal[rises], signal[rises + 1]
    moments = time[rises] - before / (after - before) * (time[1] - time[0])
    return (len(moments) - 1) / (moments[-1] - moments[0])


def listen(robot: Robot, commands: np.ndarray, period: float = PERIOD) -> list[State]:
    """Every newest state of a trial: one at its start, one after each command."""
    robot.connect()
    states = [robot.read()]
    for k, values in enumerate(commands):
        robot.write(Command(sequence=k, values=values))
        robot.wait(period)
        states.append(robot.read())
    return states


def stacked(states: list[State], name: str) -> np.ndarray:
    """(samples, …) of one member of the states."""
    return np.array([getattr(state, name) for state in states])
