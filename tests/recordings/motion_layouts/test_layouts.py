"""Foreign layouts of motions: round trips, forward kinematics, units, quaternions."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadFile, UnknownName
from realworthy.recordings.motion import load_motion, save_motion
from realworthy.recordings.motion_layouts import MOTION_LAYOUTS
from realworthy.recordings.motion_layouts.amass import pose_joints
from realworthy.recordings.motion_layouts.bvh import Bvh, BvhJoint, read_bvh, write_bvh
from realworthy.recordings.motion_layouts.lafan1_csv import write_lafan1

ANGLES = ("Zrotation", "Yrotation", "Xrotation")
ROOT = ("Xposition", "Yposition", "Zposition", *ANGLES)
CHAIN = (
    BvhJoint("root", -1, (0.0, 0.0, 0.0), ROOT),
    BvhJoint("knee", 0, (1.0, 0.0, 0.0), ANGLES),
    BvhJoint("foot", 1, (0.0, 2.0, 0.0), (), is_end=True),
)


def test_three_joints_are_where_paper_says():
    """Root at (3, 4, 5) turned by 90° about z: its x is the world's y. The knee turns
    by −90° about x, the world's y now: its y, which was the world's −x, is −z."""
    bvh = Bvh(CHAIN, np.array([[3.0, 4, 5, 90, 0, 0, 0, 0, -90]]), 0.01)
    place, _ = bvh.compute_poses()
    np.testing.assert_allclose(place[0], [[3, 4, 5], [3, 5, 5], [3, 5, 3]], atol=1e-12)


def test_angles_are_turned_in_the_order_they_are_listed():
    swapped = (BvhJoint("root", -1, (0, 0, 0), (*ROOT[:3], *ANGLES[::-1])), *CHAIN[1:])
    row = np.array([[0.0, 0, 0, 90, 0, 90, 0, 0, 0]])
    one, _ = Bvh(CHAIN, row, 0.01).compute_poses()  # Rz(90) Rx(90): y → z
    other, _ = Bvh(swapped, row, 0.01).compute_poses()  # Rx(90) Rz(90): x → y → z
    np.testing.assert_allclose(one[0, 1], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(other[0, 1], [0, 0, 1], atol=1e-12)


def test_a_bvh_file_comes_back_as_it_was(tmp_path: Path):
    values = np.random.default_rng(0).normal(size=(7, 9))
    write_bvh(Bvh(CHAIN, values, 1 / 120), tmp_path / "a.bvh")
    found = read_bvh(tmp_path / "a.bvh")
    assert [j.name for j in found.joints] == ["root", "knee", "knee_end"]
    np.testing.assert_allclose(found.values, values, atol=1e-6)
    assert found.frame_time == 1 / 120


def test_a_branching_skeleton_comes_back_too(tmp_path: Path):
    joints = (*CHAIN, BvhJoint("arm", 0, (0.0, 1.0, 0.0), ANGLES))
    values = np.random.default_rng(1).normal(size=(3, 12))
    write_bvh(Bvh(joints, values, 0.01), tmp_path / "a.bvh")
    found = read_bvh(tmp_path / "a.bvh")
    assert [j.parent for j in found.joints] == [-1, 0, 1, 0]
    np.testing.assert_allclose(found.values, values, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "HIERARCHY and MOTION are its two parts"),
        ("HIERARCHY ROOT a { CHANNELS 0 }\nMOTION\n", "a joint without OFFSET"),
        (
            "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Wrotation }\nMOTION\n",
            "has channels that are none of",
        ),
        (
            "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xrotation }\nMOTION\n"
            "Frames: 2\nFrame Time: 0.1\n1 2 3\n",
            "should have 2 rows of 1 numbers, and has 3",
        ),
    ],
)
def test_broken_skeletons_are_said(tmp_path: Path, text: str, message: str):
    (tmp_path / "a.bvh").write_text(text)
    with pytest.raises(BadFile, match=message):
        load_motion(tmp_path / "a.bvh")


@pytest.mark.parametrize(("unit", "length"), [("cm", 100.0), ("mm", 1000.0)])
def test_a_clip_in_another_unit_is_noticed(tmp_path: Path, unit: str, length: float):
    bvh = Bvh(CHAIN, np.zeros((4, 9)), 0.01)
    large = Bvh(
        tuple(
            BvhJoint(
                j.name, j.parent, tuple(0.6 * length * x for x in j.offset), j.channels
            )
            for j in CHAIN
        ),
        bvh.values,
        0.01,
    )
    write_bvh(large, tmp_path / "a.bvh")
    with pytest.raises(BadFile, match="m large") as error:
        load_motion(tmp_path / "a.bvh")
    assert f"--unit {unit} (1.34 m)" in error.value.hint
    found = load_motion(tmp_path / "a.bvh", unit=unit)
    assert found.bodies is not None
    assert found.bodies.position[0, 2] == pytest.approx([0.6, 0, 1.2])  # z is up
    with pytest.raises(BadFile, match="no unit of length"):
        load_motion(tmp_path / "a.bvh", unit="parsec")


def make_lafan1() -> np.ndarray:
    t = np.linspace(0, 1, 31)
    tilt, turn = 0.1 * np.sin(6 * t), 0.3 + 0.5 * t
    xyzw = [0 * t, np.sin(tilt / 2), np.sin(turn / 2), 0 * t]
    xyzw[3] = np.sqrt(1 - sum(x**2 for x in xyzw))
    return np.stack([t, 0 * t, 0 * t + 0.8, *xyzw, np.sin(t), np.cos(t)], axis=1)


def write_rows(path: Path, rows: np.ndarray) -> Path:
    path.write_text("\n".join(",".join(map(repr, row)) for row in rows.tolist()))
    return path


def test_robot_motions_without_a_heading_come_back(tmp_path: Path):
    path = write_rows(tmp_path / "a.csv", make_lafan1())
    motion = load_motion(path, "lafan1_csv", joints=("knee", "hip"))
    assert motion.joints == ("knee", "hip")
    save_motion(motion, tmp_path / "b.csv")
    write_lafan1(load_motion(tmp_path / "b.csv"), tmp_path / "c.csv")
    again = np.loadtxt(tmp_path / "c.csv", delimiter=",")
    np.testing.assert_allclose(again, make_lafan1(), atol=1e-6)


def test_the_other_order_of_quaternions_is_noticed(tmp_path: Path):
    rows = make_lafan1()
    rows[:, 3:7] = np.roll(rows[:, 3:7], 1, axis=1)
    path = write_rows(tmp_path / "a.csv", rows)
    with pytest.raises(BadFile, match="quaternions are w-x-y-z"):
        load_motion(path, "lafan1_csv", joints=("knee", "hip"))


def test_joints_that_have_no_names_are_asked_for(tmp_path: Path):
    path = write_rows(tmp_path / "a.csv", make_lafan1())
    with pytest.raises(BadFile, match="has 2 joints and does not name them"):
        load_motion(path, "lafan1_csv")
    with pytest.raises(BadFile, match="has 2 joints, and the robot has 1"):
        load_motion(path, "lafan1_csv", joints=("knee",))


REST = np.array([[0.0, 0, 0.9], [0, 0, 0.4], [0, 0, 0]])


def test_a_body_model_is_posed_as_paper_says():
    """The root turns by 90° about x: what hung below it points to +y."""
    vectors = np.array([[[np.pi / 2, 0, 0], [0, 0, 0], [0, 0, 0]]])
    found = pose_joints(REST, [-1, 0, 1], vectors)
    np.testing.assert_allclose(found[0, 2], [0, 0.9, 0.9], atol=1e-12)


def test_rotations_need_a_body_model_that_the_user_gives(tmp_path: Path):
    poses = np.zeros((5, 9))
    poses[:, 0] = np.pi / 2
    np.savez(tmp_path / "a.npz", poses=poses, trans=np.ones((5, 3)), mocap_framerate=60)
    with pytest.raises(BadFile, match="without the positions") as error:
        load_motion(tmp_path / "a.npz", "amass")
    assert "--regressor" in error.value.hint
    vertices = np.concatenate([REST, REST + np.array([0.2, 0, 0])])
    regressor = np.hstack([np.eye(3) / 2, np.eye(3) / 2])
    np.savez(
        tmp_path / "model.npz",
        J_regressor=regressor,
        v_template=vertices,
        kintree_table=np.array([[-1, 0, 1], [0, 1, 2]]),
    )
    motion = load_motion(tmp_path / "a.npz", "amass", regressor=tmp_path / "model.npz")
    assert motion.bodies is not None
    assert motion.bodies.names == ("pelvis", "left_hip", "right_hip")
    np.testing.assert_allclose(
        motion.bodies["right_hip"][0], [1.1, 1.9, 1.9], atol=1e-9
    )


def test_joints_of_a_body_model_are_read_as_they_are(tmp_path: Path):
    points = np.random.default_rng(0).uniform(0, 1, size=(4, 22, 3))
    np.savez(tmp_path / "a.npz", joints=points, fps=100.0)
    motion = load_motion(tmp_path / "a.npz", "amass")
    assert motion.bodies is not None
    assert motion.bodies.names[7] == "left_ankle"
    np.testing.assert_allclose(motion.bodies.position, points, atol=1e-6)


def test_a_dog_stands_up(tmp_path: Path):
    rows = np.random.default_rng(0).uniform(0, 0.5, size=(4, 81))
    with gzip.open(tmp_path / "x_joint_pos.txt.gz", "wt") as file:
        file.write("\n".join(",".join(map(str, row)) for row in rows))
    motion = load_motion(tmp_path / "x_joint_pos.txt.gz")
    assert motion.bodies is not None
    x, y, z = rows[0, 18:21]
    np.testing.assert_allclose(motion.bodies["front_left_hip"][0], [x, -z, y])


def test_a_published_laikago_stands_on_its_feet(tmp_path: Path):
    frame = [0, 0, 0.44, 0.5, 0.5, 0.5, 0.5, *([0.1] * 12)]
    tree = {"FrameDuration": 0.02, "Frames": [frame, frame]}
    (tmp_path / "a.txt").write_text(json.dumps(tree))
    motion = load_motion(tmp_path / "a.txt", "motion_imitation")
    assert motion.joints[0] == "FR_hip"
    assert motion.time[1] == pytest.approx(0.02)


def test_every_layout_is_found_by_name(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UnknownName, match="no layout of motions 'bhv'"):
        load_motion(tmp_path / "a.txt", "bhv")
    for layout in MOTION_LAYOUTS:
        with pytest.raises(BadFile):
            load_motion(tmp_path / "a.txt", layout, rate=30.0)


def test_captures_of_people_are_read(data_folder: Path):
    walk = load_motion(data_folder / "cmu_mocap/02_01.bvh.gz", unit="cmu")
    assert walk.bodies is not None
    hips = walk.bodies["Hips"][1:, 2]
    assert 0.87 < hips.min() < hips.max() < 1.01
    climb = next((data_folder / "human_climb/seq_0").glob("*.npy"))
    with pytest.raises(BadFile, match="does not say its rate"):
        load_motion(climb)
    assert load_motion(climb, rate=120.0).duration == pytest.approx(23.3, abs=0.1)


def test_a_trackers_archive_has_base_bodies_and_object(tmp_path: Path):
    place = np.random.default_rng(0).uniform(0, 1, size=(5, 3, 3))
    turn = np.tile([1.0, 0, 0, 0], (5, 3, 1))
    arrays = {
        "fps": 50,
        "joint_pos": np.ones((5, 2)),
        "joint_names": np.array(["hip", "knee"]),
        "body_pos_w": place,
        "body_quat_w": turn,
        "body_names": np.array(["world", "pelvis", "foot"]),
        "object_pos_w": place[:, 0],
        "object_quat_w": turn[:, 0],
    }
    np.savez(tmp_path / "a.npz", **arrays)
    motion = load_motion(tmp_path / "a.npz", "tracking_npz")
    assert motion.joints == ("hip", "knee")
    assert motion.base is not None
    assert motion.objects is not None
    np.testing.assert_allclose(motion.base.position[:, 0], place[:, 1])
    np.testing.assert_allclose(motion.objects.position[:, 0], place[:, 0])
    pose = np.hstack([np.tile([0, 0, 0.8, 1, 0, 0, 0], (5, 1)), np.ones((5, 2))])
    np.savez(tmp_path / "b.npz", **{**arrays, "joint_pos": pose})
    found = load_motion(tmp_path / "b.npz", "tracking_npz").base
    assert found is not None
    assert found.position[0, 0, 2] == 0.8
