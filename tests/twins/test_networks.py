"""A learned drive of a twin file: the network where it has been, else the physics."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.artefacts import to_yaml
from realworthy.errors import BadFile, RealworthyError, UnknownName
from realworthy.gap import measure
from realworthy.identification.networks import load_drive
from realworthy.simulators import MujocoCpu, record
from realworthy.simulators.simulator import to_numpy
from realworthy.twins import Twin, bind, load_twin, save_twin
from tests.identification.networks.drives import PLAIN
from tests.identification.networks.test_drive import linear_drive

MODEL = """
<mujoco><option timestep="0.002"/><worldbody><body name="arm">
  <joint name="{joint}" axis="0 1 0"/><geom size="0.05" pos="0 0 -0.3" mass="0.5"/>
</body></worldbody></mujoco>"""
JOINT = PLAIN.joint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The network is 30 e − v for |e|, |v| up to 1, the physics 15 e − 0.3 v."""
    (tmp_path / "arm.xml").write_text(MODEL.format(joint=JOINT))
    linear_drive().save(tmp_path / "knee.drive.yaml", PLAIN)
    path = tmp_path / "arm.twin.yaml"
    path.write_text(
        "schema: 1\nname: arm\nmodel: arm.xml\nnetworks: {knee: knee.drive.yaml}\n"
    )
    return path


def push(twin: Twin, speed: float, goal: float = 0.1) -> float:
    """[N·m] on the joint, from rest at 0 rad and `speed` [rad/s]."""
    simulator = MujocoCpu(twin, 1, substeps=1)
    simulator.reset(qpos=[[0.0]], qvel=[[speed]], command=[[goal]])
    simulator.step([[goal]])
    return float(simulator.array("qfrc_actuator")[0, 0])


def test_the_network_drives_within_its_envelope_and_physics_beyond(file: Path):
    twin = load_twin(file)
    assert push(twin, 0.2) == pytest.approx(30 * 0.1 - 0.2)
    assert push(twin, 5.0) == pytest.approx(15 * 0.1 - 0.3 * 5.0, abs=1e-6)


def test_worlds_step_as_the_law_of_its_file(file: Path):
    """Torque of every substep against the same law by hand."""
    simulator = MujocoCpu(load_twin(file), 1, substeps=1)
    law = load_drive(file.with_name("knee.drive.yaml"), timestep=0.002)
    simulator.reset(qpos=[[0.0]], qvel=[[0.0]], command=[[0.0]])
    zero = np.zeros(1)
    state = law.prime(law.initial_state(1, zero), zero[None], position=zero)
    for k in range(100):
        goal = np.array([[0.5 * np.sin(0.1 * k)]])
        position, velocity = (
            simulator.array(name)[:, 0].copy() for name in ("qpos", "qvel")
        )
        expected = law.step(goal, position, velocity, zero, {}, state)
        state = expected.state
        simulator.step(goal)
        found = simulator.array("qfrc_actuator")[0]
        assert found == pytest.approx(expected.torque, abs=1e-12)


@pytest.mark.gpu
def test_warp_steps_with_it_too(file: Path):
    """Within the envelope and, from 0.5 rad/s on, more and more outside."""
    pytest.importorskip("mujoco_warp")
    from realworthy.simulators.mujoco_gpu import MujocoGpu

    twin, speeds = load_twin(file), np.array([[0.2], [3.0]])
    cpu, warp = MujocoCpu(twin, 2), MujocoGpu(twin, 2, device="cpu")
    for simulator in (cpu, warp):
        simulator.reset(qvel=speeds, command=[[0.1]] * 2)
        for _ in range(10):
            simulator.step([[0.1]] * 2)
    for name in ("qpos", "qfrc_actuator"):
        found = to_numpy(warp.array(name))
        assert found == pytest.approx(cpu.array(name), rel=1e-3, abs=1e-4)


def test_numbers_of_the_physical_drive_stay_numbers_of_e(file: Path):
    twin = load_twin(file)
    space = twin.space.select(["knee.kp"])
    simulator = MujocoCpu(bind(twin, space), 2, substeps=1)
    simulator.write([[15.0], [20.0]])
    for speed, torques in ((5.0, [0.0, 0.5]), (0.2, [2.8, 2.8])):
        simulator.reset(qvel=[[speed]] * 2, command=[[0.1]])
        simulator.step([[0.1]])
        found = simulator.array("qfrc_actuator")[:, 0]
        assert found == pytest.approx(torques, abs=1e-6)


def test_it_is_saved_and_may_drive_other_joints(file: Path, tmp_path: Path):
    (tmp_path / "below").mkdir()
    twin = load_twin(file)
    save_twin(twin, tmp_path / "below" / "again.twin.yaml")
    text = (tmp_path / "below" / "again.twin.yaml").read_text()
    assert "actuators" not in text
    again = load_twin(tmp_path / "below" / "again.twin.yaml")
    assert push(again, 0.2) == push(twin, 0.2)
    assert again.fingerprint == twin.fingerprint
    stiffer = msgspec.structs.replace(PLAIN, torque_limit=1.0)
    limited = twin.with_actuators({"knee": stiffer})
    save_twin(limited, tmp_path / "limited.twin.yaml")
    read = load_twin(tmp_path / "limited.twin.yaml")
    assert read.actuators["knee"] == stiffer
    assert read.fingerprint != twin.fingerprint


def test_what_it_remembers_is_resumed(file: Path):
    twin = load_twin(file)
    one, other = (MujocoCpu(twin, 2, substeps=2) for _ in range(2))
    for k in range(5):
        one.step(np.full((2, 1), 0.1 * k))
    other.restore(one.state())
    for simulator in (one, other):
        for _ in range(5):
            simulator.step(np.full((2, 1), 0.3))
    assert np.array_equal(one.array("qpos"), other.array("qpos"))


def test_files_that_cannot_serve_are_refused(file: Path, tmp_path: Path):
    (tmp_path / "arm.xml").write_text(MODEL.format(joint="elbow"))
    with pytest.raises(UnknownName, match=f"no joint '{JOINT}'"):
        load_twin(file)
    (tmp_path / "arm.xml").write_text(MODEL.format(joint=JOINT))
    with np.load(tmp_path / "knee.drive.npz") as arrays:
        kept = {k: v for k, v in arrays.items() if "reach" not in k}
    np.savez(tmp_path / "knee.drive.npz", **kept)
    with pytest.raises(BadFile, match=r"no array 'envelope.reach'"):
        load_twin(file)
    (tmp_path / "knee.drive.yaml").unlink()
    with pytest.raises(RealworthyError, match=r"knee\.drive\.yaml"):
        load_twin(file)


def test_it_is_measured_with_its_network(file: Path, tmp_path: Path):
    twin = load_twin(file)
    goals = 0.3 * np.sin(0.02 * np.arange(400))
    simulator = MujocoCpu(twin, 1, substeps=1)
    (played,) = record(simulator, {"knee.command": goals})
    physics = tmp_path / "physics.twin.yaml"
    text = to_yaml({"knee": msgspec.to_builtins(PLAIN)}).replace("\n", "\n  ")
    physics.write_text(f"schema: 1\nname: arm\nmodel: arm.xml\nactuators:\n  {text}\n")
    own, other = (
        measure(who, [played]).replay.position_rmse
        for who in (twin, load_twin(physics))
    )
    assert own < 1e-3
    assert other > 10 * own


def test_two_drives_of_one_joint_are_refused(file: Path):
    file.write_text(
        file.read_text().replace("knee: knee", "b: knee.drive.yaml, a: knee")
    )
    with pytest.raises(BadFile, match=f"both drive joint '{JOINT}'"):
        load_twin(file)
