"""Small robots for the tests of simulators, as text."""

import mujoco

from realworthy.twins import Twin

PENDULUM = """
<mujoco model="pendulum">
  <option timestep="0.001" integrator="implicitfast"/>
  <worldbody>
    <body name="rod">
      <joint name="hinge" axis="0 1 0" damping="0.02" armature="0.01"/>
      <inertial pos="0 0 -0.3" mass="0.8" diaginertia="0.02 0.02 0.001"/>
    </body>
  </worldbody>
  <actuator><motor name="hinge" joint="hinge"/></actuator>
</mujoco>
"""

FALLING_BOX = """
<mujoco model="box">
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="box" pos="0 0 0.4">
      <freejoint name="box"/>
      <geom name="box" type="box" size="0.1 0.1 0.1" mass="2"/>
    </body>
  </worldbody>
</mujoco>
"""


def make_twin(xml: str) -> Twin:
    spec = mujoco.MjSpec.from_string(xml)
    return Twin(name=spec.modelname, base_spec=spec, model=f"{spec.modelname}.xml")
