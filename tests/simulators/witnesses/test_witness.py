"""Every engine moves our twins as MuJoCo does where contacts are out of play."""

import sys
from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from realworthy.actuators import Actuator, ControllerPosition, FrictionM1
from realworthy.errors import MissingExtra
from realworthy.simulators import MujocoCpu, Outcome, Simulator, witnesses
from realworthy.simulators.conformance import check_simulator
from realworthy.simulators.witnesses import (
    WITNESSES,
    NotCarried,
    export_mechanism,
    is_installed,
)
from realworthy.simulators.witnesses.drake import DrakeSettings, DrakeWitness
from realworthy.simulators.witnesses.sapien import SapienSettings, SapienWitness
from realworthy.twins import BoundTwin, bind, load_twin
from tests.simulators.robots import FALLING_BOX, make_twin
from tests.simulators.witnesses.engines import (
    ENGINES,
    find_robot,
    hard,
    needs_drake,
    untouchable,
)

Floats = NDArray[np.float64]
every_engine = pytest.mark.parametrize("engine", ENGINES)
ROBOTS = [
    *("pendulum", "cartpole", "double_pendulum", "arm", "quadruped", "diffdrive"),
    *("humanoid", "universal_robots_ur5e/scene.xml", "unitree_go1/scene.xml"),
]


def build_alike(engine: str, bound: BoundTwin, world_count: int = 1) -> Simulator:
    """A witness that takes the twin's own time step, so that integrators agree."""
    if engine == "drake":
        settings = DrakeSettings(longest_step=1.0)
        return DrakeWitness(bound, world_count, substeps=1, settings=settings)
    settings = SapienSettings(longest_step=1.0)
    return SapienWitness(bound, world_count, substeps=1, settings=settings)


def play(
    simulator: Simulator,
    seconds: float,
    command: Callable[[float], Floats] | None = None,
    **start: Floats,
) -> Floats:
    """(steps, worlds, nq) positions."""
    home = simulator.bound.compiled.own["own.initial_ctrl"]
    simulator.reset(**start)
    trace = []
    for k in range(round(seconds / simulator.period)):
        sent = home if command is None else command(k * simulator.period)
        simulator.step(np.tile(sent, (simulator.world_count, 1)))
        trace.append(np.array(simulator.array("qpos")))
    return np.array(trace)


def find_hinges(model: mujoco.MjModel) -> NDArray[np.intp]:
    return model.jnt_qposadr[model.jnt_type != mujoco.mjtJoint.mjJNT_FREE]


def compute_rms(error: Floats) -> float:
    return float(np.sqrt((error**2).mean()))


@every_engine
@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_at_random_states_are_mujoco_s(engine: str, name: str):
    bound = bind(find_robot(name).edited(untouchable))
    model, data = bound.model, mujoco.MjData(bound.model)
    witness = WITNESSES[engine](bound, 1, 1)
    mechanism = export_mechanism(model)
    world = witness.build_world(mechanism)
    rng, inertia = np.random.default_rng(3), np.zeros((model.nv, model.nv))
    free = model.jnt_type[model.dof_jntid] == mujoco.mjtJoint.mjJNT_FREE
    for _ in range(4):
        data.qpos[:] = bound.compiled.own["own.initial_qpos"]
        data.qvel[:] = rng.normal(0, 0.5, model.nv)
        spread = rng.normal(0, 0.3, model.nq)
        data.qpos[:] += np.where(_is_limited(model), 0.0, spread)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, inertia)
        force = rng.normal(0, 1.0, model.nv) * np.sqrt(np.diag(inertia))
        expected = np.linalg.solve(inertia, force - data.qfrc_bias)
        armature = np.where(free, 0.0, model.dof_armature)
        world.place(data.qpos, data.qvel)
        _, qvel = world.advance(force, armature, np.zeros(model.nv))
        found = (qvel - data.qvel) / mechanism.timestep
        # PhysX has 24 bits, and integrates a turning body a little otherwise
        allowed = 1e-4 if engine == "drake" else 3e-3
        assert_allclose(found, expected, rtol=0, atol=allowed * np.abs(expected).max())


def _is_limited(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """(nq,) coordinates that may not wander."""
    limited = np.zeros(model.nq, dtype=bool)
    limited[model.jnt_qposadr[model.jnt_limited.astype(bool)]] = True
    return limited


@needs_drake
@pytest.mark.parametrize("name", ROBOTS)
def test_drake_has_mujoco_s_inertia_matrix(name: str):
    bound = bind(find_robot(name).edited(untouchable))
    model, data = bound.model, mujoco.MjData(bound.model)
    witness = DrakeWitness(bound, 1, substeps=1)
    world, rng = witness.build_world(export_mechanism(model)), np.random.default_rng(2)
    expected = np.zeros((model.nv, model.nv))
    for _ in range(3):
        data.qpos[:] = rng.normal(0, 0.5, model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, expected)
        world.place(data.qpos, data.qvel)
        found = world.compute_inertia() + np.diag(model.dof_armature)
        assert_allclose(found, expected, atol=1e-9)


@every_engine
@pytest.mark.parametrize("name", ["pendulum", "double_pendulum", "arm"])
def test_free_swing_agrees_with_mujoco(engine: str, name: str):
    bound = bind(load_twin(name).edited(untouchable))
    start = np.linspace(3.0, -3.0, bound.model.nv)
    expected = play(MujocoCpu(bound, 1, substeps=1), 1.0, qvel=start)
    found = play(build_alike(engine, bound), 1.0, qvel=start)
    assert np.ptp(expected, axis=0).max() > 0.05
    assert compute_rms(found - expected) < 1e-3
    shorter = play(WITNESSES[engine](bound, 1, 1), 1.0, qvel=start)
    assert compute_rms(shorter - expected) < 1e-3


@every_engine
def test_a_dropped_quadruped_stands_as_in_mujoco_with_hard_contacts(engine: str):
    twin = load_twin("quadruped").edited(hard)
    bound = bind(twin)
    start = bound.compiled.own["own.initial_qpos"].copy()
    start[2] += 0.05
    expected = play(MujocoCpu(bound, 1, substeps=1), 2.0, qpos=start)
    found = play(WITNESSES[engine](bound, 1, 1), 2.0, qpos=start)
    hinges = find_hinges(bound.model)
    assert compute_rms((found - expected)[..., hinges]) < 0.005
    assert abs(found[-1, 0, 2] - expected[-1, 0, 2]) < 0.003


@every_engine
def test_a_sliding_box_stops_as_coulomb_says(engine: str):
    xml = FALLING_BOX.replace('pos="0 0 0.4"', 'pos="0 0 0.1"').replace(
        'mass="2"', 'mass="2" friction="0.4 0.005 0.0001"'
    )
    xml = xml.replace('size="5 5 0.1"', 'size="5 5 0.1" friction="0.1 0.005 0.0001"')
    simulator = WITNESSES[engine](bind(make_twin(xml)), 1, 1)
    trace = play(simulator, 0.3, qvel=np.array([2.0, 0, 0, 0, 0, 0]))
    slowed = 0.4 * 9.81
    assert simulator.array("qvel")[0, 0] == pytest.approx(2 - 0.3 * slowed, rel=0.02)
    assert trace[-1, 0, 0] == pytest.approx(0.6 - slowed * 0.045, rel=0.01)
    assert trace[-1, 0, 2] == pytest.approx(0.1, abs=2e-3)


CHANGES = {
    "shoulder_pan.armature": 0.08,
    "shoulder_pan.damping": 2.0,
    "elbow_flex.coulomb_friction": 0.9,
    "all.delay": 0.04,
    "elbow_flex.kp": 25.0,
    "forearm.mass": 0.5,
    "world.gravity": 4.0,
}


def wave(seconds: float) -> Floats:
    """Targets of the arm's seven joints."""
    phase = np.array([0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 0.3])
    return HOME + 0.4 * np.sin(6 * seconds + phase) - 0.4 * np.sin(phase)


HOME = bind(load_twin("arm")).compiled.own["own.initial_ctrl"]


@every_engine
def test_numbers_of_e_have_the_effect_that_they_have_in_mujoco(engine: str):
    twin = load_twin("arm").edited(untouchable)
    bound = bind(twin, twin.space.select(list(CHANGES)))
    rows = [bound.space.vector({name: value}) for name, value in CHANGES.items()]
    samples = np.array([bound.space.nominal, *rows])
    traces = []
    for build in (lambda b, n: MujocoCpu(b, n, substeps=1), _alike(engine)):
        simulator = build(bound, len(samples))
        simulator.write(samples)
        traces.append(play(simulator, 0.6, wave))
    expected, found = traces
    assert compute_rms(found[:, 0] - expected[:, 0]) < 1e-3
    for world, name in enumerate(CHANGES, start=1):
        effect = expected[:, world] - expected[:, 0]
        error = (found[:, world] - found[:, 0]) - effect
        size = np.abs(effect).max()
        assert size > 0.01, name
        assert np.abs(error).max() < max(0.05 * size, 1e-3), name


def _alike(engine: str) -> Callable[[BoundTwin, int], Simulator]:
    return lambda bound, world_count: build_alike(engine, bound, world_count)


@every_engine
def test_what_is_done_in_mid_motion_acts_at_once(engine: str):
    twin = load_twin("arm").edited(untouchable)
    bound = bind(twin, twin.space.select(["world.gravity", "forearm.mass"]))
    other = bound.space.vector({"world.gravity": 3.0, "forearm.mass": 0.6})
    traces = []
    for build in (lambda b, n: MujocoCpu(b, n, substeps=1), _alike(engine)):
        simulator = build(bound, 1)
        play(simulator, 0.1, wave)
        simulator.write(other)
        simulator.array("qvel")[0, 2] += 4.0
        simulator.step(wave(0.1)[None])
        traces.append(np.array(simulator.array("qvel")[0]))
    assert_allclose(traces[1], traces[0], atol=5e-3)
    assert traces[0][2] > 1.0


@every_engine
def test_only_numbers_of_bodies_build_a_world_anew(
    engine: str, monkeypatch: pytest.MonkeyPatch
):
    twin = load_twin("arm")
    bound = bind(twin, twin.space.select(["elbow_flex.kp", "forearm.mass"]))
    witness, built = WITNESSES[engine](bound, 3, 1), []
    witness.step(np.tile(HOME, (3, 1)))
    build = witness.build_world

    def count(mechanism):
        built.append(mechanism.links)
        return build(mechanism)

    monkeypatch.setattr(witness, "build_world", count)
    witness.write(bound.space.vector({"elbow_flex.kp": 20.0}))
    witness.step(np.tile(HOME, (3, 1)))
    assert not built
    witness.write(bound.space.vector({"forearm.mass": 0.3}), [1])
    witness.step(np.tile(HOME, (3, 1)))
    assert len(built) == 1
    masses = {link.name: link.mass for link in built[0]}
    assert masses["forearm"] == pytest.approx(0.3)


@every_engine
def test_dry_friction_holds_a_load_and_slips_under_more(engine: str):
    xml = """
    <mujoco model="wheel">
      <option timestep="0.002" integrator="implicitfast"/>
      <worldbody><body name="wheel">
        <joint name="axle" axis="0 1 0" frictionloss="1"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
      </body></worldbody>
      <actuator><motor name="axle" joint="axle"/></actuator>
    </mujoco>
    """
    witness = WITNESSES[engine](bind(make_twin(xml)), 2, 1)
    for _ in range(500):
        witness.step(np.array([[0.9], [1.5]]))
    assert abs(witness.array("qpos")[0, 0]) < 2e-4  # less than 0.0001 rad/s
    # (1.5 − 1) N·m over 0.1 kg·m² for 1 s
    assert witness.array("qvel")[1, 0] == pytest.approx(5.0, rel=1e-3)


@every_engine
def test_an_explicit_law_with_delay_and_friction_acts_as_in_mujoco(engine: str):
    drive = Actuator(
        joint="hinge",
        controller=ControllerPosition(kp=8.0, kd=0.3),
        delay=0.01,
        friction=FrictionM1(coulomb_friction=0.3, damping=0.05),
    )
    xml = """
    <mujoco model="rod">
      <option timestep="0.002" integrator="implicitfast"/>
      <worldbody><body name="rod">
        <joint name="hinge" axis="0 1 0" armature="0.02" solreffriction="0.004 1"
          solimpfriction="0.9999 0.9999 0.001"/>
        <inertial pos="0 0 -0.3" mass="0.8" diaginertia="0.02 0.02 0.001"/>
      </body></worldbody>
      <actuator><motor name="hinge" joint="hinge"/></actuator>
    </mujoco>
    """
    bound = bind(make_twin(xml).with_actuators({"hinge": drive}))

    def step(seconds: float) -> Floats:
        return np.array([0.0 if seconds < 0.1 else 1.0])

    expected = play(MujocoCpu(bound, 1, substeps=1), 1.0, step)
    found = play(build_alike(engine, bound), 1.0, step)
    assert np.ptp(expected) > 0.5
    assert compute_rms(found - expected) < 2e-3


@every_engine
def test_several_joints_on_one_body_move_as_in_mujoco(engine: str):
    xml = """
    <mujoco model="stage">
      <option timestep="0.001" integrator="implicitfast"/>
      <worldbody><body name="stage" pos="0 0 1" euler="20 0 0">
        <joint name="x" type="slide" axis="1 0 0" stiffness="30" damping="1"/>
        <joint name="z" type="slide" axis="0 0 1" stiffness="40"/>
        <joint name="yaw" axis="0 0 1" pos="0.1 0 0"/>
        <joint name="roll" axis="1 0 0" stiffness="3" ref="20"/>
        <inertial pos="0.1 0.05 -0.1" mass="1.5" diaginertia="0.03 0.02 0.04"/>
      </body></worldbody>
    </mujoco>
    """
    bound = bind(make_twin(xml))
    start = np.array([0.3, 0.0, 1.5, -1.0])
    expected = play(MujocoCpu(bound, 1, substeps=1), 1.0, qvel=start)
    found = play(build_alike(engine, bound), 1.0, qvel=start)
    assert np.ptp(expected, axis=0).min() > 0.05
    assert np.abs(found - expected).max() < 2e-3


@every_engine
def test_a_tumbling_body_keeps_its_angular_momentum(engine: str):
    xml = """
    <mujoco model="brick">
      <option timestep="0.001" gravity="0 0 0"/>
      <worldbody><body name="brick">
        <freejoint/>
        <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.03"/>
      </body></worldbody>
    </mujoco>
    """
    bound = bind(make_twin(xml))
    spin = np.array([0.1, 3.0, 0.1])
    motion = np.array([0, 0, 0, *spin])  # about the middle axis: it turns over
    witness = WITNESSES[engine](bound, 1, 1)
    found = play(witness, 1.0, qvel=motion)[:, 0]
    moments = np.diag([0.01, 0.02, 0.03])
    turned = np.empty(9)
    mujoco.mju_quat2Mat(turned, found[-1, 3:])
    rates = witness.array("qvel")[0, 3:]
    momentum = turned.reshape(3, 3) @ moments @ rates
    assert_allclose(momentum, moments @ spin, atol=5e-4 * 0.06)
    assert np.abs(rates - spin).max() > 0.2


@every_engine
def test_joint_limits_are_the_engine_s(engine: str):
    xml = """
    <mujoco model="gate">
      <compiler angle="radian"/>
      <option timestep="0.001" gravity="0 0 0"/>
      <worldbody><body name="gate">
        <joint name="gate" axis="0 0 1" range="-0.2 0.5" limited="true" ref="0.1"/>
        <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
      </body></worldbody>
      <actuator><motor name="gate" joint="gate"/></actuator>
    </mujoco>
    """
    witness = WITNESSES[engine](bind(make_twin(xml)), 2, 1)
    for _ in range(1000):
        witness.step(np.array([[1.0], [-1.0]]))
    assert_allclose(witness.array("qpos")[:, 0], [0.5, -0.2], atol=5e-3)


@every_engine
def test_a_push_by_hand_reaches_the_engine(engine: str):
    bound = bind(load_twin("diffdrive"))
    witness = WITNESSES[engine](bound, 2, 10)
    rest = np.zeros((2, 2))
    witness.step(rest)
    witness.array("qvel")[1, :2] += [0.0, 0.5]  # sideways, as a task pushes
    witness.step(rest)
    moved = witness.array("qpos")[:, 1]
    assert abs(moved[0]) < 1e-4
    assert moved[1] > 2e-3


PROMISES = [
    *("determinism", "batch independence", "constants per world", "rewriting"),
    *("masked reset", "command delay", "sensor delay", "delay limit", "quarantine"),
    *("names", "live arrays", "pushes"),
]
"""What is left compares with MuJoCo's contacts, or with states that PhysX hides."""


@every_engine
@pytest.mark.parametrize("promise", PROMISES)
def test_the_contract_is_kept(engine: str, promise: str):
    report = check_simulator(WITNESSES[engine], tolerance=1e-3, only=[promise])
    assert report.passed, report


@needs_drake
def test_drake_restarts_from_a_state_bit_for_bit():
    report = check_simulator(WITNESSES["drake"], only=["restart"])
    assert report.passed, report


@every_engine
def test_an_engine_that_diverges_stands_still_until_reset(
    engine: str, monkeypatch: pytest.MonkeyPatch
):
    witness = WITNESSES[engine](bind(load_twin("pendulum")), 1, 1)
    good = type(witness._worlds[0]).advance

    def explode(self, *given):
        qpos, qvel = good(self, *given)
        return qpos * np.inf, qvel

    command = np.zeros((1, 1))
    witness.reset(qpos=np.array([0.5]))
    witness.step(command)
    before = witness.array("qpos").copy()
    with monkeypatch.context() as patch:
        patch.setattr(type(witness._worlds[0]), "advance", explode)
        witness.step(command)
    assert witness.outcomes().tolist() == [Outcome.DIVERGED]
    witness.step(command)
    assert np.array_equal(witness.array("qpos"), before)
    witness.reset(qpos=np.array([0.5]))
    witness.step(command)
    assert np.array_equal(witness.array("qpos"), before)
    assert not witness.array("outcome").any()


COUPLED = """
<mujoco model="gripper">
  <worldbody>
    <body name="left"><joint name="left" type="slide"/><geom size="0.1"/></body>
    <body name="right"><joint name="right" type="slide"/><geom size="0.1"/></body>
  </worldbody>
  <equality><joint name="fingers" joint1="left" joint2="right"/></equality>
</mujoco>
"""


@every_engine
def test_a_model_that_cannot_be_carried_names_the_element(engine: str):
    with pytest.raises(NotCarried, match=r"couples 'left' and 'right'") as caught:
        WITNESSES[engine](bind(make_twin(COUPLED)), 1, 1)
    assert caught.value.element == "equality 'fingers'"


@every_engine
def test_what_is_left_behind_is_told(engine: str):
    told = WITNESSES[engine](bind(load_twin("arm")), 1, 1).not_transferred
    assert "Torsional and rolling friction of contacts are left out." in told
    assert any("solref" in sentence for sentence in told)


@needs_drake
def test_drake_refuses_height_fields():
    xml = """
    <mujoco model="hills">
      <asset><hfield name="hills" nrow="2" ncol="2" size="2 2 0.5 0.1"
        elevation="0 0 0 1"/></asset>
      <worldbody>
        <geom name="hills" type="hfield" hfield="hills"/>
        <body name="ball" pos="0 0 1"><freejoint/><geom size="0.1"/></body>
      </worldbody>
    </mujoco>
    """
    with pytest.raises(NotCarried, match=r"geom 'hills' is of kind hfield"):
        DrakeWitness(bind(make_twin(xml)), 1)


@pytest.mark.parametrize("engine", list(WITNESSES))
def test_a_missing_engine_says_what_to_install(
    engine: str, monkeypatch: pytest.MonkeyPatch
):
    library, helper = {
        "drake": ("pydrake", "drake_plant"),
        "sapien": ("sapien", "sapien_scene"),
    }[engine]
    for name in list(sys.modules):
        if name.split(".")[0] == library or name.endswith(f".{helper}"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(witnesses, helper, raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"realworthy\[sim2sim\]"):
        WITNESSES[engine](bind(load_twin("pendulum")), 1, 1)


def test_an_unknown_witness_suggests_the_right_one():
    with pytest.raises(Exception, match="'drake'"):
        is_installed("drak")
