"""Twins from names and files, and back into files."""

import os
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    ControllerGoal,
    ControllerPosition,
    ControllerTorque,
    unitree_go1,
)
from realworthy.errors import (
    BadBelief,
    BadFile,
    BadModel,
    MissingFile,
    RealworthyError,
    UnknownName,
    UnknownParameter,
)
from realworthy.parameters import GaussianBelief, IndependentBelief, Uniform
from realworthy.parameters.inertia import rotation
from realworthy.twins import (
    Provenance,
    Twin,
    bind,
    builtin_names,
    load_twin,
    save_twin,
)
from realworthy.twins.twin import RecordingEvidence

FIELDS = (
    *("body_mass", "body_ipos", "body_inertia", "dof_damping", "dof_frictionloss"),
    *("dof_armature", "actuator_gainprm", "actuator_biasprm", "actuator_forcerange"),
    *("actuator_delay", "geom_friction", "geom_solref", "jnt_range", "body_invweight0"),
)


def assert_same(first: Twin, second: Twin) -> None:
    """The same model, the same space and the same belief."""
    for field in FIELDS:
        np.testing.assert_array_equal(
            getattr(first.compiled.model, field),
            getattr(second.compiled.model, field),
            err_msg=field,
        )
    assert first.space == second.space
    assert first.belief.mean == second.belief.mean
    assert first.belief.sd == second.belief.sd
    assert first.datasheet == second.datasheet
    assert first.provenance == second.provenance


def round_trip(twin: Twin, path: Path) -> Twin:
    save_twin(twin, path)
    return load_twin(path)


# names and files


@pytest.mark.parametrize("name", builtin_names())
def test_a_built_in_twin_comes_back_from_a_file(name: str, tmp_path: Path):
    twin = load_twin(name)
    again = round_trip(twin, tmp_path / "mine.twin.yaml")
    assert f"model: {name}\n" in (tmp_path / "mine.twin.yaml").read_text()
    assert_same(again, twin)


def test_a_model_is_named_relative_to_the_twin_file(arm_file: Path, tmp_path: Path):
    twin = load_twin(arm_file)
    for place, model in (
        ("mine.twin.yaml", "test_arm.xml"),
        ("twins/today/mine.twin.yaml", "../../test_arm.xml"),
    ):
        assert_same(round_trip(twin, tmp_path / place), twin)
        assert f"model: {model}\n" in (tmp_path / place).read_text()


def test_relative_paths_hold_from_any_folder(
    arm_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    twin = load_twin("test_arm.xml")
    (tmp_path / "twins").mkdir()
    save_twin(twin, "twins/mine.twin.yaml")
    monkeypatch.chdir(tmp_path / "twins")
    again = load_twin("mine.twin.yaml")
    save_twin(again, "../second.twin.yaml")
    monkeypatch.chdir("/")
    assert_same(load_twin(tmp_path / "second.twin.yaml"), twin)


def test_a_model_behind_a_link_is_found_where_the_link_is(
    arm_file: Path, tmp_path: Path
):
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "linked.xml").symlink_to(arm_file)
    twin = load_twin(tmp_path / "robots" / "linked.xml")
    save_twin(twin, tmp_path / "mine.twin.yaml")
    assert "model: robots/linked.xml" in (tmp_path / "mine.twin.yaml").read_text()


def test_a_robot_of_menagerie_comes_back(
    menagerie_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    twin = load_twin("menagerie:unitree_go2/go2").with_values({"base.mass": 8.0})
    again = round_trip(twin, tmp_path / "go2.twin.yaml")
    text = (tmp_path / "go2.twin.yaml").read_text()
    assert "model: menagerie:unitree_go2/go2\n" in text
    assert again.compiled.model.body("base").mass == pytest.approx(8.0)
    assert_same(again, twin)


def test_a_twin_may_start_from_a_built_in_one(tmp_path: Path):
    path = tmp_path / "mine.twin.yaml"
    path.write_text(
        "schema: 1\nname: mine\nmodel: quadruped\n"
        "datasheet: {FL_hip: {gear: 7}}\n"
        "parameters: {trunk.mass: {value: 9, lower: 8, upper: 10}}\n"
    )
    twin, base = load_twin(path), load_twin("quadruped")
    assert twin.name == "mine"
    assert twin.compiled.model.body("trunk").mass == pytest.approx(9.0)
    assert twin.space["trunk.mass"].lower == 8.0
    assert twin.datasheet["FL_hip"].gear == 7
    assert twin.datasheet["FR_hip"] == base.datasheet["FR_hip"]
    assert_same(round_trip(twin, tmp_path / "again.twin.yaml"), twin)


def test_a_twin_says_how_to_list_its_parameters(arm_file: Path, tmp_path: Path):
    path = tmp_path / "my twin.twin.yaml"
    save_twin(load_twin(arm_file), path)
    assert load_twin(path).listing == f"realworthy show parameters --twin '{path}'"
    assert load_twin("arm").listing == "realworthy show parameters --twin arm"


# URDF

URDF = """
<robot name="reacher">
  <link name="base"/>
  {links}
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="7" velocity="3"/>
    <dynamics damping="0.3" friction="0.2"/>
  </joint>
  <joint name="spin" type="continuous">
    <parent link="upper"/><child link="disc"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="tool" type="fixed"><parent link="disc"/><child link="tip"/></joint>
</robot>
"""
LINK = """<link name="{name}"><inertial><origin xyz="0 0 -0.1"/><mass value="1.5"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
"""


def test_a_urdf_gets_a_motor_per_moving_joint_with_its_effort_limit(tmp_path: Path):
    links = "".join(LINK.format(name=name) for name in ("upper", "disc", "tip"))
    path = tmp_path / "reacher.urdf"
    path.write_text(URDF.format(links=links))
    twin = load_twin(path)
    model = twin.compiled.model
    names = [model.actuator(i).name for i in range(model.nu)]
    assert names == ["shoulder", "spin"]
    assert model.actuator("shoulder").ctrlrange.tolist() == [-7, 7]
    assert model.actuator("shoulder").forcerange.tolist() == [-7, 7]
    assert not model.actuator_ctrllimited[1]
    assert twin.space["shoulder.torque_limit"].nominal == 7.0
    assert "spin.torque_limit" not in twin.space
    assert twin.space["shoulder.damping"].nominal == pytest.approx(0.3)
    assert twin.space["shoulder.coulomb_friction"].nominal == pytest.approx(0.2)
    assert {j: sheet.speed_limit for j, sheet in twin.datasheet.items()} == {
        "shoulder": 3.0
    }
    assert_same(round_trip(twin, tmp_path / "reacher.twin.yaml"), twin)


# values


@pytest.mark.parametrize(
    "values",
    [
        {"elbow.damping": 0.7, "lower.mass": 0.9, "shoulder.kp": 55.0},
        {"lower.inertia.d1": -3.0, "lower.inertia.s12": 0.1},
        {"elbow.delay": 0.03},
        {"all.delay": 0.02},
        {"all.contact_friction": 0.4},
        {"ball.restitution": 0.6},
        {"all.mass": 1.5, "all.damping": 2.0},
        {"upper.centre_of_mass.x": 0.02, "upper.mass": 1.1},
        {"world.gravity": 3.7, "elbow.initial_position": 0.4},
        {"elbow.position.sensor_bias": 0.01, "elbow.position.sensor_delay": 0.01},
    ],
    ids=lambda values: ", ".join(values),
)
def test_values_make_the_model_that_writing_them_makes(
    arm: Twin, tmp_path: Path, values: dict[str, float]
):
    moved = arm.with_values(values)
    bound = bind(arm, arm.space.select(list(values)))
    written = bound.sample_model(list(values.values()))
    for field in FIELDS:
        np.testing.assert_allclose(
            inertias(moved.compiled.model)
            if field == "body_inertia"
            else getattr(moved.compiled.model, field),
            inertias(written) if field == "body_inertia" else getattr(written, field),
            rtol=1e-9,
            atol=1e-12,
            err_msg=field,
        )
    np.testing.assert_allclose(moved.compiled.model.opt.gravity, written.opt.gravity)
    for name, value in values.items():
        assert moved.space[name].nominal == pytest.approx(value), name
    assert_same(round_trip(moved, tmp_path / "moved.twin.yaml"), moved)


def inertias(model: mujoco.MjModel) -> np.ndarray:
    axes = rotation(model.body_iquat)
    return np.einsum("bij,bj,bkj->bik", axes, model.body_inertia, axes)


def test_own_numbers_move_too(arm: Twin):
    moved = arm.with_values({"elbow.initial_position": 0.4, "lower.push.z": 3.0})
    own = moved.compiled.own
    assert own["own.initial_qpos"][1] == 0.4
    assert own["own.push"][moved.compiled.model.body("lower").id, 2] == 3.0


def test_a_delay_has_room_in_the_history(arm: Twin):
    model = arm.with_values({"elbow.delay": 0.05}).compiled.model
    assert model.actuator_delay[1] == 0.05
    assert model.actuator_history[1, 0] * model.opt.timestep >= 0.05


def test_values_do_not_add_up(arm: Twin):
    """The last value counts; the model is always the file's."""
    twice = arm.with_values({"all.mass": 2.0}).with_values({"all.mass": 3.0})
    total = arm.compiled.model.body_mass.sum()
    assert twice.compiled.model.body_mass.sum() == pytest.approx(3 * total)


def test_a_factor_that_a_twin_has_is_not_applied_again(arm: Twin):
    """What is believed of `all.mass` is relative to the file, calibrated or not."""
    space = arm.space.select(["all.mass"])
    twin = arm.with_belief(GaussianBelief(space, [np.log(1.3)], [[1e-10]]))
    total = arm.compiled.model.body_mass.sum()
    assert twin.compiled.model.body_mass.sum() == pytest.approx(1.3 * total, rel=1e-4)
    bound = bind(twin, twin.belief.space)
    for factor in (1.3, 2.6):
        model = bound.sample_model([factor])
        assert model.body_mass.sum() == pytest.approx(factor * total, rel=1e-4)


def test_bounds_stay_when_values_move(arm: Twin, tmp_path: Path):
    path = tmp_path / "arm.twin.yaml"
    save_twin(arm, path)
    text = path.read_text()
    path.write_text(text + "parameters: {elbow.damping: {lower: 0.05, upper: 0.5}}\n")
    moved = load_twin(path).with_values({"elbow.damping": 0.3})
    parameter = moved.space["elbow.damping"]
    assert (parameter.lower, parameter.nominal, parameter.upper) == (0.05, 0.3, 0.5)


def test_twins_do_not_change(arm: Twin):
    before = arm.compiled.model.body_mass.copy()
    arm.with_values({"all.mass": 2.0}).with_actuators({})
    arm.edited(lambda spec: spec.delete(spec.body("ball")))
    np.testing.assert_array_equal(arm.compiled.model.body_mass, before)
    assert arm.parameters == {}
    assert len(arm.spec().bodies) == 5


# beliefs and provenance


def test_belief_and_provenance_are_kept(arm: Twin, tmp_path: Path):
    space = arm.space.select(["elbow.damping", "lower.mass"])
    belief = GaussianBelief(space, np.log([0.3, 0.5]), [[0.01, 0.004], [0.004, 0.02]])
    provenance = Provenance(
        parent="test_arm.xml",
        created="2026-11-15T10:00:00Z",
        versions={"realworthy": "0.1", "mujoco": "4.0"},
        recordings=[RecordingEvidence("run.csv", "ab" * 32)],
        notes="held out: monday",
    )
    twin = arm.with_belief(belief, provenance)
    again = round_trip(twin, tmp_path / "arm.twin.yaml")
    assert_same(again, twin)
    assert again.provenance == provenance
    np.testing.assert_array_equal(again.belief.correlation(), belief.correlation())
    np.testing.assert_array_equal(
        again.belief.sample(5, seed=3), belief.sample(5, seed=3)
    )
    assert again.with_belief(belief).provenance == provenance


def test_an_independent_belief_is_kept(arm: Twin, tmp_path: Path):
    space = arm.space.select(["elbow.damping", "all.delay"])
    belief = IndependentBelief(
        space, {"elbow.damping": Uniform(0.1, 0.3), "all.delay": Uniform(0.0, 0.02)}
    )
    twin = arm.with_belief(belief)
    assert_same(round_trip(twin, tmp_path / "arm.twin.yaml"), twin)


# actuators


def test_drives_are_kept(arm: Twin, tmp_path: Path):
    drive = Actuator(
        joint="elbow", controller=ControllerPosition(kp=12.0, kd=0.5), delay=0.01
    )
    twin = arm.with_actuators({"elbow": drive})
    again = round_trip(twin, tmp_path / "arm.twin.yaml")
    assert again.actuators == {"elbow": drive}
    assert_same(again, twin)


def test_the_file_of_a_network_is_named_relative_to_the_twin_file(
    arm: Twin, tmp_path: Path
):
    motor = unitree_go1("nets/elbow.npz")
    drive = Actuator(joint="elbow", controller=ControllerGoal(), motor=motor)
    twin = arm.with_actuators({"elbow": drive})
    save_twin(twin, tmp_path / "twins" / "arm.twin.yaml")
    text = (tmp_path / "twins" / "arm.twin.yaml").read_text()
    assert "file: ../nets/elbow.npz" in text


# mistakes


def test_names_that_are_no_twin(tmp_path: Path):
    with pytest.raises(UnknownName) as caught:
        load_twin("pendulm")
    assert str(caught.value) == (
        "Realworthy has no twin 'pendulm'.\n"
        "  Nearest: 'pendulum', 'double_pendulum', 'double_pendulum_a0'. Or give an "
        ".xml, .urdf or *.twin.yaml file."
    )
    with pytest.raises(UnknownName, match="In Menagerie: 'menagerie:unitree_go2'"):
        load_twin("unitree go2")
    with pytest.raises(MissingFile, match="there is no such file"):
        load_twin(tmp_path / "robot.sdf")
    (tmp_path / "robot.sdf").touch()
    with pytest.raises(RealworthyError, match=r"'.*robot.sdf' is not a twin"):
        load_twin(tmp_path / "robot.sdf")


def test_a_twins_file_name_has_its_ending(arm: Twin, tmp_path: Path):
    with pytest.raises(RealworthyError) as caught:
        save_twin(arm, tmp_path / "arm.yaml")
    assert str(caught.value) == (
        "A twin's file name ends in .twin.yaml, not 'arm.yaml'.\n  Try: arm.twin.yaml"
    )


def test_an_edited_model_has_no_file(arm: Twin, tmp_path: Path):
    edited = arm.edited(lambda spec: spec.delete(spec.body("ball")))
    with pytest.raises(RealworthyError) as caught:
        save_twin(edited, tmp_path / "arm.twin.yaml")
    assert str(caught.value) == (
        "The model of twin 'test_arm' was edited, and no file holds it.\n"
        "  Write twin.spec().to_xml() to a file, and load the twin from it."
    )
    path = tmp_path / "edited.xml"
    path.write_text(edited.spec().to_xml())
    assert load_twin(path).compiled.model.nbody == arm.compiled.model.nbody - 1
    assert list(tmp_path.glob("*.twin.yaml")) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"elbow.damping": -1.0}, "'elbow.damping' cannot be -1 N·m·s/rad."),
        ({"elbow.damping": np.nan}, "'elbow.damping' cannot be nan N·m·s/rad."),
        ({"elbow.damping": np.inf}, "'elbow.damping' cannot be inf N·m·s/rad."),
        ({"elbow.delay": 0.3}, "'elbow.delay' cannot be 0.3 s."),
        ({"all.contact_friction": -0.1}, "'all.contact_friction' cannot be -0.1."),
    ],
)
def test_values_that_cannot_be(arm: Twin, values: dict[str, float], said: str):
    with pytest.raises(RealworthyError) as caught:
        arm.with_values(values)
    assert caught.value.problem == f"twin 'test_arm': {said}"


@pytest.mark.parametrize(
    "values", [{"lower.mass": 0.0}, {"lower.inertia.alpha": 900.0}], ids=str
)
def test_values_that_make_no_model(arm: Twin, values: dict[str, float]):
    with pytest.raises(BadModel, match="The values of twin 'test_arm' make no model"):
        _ = arm.with_values(values).compiled


def test_an_unknown_parameter(arm: Twin):
    with pytest.raises(UnknownParameter) as caught:
        arm.with_values({"elbow.dampin": 1.0})
    assert caught.value.nearest == ("elbow.damping",)
    assert caught.value.hint.endswith(arm.listing)


FILES = {
    "parameters: {elbow.damping: {lower: 2, upper: 1}}": (
        "twin 'arm': 'elbow.damping' cannot be bounded by [2, 1] N·m·s/rad."
    ),
    "parameters: {elbow.damping: {lower: -1}}": (
        "twin 'arm': 'elbow.damping' cannot be bounded by [-1, inf] N·m·s/rad."
    ),
    "parameters: {elbow.damping: {value: 3, upper: 1}}": (
        "twin 'arm': 'elbow.damping' cannot be 3 N·m·s/rad."
    ),
    "parameters: {elbow.damping: {upper: 0.01}}": (
        "twin 'arm': 'elbow.damping' cannot be 0.1 N·m·s/rad."
    ),
    "actuators: {a: {joint: elbow, controller: {kind: torque}}, "
    "b: {joint: elbow, controller: {kind: torque}}}": (
        "actuators 'a' and 'b' both drive joint 'elbow'."
    ),
    "actuators: {a: {joint: elbow, controller: {kind: torque}, delay: 1e9}}": (
        "actuator of 'elbow': a delay of 1e+09 s is more than 100000 time steps."
    ),
}


@pytest.mark.parametrize("text", FILES)
def test_files_that_cannot_be(arm_file: Path, tmp_path: Path, text: str):
    path = tmp_path / "arm.twin.yaml"
    path.write_text(f"schema: 1\nname: arm\nmodel: {arm_file.name}\n{text}\n")
    with pytest.raises(BadFile) as caught:
        load_twin(path)
    assert caught.value.problem == f"{path}: {FILES[text]}"


BELIEFS = {
    "{type: gaussian, names: [elbow.damping, lower.mass], mean_z: [0, 0], "
    "covariance_z: [[1, 2], [2, 1]]}": "The covariance of this belief is not positive",
    "{type: gaussian, names: [elbow.damping, lower.mass], mean_z: [0, 0], "
    "covariance_z: [[1, 0], [0]]}": "Rows of this belief differ in length.",
    "{type: independent, marginals: {elbow.damping: {type: uniform, lower: -2, "
    "upper: 1}}}": "The belief about 'elbow.damping' reaches from -2 to 1",
}


@pytest.mark.parametrize("text", BELIEFS)
def test_beliefs_that_cannot_be(arm_file: Path, tmp_path: Path, text: str):
    path = tmp_path / "arm.twin.yaml"
    path.write_text(f"schema: 1\nname: arm\nmodel: {arm_file.name}\nbelief: {text}\n")
    with pytest.raises(BadBelief) as caught:
        load_twin(path)
    assert caught.value.problem.startswith(f"{path}: {BELIEFS[text]}")


def test_a_belief_about_something_else(arm_file: Path, tmp_path: Path):
    path = tmp_path / "arm.twin.yaml"
    path.write_text(
        f"schema: 1\nname: arm\nmodel: {arm_file.name}\n"
        "belief: {type: gaussian, names: [knee.damping], mean_z: [0], "
        "covariance_z: [[1]]}\n"
    )
    with pytest.raises(UnknownParameter, match=r"twin 'arm' has no parameter 'knee"):
        load_twin(path)


def test_an_actuator_whose_joint_is_not_there(arm: Twin):
    drive = Actuator(joint="knee", controller=ControllerTorque())
    with pytest.raises(UnknownName, match="twin 'test_arm' has no joint 'knee'"):
        _ = arm.with_actuators({"knee": drive}).compiled


@pytest.mark.parametrize("element", ["actuator", "sensor", "exclude", "equality"])
def test_references_to_nothing_do_not_vanish(arm_file: Path, element: str):
    """A copy of such a model would lack the element without a word."""
    wrong = {
        "actuator": '<actuator><motor joint="knee"/></actuator>',
        "sensor": '<sensor><jointpos joint="knee"/></sensor>',
        "exclude": '<contact><exclude body1="upper" body2="knee"/></contact>',
        "equality": '<equality><joint joint1="knee"/></equality>',
    }[element]
    arm_file.write_text(arm_file.read_text().replace("</mujoco>", f"{wrong}</mujoco>"))
    with pytest.raises(BadModel, match="MuJoCo rejects the model of twin 'test_arm'"):
        load_twin(arm_file)


def test_nameless_elements_get_names(tmp_path: Path):
    path = tmp_path / "nameless.xml"
    path.write_text(
        "<mujoco><worldbody><body><joint/><joint axis='0 1 0'/><geom size='0.1'/>"
        "</body></worldbody></mujoco>"
    )
    model = load_twin(path).compiled.model
    assert [model.joint(i).name for i in range(2)] == ["body1_joint0", "body1_joint1"]


def test_mujoco_is_quiet(arm: Twin, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """No MUJOCO_LOG.TXT in the user's folder, and no line per diverging world."""
    model = arm.compiled.model
    data = mujoco.MjData(model)
    data.qvel[:] = 1e12
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        for _ in range(20):
            mujoco.mj_step(model, data)
    finally:
        os.chdir(before)
    assert data.warning.number.sum() > 0
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()
    assert capfd.readouterr() == ("", "")


def test_a_twin_of_ones_own_making_has_no_listing(arm: Twin):
    assert replace(arm, reference="").listing == ""
