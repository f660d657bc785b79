"""A residual of a twin file: where it acts, and on whose twin it may."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from realworthy.deployment import play
from realworthy.errors import BadFile, RealworthyError
from realworthy.identification.calibration.calibrate import calibrate
from realworthy.realities import RealityFile, StandIn, load_reality
from realworthy.realities.effects import Drag
from realworthy.realities.reality import make_reality
from realworthy.realities.worlds import RealityWorlds
from realworthy.reports.view.session import build_session
from realworthy.residuals import BadResidual, load_residual, save_residual
from realworthy.simulators import MujocoCpu
from realworthy.simulators.simulator import to_numpy
from realworthy.tasks.classic.cartpole import CartpoleBalance
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins import Twin, load_twin, save_twin
from realworthy.twins.twin import RESIDUAL_LEFT_OUT
from tests.residuals.examples import damper

GAIN = 0.2
DAMPING = 0.5 * GAIN
"""[N·m·s/rad] that the learned force is worth, up to 1.6 rad/s."""


def learn(folder: Path, model: str, joint: str, *, history: int = 1) -> Path:
    """A twin file with a learned damper on one joint of a built-in twin."""
    made = damper(joints=(joint,), history=history)
    period = float(load_twin(model).compiled.model.opt.timestep)
    described = msgspec.structs.replace(
        made.description,
        gain=GAIN,
        period=period,
        twin=model,
        fingerprint=load_twin(model).fingerprint,
    )
    residual = replace(made, description=described)
    save_residual(folder / "learned.residual.yaml", residual)
    path = folder / "learned.twin.yaml"
    path.write_text(
        f"schema: 1\nname: learned\nmodel: {model}\nresidual: learned.residual.yaml\n"
    )
    return path


def fall(twin: Twin) -> np.ndarray:
    """Angles of a pendulum that swings, for half a second."""
    simulator = MujocoCpu(twin, 1, substeps=1)
    simulator.reset(qpos=[[0.0]], qvel=[[1.5]])
    angles = []
    for _ in range(250):
        simulator.step([[0.0]])
        angles.append(float(simulator.array("qpos")[0, 0]))
    return np.array(angles)


def test_a_learned_damper_damps(tmp_path: Path):
    plain = load_twin("pendulum")
    learned = load_twin(learn(tmp_path, "pendulum", "joint"))
    damped = plain.with_values(
        {"joint.damping": plain.space["joint.damping"].nominal + DAMPING}
    )
    apart = np.abs(fall(damped) - fall(plain)).max()
    assert apart > 0.02
    assert np.abs(fall(damped) - fall(learned)).max() < 0.02 * apart


def test_outside_its_envelope_the_twin_is_alone(tmp_path: Path):
    simulator = MujocoCpu(load_twin(learn(tmp_path, "pendulum", "joint")), 2)
    simulator.reset(qvel=[[1.0], [8.0]])
    simulator.step(np.zeros((2, 1)))
    force = simulator.array("qfrc_applied")[:, 0]
    speed = simulator.array("qvel")[:, 0]
    assert force[0] == pytest.approx(-DAMPING * speed[0], rel=0.1)
    assert abs(force[1]) < 0.01 * DAMPING * speed[1]


def test_what_it_remembers_is_part_of_the_state(tmp_path: Path):
    twin = load_twin(learn(tmp_path, "pendulum", "joint", history=4))
    one, other = (MujocoCpu(twin, 3, substeps=2) for _ in range(2))
    one.reset(qvel=np.array([[1.0], [2.0], [3.0]]))
    for _ in range(5):
        one.step(np.ones((3, 1)))
    other.restore(one.state())
    for _ in range(5):
        one.step(np.ones((3, 1)))
        other.step(np.ones((3, 1)))
    assert np.array_equal(one.array("qpos"), other.array("qpos"))
    fresh = MujocoCpu(twin, 3, substeps=2)
    other.restore(fresh.state())
    for simulator in (fresh, other):
        simulator.step(np.ones((3, 1)))
    assert np.array_equal(fresh.array("qpos"), other.array("qpos"))


def test_it_adds_to_the_effects_of_a_reality(tmp_path: Path):
    twin = learn(tmp_path, "pendulum", "joint")
    drag = Drag(joint="joint", coefficient=0.3)
    file = RealityFile(schema=1, twin=str(twin), effects=[drag])
    worlds = RealityWorlds(make_reality("both", file), 1)
    worlds.simulator.reset(qvel=[[1.5]])
    worlds.step([0.0], 1)
    force = worlds.simulator.array("qfrc_applied")[0, 0]
    assert force == pytest.approx(-0.3 * 1.5**2 - DAMPING * 1.5)


def test_training_certifying_and_viewing_run_with_it(tmp_path: Path):
    twin = load_twin(learn(tmp_path, "cartpole", "cart"))
    worlds = TaskWorlds(CartpoleBalance(twin), 2, thread_count=1)
    session = build_session(twin)
    for simulator in (worlds.simulator, session.play.world.simulator):
        simulator.reset(qvel=np.full((simulator.world_count, 2), [1.0, 0.0]))
        simulator.substeps = 1
        simulator.step(np.zeros((simulator.world_count, 1)))
        force = simulator.array("qfrc_applied")
        assert force[:, 0] == pytest.approx(-DAMPING)
        assert not force[:, 1].any()


def test_a_twin_file_keeps_it(tmp_path: Path):
    twin = load_twin(learn(tmp_path, "pendulum", "joint"))
    (tmp_path / "below").mkdir()
    save_twin(twin, tmp_path / "below" / "again.twin.yaml")
    again = load_twin(tmp_path / "below" / "again.twin.yaml")
    assert again.residual is not None
    assert again.residual.description == twin.residual.description  # pyright: ignore
    assert twin.without_residual().residual is None


def test_a_residual_of_another_twin_is_refused(tmp_path: Path):
    path = learn(tmp_path, "pendulum", "joint")
    heavier = "parameters: {pendulum.mass: {value: 0.9}}\n"
    path.write_text(path.read_text() + heavier)
    with pytest.raises(BadFile, match="another twin than 'learned': on 'pendulum'"):
        load_twin(path)
    with pytest.raises(BadResidual, match="whose model or numbers differ"):
        load_twin("cartpole").with_residual(tmp_path / "learned.residual.yaml")
    nameless = load_residual(tmp_path / "learned.residual.yaml")
    described = msgspec.structs.replace(nameless.description, twin="", fingerprint="")
    unknown = tmp_path / "unknown.residual.yaml"
    save_residual(unknown, replace(nameless, description=described))
    with pytest.raises(BadResidual, match="on one that it does not say"):
        load_twin("pendulum").with_residual(unknown)


def test_a_twin_whose_numbers_changed_is_not_saved_with_it(tmp_path: Path):
    twin = load_twin(learn(tmp_path, "pendulum", "joint"))
    changed = twin.with_values({"pendulum.mass": 0.9})
    with pytest.raises(RealworthyError, match="before its numbers changed"):
        save_twin(changed, tmp_path / "changed.twin.yaml")
    assert not (tmp_path / "changed.twin.yaml").exists()
    save_twin(changed.without_residual(), tmp_path / "changed.twin.yaml")


def test_a_file_that_is_not_there_is_said(tmp_path: Path):
    path = learn(tmp_path, "pendulum", "joint")
    (tmp_path / "learned.residual.yaml").unlink()
    with pytest.raises(RealworthyError, match=r"learned\.residual\.yaml"):
        load_twin(path)


def test_who_looks_for_causes_leaves_it_out_and_says_so(tmp_path: Path):
    twin = load_twin(learn(tmp_path, "pendulum", "joint"))
    robot = StandIn(load_reality("pendulum_1_easy"))
    t = np.arange(400) / robot.info.rate
    runs = [
        play(robot, {"joint.command": 1.2 * np.sin(2 * np.pi * f * t)})
        for f in (0.5, 0.8, 1.1)
    ]
    found = calibrate(twin, runs, parameters=["joint.damping"])
    plain = calibrate(load_twin("pendulum"), runs, parameters=["joint.damping"])
    assert RESIDUAL_LEFT_OUT in found.warnings
    assert RESIDUAL_LEFT_OUT not in plain.warnings
    assert found.twin.residual is None
    name = "joint.damping"
    assert found.twin.space[name].nominal == plain.twin.space[name].nominal


@pytest.mark.gpu
def test_warp_goes_the_same_way(tmp_path: Path):
    """With a history, an early reset of one world, and a state that is put back."""
    pytest.importorskip("mujoco_warp")
    from realworthy.simulators.mujoco_gpu import MujocoGpu

    twin = load_twin(learn(tmp_path, "pendulum", "joint", history=3))
    starts = np.array([[0.5], [1.5]])
    cpu, warp = MujocoCpu(twin, 2), MujocoGpu(twin, 2, device="cpu")
    plain = MujocoCpu(load_twin("pendulum"), 2)
    for simulator in (cpu, warp, plain):
        simulator.reset(qvel=starts)
    for k in range(40):
        if k == 20:
            for simulator in (cpu, warp):
                simulator.reset([0], qpos=[[0.1]], qvel=[[1.0]])
            warp.restore(warp.state())
        for simulator in (cpu, warp, plain):
            simulator.step(np.zeros((2, 1)))
    found, wanted = to_numpy(warp.array("qpos")), cpu.array("qpos")
    assert found == pytest.approx(wanted, abs=2e-5)
    assert abs(wanted[1] - plain.array("qpos")[1]) > 0.01  # it does something


@pytest.mark.gpu
def test_training_runs_with_it_on_warp(tmp_path: Path):
    pytest.importorskip("mujoco_warp")
    task = CartpoleBalance(load_twin(learn(tmp_path, "cartpole", "cart")))
    cpu, warp = TaskWorlds(task, 2, thread_count=1), None
    one = [cpu.step(torch.full((2, 1), 0.2)) for _ in range(10)][-1]
    warp = TaskWorlds(task, 2, with_warp=True)
    other = [warp.step(torch.full((2, 1), 0.2)) for _ in range(10)][-1]
    for group, seen in one.observations.items():
        torch.testing.assert_close(other.observations[group], seen, atol=1e-4, rtol=0)
