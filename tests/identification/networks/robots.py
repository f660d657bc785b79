"""Stand-ins that lack nothing or something that their twin does not have."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from realworthy.deployment import play
from realworthy.realities import RealityNoise, StandIn
from realworthy.realities.effects import Drag, Effect, LoadFriction, Stribeck
from realworthy.realities.file import RealityFile
from realworthy.realities.reality import make_reality
from realworthy.recordings import Recording, Sidecar
from realworthy.recordings import SignalNoise as DeclaredNoise

RATE = 250.0
TWO_LINKS = """
<mujoco model="two">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="a">
      <joint name="a" axis="0 1 0" damping="0.2" armature="0.02"/>
      <inertial pos="0 0 -0.2" mass="0.5" diaginertia="0.003 0.003 0.0005"/>
      <body name="b" pos="0 0 -0.4">
        <joint name="b" axis="0 1 0" damping="0.2" armature="0.02"/>
        <inertial pos="0 0 -0.15" mass="0.3" diaginertia="0.002 0.002 0.0003"/>
      </body>
    </body>
  </worldbody>
  {tendon}
  <actuator>{actuators}</actuator>
</mujoco>
"""
SPRING = """
  <tendon>
    <fixed name="spring" stiffness="1.5">
      <joint joint="a" coef="1"/><joint joint="b" coef="-1"/>
    </fixed>
  </tendon>
"""
MOTORS = '<motor name="a" joint="a"/><motor name="b" joint="b"/>'
SERVOS = '<position name="a" joint="a" kp="12"/><position name="b" joint="b" kp="6"/>'
DRAG = (Drag(joint="a", coefficient=0.15), Drag(joint="b", coefficient=0.1))
HARMONIC = tuple(
    effect
    for joint in "ab"
    for effect in (
        Stribeck(joint=joint, static=0.25, velocity=0.3),
        LoadFriction(joint=joint, coefficient=0.15),
    )
)
"""Friction like that of a harmonic drive: more at low speed and under load."""
SIGMA = 2e-4


def write_models(folder: Path) -> None:
    """`two.xml` and `coupled.xml` take torques; `servos.xml` takes positions."""
    models = {
        "two.xml": TWO_LINKS.format(tendon="", actuators=MOTORS),
        "coupled.xml": TWO_LINKS.format(tendon=SPRING, actuators=MOTORS),
        "servos.xml": TWO_LINKS.format(tendon="", actuators=SERVOS),
    }
    for name, text in models.items():
        (folder / name).write_text(text)


def play_hidden(
    file: Path,
    seed: int,
    effects: Sequence[Effect],
    *,
    amplitude: float = 1.0,
    seconds: float = 8.0,
    kind: Literal["torque", "position"] = "torque",
    sigma: float = SIGMA,
) -> Recording:
    """What a stand-in of `file` with `effects` records under a sum of sines."""
    description = RealityFile(
        schema=1,
        twin=file.name,
        seed=seed,
        effects=list(effects),
        rate=RATE,
        noise=RealityNoise(position=sigma, velocity=10 * sigma),
    )
    robot = StandIn(make_reality("hidden", description, folder=file.parent))
    t = np.arange(round(seconds * RATE)) / RATE
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, (2, 5))
    frequency = np.array([0.3, 0.7, 1.1, 1.7, 2.6])
    waves = np.sin(2 * np.pi * frequency * t[:, None, None] + phase).sum(2)
    share = np.array([1.0, 0.4]) if kind == "torque" else np.ones(2)
    command = amplitude * share * waves / np.sqrt(5) * np.minimum(1, t)[:, None]
    sidecar = Sidecar(command_kind=kind, rate=RATE, noise=DeclaredNoise(position=sigma))
    return play(robot, command, rate=RATE, sidecar=sidecar)
