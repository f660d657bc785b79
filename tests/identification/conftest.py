"""A joint with a servo, stand-ins whose truth is hidden, and what they record."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.realities import RealityNoise, StandIn
from realworthy.realities.effects import Effect
from realworthy.realities.reality import RealityFile, make_reality
from realworthy.recordings import Recording, Sidecar
from realworthy.recordings import SignalNoise as DeclaredNoise
from realworthy.twins import Twin, load_twin
from tests.identification import two_joints

JOINT = """
<mujoco model="joint">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="0.3" frictionloss="0.1"
             armature="0.02"/>
      <inertial pos="0 0 -0.2" mass="0.5" diaginertia="0.003 0.003 0.0005"/>
    </body>
  </worldbody>
  <actuator><position name="joint" joint="joint" kp="15"/></actuator>
</mujoco>
"""
FIVE = (
    "joint.armature",
    "joint.damping",
    "joint.coulomb_friction",
    "joint.delay",
    "joint.kp",
)
TYPICAL = np.array([0.02, 0.3, 0.1, 0.012, 15.0])
RATE = 250.0
SIGMA = 1e-3


@pytest.fixture(scope="session")
def joint_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("identification") / "joint.xml"
    path.write_text(JOINT)
    return path


@pytest.fixture(scope="session")
def joint(joint_file: Path) -> Twin:
    return load_twin(joint_file)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    """An arm of two servos as its maker describes it: gains forty times too high."""
    path = tmp_path_factory.mktemp("identification") / "arm.xml"
    path.write_text(two_joints.ARM)
    return load_twin(path)


def multisine(seed: int, seconds: float, *, amplitude: float = 0.5) -> np.ndarray:
    """(steps,) eight sines from 0.2 to 4.2 Hz with random phases, from rest."""
    t = np.arange(round(seconds * RATE)) / RATE
    frequency = np.array([0.2, 0.4, 0.7, 1.1, 1.6, 2.3, 3.1, 4.2])
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, 8)
    size = 1 / np.sqrt(frequency)
    size *= 2 * amplitude / size.sum()
    waves = size * np.sin(2 * np.pi * frequency * t[:, None] + phase)
    return waves.sum(1) * np.minimum(1, 2 * t)


def draw_truth(seed: int) -> dict[str, float]:
    """Five true numbers that nobody reads before a fit is over."""
    factors = np.exp(np.random.default_rng([seed, 1]).uniform(-0.3, 0.3, 5))
    return dict(zip(FIVE, (TYPICAL * factors).tolist(), strict=True))


def start_off(truth: Mapping[str, float], seed: int) -> dict[str, float]:
    """A start 18 to 68 % off in every number, either way."""
    draw = np.random.default_rng([seed, 2])
    factors = 1 + draw.uniform(0.18, 0.68, 5) * draw.choice([-1, 1], 5)
    return {name: truth[name] * f for name, f in zip(FIVE, factors, strict=True)}


def play_hidden(
    file: Path,
    truth: Mapping[str, float],
    commands: list[np.ndarray],
    *,
    seed: int,
    sigma: float = SIGMA,
    effects: Sequence[Effect] = (),
) -> list[Recording]:
    """What a stand-in with this truth records, its noise declared as a maker would."""
    description = RealityFile(
        schema=1,
        twin=file.name,
        seed=seed,
        parameters=dict(truth),
        effects=list(effects),
        noise=RealityNoise(position=sigma, velocity=10 * sigma),
        rate=RATE,
    )
    robot = StandIn(make_reality("hidden", description, folder=file.parent))
    sidecar = Sidecar(
        command_kind="position", rate=RATE, noise=DeclaredNoise(position=sigma)
    )
    return [play(robot, c[:, None], rate=RATE, sidecar=sidecar) for c in commands]


def add_noise(recording: Recording, noise: np.ndarray) -> Recording:
    """The recording with (rows,) noise on its position."""
    moved = recording.signals["joint.position"] + noise
    return recording.with_signals({"joint.position": moved})
