"""Planted defects are found and named; sound models are left in peace."""

import os
from pathlib import Path

import msgspec
import mujoco
import numpy as np
import pytest
import yaml

from realworthy.twins.inspection import Datasheet, ModelFinding, inspect
from tests.conftest import SHARED, find_shared

BUILTIN = Path(__file__).parents[2] / "src" / "realworthy" / "twins" / "builtin"
MENAGERIE = Path(os.environ.get("MENAGERIE_ROOT") or SHARED / "menagerie")
ROBOTS = sorted(path.name for path in MENAGERIE.glob("*") if path.is_dir())

STIFF = 'solreffriction="0.004 1" solimpfriction="0.9999 0.9999 0.001"'
SOUND_JOINT = (
    'name="hip" axis="1 0 0" range="-1 1" damping="0.1" frictionloss="0.2" '
    f'armature="0.01" {STIFF}'
)
SOUND_ACTUATOR = (
    'position name="hip" joint="hip" kp="20" kv="0.5" inheritrange="1" '
    'forcerange="-20 20"'
)


def build(
    *,
    joint: str = SOUND_JOINT,
    actuator: str = SOUND_ACTUATOR,
    option: str = 'integrator="implicitfast"',
    inertial: str = "",
    world: str = "",
    keyframe: str = "",
    compiler: str = 'angle="radian"',
    mass: str = "1",
) -> mujoco.MjModel:
    """A link on a hinge with a servo, sound unless an argument plants a defect."""
    drive = f"<actuator><{actuator}/></actuator>" if actuator else ""
    return mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <compiler {compiler}/>
          <option {option}/>
          <worldbody>
            {world}
            <body name="link" pos="0 0 1">
              <joint {joint}/>
              {inertial}
              <geom name="link" type="capsule" size="0.05" fromto="0 0 0 0 0 -0.3"
                mass="{mass}"/>
            </body>
          </worldbody>
          {drive}
          {keyframe}
        </mujoco>""")


def find(model: mujoco.MjModel, check: str, **more) -> list[ModelFinding]:
    return [f for f in inspect(model, **more).findings if f.check == check]


def find_one(model: mujoco.MjModel, check: str, **more) -> ModelFinding:
    found = find(model, check, **more)
    assert len(found) == 1, inspect(model, **more).findings
    return found[0]


def test_sound_model_has_no_findings():
    assert inspect(build()).findings == ()


def test_tables_say_what_the_file_says():
    model = build(
        keyframe='<keyframe><key name="home" qpos="1.5707963"/></keyframe>',
        joint=SOUND_JOINT.replace("-1 1", "-2 2"),
        actuator=SOUND_ACTUATOR + ' delay="0.004" nsample="4"',
    )
    inspection = inspect(model)
    assert inspection.pose == "home"
    assert inspection.total_mass == pytest.approx(1.0)
    assert inspection.centre_of_gravity == pytest.approx((0.0, 0.15, 1.0), abs=1e-6)
    (body,) = inspection.bodies
    assert (body.name, body.mass) == ("link", pytest.approx(1.0))
    (joint,) = inspection.joints
    assert (joint.name, joint.type, joint.limited) == ("hip", "hinge", True)
    assert joint.range == (-2.0, 2.0)
    assert (joint.damping, joint.frictionloss, joint.armature) == (0.1, 0.2, 0.01)
    assert joint.force_limit == 20.0
    (actuator,) = inspection.actuators
    assert (actuator.name, actuator.joint, actuator.kind) == ("hip", "hip", "position")
    assert (actuator.kp, actuator.kd, actuator.gear) == (20.0, 0.5, 1.0)
    assert actuator.ctrlrange == (-2.0, 2.0)
    assert actuator.forcerange == (-20.0, 20.0)
    assert actuator.delay == 0.004


@pytest.mark.parametrize(
    ("actuator", "kind", "kp", "kd"),
    [
        ("motor", "motor", None, None),
        ('position kp="3" kv="1"', "position", 3.0, 1.0),
        ('velocity kv="2"', "velocity", None, 2.0),
        ('pid kp="3" kv="1" input="pos vel"', "pid", 3.0, 1.0),
        ('dcmotor motorconst="0.3" resistance="4"', "dcmotor", None, None),
        ('general gainprm="5" biastype="affine" biasprm="1 -3 0"', "general", 3.0, 0.0),
    ],
)
def test_kind_of_actuator_is_read_from_its_gains(actuator, kind, kp, kd):
    (row,) = inspect(build(actuator=f'{actuator} name="a" joint="hip"')).actuators
    assert (row.kind, row.kp, row.kd) == (kind, kp, kd)


def test_inertia_that_is_not_positive_is_an_error():
    model = build()
    model.body_inertia[1, 2] = -1e-4
    assert find_one(model, "inertia_positive").severity == "error"


def test_inertia_that_breaks_the_triangle_inequality_is_an_error():
    model = build()
    model.body_inertia[1] = (0.03, 0.01, 0.01)
    finding = find_one(model, "inertia_triangle")
    assert (finding.severity, finding.subject) == ("error", "link")
    assert "0.01 + 0.01 < 0.03" in finding.text


def test_placeholder_inertia_of_the_turtlebot_caster_is_found():
    """turtlebot3_burger.urdf gives its 5 g caster 0.001 kg·m²: a radius of 0.45 m."""
    inertial = (
        '<inertial mass="0.005" pos="0 0 -0.01" diaginertia="0.001 0.001 0.001"/>'
    )
    model = build(inertial=inertial)
    model.geom_rbound[:] = 0.02
    model.geom_pos[0] = model.body_ipos[1]
    finding = find_one(model, "inertia_extent")
    assert finding.severity == "warning"
    assert "0.45 m against 0.02 m" in finding.text


def test_inertia_a_thousand_times_too_small_is_noted():
    inertial = '<inertial mass="1" pos="0 0 -0.15" diaginertia="1e-7 1e-7 1e-7"/>'
    assert find_one(build(inertial=inertial), "inertia_extent").severity == "note"


def test_massless_moving_body_is_an_error():
    finding = find_one(build(mass="1e-9"), "massless_body")
    assert (finding.severity, finding.subject) == ("error", "link")


def test_mass_in_a_welded_child_counts_for_its_parent():
    model = mujoco.MjModel.from_xml_string("""
        <mujoco><worldbody>
          <body name="frame"><joint name="j"/>
            <body name="load"><geom size="0.1" mass="1"/></body>
          </body>
        </worldbody></mujoco>""")
    assert not find(model, "massless_body")


def test_unnamed_joints_and_actuators_are_found():
    model = build(joint='range="-1 1"', actuator="")
    assert find_one(model, "unnamed_joint").subject == "joint #0"
    model = build(actuator=SOUND_ACTUATOR.replace('name="hip"', ""))
    assert find_one(model, "unnamed_actuator").subject == "actuator #0"


def test_reversed_range_is_an_error():
    model = build(joint='name="hip" range="1 -1"', actuator="")
    assert find_one(model, "range_reversed").severity == "error"


def test_range_that_is_not_enforced_is_found():
    model = build(joint='name="hip" range="-1 1" limited="false"', actuator="")
    assert "-1 to 1" in find_one(model, "range_ignored").text


def test_position_servo_without_end_stops_is_noted():
    actuator = SOUND_ACTUATOR.replace('inheritrange="1"', 'ctrlrange="-1 1"')
    model = build(joint='name="hip" armature="0.01"', actuator=actuator)
    assert find_one(model, "range_missing").severity == "note"


def test_range_in_degrees_read_as_radians_is_found():
    model = build(joint='name="hip" range="-90 90"', actuator="")
    assert find_one(model, "range_units").severity == "warning"


def test_range_in_radians_read_as_degrees_is_found():
    model = build(
        joint='name="hip" range="-1.57 1.57" armature="0.01"',
        compiler='angle="degree"',
    )
    assert "radian" in find_one(model, "range_units").hint


def test_home_pose_outside_the_range_is_found():
    model = build(keyframe='<keyframe><key name="home" qpos="1.5"/></keyframe>')
    assert "1.5 (-1 to 1)" in find_one(model, "home_outside_range").text


def test_soft_friction_creeps_and_is_noted():
    """The note is true: the joint moves under a load that friction should hold."""
    soft = build(joint='name="hip" frictionloss="1" axis="0 1 0"', actuator="")
    stiff = build(
        joint=f'name="hip" frictionloss="1" axis="0 1 0" {STIFF}', actuator=""
    )
    moved = []
    for model in (soft, stiff):
        model.opt.gravity[:] = (3.0, 0.0, 0.0)  # 0.45 N·m
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, nstep=1000)
        moved.append(abs(data.qpos[0]))
    assert moved[0] > 0.01 > 1e-4 > moved[1]
    assert find_one(soft, "soft_friction").severity == "note"
    assert not find(stiff, "soft_friction")


def test_actuator_without_limits_is_found():
    model = build(actuator='position name="hip" joint="hip" kp="20" kv="1"')
    assert find_one(model, "no_command_limit").severity == "warning"
    assert find_one(model, "no_force_limit").severity == "warning"
    limited_by_joint = SOUND_JOINT + ' actuatorfrcrange="-20 20"'
    model = build(
        joint=limited_by_joint,
        actuator='position name="hip" joint="hip" kp="20" kv="1" inheritrange="1"',
    )
    assert not find(model, "no_force_limit")


def test_commands_beyond_the_joint_are_found():
    actuator = SOUND_ACTUATOR.replace('inheritrange="1"', 'ctrlrange="-1 1.2"')
    assert (
        "-1 to 1.2" in find_one(build(actuator=actuator), "command_outside_range").text
    )


def test_actuator_and_joint_that_disagree_about_force_are_found():
    """35 N·m in one place and 50 N·m in another, as users met it."""
    model = build(
        joint=SOUND_JOINT + ' actuatorfrcrange="-35 35"',
        actuator='motor name="hip" joint="hip" ctrlrange="-50 50"',
    )
    assert "50 against 35" in find_one(model, "force_limits_differ").text


def test_commands_beyond_the_force_limit_are_noted():
    actuator = 'motor name="hip" joint="hip" ctrlrange="-50 50" forcerange="-35 35"'
    assert (
        "50 against 35"
        in find_one(build(actuator=actuator), "command_beyond_force").text
    )


def test_delay_longer_than_its_buffer_is_an_error():
    actuator = SOUND_ACTUATOR + ' delay="0.05" nsample="10"'
    assert "0.05 s of 0.02 s" in find_one(build(actuator=actuator), "delay_cut").text


@pytest.mark.parametrize(
    ("option", "armature", "unsteady"),
    [
        ('timestep="0.005" integrator="Euler"', 0.0, True),
        ('timestep="0.005" integrator="Euler"', 0.01, False),
        ('timestep="0.005" integrator="implicitfast"', 0.0, False),
    ],
)
def test_gains_too_stiff_for_the_timestep_are_found_and_really_blow_up(
    option, armature, unsteady
):
    """A calf of a quadruped: kp 30, kv 1 needs armature or an implicit integrator."""
    model = build(
        joint=f'name="hip" axis="0 1 0" range="-3 3" armature="{armature}"',
        actuator='position name="hip" joint="hip" kp="30" kv="1" inheritrange="1"',
        inertial='<inertial mass="0.2" pos="0 0 -0.1" diaginertia="1e-4 1e-4 1e-4"/>',
        option=option + ' gravity="0 0 0"',
    )
    data = mujoco.MjData(model)
    data.qpos[0] = 1e-3
    farthest = 0.0
    for _ in range(40):
        mujoco.mj_step(model, data)
        farthest = max(farthest, abs(data.qpos[0]))
    assert (farthest > 1.0) == unsteady
    assert bool(find(model, "stiff_gains")) == unsteady


def test_servo_on_a_joint_without_armature_is_noted():
    joint = SOUND_JOINT.replace('armature="0.01"', "")
    assert find_one(build(joint=joint), "no_armature").severity == "note"
    in_actuator = build(joint=joint, actuator=SOUND_ACTUATOR + ' armature="0.01"')
    assert not find(in_actuator, "no_armature")


def test_shapes_that_overlap_at_home_are_found():
    floor = '<geom name="floor" type="plane" size="1 1 1" pos="0 0 0.67"/>'
    finding = find_one(build(world=floor), "penetration")
    assert finding.subject == "floor and link"
    assert "20.0 mm" in finding.text


SHEET = Datasheet(
    gear=10.0,
    rotor_inertia=1e-4,
    torque_limit=20.0,
    mass=1.0,
    source="a brochure",
)


def test_model_that_agrees_with_its_datasheet_has_no_findings():
    assert inspect(build(), {"hip": SHEET}).findings == ()


@pytest.mark.parametrize(
    ("planted", "check", "words", "severity"),
    [
        ({"joint": ("0.01", "0.0001")}, "armature", "gear's square", "warning"),
        ({"joint": ("0.01", "0.02")}, "armature", "0.02 against 0.01", "warning"),
        ({"actuator": ("20 20", "20 25")}, "torque_limit", "25 against 20", "warning"),
        ({"actuator": ("-20 20", "-9 9")}, "torque_limit", "9 against 20", "note"),
        ({"mass": ("1", "1.2")}, "mass", "1.2 against 1", "warning"),
        (
            {"actuator": ('kp="20"', 'kp="20" gear="6"')},
            "gear",
            "6 against 10",
            "warning",
        ),
    ],
)
def test_disagreement_with_the_datasheet_is_found(planted, check, words, severity):
    sound = {"joint": SOUND_JOINT, "actuator": SOUND_ACTUATOR, "mass": "1"}
    changed = {key: sound[key].replace(*pair) for key, pair in planted.items()}
    found = find(build(**changed), f"datasheet_{check}", datasheet={"hip": SHEET})
    assert [finding.severity for finding in found] == [severity]
    assert words in found[0].text


def test_speed_beyond_the_datasheet_is_found():
    sheet = {"hip": Datasheet(speed_limit=5.0)}
    wheel = build(
        joint='name="hip" armature="0.01"',
        actuator='velocity name="hip" joint="hip" kv="1" ctrlrange="-6 6" '
        'forcerange="-1 1"',
    )
    assert (
        "6 against 5" in find_one(wheel, "datasheet_speed_limit", datasheet=sheet).text
    )
    motor = build(  # no-load speed 12 V / 2 V·s = 6 rad/s, less its friction
        joint='name="hip" armature="0.01"',
        actuator='dcmotor name="hip" joint="hip" motorconst="2" resistance="1" '
        'ctrlrange="-12 12"',
    )
    assert (
        "6 against 5" in find_one(motor, "datasheet_speed_limit", datasheet=sheet).text
    )


def test_datasheet_of_an_unknown_joint_suggests_the_nearest():
    finding = find_one(build(), "datasheet_unknown_joint", datasheet={"hipp": SHEET})
    assert (finding.severity, finding.subject) == ("error", "hipp")
    assert "nearest is hip" in finding.text


def test_datasheet_refuses_unknown_keys():
    with pytest.raises(msgspec.ValidationError, match="torque_limt"):
        msgspec.convert({"torque_limt": 3.0}, Datasheet)


URDF = """
<robot name="r">
  <link name="base"/>
  <link name="link"><inertial>
    <origin xyz="0 0 -0.15"/><mass value="1.3"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="hip" type="revolute">
    <parent link="base"/><child link="link"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1.5" effort="35" velocity="3"/>
    <dynamics damping="0" friction="0.2"/>
  </joint>
</robot>"""


def test_files_of_one_robot_that_contradict_each_other_are_found():
    urdf = mujoco.MjModel.from_xml_string(URDF)
    found = find(build(), "contradiction", others={"robot.urdf": urdf})
    texts = sorted(finding.text for finding in found)
    assert texts == [
        "armature differs from 'robot.urdf': 0.01 here, 0 there.",
        "damping differs from 'robot.urdf': 0.1 here, 0 there.",
        "force limit differs from 'robot.urdf': 20 here, 35 there.",
        "mass differs from 'robot.urdf': 1 here, 1.3 there.",
        "upper bound differs from 'robot.urdf': 1 here, 1.5 there.",
    ]


def test_same_file_twice_has_no_contradictions():
    assert inspect(build(), others={"copy": build()}).findings == ()


def test_defect_of_many_joints_is_one_finding():
    legs = "".join(
        f'<body name="l{i}"><joint name="j{i}" frictionloss="{loss}"/>'
        f'<geom size="0.1" contype="0" conaffinity="0"/></body>'
        for i, loss in enumerate((0.2, 0.2, 0.3))
    )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{legs}</worldbody></mujoco>"
    )
    finding = find_one(model, "soft_friction")
    assert "A URDF has neither" in finding.hint
    assert finding.subject == "j0, j1, j2"
    assert finding.text.endswith("j0, j1 0.2; j2 0.3.")


def test_findings_come_with_the_gravest_first():
    model = build(mass="1e-9", joint='name="hip" frictionloss="0.1" range="-90 90"')
    order = ["error", "warning", "note"]
    places = [order.index(finding.severity) for finding in inspect(model).findings]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2}


def test_model_is_left_as_it_was():
    model = build()
    before = model.qpos0.copy(), model.body_inertia.copy(), model.dof_armature.copy()
    inspect(model, {"hip": SHEET}, {"urdf": mujoco.MjModel.from_xml_string(URDF)})
    after = model.qpos0, model.body_inertia, model.dof_armature
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "path", sorted(BUILTIN.glob("*.twin.yaml")), ids=lambda p: p.stem
)
def test_embedded_robots_have_nothing_worse_than_notes(path):
    twin = yaml.safe_load(path.read_text())
    model = mujoco.MjModel.from_xml_path(str(BUILTIN / twin["model"]))
    datasheet = msgspec.convert(twin["datasheet"], dict[str, Datasheet])
    findings = inspect(model, datasheet).findings
    assert {finding.severity for finding in findings} <= {"note"}


def menagerie(path: str) -> mujoco.MjModel:
    folder = find_shared("MENAGERIE_ROOT", "menagerie")
    return mujoco.MjModel.from_xml_path(str(folder / path))


@pytest.mark.parametrize("robot", ROBOTS or ["menagerie"])
def test_published_robots_are_inspected_without_a_flood(robot):
    fragments = ("keyframe", "_actuators")  # included by other files, not whole models
    paths = [p for p in sorted((MENAGERIE / robot).glob("*.xml")) if p.is_file()]
    for path in paths or [MENAGERIE / robot]:
        if any(word in path.stem for word in fragments):
            continue
        inspection = inspect(menagerie(str(path.relative_to(MENAGERIE))))
        assert inspection.total_mass > 0
        assert len(inspection.findings) <= 6
        assert not [f for f in inspection.findings if f.severity == "error"]
        assert len({(f.check, f.severity) for f in inspection.findings}) == len(
            inspection.findings
        )


def test_the_so101_gain_is_found():
    """998 N·m/rad where a real arm shows 13: at its 2.94 N·m after 3 mrad."""
    model = menagerie("robotstudio_so101/so101.xml")
    finding = find_one(model, "bang_bang_gain")
    assert finding.subject.split(", ") == [
        "shoulder_pan",
        "shoulder_lift",
        "elbow_flex",
        "wrist_flex",
        "wrist_roll",
        "gripper",
    ]
    assert "998.2 N·m/rad is at its limit after 0.0029 rad" in finding.text
    assert find_one(model, "command_outside_range").subject == "wrist_roll"


def test_the_go2_files_contradict_each_other_about_the_calf():
    """go2_mjx.xml limits every joint to 24 N·m; the calf has 45.43 N·m."""
    model = menagerie("unitree_go2/go2.xml")
    others = {"go2_mjx.xml": menagerie("unitree_go2/go2_mjx.xml")}
    texts = [f.text for f in find(model, "contradiction", others=others)]
    assert any("force limit" in t and "45.43 here, 24 there" in t for t in texts)
    assert any("-0.5236 here, -1.571 there" in text for text in texts)


def test_the_aloha_shoulder_is_stronger_than_its_servos():
    """Two XM540-W270 give 21.2 N·m at 12 V; the file allows 144 N·m."""
    sheet = {"left/shoulder": Datasheet(torque_limit=21.2, gear=272.5)}
    model = menagerie("aloha/aloha.xml")
    finding = find_one(model, "datasheet_torque_limit", datasheet=sheet)
    assert "144 against 21.2 stated" in finding.text
