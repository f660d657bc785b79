"""A small robot beside a sliding puck, and how plain MuJoCo moves them.

The robot of the conformance checks has two joints with servos and room for delays; a
puck slides over the floor. `ReferenceWorld` edits its text with MjSpec, compiles a
model afresh for each world and steps it with `mj_step`; nothing of Realworthy is
between.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec
import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import Actuator
from realworthy.parameters import Parameter, ParameterSpace
from realworthy.simulators.simulator import Simulator, to_numpy
from realworthy.twins import BoundTwin, Twin, bind

Floats = NDArray[np.float64]
Build = Callable[[BoundTwin, int, int], Simulator]
"""(bound twin, world count, substeps) → the simulator to be checked."""
SUBSTEPS = 4
LONGEST_DELAY = 0.02
"""[s] for which the robot keeps commands and measurements."""
XML = """
<mujoco model="conformance">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.05 0.005 0.0001"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" damping="0.2" armature="0.02"/>
      <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.002"/>
      <body name="fore" pos="0 0 -0.4">
        <joint name="elbow" axis="0 1 0" damping="0.1" armature="0.01"/>
        <inertial pos="0 0 -0.15" mass="0.5" diaginertia="0.006 0.006 0.001"/>
      </body>
    </body>
    <body name="puck" pos="1 0 0.0499">
      <freejoint name="puck_free"/>
      <inertial pos="0 0 0" mass="0.4" diaginertia="0.001 0.001 0.001"/>
      <geom name="puck" type="box" size="0.05 0.05 0.05" friction="0.4 0.005 0.0001"/>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder" joint="shoulder" kp="30" kv="1"/>
    <position name="elbow" joint="elbow" kp="20" kv="0.5"/>
  </actuator>
</mujoco>
"""
CHANGES = {
    "shoulder.damping": 0.6,
    "upper.mass": 1.8,
    "fore.centre_of_mass.x": 0.06,
    "puck.centre_of_mass.x": 0.02,
    "puck.contact_friction": 0.15,
    "elbow.kp": 35.0,
    "elbow.delay": 0.0135,
    "world.gravity": 6.0,
}
"""One change for each world; between them they touch every group of model fields."""
OTHERS = (
    *("shoulder.delay", "elbow.position.sensor_delay"),
    *(f"puck.push.{part}" for part in ("x", "y", "z", "start", "duration")),
)


def build_twin(actuators: Mapping[str, Actuator] | None = None) -> Twin:
    """The robot, some of its drives perhaps described anew."""
    spec = mujoco.MjSpec.from_string(XML)
    twin = Twin(name="conformance", base_spec=spec, model="conformance.xml")
    return twin.with_actuators(actuators or {})


def bind_twin() -> BoundTwin:
    """The robot with room for every change."""
    twin = build_twin()
    space = twin.space.select([*CHANGES, *OTHERS])
    limited = [_limit_delay(parameter) for parameter in space]
    return bind(twin, ParameterSpace(limited, owner=space.owner))


def _limit_delay(parameter: Parameter) -> Parameter:
    if parameter.kind not in ("delay", "sensor_delay"):
        return parameter
    return msgspec.structs.replace(parameter, upper=LONGEST_DELAY)


def single_changes(space: ParameterSpace) -> Floats:
    """(worlds, d) one change in each world, and all of them in the last."""
    rows = [space.vector({name: value}) for name, value in CHANGES.items()]
    return np.array([*rows, space.vector(CHANGES)])


def make_commands(step_count: int, *, seed: int = 5) -> Floats:
    """(steps, 2) smooth targets with a jump in the middle."""
    phase = np.random.default_rng(seed).uniform(0, 6, 2)
    t = np.arange(step_count)[:, None] * 0.008
    jump = np.where(np.arange(step_count) < step_count // 2, 0.0, 0.5)[:, None]
    return 0.4 * np.sin(9 * t + phase) + jump


START_QVEL = np.array([0.5, -1.0, 1.2, 0.3, 0.0, 0.0, 0.0, 0.0])
"""Joints and puck are moving when a trial begins."""


@dataclass(frozen=True, slots=True)
class ConformanceTrace:
    """What happened: (steps, worlds, …)."""

    qpos: Floats
    qvel: Floats
    sensordata: Floats


def play(simulator: Simulator, commands: Floats) -> ConformanceTrace:
    """Steps from the present state with (steps, inputs) or (steps, worlds, inputs)."""
    kept: dict[str, list[Floats]] = {"qpos": [], "qvel": [], "sensordata": []}
    for command in commands:
        wide = np.broadcast_to(command, (simulator.world_count, command.shape[-1]))
        simulator.step(np.array(wide))
        for name, values in kept.items():
            values.append(np.array(to_numpy(simulator.array(name)), dtype=np.float64))
    return ConformanceTrace(**{name: np.array(values) for name, values in kept.items()})


def start(simulator: Simulator, samples: Floats, command: Floats) -> None:
    """Gives worlds their e and begins a trial."""
    simulator.write(samples)
    simulator.reset(qvel=START_QVEL, command=command)


class ReferenceWorld:
    """One world in plain MuJoCo, compiled afresh from edited text."""

    def __init__(self, values: Mapping[str, float], *, substeps: int = SUBSTEPS):
        self.model = edit_model(values)
        self.data = mujoco.MjData(self.model)
        self.substeps = substeps

    def start(self, command: Floats) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qvel[:] = START_QVEL
        for actuator, samples in enumerate(self.model.actuator_history[:, 0].tolist()):
            if samples:
                held = np.full(samples, command[actuator])
                mujoco.mj_initCtrlHistory(self.model, self.data, actuator, None, held)

    def play(self, commands: Floats) -> Floats:
        """(steps, nq) positions."""
        trace = []
        for command in commands:
            self.data.ctrl[:] = command
            for _ in range(self.substeps):
                mujoco.mj_step(self.model, self.data)
            trace.append(self.data.qpos.copy())
        return np.array(trace)


def edit_model(values: Mapping[str, float]) -> mujoco.MjModel:
    """The robot with numbers changed in its text and everything derived anew."""
    spec = mujoco.MjSpec.from_string(XML)
    for name, value in values.items():
        element, _, kind = name.partition(".")
        match kind:
            case "damping":
                spec.joint(element).damping = [value, 0.0, 0.0]
            case "mass":
                body = spec.body(element)
                body.inertia = body.inertia * (value / body.mass)
                body.mass = value
            case "centre_of_mass.x":
                spec.body(element).ipos = [value, *spec.body(element).ipos[1:]]
            case "contact_friction":
                spec.geom(element).friction = [value, *spec.geom(element).friction[1:]]
            case "kp":
                actuator = spec.actuator(element)
                actuator.gainprm = [value, *actuator.gainprm[1:]]
                bias = actuator.biasprm
                actuator.biasprm = [bias[0], -value, *bias[2:]]
            case "delay":
                actuator = spec.actuator(element)
                actuator.delay, actuator.nsample, actuator.interp = value, 64, 1
            case "gravity":
                spec.option.gravity = [0.0, 0.0, -value]
            case _:
                raise AssertionError(name)
    return spec.compile()
