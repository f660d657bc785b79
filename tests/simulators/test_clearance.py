"""Distances against geometry that can be worked out by hand."""

import mujoco
import numpy as np
import pytest

from realworthy.simulators.clearance import Clearance, without_contacts
from realworthy.twins import Twin, bind

BALLS = """
<mujoco>
  <worldbody>
    <geom name="post" type="sphere" size="0.1" pos="1 0 0"/>
    <body name="ball">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <geom name="ball" type="sphere" size="0.1" mass="1"/>
      <body name="rider" pos="0 0 0.25">
        <joint name="turn" axis="0 1 0"/>
        <geom name="rider" type="sphere" size="0.05" mass="1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def balls() -> Twin:
    return Twin(name="balls", base_spec=mujoco.MjSpec.from_string(BALLS), model="")


def test_distance_between_two_balls_is_that_of_their_middles_less_their_radii(
    balls: Twin,
):
    clearance = Clearance(bind(balls), ["x", "y"], reach=0.3)
    poses = np.array([[0.6, 0.0], [0.85, 0.1], [0.0, 0.0]])
    distance, pair = clearance.measure(poses)
    by_hand = [0.4 - 0.2, np.hypot(0.15, 0.1) - 0.2, 0.3]
    np.testing.assert_allclose(distance, by_hand, atol=1e-6)
    assert set(pair) == {"world", "ball"}


def test_the_joint_that_leads_into_a_collision_is_named(balls: Twin):
    clearance = Clearance(bind(balls), ["x", "y"], reach=0.3)
    assert clearance.find_culprit(np.array([0.85, 0.02]), np.zeros(2)) == 0
    back = clearance.find_culprit(np.array([0.85, 0.0]), np.array([0.95, 0.0]))
    assert back is None  # it comes from where the two were even closer


def test_what_touches_at_home_does_not_count(balls: Twin):
    spec = balls.spec()
    spec.geom("post").pos = [0.21, 0.0, 0.0]
    near = Twin(name="near", base_spec=spec, model="")
    clearance = Clearance(bind(near), ["x"], reach=0.05)
    assert clearance.measure(np.array([[0.1]]))[0][0] == 0.05


def test_a_model_without_contacts_has_none(balls: Twin):
    model = bind(balls.edited(without_contacts)).model
    data = mujoco.MjData(model)
    data.qpos[0] = 1.0
    mujoco.mj_forward(model, data)
    assert data.ncon == 0
