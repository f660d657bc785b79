"""What is seen of a robot lies where MuJoCo says its geoms are."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from realworthy.reports.replay.meshes import Mesh, build_primitive
from realworthy.reports.replay.motion import find_poses
from realworthy.reports.replay.shapes import list_floors, list_shapes, rotate

GEOM = mujoco.mjtGeom
SIZE = np.array([0.3, 0.2, 0.5])
ARM = """<mujoco><asset>
  <mesh name="wedge" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .1  .3 .2 0"/>
  <hfield name="hill" nrow="3" ncol="3" elevation="0 0 0 0 1 0 0 0 0" size="2 1 .5 .1"/>
</asset><worldbody>
  <geom type="plane" size="1 1 1" pos="0 0 -.1"/>
  <geom type="hfield" hfield="hill" pos="5 0 0"/>
  <body name="upper" pos=".1 .2 .3" euler="20 0 40"><joint axis="0 1 0"/>
    <geom type="box" size=".05 .02 .2" pos="0 .1 -.2" euler="10 70 0"/>
    <geom type="sphere" size=".9" group="3"/>
    <geom type="sphere" size=".8" rgba="1 1 1 0"/>
    <body name="fore" pos="0 0 -.4"><joint axis="1 0 0"/>
      <geom type="mesh" mesh="wedge" pos=".01 .02 .03" euler="0 30 0" mass="1"/>
    </body>
  </body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def arm() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ARM)


def compute_volume(mesh: Mesh) -> float:
    """By the divergence theorem; positive where all triangles face outwards."""
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize(
    ("kind", "volume", "part"),
    [
        (GEOM.mjGEOM_BOX, 8 * 0.3 * 0.2 * 0.5, 1.0),
        (GEOM.mjGEOM_SPHERE, 4 / 3 * np.pi * 0.3**3, 0.92),
        (GEOM.mjGEOM_ELLIPSOID, 4 / 3 * np.pi * 0.3 * 0.2 * 0.5, 0.92),
        (GEOM.mjGEOM_CYLINDER, np.pi * 0.3**2 * 0.4, 0.97),
        (GEOM.mjGEOM_CAPSULE, np.pi * 0.3**2 * 0.4 + 4 / 3 * np.pi * 0.3**3, 0.94),
    ],
)
def test_primitives_have_their_volume(kind: GEOM, volume: float, part: float):
    mesh = build_primitive(kind, SIZE)
    assert mesh is not None
    assert part * volume <= compute_volume(mesh) * (1 + 1e-9) <= volume * (1 + 2e-9)


def test_corners_of_a_capsule_are_on_it():
    mesh = build_primitive(GEOM.mjGEOM_CAPSULE, SIZE)
    assert mesh is not None
    nearest = np.clip(mesh.vertices[:, 2], -0.2, 0.2)
    away = mesh.vertices - nearest[:, None] * [0, 0, 1]
    assert np.linalg.norm(away, axis=1) == pytest.approx(0.3)


def test_corners_land_where_kinematics_puts_them(arm: mujoco.MjModel):
    shapes = {shape.name: shape for shape in list_shapes(arm)}
    bodies = [shapes["upper"].body, shapes["fore"].body]
    qpos = np.array([[0.0, 0.0], [0.7, -1.1]])
    position, quaternion = find_poses(arm, qpos, bodies)
    data = mujoco.MjData(arm)
    data.qpos = qpos[1]
    mujoco.mj_kinematics(arm, data)
    box = int(np.flatnonzero(arm.geom_type == GEOM.mjGEOM_BOX)[0])
    signs = np.stack(np.meshgrid(*[[-1, 1]] * 3), axis=-1).reshape(-1, 3)
    turn = data.geom_xmat[box].reshape(3, 3)
    expected = data.geom_xpos[box] + (signs * arm.geom_size[box]) @ turn.T
    seen = shapes["upper"].mesh.vertices
    found = rotate(seen, quaternion[1, 0]) + position[1, 0]
    assert sort(found) == pytest.approx(sort(expected), abs=1e-9)


def test_a_mesh_is_where_its_file_says(arm: mujoco.MjModel):
    """MuJoCo moves meshes into the frame of their inertia; bodies do not see it."""
    (fore,) = (shape for shape in list_shapes(arm) if shape.name == "fore")
    given = [[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1], [0.3, 0.2, 0]]
    c, s = np.cos(np.radians(30)), np.sin(np.radians(30))
    about_y = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    expected = np.array(given) @ about_y.T + [0.01, 0.02, 0.03]
    assert sort(fore.mesh.vertices) == pytest.approx(sort(expected), abs=1e-6)


def test_only_what_is_meant_to_be_seen_is_drawn(arm: mujoco.MjModel):
    upper = next(shape for shape in list_shapes(arm) if shape.name == "upper")
    assert len(upper.mesh.vertices) == 8  # the box alone
    ((place, turn),) = list_floors(arm)
    assert place.tolist() == [0, 0, -0.1]
    assert turn.tolist() == [1, 0, 0, 0]


def test_a_height_field_has_its_summit(arm: mujoco.MjModel):
    world = next(shape for shape in list_shapes(arm) if shape.body == 0)
    assert world.mesh.vertices.max(axis=0) == pytest.approx([7, 1, 0.5])
    top = world.mesh.vertices[world.mesh.vertices[:, 2].argmax()]
    assert top == pytest.approx([5, 0, 0.5])


def test_a_robot_of_collision_shapes_alone_is_still_seen():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="ball"><freejoint/>'
        '<geom group="3" size=".1"/></body></worldbody></mujoco>'
    )
    assert [shape.name for shape in list_shapes(model)] == ["ball"]


@pytest.mark.parametrize(
    "robot",
    [
        "unitree_go2/go2.xml",
        pytest.param("unitree_g1/g1.xml", marks=pytest.mark.slow),
    ],
)
def test_menagerie_robots_are_thinned_out(menagerie_root: Path, robot: str):
    model = mujoco.MjModel.from_xml_path(str(menagerie_root / robot))
    shapes = list_shapes(model, 5000)
    count = sum(len(shape.mesh.triangles) for shape in shapes)
    assert 1500 < count <= 5000
    visual = np.flatnonzero(
        (model.geom_group < 3) & (model.geom_type != GEOM.mjGEOM_PLANE)
    )
    assert {shape.body for shape in shapes} == set(model.geom_bodyid[visual].tolist())


def sort(points: np.ndarray) -> np.ndarray:
    rounded = np.round(points, 6)
    return points[np.lexsort(rounded.T)]
