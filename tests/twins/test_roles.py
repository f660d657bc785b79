"""Roles: proposed from shapes and joints, whatever these are called; chosen by name."""

from pathlib import Path

import mujoco
import pytest

from realworthy.errors import BadFile, RealworthyError, UnknownName
from realworthy.robots.roles import RoleChoices, parse_roles
from realworthy.twins import Twin, load_twin, save_twin


def hide_names(twin: Twin) -> tuple[Twin, dict[str, str]]:
    """The twin with every part called something else; old → new names of bodies."""
    bodies: dict[str, str] = {}

    def edit(spec: mujoco.MjSpec) -> None:
        for sensor in list(spec.sensors):
            spec.delete(sensor)
        joints = {joint.name: f"j{i}" for i, joint in enumerate(spec.joints)}
        bodies.update({body.name: f"b{i}" for i, body in enumerate(spec.bodies[1:])})
        for actuator in spec.actuators:
            actuator.target = joints[actuator.target]
        for exclude in spec.excludes:
            exclude.bodyname1 = bodies[exclude.bodyname1]
            exclude.bodyname2 = bodies[exclude.bodyname2]
        for body in spec.bodies[1:]:
            body.name = bodies[body.name]
        for joint in spec.joints:
            joint.name = joints[joint.name]
        for kind in (spec.sites, spec.geoms, spec.actuators):
            for i, part in enumerate(kind):
                part.name = f"p{i}"

    return twin.edited(edit), bodies


def test_a_quadruped_has_the_same_feet_under_other_names() -> None:
    hidden, bodies = hide_names(load_twin("quadruped"))
    feet = hidden.roles.feet.value
    assert feet is not None
    found = {foot.place: foot.body for foot in feet}
    assert found == {
        "front_left": bodies["FL_calf"],
        "front_right": bodies["FR_calf"],
        "rear_left": bodies["RL_calf"],
        "rear_right": bodies["RR_calf"],
    }
    assert len({joint for foot in feet for joint in foot.joints}) == 12
    assert hidden.roles.trunk.value == bodies["trunk"]


def test_an_arm_has_the_same_tip_under_other_names() -> None:
    hidden, bodies = hide_names(load_twin("arm"))
    tip = hidden.roles.tip
    model = hidden.compiled.model
    assert tip.value is not None
    site = model.site(tip.value)
    assert model.body(int(site.bodyid[0])).name == bodies["gripper"]
    assert site.pos.tolist() == [0.098, 0.0, 0.0]
    assert len(hidden.roles.gripper.value or ()) == 1


def test_hips_turn_the_other_way_in_the_mirror_and_knees_the_same() -> None:
    image = load_twin("quadruped").roles.mirror_image
    assert image is not None
    assert image["FL_hip"] == ("FR_hip", -1.0)
    assert image["RR_thigh"] == ("RL_thigh", 1.0)
    assert image["RL_calf"] == ("RR_calf", 1.0)
    image = load_twin("humanoid").roles.mirror_image
    assert image is not None
    turned = ("hip_yaw", "hip_roll", "ankle_roll")
    for part in (*turned, "hip_pitch", "knee", "ankle_pitch"):
        sign = -1.0 if part in turned else 1.0
        assert image[f"left_{part}"] == (f"right_{part}", sign)


def test_a_robot_with_one_leg_moved_has_no_mirror_image() -> None:
    def move(spec: mujoco.MjSpec) -> None:
        spec.body("FL_hip").pos[0] += 0.05

    assert load_twin("quadruped").edited(move).roles.mirror_image is None


def test_an_arm_ends_before_its_jaw() -> None:
    roles = load_twin("arm").roles
    assert roles.tip.value == "gripper"
    assert "closes a jaw" in roles.tip.reason
    assert roles.gripper.value == ("gripper",)


def test_chosen_roles_come_first_and_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.twin.yaml"
    chosen = RoleChoices(tip="wrist", gains=(20.0, 1.0))
    save_twin(load_twin("arm").with_roles(chosen), path)
    twin = load_twin(path)
    assert twin.role_choices == chosen
    assert twin.roles.tip.value == "wrist"
    assert set(twin.roles.gripper.value or ()) == {
        *("wrist_yaw", "wrist_roll", "gripper")
    }
    more = twin.with_roles(RoleChoices(home="home"))
    assert more.role_choices == RoleChoices(tip="wrist", gains=(20.0, 1.0), home="home")
    path.write_text(path.read_text().replace("tip:", "tpi:"))
    with pytest.raises(BadFile, match="tpi"):
        load_twin(path)


def test_roles_are_read_from_words() -> None:
    words = ["tip=a", "feet=FL, FR,RL,RR", "gains=40,1", "action_scale=0.25"]
    found = parse_roles(words)
    assert found.feet == ("FL", "FR", "RL", "RR")
    assert found.gains == (40.0, 1.0)
    assert parse_roles(found.words.split()) == found
    with pytest.raises(UnknownName, match="no role 'tpi'"):
        parse_roles(["tpi=a"])
    for wrong in ("tip", "tip=", "feet=,"):
        with pytest.raises(RealworthyError, match="does not say which part"):
            parse_roles([wrong])
    with pytest.raises(RealworthyError, match="'gains' cannot be read"):
        parse_roles(["gains=40"])
    with pytest.raises(UnknownName, match="no site, shape or body"):
        _ = load_twin("arm").with_roles(RoleChoices(tip="wirst")).roles.tip
