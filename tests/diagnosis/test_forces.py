"""Balances of forces: columns by finite differences, causes against planted ones."""

import mujoco
import numpy as np
import pytest

from realworthy.diagnosis.forces import explain_forces
from realworthy.diagnosis.forces.balance import balance_forces
from realworthy.diagnosis.work import measure_all
from realworthy.recordings import Recording
from realworthy.recordings.sidecar import Sidecar
from realworthy.twins import load_twin

ARM = """
<mujoco model="two_links">
  <option timestep="0.002" integrator="implicitfast"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="0.1" armature="0.02"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1.5"/>
      <body name="lower" pos="0 0 -0.4">
        <joint name="elbow" axis="0 1 0" damping="0.05" armature="0.01"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.8"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder" joint="shoulder" kp="60" kv="4"/>
    <position name="elbow" joint="elbow" kp="40" kv="2"/>
  </actuator>
</mujoco>
"""
NOISE, TORQUE_NOISE, RATE, ROWS = 3e-4, 0.02, 100, 1400


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return load_twin(path)


def record(spoil=None, seed=0, push=0.05):
    """The arm at a quarter of the twin's time step, with coloured torque on it."""
    model = mujoco.MjModel.from_xml_string(ARM)
    model.opt.timestep = 0.0005
    if spoil is not None:
        spoil(model)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    t = np.arange(ROWS) / RATE
    tones = rng.uniform(0.2, 1.2, (2, 4))
    phases = rng.uniform(0, 6, (2, 4))
    waves = np.sin(2 * np.pi * tones * t[:, None, None] + phases).sum(2)
    commands = 0.25 * (waves - waves[0])
    position, torque = np.empty((ROWS, 2)), np.empty((ROWS, 2))
    pushed = np.zeros(2)
    for k in range(ROWS):
        position[k], torque[k] = data.qpos, data.actuator_force
        data.ctrl[:] = commands[k]
        pushed = 0.97 * pushed + push * np.sqrt(1 - 0.97**2) * rng.normal(size=2)
        for _ in range(20):
            data.qfrc_applied[:] = pushed
            mujoco.mj_step(model, data)
    signals = {}
    for i, joint in enumerate(("shoulder", "elbow")):
        signals[f"{joint}.position"] = position[:, i] + rng.normal(0, NOISE, ROWS)
        signals[f"{joint}.torque"] = torque[:, i] + rng.normal(0, TORQUE_NOISE, ROWS)
        signals[f"{joint}.command"] = commands[:, i]
    return Recording(t, signals, Sidecar())


def explain(twin, recording):
    gap, kept, _ = measure_all(twin, [recording])
    found = explain_forces(twin, kept, gap)
    assert found is not None
    return found


def test_a_disturbance_is_no_cause(twin):
    found = explain(twin, record(push=0.1))
    assert found.picked == ()
    assert 0.03 < found.disturbance["shoulder"] < 0.3
    assert found.resting == ()


def rub(model):
    """More damping at the elbow: 0.2 N·m·s/rad."""
    model.dof_damping[1] += 0.2


def test_a_planted_number_is_named_first(twin):
    found = explain(twin, record(rub))
    first = found.picked[0].term
    assert (first.name, first.joints) == ("damping", ("elbow",))
    assert found.chosen.now.of(first)[0][0] == pytest.approx(0.2, rel=0.1)


def weaken(model):
    """A weaker gain, as the drive itself reports it."""
    model.actuator_gainprm[1, 0] *= 0.8
    model.actuator_biasprm[1, 1] *= 0.8


def test_a_weak_gain_stands_in_the_balance_of_its_drive(twin):
    first = explain(twin, record(weaken)).picked[0].term
    assert (first.name, first.joints) == ("kp", ("elbow",))


def load_tip(model):
    """Twice the forearm's mass, its inertia with it."""
    model.body_mass[2] *= 1.5
    model.body_inertia[2] *= 1.5


def test_a_heavier_body_is_named_by_its_mass(twin):
    found = explain(twin, record(load_tip))
    first = found.picked[0].term
    assert (first.name, first.owner) == ("mass", "lower")
    assert found.chosen.now.of(first)[0][0] == pytest.approx(0.5, rel=0.1)


def test_a_robot_that_rests_is_not_judged(twin):
    moving = record()
    still = {name: np.zeros(ROWS) for name in moving.signals}
    rng = np.random.default_rng(1)
    for joint in ("shoulder", "elbow"):
        still[f"{joint}.position"] = rng.normal(0, NOISE, ROWS)
        still[f"{joint}.torque"] = rng.normal(0, TORQUE_NOISE, ROWS)
    found = explain(twin, Recording(moving.time, still, Sidecar()))
    assert found.picked == ()
    assert set(found.resting) == {"shoulder", "elbow"}


def test_masses_and_centres_ask_what_inverse_dynamics_says(twin):
    recording = record()
    gap, kept, _ = measure_all(twin, [recording])
    path = gap.recordings[0].simulated
    before = balance_forces(twin, kept, [path])
    assert before is not None
    bodies = before.stretches[0].bodies
    lower = bodies.names.index("lower")
    heavier = twin.with_values({"lower.mass": 1.1 * twin.space["lower.mass"].nominal})
    after = balance_forces(heavier, kept, [path])
    assert after is not None
    change = after.stretches[0].bodies.needed - bodies.needed
    assert change == pytest.approx(0.1 * bodies.by_mass(lower), abs=2e-3)


def test_two_causes_share_what_they_explain(twin):
    def spoil(model):
        rub(model)
        load_tip(model)

    found = explain(twin, record(spoil))
    names = {picked.term.name for picked in found.picked}
    assert {"damping", "mass"} <= names
    assert sum(found.shares) == pytest.approx(1)
    for share, (low, high) in zip(found.shares, found.intervals, strict=True):
        assert 0 < low <= share <= high < 1
        assert high - low < 0.5  # hundreds of rows tell, so it is not just anything
