from pathlib import Path

import pytest

from realworthy.twins import Twin, load_twin

MODEL = """
<mujoco model="test arm">
  <option timestep="0.002" integrator="implicitfast"/>
  <default>
    <joint damping="0.1" armature="0.01" frictionloss="0.05"/>
  </default>
  <worldbody>
    <light name="sun" pos="0 0 3"/>
    <camera name="eye" pos="0 -2 1" fovy="50"/>
    <geom name="floor" type="plane" size="3 3 0.1"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" range="-3 3"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.8"/>
      <body name="lower" pos="0 0 -0.3">
        <joint name="elbow" axis="0 1 0" range="-2.5 2.5"/>
        <geom type="box" size="0.02 0.03 0.1" pos="0.01 0 -0.1" euler="5 0 10"
              mass="0.4"/>
        <site name="tip" pos="0 0 -0.2"/>
      </body>
    </body>
    <body name="ball" pos="1 0 0.5">
      <freejoint name="ball_free"/>
      <geom name="ball" type="sphere" size="0.05" mass="0.2"/>
    </body>
    <body name="crate" pos="-1 0 0.5">
      <freejoint name="crate_free"/>
      <geom name="crate" type="box" size="0.1 0.05 0.04" mass="0.5"/>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder" joint="shoulder" kp="30" kv="2" forcerange="-20 20"
              ctrlrange="-3 3"/>
    <motor name="elbow" joint="elbow" ctrlrange="-4 4"/>
  </actuator>
</mujoco>
"""


@pytest.fixture
def arm_file(tmp_path: Path) -> Path:
    path = tmp_path / "test_arm.xml"
    path.write_text(MODEL)
    return path


@pytest.fixture
def arm(arm_file: Path) -> Twin:
    return load_twin(arm_file)
