"""Which numbers to fit where nobody has said."""

from pathlib import Path

import pytest

from realworthy.errors import RealworthyError
from realworthy.identification import ParameterVerdict, Problem, choose_parameters
from realworthy.identification.calibration.parameter_choice import (
    choose_identifiable,
    find_shared_factors,
)
from realworthy.twins import Twin, load_twin
from tests.identification.conftest import draw_truth, multisine, play_hidden

TWO = """
<mujoco model="two">
  <worldbody>
    <body name="base">
      <joint name="pan" axis="0 0 1" armature="0.02" frictionloss="0.1"/>
      <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
      <body name="arm" pos="0 0 0.2">
        <joint name="lift" axis="0 1 0" armature="0.02" frictionloss="0.1"/>
        <inertial pos="0.2 0 0" mass="0.5" diaginertia="0.002 0.002 0.002"/>
        <body name="jaw" pos="0.2 0 0">
          <joint name="gripper" axis="0 1 0" armature="0.02" frictionloss="0.1"/>
          <inertial pos="0 0 0" mass="0.1" diaginertia="0.001 0.001 0.001"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="pan" joint="pan" kp="20" kv="1"/>
    <position name="lift" joint="lift" kp="30" kv="1"/>
    <position name="gripper" joint="gripper" kp="30" kv="1"/>
  </actuator>
</mujoco>
"""


@pytest.fixture
def two(tmp_path: Path) -> Twin:
    file = tmp_path / "two.xml"
    file.write_text(TWO)
    return load_twin(file)


def test_servos_have_gains_friction_offsets_and_one_delay(two: Twin):
    chosen = choose_parameters(two)
    assert chosen[:2] == ("pan.kp", "lift.kp")
    assert {"pan.kd", "lift.coulomb_friction", "all.delay"} <= set(chosen)
    assert "lift.position.sensor_bias" in chosen
    assert "all.mass" not in chosen  # a gain tells it as well


def test_fingers_are_left_alone(two: Twin):
    assert not [name for name in choose_parameters(two) if "gripper" in name]


def test_shared_factors_cover_what_several_joints_have(two: Twin):
    names = choose_parameters(two)
    assert find_shared_factors(two, names) == (
        "all.kp",
        "all.kd",
        "all.coulomb_friction",
        "all.delay",
    )
    assert find_shared_factors(two, ["pan.kp", "lift.kd"]) == ()


def test_torque_drives_have_friction_and_mass():
    chosen = choose_parameters(load_twin("double_pendulum"), ["shoulder", "elbow"])
    assert {"shoulder.damping", "elbow.coulomb_friction", "link2.mass"} <= set(chosen)
    assert not [name for name in chosen if name.endswith(".kp")]


def test_joints_that_do_not_exist_leave_nothing_to_fit(two: Twin):
    with pytest.raises(RealworthyError, match="no drive at these joints"):
        choose_parameters(two, [])


def test_the_published_arm_has_its_five_joints(
    menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    chosen = choose_parameters(load_twin("menagerie:robotstudio_so101"))
    assert len([n for n in chosen if n.endswith(".kp")]) == 5
    assert not [n for n in chosen if n.startswith("gripper")]


def test_numbers_that_nothing_tells_are_left_out(joint: Twin, joint_file: Path):
    """A joint that is held still tells no friction, no rotor and no delay."""
    moving, still = play_hidden(
        joint_file,
        draw_truth(1),
        [multisine(1, 2.0), 0 * multisine(1, 2.0)],
        seed=1,
    )
    names = choose_parameters(joint)
    found = choose_identifiable(Problem(joint, moving, names))
    kept = {"joint.kp", "joint.coulomb_friction", "joint.armature"}
    assert kept <= set(found.names)
    found = choose_identifiable(Problem(joint, still, names))
    assert "joint.armature" not in found.names
    verdicts = {one.name: one.verdict for one in found.left_out}
    assert verdicts["joint.armature"] is ParameterVerdict.NOT_EXCITED
