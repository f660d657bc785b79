"""What floats: the robot's base, and objects beside it."""

import os
from pathlib import Path

import mujoco_menagerie
import numpy as np
import pytest

from realworthy.actuators import Actuator, ControllerTorque
from realworthy.errors import BadFile, RealworthyError, UnknownName
from realworthy.twins import Twin, bind, builtin_names, load_twin, save_twin
from realworthy.twins.layout import Layout

GEOM = '<geom size="0.1" mass="1"/>'
LEGGED = f"""
<body name="trunk" pos="0 0 1">
  <freejoint name="root"/>{GEOM}
  <body name="leg" pos="0.5 0 0"><joint name="hip"/>{GEOM}</body>
</body>"""
ARM = f'<body name="arm"><joint name="shoulder"/>{GEOM}</body>'
MOUNTED = f'<body name="pedestal">{GEOM}{ARM}</body>'
BOX = f'<body name="box" pos="1 1 1"><freejoint name="box"/>{GEOM}</body>'
SCISSORS = f"""
<body name="scissors" pos="2 2 2"><freejoint/>{GEOM}
  <body name="blade" pos="0.5 0 0"><joint name="pivot"/>{GEOM}</body>
</body>"""
HIP, SHOULDER = '<motor joint="hip"/>', '<motor joint="shoulder"/>'

FLOATING = {
    "diffdrive": "base",
    "humanoid": "torso",
    "quadruped": "trunk",
    "agility_cassie": "cassie-pelvis",
    "anybotics_anymal_c": "base",
    "berkeley_humanoid": "torso",
    "bitcraze_crazyflie_2": "cf2",
    "booster_t1": "Trunk",
    "boston_dynamics_spot": "body",
    "google_barkour_vb": "torso",
    "skydio_x2": "x2",
    "unitree_a1": "trunk",
    "unitree_g1": "pelvis",
    "unitree_go1": "trunk",
    "unitree_go2": "base",
    "unitree_h1": "pelvis",
}
"""Robot → the body that floats; every other robot at hand is fixed."""
OBJECTS = {
    "bimanual": ("box",),
    "franka_emika_panda/mjx_single_cube": ("box",),
    "robotstudio_so101/scene_box": ("box",),
    "shadow_hand/scene_left": ("object",),
    "shadow_hand/scene_right": ("object",),
    "wonik_allegro/scene_left": ("object",),
    "wonik_allegro/scene_right": ("object",),
}
"""Entry → what lies beside the robot; beside every other robot at hand, nothing."""

URDF = """
<robot name="walker">
  <link name="trunk"><inertial><mass value="5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="thigh"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0"
      iyz="0"/></inertial></link>
  <link name="imu"><inertial><mass value="0.25"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0"
      iyz="0"/></inertial></link>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="thigh"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="5"/></joint>
  <joint name="mount" type="fixed"><parent link="trunk"/><child link="imu"/></joint>
</robot>"""


def write(
    folder: Path, bodies: str, actuators: str = "", rest: str = "", name: str = "model"
) -> Path:
    path = folder / f"{name}.xml"
    path.write_text(
        f'<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>{bodies}'
        f"</worldbody><actuator>{actuators}</actuator>{rest}</mujoco>"
    )
    return path


def name_base(twin: Twin) -> str | None:
    return None if twin.base is None else twin.base.body


@pytest.mark.parametrize(
    ("bodies", "actuators", "base", "objects"),
    [
        (LEGGED, HIP, "trunk", ()),
        (BOX + ARM, SHOULDER, None, ("box",)),
        (BOX + LEGGED, HIP, "trunk", ("box",)),
        (SCISSORS + ARM, SHOULDER, None, ("scissors",)),
        (SCISSORS + LEGGED, HIP, "trunk", ("scissors",)),
        (ARM, SHOULDER, None, ()),
        (LEGGED, "", "trunk", ()),
        (ARM + BOX, "", None, ("box",)),
        (BOX, "", "box", ()),
    ],
)
def test_an_actuator_tells_the_robot_from_objects(
    tmp_path: Path,
    bodies: str,
    actuators: str,
    base: str | None,
    objects: tuple[str, ...],
):
    twin = load_twin(write(tmp_path, bodies, actuators))
    assert (name_base(twin), twin.objects) == (base, objects)
    layout = Layout(bind(twin))
    assert (layout.base is None) == (base is None)
    others = {"box": 6, "scissors": 7}
    expected = twin.compiled.model.nv - sum(others[name] for name in objects)
    assert len(layout.robot_dofs) == expected


DRONE = f'<body name="hull"><freejoint/>{GEOM}<site name="rotor"/></body>'
PULLED = """
<tendon><fixed name="rope"><joint joint="hip" coef="1"/></fixed></tendon>"""


@pytest.mark.parametrize(
    ("bodies", "actuators", "rest", "base"),
    [
        (BOX + DRONE, '<general site="rotor" gear="0 0 1 0 0 0"/>', "", "hull"),
        (BOX + LEGGED, '<general tendon="rope"/>', PULLED, "trunk"),
        (BOX + LEGGED, '<adhesion body="leg" ctrlrange="0 1"/>', "", "trunk"),
        (BOX + LEGGED, '<general jointinparent="hip"/>', "", "trunk"),
    ],
)
def test_every_transmission_tells(
    tmp_path: Path, bodies: str, actuators: str, rest: str, base: str
):
    twin = load_twin(write(tmp_path, bodies, actuators, rest))
    assert (name_base(twin), twin.objects) == (base, ("box",))


def test_drives_of_a_twin_file_tell(tmp_path: Path):
    twin = load_twin(write(tmp_path, SCISSORS + LEGGED))
    assert (name_base(twin), twin.objects) == ("scissors", ("trunk",))  # a guess
    drive = Actuator(joint="hip", controller=ControllerTorque())
    driven = twin.with_actuators({"hip": drive})
    assert (name_base(driven), driven.objects) == ("trunk", ("scissors",))


def test_of_two_robots_the_first_is_taken_and_a_twin_file_may_choose(tmp_path: Path):
    other = LEGGED.replace('="', '="other_').replace("other_0", "0")
    other = other.replace("other_1", "1")
    both = HIP + HIP.replace("hip", "other_hip")
    write(tmp_path, LEGGED + BOX + other.replace('pos="0 0 1"', 'pos="3 0 1"'), both)
    twin = load_twin(tmp_path / "model.xml")
    assert (name_base(twin), twin.objects) == ("trunk", ("box",))
    assert "first of 2" in twin.floating.reason
    path = tmp_path / "chosen.twin.yaml"
    path.write_text("schema: 1\nname: chosen\nmodel: model.xml\nbase: other_trunk\n")
    chosen = load_twin(path)
    assert (name_base(chosen), chosen.objects) == ("other_trunk", ("box",))
    sensor = chosen.compiled.model.sensor("base.position")
    assert sensor.objid[0] == chosen.compiled.model.body("other_trunk").id
    path.write_text("schema: 1\nname: chosen\nmodel: model.xml\nbase: world\n")
    assert load_twin(path).base is None


def list_entries() -> list[str]:
    root = os.environ.get("MENAGERIE_ROOT")
    shared = Path(__file__).parents[3] / "shared" / "menagerie"
    names = set(mujoco_menagerie.names())
    return [
        f"{folder.name}/{entry.name}"
        for folder in sorted(Path(root or shared).glob("*"))
        if folder.name in names
        for entry in mujoco_menagerie.get(folder.name).entry_points
        if (folder / entry.file).is_file()
    ]


@pytest.mark.parametrize("entry", list_entries())
def test_robots_of_menagerie_answer_right(
    entry: str, menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    twin = load_twin(f"menagerie:{entry}")
    assert name_base(twin) == FLOATING.get(entry.partition("/")[0])
    assert twin.objects == OBJECTS.get(entry, ())


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_twins_answer_right(name: str):
    twin = load_twin(name)
    assert name_base(twin) == FLOATING.get(name)
    assert twin.objects == OBJECTS.get(name, ())


def test_a_urdf_may_stand_free(tmp_path: Path):
    path = tmp_path / "walker.urdf"
    path.write_text(URDF)
    fixed, free = load_twin(path), load_twin(path, base="free")
    assert fixed.base is None
    assert name_base(free) == "trunk"
    assert fixed.compiled.model.nq == 1
    model = free.compiled.model
    assert (model.nq, model.nv) == (8, 7)
    # Fixed, MuJoCo leaves out the root link's mass; free, it carries the imu's too.
    assert model.body("trunk").mass[0] == pytest.approx(5.25)
    assert "base.position" in [model.sensor(i).name for i in range(model.nsensor)]
    assert load_twin(path, base="free").with_base("free").compiled.model.nq == 8


def test_a_twin_file_keeps_its_free_base(tmp_path: Path):
    path = tmp_path / "walker.urdf"
    path.write_text(URDF)
    free = load_twin(path, base="free").with_values({"trunk.mass": 6.0})
    save_twin(free, tmp_path / "free.twin.yaml")
    again = load_twin(tmp_path / "free.twin.yaml")
    assert again.base == free.base
    assert again.compiled.model.body("trunk").mass[0] == pytest.approx(6.0)
    inherited = tmp_path / "mine.twin.yaml"
    inherited.write_text("schema: 1\nname: mine\nmodel: walker.urdf\nbase: free\n")
    assert load_twin(inherited).base == free.base


def test_keyframes_of_a_robot_that_is_let_go_keep_their_joints(tmp_path: Path):
    key = '<keyframe><key name="home" qpos="2 2 2 1 0 0 0 0.4"/></keyframe>'
    twin = load_twin(write(tmp_path, BOX + MOUNTED, SHOULDER, key))
    free = twin.with_base("free")
    assert (name_base(free), free.objects) == ("pedestal", ("box",))
    home = free.compiled.own["own.initial_qpos"]
    place, _ = Layout(bind(free)).joint("shoulder")
    assert home[place] == 0.4
    np.testing.assert_array_equal(home[:7], [2, 2, 2, 1, 0, 0, 0])
    np.testing.assert_array_equal(home[7:14], [0, 0, 0, 1, 0, 0, 0])


def test_a_hung_robot_is_fixed_and_its_objects_are_not(tmp_path: Path):
    twin = load_twin(write(tmp_path, BOX + LEGGED, HIP)).hung()
    assert (name_base(twin), twin.objects) == (None, ("box",))
    assert twin.compiled.model.body("trunk").pos[2] == 2.0
    assert load_twin("arm").hung().base is None


def test_what_cannot_float_is_refused(tmp_path: Path):
    twin = load_twin(write(tmp_path, BOX + LEGGED, HIP))
    with pytest.raises(UnknownName, match="floating body 'boks'") as error:
        twin.with_base("boks")
    assert "box, trunk" in str(error.value)
    with pytest.raises(UnknownName, match="floating body 'leg'"):
        twin.with_base("leg")
    other = MOUNTED.replace("pedestal", "b").replace("arm", "c")
    write(tmp_path, MOUNTED + other.replace("shoulder", "d"), SHOULDER)
    with pytest.raises(RealworthyError, match="pedestal and b carry joints"):
        load_twin(tmp_path / "model.xml", base="free")
    with pytest.raises(RealworthyError, match="arm is joined to the world itself"):
        load_twin(write(tmp_path, ARM, SHOULDER), base="free")
    path = tmp_path / "bad.twin.yaml"
    path.write_text("schema: 1\nname: bad\nmodel: model.xml\nbase: free\n")
    with pytest.raises(BadFile, match=r"bad.twin.yaml"):
        load_twin(path)
