"""Twins written as MJCF and URDF, and loaded again by MuJoCo alone."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.simulators import MujocoCpu
from realworthy.twins import Twin, bind, load_twin, parse_twin
from realworthy.twins.export import export_model

CHANGES = {
    "trossen_wx250s": {
        "elbow.kp": 35.0,
        "elbow.kd": 3.0,
        "shoulder.coulomb_friction": 0.3,
        "waist.damping": 0.2,
        "waist.armature": 0.13,
        "all.delay": 0.02,
        "wx250s/upper_arm_link.mass": 0.6,
        "wx250s/upper_arm_link.centre_of_mass.x": 0.03,
    },
    "quadruped": {"trunk.mass": 8.0, "FL_calf.coulomb_friction": 0.4, "FL_calf.kp": 25},
    "arm": {"elbow_flex.damping": 0.7, "all.delay": 0.012},
    "pendulum": {"joint.damping": 0.3, "joint.coulomb_friction": 0.2},
}
MODEL = """
<mujoco>
  <worldbody>
    <body name="link">
      <joint name="hip" axis="0 1 0" range="-90 90" damping="0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" mass="1"/>
    </body>
  </worldbody>
  <actuator>
    <position name="hip" joint="hip" kp="20" kv="1" ctrlrange="-1.5 1.5"
      forcerange="-5 5"/>
  </actuator>
</mujoco>
"""
URDF = """
<robot name="reacher">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 -0.1"/><mass value="1.5"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="7" velocity="3"/>
  </joint>
</robot>
"""


def load_changed(name: str, menagerie_root: Path) -> tuple[Twin, Twin]:
    """A twin, and the same with numbers of each kind changed."""
    source = f"menagerie:{name}" if (menagerie_root / name).is_dir() else name
    before = load_twin(source)
    chosen = {n: v for n, v in CHANGES[name].items() if n in before.space}
    assert len(chosen) > 1
    return before, before.with_values(chosen)


@pytest.mark.parametrize("name", CHANGES)
def test_mujoco_alone_replays_as_the_twin_does(
    name: str, menagerie_root: Path, tmp_path: Path
):
    before, twin = load_changed(name, menagerie_root)
    found = export_model(twin, tmp_path / "robot.xml", before=before)
    assert not found.left_out
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    simulator = MujocoCpu(bind(twin), 1)
    simulator.reset()
    data = mujoco.MjData(model)
    data.qpos[:] = simulator.array("qpos")[0]
    home = np.array(simulator.bound.compiled.own["own.initial_ctrl"])
    for i in range(model.nactuator):  # as if home had been commanded before
        if count := int(model.actuator_history[i, 0]):
            value = home[int(model.actuator_ctrladr[i])]
            mujoco.mj_initCtrlHistory(model, data, i, None, np.full(count, value))
    size = 2.0 if name == "pendulum" else 0.2  # [N·m], [rad]
    simulator.substeps = 1
    mine, theirs, moved = [], [], []
    for step in range(200):  # on legs longer, what touches grows apart by rounding
        command = home + size * np.sin(0.02 * step + np.arange(len(home)))
        for i in range(model.nu):  # as the model itself clips
            if model.actuator_ctrllimited[i]:
                command[i] = np.clip(command[i], *model.actuator_ctrlrange[i])
        data.ctrl[:] = command
        mujoco.mj_step(model, data)
        simulator.step(command[None])
        mine.append(simulator.array("qpos")[0].copy())
        theirs.append(data.qpos.copy())
    mine, theirs = np.array(mine), np.array(theirs)
    moved = np.sqrt(np.mean((mine - mine[0]) ** 2))
    assert moved > 1e-3
    assert np.sqrt(np.mean((mine - theirs) ** 2)) < 0.01 * moved


def test_each_changed_number_has_a_comment(tmp_path: Path):
    before = parse_twin(MODEL, name="leg")
    twin = before.with_values({"hip.kp": 25.5, "hip.damping": 0.2, "link.mass": 1.25})
    found = export_model(twin, tmp_path / "leg.xml", before=before)
    text = (tmp_path / "leg.xml").read_text()
    for said, tag in (
        ("hip.kp: 20 → 25.5 N·m/rad", '<general name="hip"'),
        ("hip.damping: 0.1 → 0.2 N·m·s/rad", '<joint name="hip"'),
        ("link.mass: 1 → 1.25 kg", '<body name="link"'),
    ):
        assert said in found.changed
        after = text[text.index(f"<!-- {said} -->") :]
        assert after.index(tag) < after.index("\n", after.index("\n") + 1)
    assert text.count("<!--") == 3


def test_what_mujoco_has_no_field_for_is_listed(tmp_path: Path):
    before = parse_twin(MODEL, name="leg")
    twin = before.with_values({"hip.position.sensor_bias": 0.1, "hip.kp": 22.0})
    found = export_model(twin, tmp_path / "leg.xml", before=before)
    (left,) = found.left_out
    assert left.startswith("hip.position.sensor_bias")
    assert found.changed == ("hip.kp: 20 → 22 N·m/rad",)


def test_meshes_travel_with_the_file(menagerie_root: Path, tmp_path: Path):
    before, twin = load_changed("trossen_wx250s", menagerie_root)
    export_model(twin, tmp_path / "a" / "robot.xml", before=before)
    (tmp_path / "a").rename(tmp_path / "b")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "b" / "robot.xml"))
    assert model.nmesh == before.compiled.model.nmesh


def test_a_urdf_keeps_its_structure_and_lists_what_it_cannot_hold(tmp_path: Path):
    (tmp_path / "arm.urdf").write_text(URDF)
    before = load_twin(tmp_path / "arm.urdf")
    twin = before.with_values(
        {
            "upper.mass": 1.25,
            "upper.centre_of_mass.x": 0.02,
            "shoulder.damping": 0.4,
            "shoulder.coulomb_friction": 0.3,
            "shoulder.armature": 0.1,
            "all.delay": 0.01,
        }
    )
    found = export_model(twin, tmp_path / "out.urdf", before=before)
    again = load_twin(tmp_path / "out.urdf").compiled.model
    mine = twin.compiled.model
    for field in ("body_mass", "body_ipos", "dof_damping", "dof_frictionloss"):
        np.testing.assert_allclose(
            getattr(again, field), getattr(mine, field), rtol=1e-6
        )
    assert "<!-- upper.mass: 1.5 → 1.25 kg -->" in (tmp_path / "out.urdf").read_text()
    assert [left.partition(":")[0] for left in found.left_out] == [
        "shoulder.armature",
        "all.delay",
    ]


def test_a_urdf_of_an_mjcf_is_refused(tmp_path: Path):
    twin = load_twin("arm")
    with pytest.raises(RealworthyError, match="which no URDF can hold"):
        export_model(twin, tmp_path / "arm.urdf", before=twin)
    with pytest.raises(RealworthyError, match=r"as \.xml or \.urdf"):
        export_model(twin, tmp_path / "arm.sdf", before=twin)
