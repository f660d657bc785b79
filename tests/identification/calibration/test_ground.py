"""A floor that recordings go through is taken away; one that they respect stays."""

import mujoco
import pytest

from realworthy.gap.ground import find_low_ground
from realworthy.gap.measure import measure
from realworthy.identification.calibration.support_surface import find_support_surface
from realworthy.recordings import Recording
from realworthy.twins import Twin, bind
from tests.identification.two_joints import JOINTS, TRUTH, find, move, pose

MIDDLE = (0.35, 0.25)


def lay_floor(twin: Twin, height: float) -> Twin:
    def add(spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_geom(
            name="floor",
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            pos=[0, 0, height],
            size=[1, 1, 0.1],
        )

    return twin.edited(add)


def measure_words(twin: Twin, recordings: list[Recording]) -> list[str]:
    gaps = measure(twin, recordings[:1]).recordings
    return [words for gap in gaps for words in gap.assumptions]


def test_a_floor_above_recorded_poses_is_taken_away(published: Twin):
    true = published.with_values(TRUTH)
    recordings = move(true, MIDDLE)
    scene = lay_floor(true, 0.18)
    found = find_low_ground(scene, recordings, JOINTS)
    assert found is not None
    assert found.depth > 0.03
    assert any("floor" in words for words in measure_words(scene, recordings))
    model = bind(scene.with_table(found.height)).model
    assert model.geom("floor").contype[0] == 0
    assert model.geom("table").pos[2] == pytest.approx(found.height)
    # depth and height tell of the same pose, but for the boxes around its shapes
    assert found.height == pytest.approx(0.18 - found.depth, abs=0.02)


def test_a_floor_that_held_the_robot_stays(published: Twin):
    scene = lay_floor(published.with_values(TRUTH), 0.12)
    recordings = move(scene, MIDDLE)
    assert find_low_ground(scene, recordings, JOINTS) is None
    assert not any("floor" in words for words in measure_words(scene, recordings))


def test_a_wall_is_no_floor(published: Twin):
    """A table would not take its place, so nobody says that it was taken away."""

    def add(spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            pos=[0.3, 0, 0],
            quat=[0.7071, 0, -0.7071, 0],  # faces the robot
            size=[1, 1, 0.1],
        )

    true = published.with_values(TRUTH)
    behind = true.edited(add)
    assert find_low_ground(behind, move(true, MIDDLE, seeds=1), JOINTS) is None


def test_a_robot_in_the_air_has_no_floor_to_lose(published: Twin):
    true = published.with_values(TRUTH)
    assert find_low_ground(true, move(true, MIDDLE, seeds=1), JOINTS) is None


def test_the_table_is_found_where_the_floor_was_wrong(published: Twin):
    true = published.with_values(TRUTH)
    recordings = move(true.with_table(0.12), MIDDLE)
    scene = lay_floor(true, 0.2)
    ground = find_low_ground(scene, recordings, JOINTS)
    assert ground is not None
    above = scene.with_table(ground.height)
    problem = pose(above, recordings, list(TRUTH))
    found = find_support_surface(above, problem, find(above), JOINTS)
    assert found is not None
    assert found.height == pytest.approx(0.12, abs=0.004)
