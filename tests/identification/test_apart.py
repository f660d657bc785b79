"""Joints one by one: against the whole engine, and against planted numbers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import Problem
from realworthy.identification.apart import Apart, find_servos
from realworthy.identification.choice import choose_parameters
from realworthy.identification.stages import fit_alone
from realworthy.identification.table import find_table
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu
from realworthy.simulators.rollout import record
from realworthy.twins import Twin, bind, load_twin, save_twin

ARM = """
<mujoco model="arm">
  <option timestep="0.005" integrator="implicitfast"/>
  <default>
    <joint damping="0.5" frictionloss="0.1" armature="0.02"/>
    <position kp="400" kv="2" forcerange="-4 4"/>
  </default>
  <worldbody>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.3"/>
      <body name="lower" pos="0.25 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.015" mass="0.15"/>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="upper" body2="lower"/></contact>
  <actuator>
    <position name="shoulder" joint="shoulder"/>
    <position name="elbow" joint="elbow"/>
  </actuator>
</mujoco>
"""
JOINTS = ("shoulder", "elbow")
TRUTH = {
    "shoulder.kp": 14.0,
    "elbow.kp": 10.0,
    "shoulder.kd": 0.3,
    "elbow.kd": 0.2,
    "shoulder.coulomb_friction": 0.3,
    "elbow.coulomb_friction": 0.15,
}
NOISE = 5e-4


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    path = tmp_path_factory.mktemp("apart") / "arm.xml"
    path.write_text(ARM)
    return load_twin(path)


def move(twin: Twin, middle: Sequence[float], *, seeds: int = 5) -> list[Recording]:
    """Slow and quick waves around a pose, 8 s at 50 Hz, with noisy encoders."""
    made = []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        t = np.arange(400) / 50
        goals = np.empty((len(t), 2))
        for j in range(2):
            speed, phase = random.uniform(0.8, 6.0, 3), random.uniform(0, 6, 3)
            waves = np.sin(speed * t[:, None] + phase) @ [0.25, 0.12, 0.08]
            goals[:, j] = middle[j] + waves * np.minimum(1, t)
        robot = MujocoCpu(bind(twin), 1, substeps=4)
        robot.reset(qpos=[list(middle)], command=[list(middle)])
        for _ in range(50):
            robot.step(goals[0])
        (played,) = record(robot, goals)
        noisy = {
            f"{joint}.position": played.signals[f"{joint}.position"]
            + NOISE * random.normal(size=len(t))
            for joint in JOINTS
        }
        made.append(replace_name(played.with_signals(noisy), f"motion_{seed}"))
    return made


def replace_name(recording: Recording, name: str) -> Recording:
    return replace(recording, source=Path(name))


def pose(twin: Twin, recordings: list[Recording], names: Sequence[str]) -> Problem:
    return Problem(
        twin, recordings, names, joints=JOINTS, horizon=4.0, estimate_starts=False
    )


def test_a_joint_alone_moves_as_in_the_whole_engine(published: Twin):
    """At the truth, what is left is noise and what joints do to each other."""
    true = published.with_values(TRUTH)
    problem = pose(true, move(true, (0.3, -0.4), seeds=2), list(TRUTH))
    servos = find_servos(true, JOINTS)
    assert servos is not None
    apart = Apart(problem, list(TRUTH), servos)
    errors = apart.rmse(apart.start_z)
    wrong = apart.rmse(apart.start_z + np.log(1.3))
    assert (errors < 3 * NOISE).all()
    assert (wrong > 3 * errors).all()


def test_planted_numbers_are_found_from_a_gain_forty_times_off(published: Twin):
    recordings = move(published.with_values(TRUTH), (0.3, -0.4))
    names = choose_parameters(published, JOINTS)
    servos = find_servos(published, JOINTS)
    assert servos is not None
    found = fit_alone(pose(published, recordings, names), names, servos)
    for name in ("shoulder.kp", "elbow.kp"):
        assert found.values[name] == pytest.approx(TRUTH[name], rel=0.1)
    for name in ("shoulder.coulomb_friction", "elbow.coulomb_friction"):
        assert found.values[name] == pytest.approx(TRUTH[name], rel=0.15)
    assert found.strange == ()


def test_a_recording_of_something_else_is_named(published: Twin):
    """One of six has the goals of another motion beside its answer."""
    recordings = move(published.with_values(TRUTH), (0.3, -0.4), seeds=6)
    stolen = {
        f"{joint}.command": 3.0 * recordings[0].signals[f"{joint}.command"][::-1]
        for joint in JOINTS
    }
    recordings[3] = recordings[3].with_signals(stolen)
    names = choose_parameters(published, JOINTS)
    servos = find_servos(published, JOINTS)
    assert servos is not None
    found = fit_alone(pose(published, recordings, names), names, servos)
    assert found.strange == (3,)
    assert found.values["shoulder.kp"] == pytest.approx(TRUTH["shoulder.kp"], rel=0.2)


def test_a_planted_table_is_found_at_its_height(published: Twin):
    true = published.with_values(TRUTH)
    recordings = move(true.with_table(0.12), (0.35, 0.25))
    servos = find_servos(true, JOINTS)
    assert servos is not None
    found = find_table(true, pose(true, recordings, list(TRUTH)), servos, JOINTS)
    assert found is not None
    assert found.height == pytest.approx(0.12, abs=0.004)
    assert found.with_it < 0.5 * found.without


def test_nothing_is_found_where_there_is_no_table(published: Twin):
    """The null arm: the same motions through the air."""
    true = published.with_values(TRUTH)
    recordings = move(true, (0.35, 0.25))
    servos = find_servos(true, JOINTS)
    assert servos is not None
    problem = pose(true, recordings, list(TRUTH))
    assert find_table(true, problem, servos, JOINTS) is None


def test_a_table_comes_back_from_a_file(published: Twin, tmp_path: Path):
    above = published.with_table(0.1).with_values({"table.height": 0.12})
    save_twin(above, tmp_path / "x.twin.yaml")
    again = load_twin(tmp_path / "x.twin.yaml")
    assert again.space["table.height"].nominal == 0.12
    assert again.compiled.model.geom("table").pos[2] == 0.12
    assert "table.height" not in published.space
