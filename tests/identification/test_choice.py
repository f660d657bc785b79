"""A first choice of parameters for arms that nobody described."""

from pathlib import Path

import pytest

from realworthy.errors import RealworthyError
from realworthy.identification import choose_parameters
from realworthy.identification.choice import find_loaded
from realworthy.twins import Twin, load_twin

TWO = """
<mujoco model="two">
  <worldbody>
    <body name="base">
      <joint name="pan" axis="0 0 1" armature="0.02"/>
      <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
      <body name="arm" pos="0 0 0.2">
        <joint name="lift" axis="0 1 0" armature="0.02"/>
        <inertial pos="0.2 0 0" mass="0.5" diaginertia="0.002 0.002 0.002"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="pan" joint="pan" kp="20" kv="1"/>
    <position name="lift" joint="lift" kp="{kp}" kv="1"/>
  </actuator>
</mujoco>
"""


def make(folder: Path, kp: float) -> Twin:
    file = folder / "two.xml"
    file.write_text(TWO.format(kp=kp))
    return load_twin(file)


def test_equal_servos_share_their_numbers(tmp_path: Path):
    chosen = choose_parameters(make(tmp_path, 20.0))
    assert {"all.kp", "all.kd", "all.armature"} <= set(chosen)
    assert {"pan.coulomb_friction", "lift.coulomb_friction"} <= set(chosen)
    assert "pan.kp" not in chosen


def test_servos_that_differ_have_their_own(tmp_path: Path):
    chosen = choose_parameters(make(tmp_path, 30.0))
    assert {"pan.kp", "lift.kp", "all.kd"} <= set(chosen)
    assert "all.kp" not in chosen


def test_encoders_show_only_under_gravity(tmp_path: Path):
    """A vertical axis feels no gravity, whatever the pose."""
    twin = make(tmp_path, 20.0)
    assert find_loaded(twin, ["pan", "lift"]) == ("lift",)
    assert "pan.position.sensor_bias" not in choose_parameters(twin)


def test_the_published_arm_is_eleven_numbers(
    menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    twin = load_twin("menagerie:robotstudio_so101")
    joints = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"]
    chosen = choose_parameters(twin, joints)
    biased = [name.split(".")[0] for name in chosen if "sensor_bias" in name]
    assert biased == ["shoulder_lift", "elbow_flex", "wrist_flex"]
    assert len(chosen) == 11


def test_torque_drives_are_left_to_the_user():
    with pytest.raises(RealworthyError, match="no position-controlled"):
        choose_parameters(load_twin("pendulum"))
