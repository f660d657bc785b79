"""A mechanism has the bodies of its model, and its pairs are MuJoCo's contacts."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

from realworthy.simulators.witnesses import export_mechanism
from realworthy.simulators.witnesses.mechanism import JointKind, ShapeKind
from tests.simulators.witnesses.engines import find_robot

CRANE = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="post" pos="0 0 1">
      <geom name="post" type="box" size="0.1 0.1 0.4" pos="0 0 -0.5"/>
      <body name="boom" pos="0.5 0 0" quat="0.8 0 0.6 0">
        <joint name="turn" axis="0 0 1" pos="-0.2 0 0" range="-1 2" limited="true"
          ref="0.3"/>
        <joint name="reach" type="slide" axis="1 0 0"/>
        <inertial pos="0.1 0 0" mass="2" diaginertia="0.3 0.2 0.1"/>
        <body name="hook" pos="0 0 -0.3">
          <inertial pos="0 0.2 0" mass="3" diaginertia="0.03 0.02 0.01"/>
          <geom name="hook" type="sphere" size="0.05"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_welded_bodies_become_one_link():
    links = export_mechanism(mujoco.MjModel.from_xml_string(CRANE)).links
    assert [link.name for link in links] == ["world", "boom"]
    assert links[1].mass == pytest.approx(5.0)
    # 2 kg at (0.1, 0, 0) and 3 kg at (0, 0.2, −0.3)
    assert_allclose(links[1].centre, [0.04, 0.12, -0.18], atol=1e-12)
    arm = np.array([0.1, -0.2, 0.3])
    apart = 1.2 * (arm @ arm * np.eye(3) - np.outer(arm, arm))  # reduced mass 6/5
    assert_allclose(links[1].inertia, np.diag([0.33, 0.22, 0.11]) + apart, atol=1e-12)


def test_joints_keep_order_reference_and_limits():
    turn, reach = (
        export_mechanism(mujoco.MjModel.from_xml_string(CRANE)).links[1].joints
    )
    assert (turn.kind, reach.kind) == (JointKind.HINGE, JointKind.SLIDE)
    assert turn.reference == pytest.approx(0.3)
    assert (turn.lower, turn.upper) == pytest.approx((-1.3, 1.7))
    assert (reach.lower, reach.upper) == (-np.inf, np.inf)
    assert_allclose(turn.anchor, [-0.2, 0, 0])


def test_shapes_lie_where_mujoco_puts_them():
    model = mujoco.MjModel.from_xml_string(CRANE)
    mechanism, data = export_mechanism(model), mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    mujoco.mj_kinematics(model, data)
    for shape in mechanism.shapes:
        link = mechanism.links[shape.link]
        place = link.pose @ shape.pose
        assert_allclose(place.position, data.geom_xpos[shape.geom], atol=1e-12)
        turned = data.geom_xmat[shape.geom].reshape(3, 3)
        assert_allclose(place.rotation, turned, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "quadruped",
        "diffdrive",
        "humanoid",
        "arm",
        "unitree_go1/scene.xml",
        "trs_so_arm100/scene.xml",
    ],
)
def test_pairs_are_the_contacts_that_mujoco_finds_with_endless_margins(name: str):
    model = find_robot(name).compiled.model
    mechanism = export_mechanism(model)
    boxes = model.geom_type == mujoco.mjtGeom.mjGEOM_BOX
    model.geom_type[boxes] = mujoco.mjtGeom.mjGEOM_SPHERE  # far boxes are not found
    model.geom_margin[:] = model.body_margin[:] = 100.0
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    contacts = {tuple(sorted(c.geom)): c for c in data.contact}
    geoms = [shape.geom for shape in mechanism.shapes]
    found = {
        (geoms[i], geoms[j]): mu
        for (i, j), mu in zip(
            mechanism.touching.pairs, mechanism.touching.friction, strict=True
        )
    }
    assert found.keys() == contacts.keys()
    for pair, friction in found.items():
        contact = contacts[pair]
        expected = contact.friction[0] if contact.dim > 1 else 0.0
        assert friction == pytest.approx(expected)


def test_excluded_and_neighbouring_bodies_do_not_touch():
    xml = """
    <mujoco>
      <worldbody>
        <body name="a"><freejoint/><geom name="a" size="0.1"/>
          <body name="b"><joint/><geom name="b" size="0.1"/>
            <body name="c"><joint/><geom name="c" size="0.1"/>
              <body name="d"><joint/><geom name="d" size="0.1"/></body>
            </body>
          </body>
        </body>
      </worldbody>
      <contact><exclude body1="a" body2="d"/><pair geom1="a" geom2="b"/></contact>
    </mujoco>
    """
    mechanism = export_mechanism(mujoco.MjModel.from_xml_string(xml))
    names = [shape.name for shape in mechanism.shapes]
    pairs = {tuple(names[i] for i in pair) for pair in mechanism.touching.pairs}
    assert pairs == {("a", "c"), ("b", "d"), ("a", "b")}


def test_a_height_field_becomes_a_surface_of_its_heights():
    xml = """
    <mujoco>
      <asset><hfield name="hills" nrow="3" ncol="4" size="2 1 0.5 0.1"
        elevation="0 0 0 0  0 1 0.5 0  0 0 0 0"/></asset>
      <worldbody>
        <geom name="hills" type="hfield" hfield="hills"/>
        <body><freejoint/><geom name="ball" size="0.1"/></body>
      </worldbody>
    </mujoco>
    """
    mechanism = export_mechanism(mujoco.MjModel.from_xml_string(xml))
    (surface,) = (s for s in mechanism.shapes if s.kind is ShapeKind.SURFACE)
    heights = {(round(x, 3), round(y, 3)): z for x, y, z in surface.points}
    assert heights[-0.667, 0.0] == pytest.approx(0.5)
    assert heights[0.667, 0.0] == pytest.approx(0.25)
    assert heights[-2.0, -1.0] == 0.0
    corners = surface.points[surface.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normal[:, 2] > 0).all()
    assert np.abs(normal[:, 2]).sum() / 2 == pytest.approx(8.0)  # all of 4 m by 2 m
