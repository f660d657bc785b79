"""Designs keep every limit, beat chance, and predict what refits find."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError, UnknownParameter
from realworthy.identification.excitation import (
    Excitation,
    ExcitationSettings,
    LimitSettings,
    excite,
    find_limits,
)
from realworthy.identification.excitation.design import Designer
from realworthy.identification.excitation.design_task import find_subject
from realworthy.identification.excitation.excite import finish
from realworthy.recordings.motion import Motion, Reference
from realworthy.simulators import MujocoCpu
from realworthy.simulators.clearance import Clearance
from realworthy.simulators.motion_plan import plan_motion
from realworthy.twins import Twin, bind, load_twin, parse_twin
from realworthy.twins.layout import Layout
from realworthy.twins.structure import set_timestep

from ..conftest import FIVE, draw_truth
from .conftest import play_hidden_motion, quick, refit, typical_sd


@pytest.fixture(scope="module")
def designed(joint: Twin) -> Excitation:
    return excite(joint, FIVE, settings=quick(generations=4))


def draw_random(joint: Twin, seed: int) -> Excitation:
    """A motion of equal limits and length that nobody improved."""
    designer = Designer(find_subject(joint, FIVE), quick(seed + 100))
    return finish(designer, designer.build(designer.draw(), 3.0))


def sweep(designer: Designer, low: float, high: float) -> Reference:
    """A linear chirp of every joint at once, as large as limits allow."""
    seconds, rate = designer.settings.seconds, designer.subject.rate
    time = np.arange(round(seconds * rate) + 1) / rate
    edge = np.minimum(1, np.minimum(time, time[-1] - time) / 0.5)
    phase = 2 * np.pi * (low * time + 0.5 * (high - low) / seconds * time**2)
    wave = edge**3 * (10 - 15 * edge + 6 * edge**2) * np.sin(phase)
    limits, home = designer.subject.limits, designer.subject.home
    speed = np.gradient(wave, time)
    acceleration = np.gradient(speed, time)
    size = np.min(
        [
            limits.upper - home,
            home - limits.lower,
            limits.speed / np.abs(speed).max(),
            limits.acceleration / np.abs(acceleration).max(),
        ],
        axis=0,
    )
    shapes = [size * shape[:, None] for shape in (wave, speed, acceleration)]
    return Reference(time, designer.subject.joints, home + shapes[0], *shapes[1:])


def check_replay(found: Excitation, *, draws: int, factor: int, seed: int) -> None:
    """Plays the motion file in the twin with `factor` time steps for one."""
    subject = found.subject
    step = subject.timestep / factor
    twin = subject.twin.edited(lambda spec: set_timestep(spec, step))
    bound = bind(twin, subject.space)
    reference = found.motion.sample(subject.rate)
    plan = plan_motion(bind(subject.twin, subject.space), reference)
    simulator = MujocoCpu(bound, draws, substeps=1, thread_count=1)
    simulator.write(subject.sample(draws, seed=seed))
    layout = Layout(bound)
    places = [layout.joint(joint) for joint in subject.joints]
    q_at, v_at = [q for q, _ in places], [v for _, v in places]
    torque_at = [simulator.signals.index(f"{j}.torque") for j in subject.joints]
    q, v = simulator.array("qpos"), simulator.array("qvel")
    data = simulator.array("sensordata")
    start = plan.command(0, q[:, q_at], v[:, v_at])
    simulator.reset(command=start)
    limits = found.limits
    clearance = Clearance(bound, subject.joints, reach=subject.clearance)
    per_row = round(1 / (subject.rate * step))
    before = v[:, v_at].copy()
    for row in range(len(reference.time)):
        command = plan.command(row, q[:, q_at], v[:, v_at])
        before = v[:, v_at].copy()
        for _ in range(per_row):
            simulator.step(command)
            assert (q[:, q_at] >= limits.lower).all()
            assert (q[:, q_at] <= limits.upper).all()
            assert (np.abs(v[:, v_at]) <= limits.speed).all()
            assert (np.abs(data[:, torque_at]) <= limits.torque).all()
        mean = np.abs(v[:, v_at] - before) * subject.rate
        assert (mean <= limits.acceleration).all()
        if row % 10 == 0:
            distance, _ = clearance.measure(q[:, q_at])
            assert (distance >= 0.9 * subject.clearance).all()
    assert not simulator.outcomes().any()


def test_a_design_beats_most_random_motions_of_equal_limits(
    joint: Twin, designed: Excitation
):
    others = [typical_sd(draw_random(joint, seed)) for seed in range(5)]
    assert np.median(others) > 1.25 * typical_sd(designed)
    assert min(others) > 0.95 * typical_sd(designed)


def test_a_design_is_repeatable(joint: Twin):
    settings = quick(generations=2)
    settings.first_count = settings.child_count = 3
    first, second = (excite(joint, FIVE, settings=settings) for _ in range(2))
    np.testing.assert_array_equal(first.motion.position, second.motion.position)


def test_limits_hold_in_a_finer_replay_with_other_draws(designed: Excitation):
    check_replay(designed, draws=6, factor=2, seed=77)


def test_peaks_are_within_limits_and_some_limit_is_used(designed: Excitation):
    (peak,) = designed.peaks
    limits = designed.limits
    shares = [
        peak.highest / limits.upper[0],
        peak.lowest / limits.lower[0],
        peak.speed / limits.speed[0],
        peak.acceleration / limits.acceleration[0],
    ]
    assert max(shares) <= 1
    assert max(shares) > 0.8


def test_a_number_without_effect_and_a_pair_are_told(joint: Twin):
    """A mass along the axis turns with it; viscous damping and kd are one number."""
    names = (*FIVE, "joint.kd", "link.centre_of_mass.y")
    settings = ExcitationSettings(
        seconds=3.0, generation_count=1, first_count=2, sample_count=1
    )
    found = excite(joint, names, sd={"joint.damping": 0.02}, settings=settings)
    told = {f.name: f for f in found.forecasts}
    idle = told["link.centre_of_mass.y"]
    assert idle.to_reason() == "nothing that these motions do depends on it"
    assert not idle.is_met
    damping = told["joint.damping"]
    assert damping.to_reason() == "it can be exchanged with joint.kd"
    assert not damping.is_met
    assert not found.is_enough
    assert told["joint.delay"].is_met


def test_tighter_limits_make_a_smaller_motion(joint: Twin):
    settings = quick(generations=1)
    slow = excite(joint, FIVE, limits=LimitSettings(speed=0.5), settings=settings)
    assert slow.peaks[0].speed <= 0.5
    assert find_limits(joint).speed[0] == 3.0


def test_mistakes_are_refused(joint: Twin):
    with pytest.raises(UnknownParameter):
        excite(joint, ["joint.dampng"])
    with pytest.raises(RealworthyError, match=r"0\.1 s cannot be designed"):
        ExcitationSettings(seconds=0.1)
    with pytest.raises(RealworthyError, match="noise is 0"):
        ExcitationSettings(noise=0.0)


@pytest.mark.slow
def test_measured_errors_are_smaller_than_by_chance_and_by_a_slow_sine(
    joint: Twin, joint_file: Path
):
    """The recipe: thirty refits each; the error counts, not the criterion."""
    designed = excite(joint, FIVE, settings=quick(generations=12))
    others = sorted((draw_random(joint, s) for s in range(7)), key=typical_sd)
    time, size = designed.motion.time, np.abs(designed.motion.position).max()
    slow = Motion(time, ("joint",), size * np.sin(0.2 * np.pi * time)[:, None])
    truth = np.log([draw_truth(0)[name] for name in FIVE])
    errors, spread = {}, {}
    for name, motion in (
        ("designed", designed.motion),
        ("median", others[3].motion),
        ("slow", slow),
    ):
        clean = play_hidden_motion(joint_file, joint, motion, 0)
        found = refit(joint, clean, seed=0, count=30)
        errors[name] = np.sqrt(np.mean((found - truth) ** 2, axis=0))
        spread[name] = found.std(axis=0)
    ratio = errors["median"] / errors["designed"]
    assert np.exp(np.mean(np.log(ratio))) > 1.3
    assert (errors["slow"] / errors["designed"]).max() > 5
    truths = draw_truth(0)
    predicted = np.array([f.sd / truths[f.name] for f in designed.forecasts])
    agreement = spread["designed"] / predicted
    assert (agreement > 0.5).all()
    assert (agreement < 2.0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["arm", "quadruped", "pendulum", "double_pendulum", "diffdrive", "servo_bench"],
)
def test_limits_hold_for_every_kind_of_robot(name: str):
    settings = ExcitationSettings(seconds=6.0, generation_count=3)
    check_replay(excite(load_twin(name), settings=settings), draws=6, factor=2, seed=77)


@pytest.mark.slow
def test_an_arm_is_told_better_than_by_chance_and_by_a_chirp():
    """Five seeds of designs against five random motions of equal limits."""
    arm = load_twin("arm")
    designs, others = [], []
    for seed in range(5):
        settings = ExcitationSettings(seconds=10.0, seed=seed)
        designs.append(typical_sd(excite(arm, settings=settings)))
        designer = Designer(find_subject(arm), settings)
        reference = designer.build(designer.draw(), 10.0)
        others.append(typical_sd(finish(designer, reference)))
    chirp = typical_sd(finish(designer, sweep(designer, 0.1, 3.0)))
    ratios = np.array(others) / np.array(designs)
    print("random / designed", ratios, "chirp / designed", chirp / np.array(designs))
    assert np.median(ratios) > 1.5
    assert ratios.min() > 1.0
    assert chirp > 1.5 * max(designs)


FINGER = """
<mujoco>
  <option timestep="0.004" gravity="0 0 0"/>
  <worldbody>
    <body name="link">
      <joint name="elbow" axis="0 1 0" range="-1 1" limited="true" armature="0.02"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" mass="0.5"/>
      <body name="finger" pos="0 0 -0.3">
        <joint name="finger" type="slide" axis="1 0 0" range="0 0.03" limited="true"
          armature="0.02"/>
        <geom type="box" size="0.01 0.01 0.01" mass="0.02"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="elbow" joint="elbow" kp="20" kv="1" ctrlrange="-1 1"/>
    <position name="finger" joint="finger" kp="50" kv="2" ctrlrange="0 0.03"/>
  </actuator>
</mujoco>
"""


def test_a_finger_at_the_end_of_its_range_stays_at_home_and_is_named():
    twin = parse_twin(FINGER, name="fingered")
    found = excite(twin, settings=quick(generations=1))
    assert found.motion.joints == ("elbow",)
    assert set(found.subject.left_out) == {"finger"}
    assert "at an end of its range, 0 to 0.03" in found.subject.left_out["finger"]
    assert np.ptp(found.motion.position) > 0.01


def test_nothing_with_room_to_move_is_refused():
    text = FINGER.replace('range="-1 1" limited', 'range="0 1" limited')
    with pytest.raises(RealworthyError, match="No joint of twin 'stiff' has room"):
        excite(parse_twin(text, name="stiff"), settings=quick(generations=1))
