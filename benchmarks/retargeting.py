"""Retargeting of real clips: limits, floor, feet, speed; beside others, naive copies.

    python benchmarks/retargeting.py    # writes benchmarks/results/retargeting.json

Needs the extra [retarget], REALWORTHY_DATA with cmu_mocap, dog_motions and
g1_motions_asap, and MENAGERIE_ROOT. Two minutes of one core.

- `clips`: people on G1, H1, Booster T1 (drafted map) and the built-in humanoid; a dog
  on the built-in quadruped, Go2 and A1.
- `published`: our result beside the one that came with the same clip: ASAP's on the
  G1, motion_imitation's on the Laikago. The shape error favours neither: key points in
  the frame of the hips, after one best scale for the clip (G1), or one scale and one
  constant offset for each toe (Laikago, whose legs stand elsewhere than a dog's).
- `naive`: the person's joint angles, from the T-pose on, copied to the G1's joints,
  with the scaled pelvis, beside ours.
- `formats`: largest difference after writing and reading again, and of forward
  kinematics from what is worked out by hand.
"""

import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from realworthy.parameters.inertia import quaternion, rotation
from realworthy.recordings.motion import Motion, load_motion, save_motion
from realworthy.recordings.motion_layouts.bvh import Bvh, BvhJoint, read_bvh, write_bvh
from realworthy.recordings.motion_layouts.lafan1_csv import write_lafan1
from realworthy.recordings.poses import Poses
from realworthy.retargeting import Retargeting, RetargetSettings, retarget
from realworthy.retargeting.metrics import RetargetMetrics, measure_motion
from realworthy.retargeting.retarget import to_poses
from realworthy.retargeting.robot_figure import Carried
from realworthy.twins import load_twin

Floats = NDArray[np.float64]
DATA = Path(os.environ["REALWORTHY_DATA"])
OUTPUT = Path(__file__).parent / "results" / "retargeting.json"
WALKS = ("02_01", "07_12", "91_01")
FIRST_ROW = {"07_12": 2}
"""After the rows of a T-pose that the CMU clips begin with; 1 of the others."""
OTHERS = ("09_01", "16_01", "49_02", "10_01")
SECONDS = 6.0
"""[s] of a clip at most."""
DOG_WALK, PACE_ROWS = "dog_walk00_joint_pos.txt.gz", (162, 200)
"""Rows of the published pace: no other rows fit it as well (1.4 cm; the next 2.4). The
file dog_pace_joint_pos has another stride. No rows of dog_walk03 fit the published trot
to less than 3.9 cm, so it is left out."""
PEOPLE = ("menagerie:unitree_g1", "menagerie:unitree_h1", "menagerie:booster_t1")
DOGS = ("quadruped", "menagerie:unitree_go2", "menagerie:unitree_a1")


def main() -> None:
    tree = {
        "tables": {
            "retargeting_clips": table(CLIP_COLUMNS, list_clips()),
            "retargeting_published": table(PUBLISHED_COLUMNS, list_published()),
            "retargeting_naive": table(NAIVE_COLUMNS, list_naive()),
            "retargeting_formats": table(
                ["what", "largest difference"], list_formats()
            ),
        }
    }
    OUTPUT.write_text(json.dumps(tree, indent=1) + "\n")


def table(columns: list[str], rows: list[list[object]]) -> dict[str, object]:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    for row in rows:
        print(*row, sep="\t", flush=True)
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, one core, busy",
        "commit": commit,
        "command": "python benchmarks/retargeting.py",
        "columns": columns,
        "rows": rows,
    }


CLIP_COLUMNS = [
    *("clip", "robot", "rows", "out of range", "into floor [mm]", "into itself [mm]"),
    *("slide [cm/s]", "contacts kept [%]", "speed over motor's", "key bodies [cm]"),
    "rows/s",
]


def list_clips() -> list[list[object]]:
    found = []
    for clip in (*WALKS, *OTHERS):
        for robot in PEOPLE if clip in WALKS else PEOPLE[:1]:
            found += [describe(clip, robot, follow_person(clip, robot))]
    found.append(describe("02_01", "humanoid", follow_person("02_01", "humanoid")))
    for clip in ("dog_pace", "dog_trot", "dog_walk00", "dog_run00"):
        file = DATA / "dog_motions/dog_keypoints" / f"{clip}_joint_pos.txt.gz"
        for robot in DOGS:
            settings = RetargetSettings(end=min(SECONDS, load_motion(file).duration))
            found.append(
                describe(clip, robot, retarget(file, robot, settings=settings))
            )
    return found


def follow_person(clip: str, robot: str) -> Retargeting:
    motion = load_motion(DATA / "cmu_mocap" / f"{clip}.bvh.gz", unit="cmu")
    end = min(SECONDS, motion.duration)
    return retarget(motion, robot, settings=RetargetSettings(end=end))


def describe(clip: str, robot: str, found: Retargeting) -> list[object]:
    m = found.metrics
    ratio = None if m.speed_ratio is None else round(m.speed_ratio, 2)
    return [
        clip,
        robot.removeprefix("menagerie:"),
        m.rows,
        m.limit_violations,
        round(1e3 * m.penetration_max, 3),
        round(1e3 * m.self_penetration_max, 2),
        round(1e2 * m.foot_slide, 3),
        round(1e2 * m.contacts_kept, 1),
        ratio,
        round(1e2 * m.key_body_error, 2),
        round(found.frames_per_second),
    ]


PUBLISHED_COLUMNS = [
    *("clip", "result", "shape error [cm]", "out of range", "into floor [mm]"),
    *("slide [cm/s]", "standing feet off the floor [cm]"),
]


def list_published() -> list[list[object]]:
    found: list[list[object]] = []
    for file in sorted((DATA / "g1_motions_asap").glob("*.npz")):
        motion = load_motion(file, "asap")
        ours = retarget(
            motion, "menagerie:unitree_g1", settings=RetargetSettings(rate=30.0)
        )
        poses = to_poses(ours.robot, motion)
        theirs = measure_motion(ours.robot, ours.figure, ours.targets, poses)
        found.append(compare(file.stem, "ours", ours, ours.qpos, ours.metrics))
        found.append(compare(file.stem, "ASAP", ours, poses, theirs))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "laikago.xml"
        path.write_text(LAIKAGO)
        twin = load_twin(path)
        walk = load_motion(DATA / "dog_motions/dog_keypoints" / DOG_WALK)
        first, last = PACE_ROWS
        pace = walk.cut(walk.time[first] - 1e-6, walk.time[last] + 1e-6)
        ours = retarget(pace, twin, settings=RetargetSettings(rate=60.0))
        published = DATA / "dog_motions/laikago_retargeted/dog_pace.txt"
        poses = to_poses(ours.robot, read_laikago(published, ours))
        theirs = measure_motion(ours.robot, ours.figure, ours.targets, poses)
        found.append(compare("dog_pace", "ours", ours, ours.qpos, ours.metrics))
        found.append(compare("dog_pace", "motion_imitation", ours, poses, theirs))
    return found


def compare(
    clip: str, name: str, ours: Retargeting, qpos: Floats, m: RetargetMetrics
) -> list[object]:
    return [
        clip,
        name,
        round(1e2 * measure_shape(ours, qpos), 2),
        m.limit_violations,
        round(1e3 * m.penetration_max, 1),
        round(1e2 * m.foot_slide, 2),
        round(1e2 * m.foot_height_error, 2),
    ]


def measure_shape(ours: Retargeting, qpos: Floats) -> float:
    """[m] between the figure's key points and the robot's, in the frame of the hips."""
    import mujoco

    robot, figure = ours.robot, ours.figure
    carried = {n: robot.points[n] for n in ours.targets.points if n in robot.points}
    for name, foot in robot.feet.items():
        carried[figure.feet[name].ankle] = Carried(foot.body, foot.centre)
    names = [name for name in carried if name in ours.targets.figure]
    data = mujoco.MjData(robot.model)
    places = np.empty((len(qpos), len(names), 3))
    for row, pose in enumerate(qpos):
        data.qpos[:] = pose
        mujoco.mj_kinematics(robot.model, data)
        turn = data.xmat[robot.trunk].reshape(3, 3)
        middle = data.xpos[robot.trunk] + turn @ robot.centre
        frame = turn @ robot.trunk_level.T
        for k, name in enumerate(names):
            point = carried[name]
            at = (
                data.xpos[point.body]
                + data.xmat[point.body].reshape(3, 3) @ point.local
            )
            places[row, k] = frame.T @ (at - middle)
    hips = [h for pair in figure.hips for h in pair]
    middle = np.mean([ours.targets.figure[h] for h in hips], axis=0)
    frames = ours.targets.trunk @ robot.trunk_level.T
    wanted = np.stack([ours.targets.figure[n] - middle for n in names], axis=1)
    wanted = np.einsum("tji,tkj->tki", frames, wanted)
    if not figure.upper:  # feet of robots stand elsewhere below their hips
        places = places - places.mean(axis=0)
        wanted = wanted - wanted.mean(axis=0)
    scale = float((wanted * places).sum() / (wanted**2).sum())
    return float(np.linalg.norm(places - scale * wanted, axis=2).mean())


LAIKAGO = """
<mujoco model="laikago">
  <compiler angle="radian"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="trunk" pos="0 0 0.44">
      <freejoint name="base"/>
      <geom type="box" size="0.25 0.08 0.06" mass="13.7"/>
      LEGS
    </body>
  </worldbody>
  <actuator>MOTORS</actuator>
  <keyframe><key name="home" qpos="0 0 0.44 1 0 0 0 HOME"/></keyframe>
</mujoco>
"""
"""Places of joints and ranges as in pybullet's `laikago_toes_limits.urdf`, turned so
that x is ahead and z up; shapes are ours."""
LEG = """
<body name="{leg}_hip" pos="{x} {y} 0">
  <joint name="{leg}_hip" axis="{side} 0 0" range="-0.873 1.0472"/>
  <geom type="sphere" size="0.04" mass="1.1" contype="0" conaffinity="0"/>
  <body name="{leg}_thigh" pos="0 {w} 0">
    <joint name="{leg}_thigh" axis="0 1 0" range="-1.3 3.4"/>
    <geom type="sphere" size="0.03" mass="1.5" contype="0" conaffinity="0"/>
    <body name="{leg}_calf" pos="-0.1422 {v} -0.20833">
      <joint name="{leg}_calf" axis="0 1 0" range="-2.164 0"/>
      <geom type="sphere" size="0.03" pos="-0.022 0 -0.25" mass="0.34"/>
    </body>
  </body>
</body>
"""


def build_laikago() -> str:
    legs, motors = "", ""
    for leg, x in (("FR", 0.2429), ("FL", 0.2429), ("RR", -0.1944), ("RL", -0.1944)):
        sign = 1 if leg.endswith("L") else -1
        width = 0.055855 if sign > 0 else -0.053565
        legs += LEG.format(
            leg=leg, x=x, y=0.0817 * sign, w=width, v=-0.02069 * sign, side=sign
        )
        for joint in ("hip", "thigh", "calf"):
            motors += f'<motor joint="{leg}_{joint}"/>'
    home = "0 0.07 -0.65 " * 4
    text = LAIKAGO.replace("LEGS", legs).replace("MOTORS", motors)
    return text.replace("HOME", home)


LAIKAGO = build_laikago()


def read_laikago(path: Path, ours: Retargeting) -> Motion:
    """The published motion on our clock, its base in axes with x ahead and z up."""
    motion = load_motion(path, "motion_imitation")
    axes = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert motion.base is not None
    assert motion.base.quaternion is not None
    turn = rotation(motion.base.quaternion[:, 0]) @ axes
    base = Poses(("base",), motion.base.position, quaternion(turn)[:, None])
    moved = Motion(motion.time, motion.joints, motion.position, base=base)
    return moved.at(np.minimum(ours.targets.time, motion.time[-1]))


NAIVE_COLUMNS = [
    *("clip", "ours: feet off the floor [cm]", "copied", "times worse"),
    *("ours: slide [cm/s]", "copied: slide", "copied: out of range"),
]


def list_naive() -> list[list[object]]:
    found = []
    for clip in (*WALKS, "09_01", "16_01"):
        motion = load_motion(DATA / "cmu_mocap" / f"{clip}.bvh.gz", unit="cmu")
        ours = follow_person(clip, "menagerie:unitree_g1")
        poses = copy_joints(motion, ours, first=FIRST_ROW.get(clip, 1))
        copied = measure_motion(ours.robot, ours.figure, ours.targets, poses)
        mine, other = ours.metrics.foot_height_error, copied.foot_height_error
        found.append(
            [
                clip,
                round(1e2 * mine, 4),
                round(1e2 * other, 2),
                round(other / max(mine, 1e-6)),
                round(1e2 * ours.metrics.foot_slide, 3),
                round(1e2 * copied.foot_slide, 1),
                copied.limit_violations,
            ]
        )
    return found


ROBOT_AXES = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
"""From the T-pose's world, where people face −y, to x ahead, y left, z up."""


def copy_joints(motion: Motion, ours: Retargeting, *, first: int = 1) -> Floats:
    """(rows, nq) of angles since the T-pose, joint by joint; hips scaled."""
    assert motion.bodies is not None
    rest = rotation(motion.bodies.take(motion.bodies.names).quaternion[0])  # type: ignore[index]
    start = float(motion.time[first])
    times = np.minimum(start + ours.targets.time, motion.time[-1])
    moved = motion.at(times)
    assert moved.bodies is not None
    assert moved.bodies.quaternion is not None
    turn = rotation(moved.bodies.quaternion) @ np.swapaxes(rest, -1, -2)
    turn = ROBOT_AXES @ turn @ ROBOT_AXES.T
    names = moved.bodies.names

    def relative(child: str, parent: str) -> Rotation:
        a, b = turn[:, names.index(parent)], turn[:, names.index(child)]
        return Rotation.from_matrix(np.swapaxes(a, 1, 2) @ b)

    robot = ours.robot
    poses = np.tile(robot.home, (len(times), 1))
    poses[:, robot.qpos] = 0.0

    def put(joint: str, angle: Floats) -> None:
        poses[:, robot.qpos[robot.joints.index(joint)]] = angle

    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        s = side.lower()
        pitch, roll, yaw = relative(f"{side}UpLeg", "Hips").as_euler("YXZ").T
        put(f"{s}_hip_pitch_joint", pitch)
        put(f"{s}_hip_roll_joint", roll)
        put(f"{s}_hip_yaw_joint", yaw)
        knee = relative(f"{side}Leg", f"{side}UpLeg").as_euler("YXZ").T
        put(f"{s}_knee_joint", knee[0])
        pitch, roll, _ = relative(f"{side}Foot", f"{side}Leg").as_euler("YXZ").T
        put(f"{s}_ankle_pitch_joint", pitch)
        put(f"{s}_ankle_roll_joint", roll)
        arm = relative(f"{side}Arm", "Spine1") * Rotation.from_euler(
            "X", sign * np.pi / 2
        )
        pitch, roll, yaw = arm.as_euler("YXZ").T
        put(f"{s}_shoulder_pitch_joint", pitch)
        put(f"{s}_shoulder_roll_joint", roll)
        put(f"{s}_shoulder_yaw_joint", yaw)
        elbow = relative(f"{side}ForeArm", f"{side}Arm").magnitude()
        put(f"{s}_elbow_joint", np.pi / 2 - elbow)
    yaw, roll, pitch = relative("Spine1", "Hips").as_euler("ZXY").T
    for name, angle in (("yaw", yaw), ("roll", roll), ("pitch", pitch)):
        put(f"waist_{name}_joint", angle)
    heading = ROBOT_AXES.T @ turn[:, names.index("Hips")]
    base = robot.model.joint("floating_base_joint").qposadr[0]
    poses[:, base + 3 : base + 7] = quaternion(heading)
    poses[:, base : base + 3] = ours.targets.scale * moved.bodies["Hips"]
    return poses


def list_formats() -> list[list[object]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bvh = read_bvh(DATA / "cmu_mocap/02_01.bvh.gz")
        write_bvh(bvh, folder / "a.bvh")
        again = read_bvh(folder / "a.bvh")
        bodies = load_motion(DATA / "cmu_mocap/02_01.bvh.gz", unit="cmu")
        save_motion(bodies, folder / "b.csv")
        back = load_motion(folder / "b.csv")
        robot = load_motion(DATA / "g1_motions_asap/walk_level1.npz", "asap")
        write_lafan1(robot, folder / "c.csv")
        read = load_motion(folder / "c.csv", "lafan1_csv", joints=robot.joints)
        assert bodies.bodies
        assert back.bodies
        assert robot.base
        assert read.base
        return [
            ["BVH of 31 joints, written and read", largest(bvh.values, again.values)],
            [
                "our csv with 38 bodies",
                largest(bodies.bodies.position, back.bodies.position),
            ],
            [
                "their orientations",
                largest(bodies.bodies.quaternion, back.bodies.quaternion),
            ],
            ["LAFAN1 csv: joints", largest(robot.position, read.position)],
            [
                "LAFAN1 csv: base's quaternion",
                largest(robot.base.quaternion, read.base.quaternion),
            ],
            ["BVH of 3 joints against hand computation [m]", measure_by_hand()],
        ]


def largest(a: Floats | None, b: Floats | None) -> float:
    assert a is not None
    assert b is not None
    return float(f"{np.abs(a - b).max():.2g}")


def measure_by_hand() -> float:
    """A root turned by 90° about z, a knee by −90° about x: worked out on paper."""
    joints = (
        BvhJoint("root", -1, (0, 0, 0), (*XYZ, "Zrotation", "Yrotation", "Xrotation")),
        BvhJoint("knee", 0, (1, 0, 0), ("Zrotation", "Yrotation", "Xrotation")),
        BvhJoint("foot", 1, (0, 2, 0), (), is_end=True),
    )
    bvh = Bvh(joints, np.array([[3.0, 4, 5, 90, 0, 0, 0, 0, -90]]), 0.01)
    place, _ = bvh.compute_poses()
    expected = np.array([[3.0, 4, 5], [3, 5, 5], [3, 5, 3]])
    return largest(place[0], expected)


XYZ = ("Xposition", "Yposition", "Zposition")


if __name__ == "__main__":
    main()
