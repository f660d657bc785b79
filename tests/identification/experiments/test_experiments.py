"""Bench experiments against planted truths, and how far off naive recipes are."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.identification.experiments import (
    DelaySettings,
    FrictionCurveSettings,
    InertiaSettings,
    measure_delay,
    measure_friction_curve,
    measure_inertia,
    measure_torque_constant,
    record_delay,
    record_friction_curve,
    record_holds,
    record_inertia,
)
from realworthy.identification.experiments.delay import respond
from realworthy.realities import RealityNoise, StandIn
from realworthy.realities.effects import Stribeck
from realworthy.realities.reality import RealityFile, make_reality

LINK = """
<mujoco model="link">
  <option timestep="0.001" integrator="implicitfast"/>
  <default>
    <joint solreffriction="0.004 1" solimpfriction="0.9999 0.9999 0.001"/>
  </default>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="0.31" frictionloss="0.12"
             armature="0.02"/>
      <inertial pos="0 0 -0.2" mass="0.4" diaginertia="0.0028 0.0028 0.0005"/>
    </body>
  </worldbody>
  <actuator>{actuator}</actuator>
</mujoco>
"""
SERVO = '<position name="joint" joint="joint" kp="60" kv="3"/>'
SOFT = '<position name="joint" joint="joint" kp="20" kv="1.5"/>'
MOTOR = '<motor name="joint" joint="joint"/>'
INERTIA = 0.02 + 0.0028 + 0.4 * 0.2**2
"""[kg·m²] by hand: rotor, link about its centre, and the centre on its radius."""


def make_robot(
    folder: Path, actuator: str, *, rate: float = 250.0, seed: int = 0, **options
) -> StandIn:
    file = folder / "link.xml"
    file.write_text(LINK.format(actuator=actuator))
    noise = RealityNoise(
        position=2e-4, velocity=2e-3, torque=options.pop("torque", 0.01)
    )
    described = RealityFile(
        schema=1, twin=file.name, seed=seed, noise=noise, rate=rate, **options
    )
    return StandIn(make_reality("bench", described, folder=folder))


SPEEDS = (0.06, 0.09, 0.13, 0.19, 0.28, 0.4, 0.55, 0.8)


def test_a_friction_curve_tells_coulomb_and_viscous(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    robot = make_robot(tmp_path, SOFT, rate=125.0, timestep_factor=0.5)
    settings = FrictionCurveSettings(speeds=SPEEDS, span=0.6)
    recording = record_friction_curve(robot, "joint", settings)
    curve = measure_friction_curve(recording, "joint")
    assert curve.coulomb_friction == pytest.approx(0.12, rel=0.03)
    assert curve.damping == pytest.approx(0.31, rel=0.03)
    assert curve.stribeck_friction == 0.0
    uncorrected = naive_damping(recording)
    with capsys.disabled():
        print(
            f"\n  friction curve: b {curve.damping:.4f} (0.31), c "
            f"{curve.coulomb_friction:.4f} (0.12); torque as read: b {uncorrected:.3f}"
        )
    assert uncorrected < 0.8 * 0.31
    assert curve.speed == pytest.approx(SPEEDS, rel=0.05)  # gravity softens kp


def test_friction_that_grows_near_rest_is_seen(tmp_path: Path):
    effect = Stribeck(joint="joint", static=0.06, velocity=0.15)
    robot = make_robot(
        tmp_path, SOFT, rate=125.0, timestep_factor=0.5, effects=[effect]
    )
    settings = FrictionCurveSettings(speeds=SPEEDS, span=0.6)
    curve = measure_friction_curve(
        record_friction_curve(robot, "joint", settings), "joint"
    )
    assert curve.stribeck_friction == pytest.approx(0.06, rel=0.25)
    assert curve.stribeck_velocity == pytest.approx(0.15, rel=0.25)
    assert curve.coulomb_friction == pytest.approx(0.12, rel=0.03)
    low, high = curve.breakaway
    assert 0.12 < low < high < 0.3


def naive_damping(recording) -> float:
    """b from torque as it is read, at the foot of each stair."""
    q, tau = (recording.signals[f"joint.{k}"] for k in ("position", "torque"))
    v = np.gradient(recording.signals["joint.command"], recording.time)
    rows = (np.abs(v) > 0.04) & (np.abs(np.gradient(v)) < 1e-6) & (np.abs(q) < 0.15)
    columns = [v[rows], np.sign(v[rows]), np.sin(q[rows])]
    return float(np.linalg.lstsq(np.stack(columns, 1), tau[rows], rcond=None)[0][0])


def naive_friction(torques: np.ndarray) -> tuple[float, float]:
    """b and c from constant torques and speeds, joints that stick included."""
    speed = np.maximum(0.0, (torques - 0.12) / 0.31)
    damping, coulomb = np.polyfit(speed, torques, 1)
    return float(damping), float(coulomb)


def test_constant_torques_mislead_where_joints_stick():
    moving, stuck = np.linspace(0.15, 1.0, 20), np.linspace(0.01, 0.26, 20)
    assert naive_friction(moving) == pytest.approx((0.31, 0.12), rel=1e-6)
    damping, coulomb = naive_friction(stuck)
    assert damping > 1.2 * 0.31
    assert coulomb < 0.8 * 0.12


@pytest.mark.parametrize("hold", [0.0, 0.5])
def test_pulses_tell_inertia_at_any_pose(
    tmp_path: Path, hold: float, capsys: pytest.CaptureFixture[str]
):
    robot = make_robot(tmp_path, MOTOR, rate=500.0)
    settings = InertiaSettings(torques=(1.0, 1.6), hold=hold, repeats=4)
    recording = record_inertia(robot, "joint", settings)
    found = measure_inertia(recording, "joint")
    naive = naive_inertia(recording)
    with capsys.disabled():
        print(
            f"\n  hold {hold}: {found.inertia:.5f} ± {found.inertia_sd:.5f}, true "
            f"{INERTIA:.5f}, one sample of τ/q̈ {naive:.5f}"
        )
    assert found.inertia == pytest.approx(INERTIA, rel=0.02)
    assert abs(naive / INERTIA - 1) > 0.05


def naive_inertia(recording) -> float:
    """τ/q̈ of one moment: the middle of the first pulse."""
    command = recording.signals["joint.command"]
    rest = command[0]
    first = int(np.argmax(np.abs(command - rest) > 1e-6))
    k = first + 20
    q = recording.signals["joint.position"]
    window = np.arange(k - 15, k + 16)
    t = recording.time[window] - recording.time[k]
    acceleration = 2 * np.polyfit(t, q[window], 2)[0]
    return float(recording.signals["joint.torque"][k] / acceleration)


def naive_delay(recording) -> float:
    """[s] from a step until the joint has moved by 1 mrad, as recipes have it."""
    command, q = recording.signals["joint.command"], recording.signals["joint.position"]
    jump = int(np.argmax(np.abs(np.diff(command)) > 1e-6)) + 1
    still = np.median(q[jump - 20 : jump])
    moved = jump + int(np.argmax(np.abs(q[jump:] - still) > 1e-3))
    return float(recording.time[moved] - recording.time[jump])


@pytest.mark.parametrize("true", [0.004, 0.0137])
def test_steps_tell_the_delay_and_not_the_rise(
    tmp_path: Path, true: float, capsys: pytest.CaptureFixture[str]
):
    robot = make_robot(
        tmp_path,
        SERVO,
        rate=500.0,
        parameters={"joint.delay": true},
        timestep_factor=0.25,
    )
    recording = record_delay(robot, "joint", DelaySettings(repeats=1))
    found, naive = measure_delay(recording, "joint"), naive_delay(recording)
    with capsys.disabled():
        print(
            f"\n  delay {1000 * true:.1f} ms: {1000 * found.seconds:.2f} ± "
            f"{1000 * found.sd:.2f} ms, threshold {1000 * naive:.1f} ms"
        )
    assert found.seconds == pytest.approx(true, abs=5e-4)
    assert naive > true + 0.003
    assert "Sum" in found.note


@pytest.mark.slow
def test_delays_have_no_bias_over_twenty_seeds(tmp_path: Path, capsys):
    errors = []
    for seed in range(20):
        true = float(np.random.default_rng(seed).uniform(0.002, 0.03))
        robot = make_robot(
            tmp_path,
            SERVO,
            rate=500.0,
            seed=seed,
            parameters={"joint.delay": true},
            timestep_factor=0.25,
        )
        recording = record_delay(robot, "joint", DelaySettings(repeats=1))
        errors.append(measure_delay(recording, "joint").seconds - true)
    with capsys.disabled():
        print(
            f"\n  delay: mean error {1e3 * np.mean(errors):.3f} ms, worst "
            f"{1e3 * np.abs(errors).max():.3f} ms"
        )
    assert abs(np.mean(errors)) < 2e-4
    assert np.abs(errors).max() < 5e-4


def test_a_second_order_answer_is_that_of_scipy():
    from scipy.signal import TransferFunction, step

    t = np.linspace(0, 1, 200)
    for zeta in (0.3, 1.0, 2.5):
        _, expected = step(TransferFunction([400], [1, 2 * zeta * 20, 400]), T=t)
        assert respond(t, 20.0, zeta) == pytest.approx(expected, abs=2e-3)
    assert (respond(np.array([-1.0, 0.0]), 20.0, 0.5) == 0).all()


def test_weights_on_a_lever_tell_the_torque_constant(tmp_path: Path):
    """Current is the drive's torque over a planted 0.85 N·m/A."""
    recordings, known = [], []
    for mass in (0.2, 0.5, 0.9):
        folder = tmp_path / f"{mass}"
        folder.mkdir()
        robot = make_robot(folder, SERVO, parameters={"link.mass": mass}, torque=0.02)
        recording = record_holds(robot, "joint", 0.8)
        current = recording.signals["joint.torque"] / 0.85 + 0.03
        recordings.append(recording.with_signals({"joint.current": current}))
        settled = recording.signals["joint.position"][-20:].mean()
        known.append(mass * 9.81 * 0.2 * np.sin(settled))
    found = measure_torque_constant(recordings, "joint", known)
    assert found.torque_constant == pytest.approx(0.85, rel=0.03)
    assert found.offset_current == pytest.approx(0.03, abs=0.02)


def test_experiments_refuse_what_a_robot_cannot_do(tmp_path: Path):
    motor = make_robot(tmp_path, MOTOR)
    with pytest.raises(RealworthyError, match="sends position commands"):
        record_friction_curve(motor, "joint")
    with pytest.raises(RealworthyError, match="no joint 'elbow'"):
        record_inertia(motor, "elbow")
    limited = SERVO.replace('kp="60"', 'kp="60" ctrlrange="-0.1 0.1"')
    servo = make_robot(tmp_path, limited)
    with pytest.raises(RealworthyError, match="the robot allows"):
        record_delay(servo, "joint")


def test_a_recording_without_torque_says_what_it_has(tmp_path: Path):
    robot = make_robot(tmp_path, SERVO, rate=500.0)
    recording = record_delay(robot, "joint", DelaySettings(sizes=(0.1,), repeats=1))
    with pytest.raises(RealworthyError, match="two weights"):
        measure_torque_constant([recording], "joint", [1.0])
    with pytest.raises(RealworthyError, match="speeds of 'joint'"):
        measure_friction_curve(recording, "joint")
