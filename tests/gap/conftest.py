"""A three-joint arm, and what a robot like it but for one number would record."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind, load_twin
from realworthy.twins.structure import set_timestep

ARM = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <default>
    <joint damping="0.4" armature="0.02" axis="0 1 0"/>
    <geom type="capsule" size="0.02" contype="0" conaffinity="0"/>
    <motor ctrlrange="-20 20"/>
  </default>
  <worldbody>
    <body name="a">
      <joint name="shoulder" axis="0 0 1"/>
      <joint name="lift"/>
      <geom fromto="0 0 0 0.3 0 0" mass="1.0"/>
      <body name="b" pos="0.3 0 0">
        <joint name="elbow"/>
        <geom fromto="0 0 0 0.25 0 0" mass="0.6"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder" joint="shoulder" kp="40" kv="1" forcerange="-20 20"/>
    <position name="lift" joint="lift" kp="60" kv="1" forcerange="-20 20"/>
    <position name="elbow" joint="elbow" kp="40" kv="1" forcerange="-20 20"/>
  </actuator>
</mujoco>
"""
JOINTS = ("shoulder", "lift", "elbow")


@pytest.fixture(scope="session")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    path: Path = tmp_path_factory.mktemp("gap") / "arm.xml"
    path.write_text(ARM)
    return load_twin(path)


def shadow(
    twin: Twin,
    values: dict[str, float],
    *,
    seed: int,
    seconds: float = 8.0,
    noise: float = 1e-3,
    timestep: float = 0.00025,
) -> Recording:
    """What a robot with these true values records under random smooth commands.

    Its time step is short, since robots do not step at all.
    """
    names = [*values, *(f"{joint}.position.sensor_noise" for joint in JOINTS)]
    names += [f"{joint}.velocity.sensor_noise" for joint in JOINTS]
    e = [*values.values(), *(noise,) * 3, *(10 * noise,) * 3]
    fine = twin.edited(partial(set_timestep, timestep=timestep))
    simulator = MujocoCpu(
        bind(fine, fine.space.select(names)), 1, substeps=round(0.004 / timestep)
    )
    simulator.write(e)
    simulator.reset()
    generator = np.random.default_rng(seed)
    t = simulator.period * np.arange(round(seconds / simulator.period))
    commands = np.zeros((len(t), 3))
    for column in range(3):
        for frequency in generator.uniform(0.2, 2.0, 5):
            phase = generator.uniform(0, 2 * np.pi)
            commands[:, column] += 0.25 * np.sin(2 * np.pi * frequency * t + phase)
    return record(simulator, commands, seed=seed)[0]
