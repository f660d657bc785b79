"""An arm of two servos with planted numbers, and what it records."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from realworthy.identification import Problem
from realworthy.identification.problem.joint_by_joint import (
    PositionServo,
    find_position_servos,
)
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu
from realworthy.simulators.rollout import record
from realworthy.twins import Twin, bind

ARM = """
<mujoco model="arm">
  <option timestep="0.005" integrator="implicitfast"/>
  <default>
    <joint damping="0.5" frictionloss="0.1" armature="0.02"/>
    <position kp="400" kv="2" forcerange="-4 4"/>
  </default>
  <worldbody>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.3"/>
      <body name="lower" pos="0.25 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.015" mass="0.15"/>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="upper" body2="lower"/></contact>
  <actuator>
    <position name="shoulder" joint="shoulder"/>
    <position name="elbow" joint="elbow"/>
  </actuator>
</mujoco>
"""
JOINTS = ("shoulder", "elbow")
TRUTH = {
    "shoulder.kp": 14.0,
    "elbow.kp": 10.0,
    "shoulder.kd": 0.3,
    "elbow.kd": 0.2,
    "shoulder.coulomb_friction": 0.3,
    "elbow.coulomb_friction": 0.15,
}
NOISE = 5e-4


def move(twin: Twin, middle: Sequence[float], *, seeds: int = 5) -> list[Recording]:
    """Slow and quick waves around a pose, 8 s at 50 Hz, with noisy encoders."""
    made = []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        t = np.arange(400) / 50
        goals = np.empty((len(t), 2))
        for j in range(2):
            speed, phase = random.uniform(0.8, 6.0, 3), random.uniform(0, 6, 3)
            waves = np.sin(speed * t[:, None] + phase) @ [0.25, 0.12, 0.08]
            goals[:, j] = middle[j] + waves * np.minimum(1, t)
        robot = MujocoCpu(bind(twin), 1, substeps=4)
        robot.reset(qpos=[list(middle)], command=[list(middle)])
        for _ in range(50):
            robot.step(goals[0])
        (played,) = record(robot, goals)
        noisy = {
            f"{joint}.position": played.signals[f"{joint}.position"]
            + NOISE * random.normal(size=len(t))
            for joint in JOINTS
        }
        made.append(replace(played.with_signals(noisy), source=Path(f"motion_{seed}")))
    return made


def pose(twin: Twin, recordings: list[Recording], names: Sequence[str]) -> Problem:
    return Problem(
        twin, recordings, names, joints=JOINTS, horizon=4.0, estimate_starts=False
    )


def find(twin: Twin) -> tuple[PositionServo, ...]:
    """The arm's two servos."""
    servos = find_position_servos(twin, JOINTS)
    assert servos is not None
    return servos
