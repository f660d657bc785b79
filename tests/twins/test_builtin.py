"""The embedded robots against published numbers, hand arithmetic and recordings."""

import itertools
import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from tests.conftest import find_shared

BUILTIN = (
    Path(__file__).parents[2] / "src" / "realworthy" / "twins" / "builtin"
).resolve()
TWINS = sorted(path.name.removesuffix(".twin.yaml") for path in BUILTIN.glob("*.yaml"))
MODELS = sorted(path.stem for path in BUILTIN.glob("*.xml"))
G = 9.81

DOUBLE_PENDULUMS = {
    "double_pendulum_c1": {
        "m1": 0.5234602302310271,
        "m2": 0.6255677234174437,
        "r1": 0.2,
        "r2": 0.25569305436052964,
        "l1": 0.2,
        "I1": 0.031887199591513114,
        "I2": 0.05086984812807257,
        "Ir": 6.287203962819607e-05,
        "cf": (0.16, 0.12),
    },
    "double_pendulum_c0": {
        "m1": 0.6416937799349799,
        "m2": 0.563935954099688,
        "r1": 0.2,
        "r2": 0.3212669909674605,
        "l1": 0.2,
        "I1": 0.02671076499939512,
        "I2": 0.053878129629650884,
        "Ir": 9.937281205437459e-05,
        "cf": (0.093, 0.078),
    },
    "double_pendulum_a0": {
        "m1": 0.5593806151425046,
        "m2": 0.6043459469186889,
        "r1": 0.3,
        "r2": 0.18377686083653508,
        "l1": 0.3,
        "I1": 0.053470810264216295,
        "I2": 0.02392374528789766,
        "Ir": 7.659297952841183e-05,
        "cf": (0.093, 0.078),
    },
}


def load(name: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_path(str(BUILTIN / f"{name}.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    return model, data


def full_mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    matrix = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, matrix)
    return matrix


def simulate(model: mujoco.MjModel, data: mujoco.MjData, seconds: float) -> None:
    mujoco.mj_step(model, data, nstep=round(seconds / model.opt.timestep))


def test_every_model_has_a_twin():
    models = {
        yaml.safe_load(path.read_text())["model"] for path in BUILTIN.glob("*.yaml")
    }
    assert models == {f"{name}.xml" for name in MODELS}


@pytest.mark.parametrize("name", TWINS)
def test_twin_file_has_the_agreed_keys_and_joints_of_its_model(name):
    twin = yaml.safe_load((BUILTIN / f"{name}.twin.yaml").read_text())
    assert list(twin) == [
        "schema",
        "name",
        "model",
        "description",
        "sources",
        "datasheet",
    ]
    assert (twin["schema"], twin["name"]) == (1, name)
    model = mujoco.MjModel.from_xml_path(str(BUILTIN / twin["model"]))
    driven = {model.actuator(i).name for i in range(model.nactuator)}
    assert twin["datasheet"].keys() <= driven
    stated = {key for sheet in twin["datasheet"].values() for key in sheet}
    assert stated <= {"gear", "torque_limit", "speed_limit", "armature"}


@pytest.mark.parametrize("name", MODELS)
def test_model_is_tidy(name):
    model, data = load(name)
    for i in range(model.nactuator):
        joint = int(model.actuator_trnid[i, 0])
        assert model.actuator(i).name == model.joint(joint).name
    assert model.nu == model.nactuator
    assert model.actuator_ctrllimited.all()
    assert model.actuator_forcelimited.all()
    assert all(model.joint(j).name for j in range(model.njnt))
    assert all(model.body(b).name for b in range(model.nbody))
    assert model.nmesh == 0
    assert model.ncam >= 1
    assert model.nlight >= 1
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    measured_anyway = (
        mujoco.mjtSensor.mjSENS_JOINTPOS,
        mujoco.mjtSensor.mjSENS_JOINTVEL,
    )
    assert not np.isin(model.sensor_type, [int(kind) for kind in measured_anyway]).any()
    assert all(contact.dist > -1e-3 for contact in data.contact)


@pytest.mark.parametrize("name", MODELS)
def test_dry_friction_is_stiff_enough_to_hold(name):
    model, _ = load(name)
    rubbing = model.dof_frictionloss > 0
    assert (model.dof_solimp[rubbing, 0] > 0.999).all()
    assert (model.dof_solref[rubbing, 0] >= 2 * model.opt.timestep - 1e-12).all()


@pytest.mark.parametrize("name", MODELS)
def test_model_survives_ten_seconds_of_random_actions(name):
    model, data = load(name)
    low, high = model.actuator_ctrlrange.T
    for seed in range(3):
        random = np.random.default_rng(seed)
        mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
        for _ in range(500):
            data.ctrl[:] = random.uniform(low, high)
            simulate(model, data, 0.02)
        assert np.isfinite(data.qpos).all()
        assert [warning.number for warning in data.warning] == [0] * len(data.warning)


def test_pendulum_swings_with_the_period_of_its_bench_data():
    model, data = load("pendulum")
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    weight, rod, length, centre = 0.546, 0.13, 0.5, 0.24
    inertia = weight * length**2 + rod * (centre**2 + length**2 / 12) + 36 * 6.07e-5
    moment = weight * length + rod * centre
    assert moment == pytest.approx(0.676 * 0.45, rel=1e-3)
    data.qpos[0] = 0.02
    crossings = []
    while len(crossings) < 11:
        before = data.qpos[0]
        mujoco.mj_step(model, data)
        if before > 0 >= data.qpos[0]:
            share = before / (before - data.qpos[0])
            crossings.append(data.time + (share - 1) * model.opt.timestep)
    period = (crossings[-1] - crossings[0]) / 10
    assert period == pytest.approx(
        2 * np.pi * np.sqrt(inertia / (moment * G)), rel=1e-3
    )


def test_energy_of_the_unforced_pendulum_does_not_drift():
    model, data = load("pendulum")
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data.qpos[0] = 2.0
    energies = np.zeros(5000)
    for i in range(5000):  # 10 s
        mujoco.mj_step(model, data)
        energies[i] = data.energy.sum()
    swing = 2 * 0.676 * 0.45 * G
    assert energies[-1000:].mean() == pytest.approx(
        energies[:1000].mean(), abs=1e-3 * swing
    )


def test_positive_torque_turns_planar_robots_counter_clockwise():
    for name, tip in (("pendulum", "tip"), ("servo_bench", "tip")):
        model, data = load(name)
        data.ctrl[0] = model.actuator_ctrlrange[0, 1]
        simulate(model, data, 0.1)
        assert data.qpos[0] > 0
        assert data.site(tip).xpos[0] > 0  # right of the axis, seen by the camera


@pytest.mark.parametrize("name", DOUBLE_PENDULUMS)
def test_double_pendulum_has_the_published_equations_of_motion(name):
    """M and C as published, but for -6 Ir in M12, which armatures cannot express."""
    p = DOUBLE_PENDULUMS[name]
    model, data = load(name)
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    coupling = p["m2"] * p["l1"] * p["r2"]
    rotor = 36 * p["Ir"]
    for q1, q2, v1, v2 in [
        (0, 0, 0, 0),
        (0.4, -1.1, 2, -3),
        (-2, 2.5, 5, 7),
        (3, 3, 1, 0),
    ]:
        data.qpos[:], data.qvel[:] = (q1, q2), (v1, v2)
        mujoco.mj_forward(model, data)
        m22 = p["I2"] + rotor
        m12 = p["I2"] + coupling * np.cos(q2)
        m11 = p["I1"] + p["I2"] + p["m2"] * p["l1"] ** 2
        m11 += 2 * coupling * np.cos(q2) + rotor + p["Ir"]
        published = np.array([[m11, m12], [m12, m22]])
        assert full_mass_matrix(model, data) == pytest.approx(published, abs=1e-6)
        gravity_1 = (p["m1"] * p["r1"] + p["m2"] * p["l1"]) * G * np.sin(q1)
        gravity_2 = p["m2"] * p["r2"] * G * np.sin(q1 + q2)
        whirl_1 = -coupling * np.sin(q2) * (2 * v1 * v2 + v2**2)
        whirl_2 = coupling * np.sin(q2) * v1**2
        expected = [whirl_1 + gravity_1 + gravity_2, whirl_2 + gravity_2]
        assert data.qfrc_bias == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.parametrize("name", DOUBLE_PENDULUMS)
def test_double_pendulum_has_the_published_friction(name):
    model, _ = load(name)
    expected = np.array(DOUBLE_PENDULUMS[name]["cf"]) * np.pi / 2
    assert model.dof_frictionloss == pytest.approx(expected, rel=1e-4)


def replay_servo_log(log: dict) -> float:
    """Mean absolute position error of the published m1 law, open loop, in radians."""
    model, data = load("servo_bench")
    constant, offset = 0.32321138819018436, 0.01795252374733891
    entries = log["entries"]
    data.qpos[0] = entries[0]["position"] + offset
    data.qvel[0] = entries[0]["speed"]
    errors = []
    for entry, following in itertools.pairwise(entries):
        errors.append(abs(data.qpos[0] - offset - entry["position"]))
        period = following["timestamp"] - entry["timestamp"]
        substeps = max(1, round(period / 0.001))
        model.opt.timestep = period / substeps
        for _ in range(substeps):
            error = entry["goal_position"] - (data.qpos[0] - offset)
            duty = log["kp"] * error * 4096 / (2 * np.pi) / (256 * 885)
            driven = np.clip(duty, -1, 1) * entry["input_volts"]
            data.ctrl[0] = driven if entry["torque_enable"] else constant * data.qvel[0]
            mujoco.mj_step(model, data)
    return float(np.mean(errors))


def test_servo_bench_repeats_the_published_replay_errors():
    """data/bam_servos/README.md: 0.0585 rad in the mean, 0.021 to 0.111 by file."""
    folder = find_shared("REALWORTHY_DATA", "data") / "bam_servos" / "xl330"
    logs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    assert len(logs) == 12
    errors = [replay_servo_log(log) for log in logs]
    assert np.mean(errors) == pytest.approx(0.0585, rel=0.05)
    assert min(errors) == pytest.approx(0.021, rel=0.2)
    assert max(errors) == pytest.approx(0.111, rel=0.2)


def test_cartpole_accelerates_as_in_the_textbook():
    """Upright and at rest: a = F / (M + m/4), with M the cart (1 kg) and its drive."""
    model, data = load("cartpole")
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    data.ctrl[0] = 5.0
    mujoco.mj_forward(model, data)
    assert data.qacc[0] == pytest.approx(5.0 / (1.0 + 0.1 + 0.1 / 4), rel=2e-3)


@pytest.mark.parametrize(("left", "right"), [(5.0, 5.0), (-3.0, 3.0), (3.0, 6.0)])
def test_diffdrive_moves_as_its_wheels_say(left, right):
    model, data = load("diffdrive")
    data.ctrl[:] = left, right
    simulate(model, data, 2.0)
    forward = data.qvel[:2] @ data.body("base").xmat.reshape(3, 3)[:2, 0]
    assert forward == pytest.approx(0.033 * (left + right) / 2, rel=0.03, abs=1e-3)
    assert data.qvel[5] == pytest.approx(
        0.033 * (right - left) / 0.160, rel=0.03, abs=1e-3
    )


def test_diffdrive_reaches_its_wheel_speed_within_the_stated_time_constant():
    model, data = load("diffdrive")
    data.ctrl[:] = 5.0
    while data.qvel[6] < 0.632 * 5.0:
        mujoco.mj_step(model, data)
    assert 0.02 < data.time < 0.08


@pytest.mark.parametrize("name", ["quadruped", "humanoid"])
def test_legged_robot_stands_still_for_five_seconds(name):
    model, data = load(name)
    start = data.qpos.copy()
    simulate(model, data, 5.0)
    assert np.abs(data.qpos - start).max() < 1e-3
    assert np.abs(data.qvel).max() < 1e-3
    feet = [i for i in range(model.nsensor) if model.sensor(i).name.endswith("contact")]
    load_on_feet = sum(data.sensor(i).data[0] for i in feet)
    assert load_on_feet == pytest.approx(model.body_mass.sum() * G, rel=0.01)


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "diffdrive"])
def test_imu_at_rest_feels_gravity_only(name):
    model, data = load(name)
    simulate(model, data, 1.0)
    acceleration = data.sensor("imu_accelerometer").data
    assert np.linalg.norm(acceleration) == pytest.approx(G, rel=1e-3)
    assert data.sensor("imu_gyro").data == pytest.approx(np.zeros(3), abs=1e-3)
    assert abs(data.sensor("imu_orientation").data[0]) == pytest.approx(1.0, abs=1e-3)


def test_quadruped_stands_as_high_as_its_legs_reach():
    _, data = load("quadruped")
    for leg in ("FL", "FR", "RL", "RR"):
        hip, thigh, calf = (
            data.joint(f"{leg}_{j}").qpos[0] for j in ("hip", "thigh", "calf")
        )
        reach = 0.213 * (np.cos(thigh) + np.cos(thigh + calf))
        side = 0.0955 * np.sin(abs(hip))
        height = reach * np.cos(hip) - side + 0.022
        assert data.body(f"{leg}_hip").xpos[2] == pytest.approx(height, abs=2e-3)


def robot_of_menagerie(path: str) -> mujoco.MjModel:
    folder = find_shared("MENAGERIE_ROOT", "menagerie")
    return mujoco.MjModel.from_xml_path(str(folder / path))


def test_quadruped_has_the_mass_matrix_of_the_go2():
    ours, data = load("quadruped")
    go2 = robot_of_menagerie("unitree_go2/go2.xml")
    assert ours.body_mass.sum() == pytest.approx(15.2, rel=0.005)
    ours.dof_armature[6:] = go2.dof_armature[6:] = 0.01
    theirs = mujoco.MjData(go2)
    data.qpos[7:] = theirs.qpos[7:] = np.random.default_rng(0).uniform(-1, 1, 12)
    data.qpos[:7] = theirs.qpos[:7] = (0, 0, 0.5, 0.8, 0.6, 0, 0)
    mujoco.mj_forward(ours, data)
    mujoco.mj_forward(go2, theirs)
    assert full_mass_matrix(ours, data) == pytest.approx(
        full_mass_matrix(go2, theirs), abs=1e-6
    )


def test_humanoid_has_the_mass_matrix_of_the_berkeley_humanoid():
    ours, data = load("humanoid")
    berkeley = robot_of_menagerie("berkeley_humanoid/berkeley_humanoid.xml")
    assert ours.body_mass.sum() == pytest.approx(berkeley.body_mass.sum(), rel=1e-4)
    ours.dof_armature[6:] = berkeley.dof_armature[6:] = 0.01
    theirs = mujoco.MjData(berkeley)
    data.qpos[7:] = theirs.qpos[7:] = np.random.default_rng(0).uniform(-0.4, 0.4, 12)
    data.qpos[:7] = theirs.qpos[:7] = (0, 0, 1, 1, 0, 0, 0)
    mujoco.mj_forward(ours, data)
    mujoco.mj_forward(berkeley, theirs)
    expected = full_mass_matrix(berkeley, theirs)
    assert full_mass_matrix(ours, data) == pytest.approx(expected, abs=1e-4)


def test_arm_without_its_extra_wrist_weighs_as_much_as_the_so101():
    model, _ = load("arm")
    so101 = robot_of_menagerie("robotstudio_so101/so101.xml")
    extra = model.body("wrist_yaw").mass[0]
    assert model.body_mass.sum() - extra == pytest.approx(
        so101.body_mass.sum(), rel=1e-3
    )


def test_arm_has_the_links_of_the_so101_in_the_same_places():
    ours, data = load("arm")
    so101 = robot_of_menagerie("robotstudio_so101/so101.xml")
    shared_joints = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex")
    theirs = mujoco.MjData(so101)
    for name, angle in zip(shared_joints, (0.3, -0.5, 0.7, 0.2), strict=True):
        data.joint(name).qpos[0] = theirs.joint(name).qpos[0] = angle
    mujoco.mj_forward(ours, data)
    mujoco.mj_forward(so101, theirs)
    for body, twin in (("upper_arm", "upper_arm"), ("forearm", "lower_arm")):
        assert data.body(body).xipos == pytest.approx(theirs.body(twin).xipos, abs=1e-4)
    assert data.body("wrist").xipos == pytest.approx(
        theirs.body("wrist").xipos, abs=1e-4
    )


def test_bimanual_hand_holds_the_box():
    model, data = load("bimanual")
    grasp = data.site("left_grasp")
    data.joint("box").qpos[:3] = grasp.xpos
    mujoco.mju_mat2Quat(data.joint("box").qpos[3:], grasp.xmat)
    height = data.joint("box").qpos[2]
    for finger in ("thumb", "index", "middle"):
        data.joint(f"left_{finger}_base").qpos[0] = -0.3
        data.actuator(f"left_{finger}_base").ctrl[0] = 0.6
        data.actuator(f"left_{finger}_tip").ctrl[0] = 0.8
    simulate(model, data, 2.0)
    assert data.joint("box").qpos[2] == pytest.approx(height, abs=0.03)
    for finger in ("thumb", "index", "middle"):
        assert data.sensor(f"left_{finger}_contact").data[0] > 0.5
        assert data.sensor(f"right_{finger}_contact").data[0] == 0.0
