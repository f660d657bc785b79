"""Three planted traps and four good numbers; predictions against refits."""

import mujoco
import numpy as np
import pytest

from realworthy.identification import ParameterVerdict, Problem, check_identifiability
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind

BENCH = """
<mujoco model="bench">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1" pos="0 0 -1"/>
    <body name="arm">
      <joint name="arm" axis="0 1 0" damping="0.012" frictionloss="0.01"
             armature="0.002" stiffness="0.00001"/>
      <inertial pos="0 0 -0.1" mass="0.3" diaginertia="0.0005 0.0005 0.0001"/>
      <geom name="arm" type="capsule" fromto="0 0 0 0 0 -0.1" size="0.01"/>
    </body>
  </worldbody>
  <actuator>
    <dcmotor name="arm" joint="arm" motorconst="0.3 0.3" resistance="4"
             input="voltage" ctrlrange="-8 8"/>
  </actuator>
</mujoco>
"""
GOOD = ("arm.armature", "arm.damping", "arm.coulomb_friction", "arm.delay")
PAIR = ("arm.gear", "arm.torque_constant")
NO_EFFECT = "all.contact_friction"
WEAK = "arm.stiffness"
ALL = (*GOOD, *PAIR, NO_EFFECT, WEAK)


@pytest.fixture(scope="module")
def bench() -> Twin:
    spec = mujoco.MjSpec.from_string(BENCH)
    return Twin(name="bench", base_spec=spec, model="bench.xml")


def lift(bench: Twin, seed: int, *, seconds: float = 6.0) -> Recording:
    """A hidden bench of its own numbers under a random multisine of volts."""
    draw = np.random.default_rng(seed)
    space = bench.space.select(GOOD)
    e = space.nominal * np.exp(draw.uniform(-0.2, 0.2, 4))
    e[3] = draw.uniform(0.004, 0.012)
    simulator = MujocoCpu(bind(bench, space), 1, substeps=2)
    simulator.write(e)
    simulator.reset()
    t = simulator.period * np.arange(round(seconds / simulator.period))
    waves = draw.uniform(0.3, 4.0, 8), draw.uniform(0, 2 * np.pi, 8)
    volts = sum(np.sin(2 * np.pi * f * t + p) for f, p in zip(*waves, strict=True))
    recording = record(simulator, 1.2 * np.minimum(1, 2 * t)[:, None] * volts[:, None])
    noise = 1e-3 * draw.standard_normal(len(t))
    position = recording[0].signals["arm.position"] + noise
    return recording[0].with_signals({"arm.position": position})


@pytest.mark.parametrize("seed", range(20))
def test_planted_traps_are_named_and_good_numbers_are_not(bench: Twin, seed: int):
    problem = Problem(bench, lift(bench, seed), ALL, noise=1e-3)
    found = check_identifiability(problem, {"arm.delay": 0.008})
    verdicts = {finding.name: finding.verdict for finding in found.findings}
    assert {verdicts[name] for name in GOOD} == {ParameterVerdict.IDENTIFIED}
    assert {verdicts[name] for name in PAIR} == {ParameterVerdict.ONLY_IN_COMBINATION}
    assert found[PAIR[0]].partners == (PAIR[1],)
    assert found[PAIR[1]].partners == (PAIR[0],)
    assert verdicts[NO_EFFECT] is ParameterVerdict.NOT_EXCITED
    assert found[NO_EFFECT].response == 0
    assert verdicts[WEAK] is ParameterVerdict.NOT_EXCITED
    assert found[WEAK].response > 1e-3
    assert found.collinear[0][0] == PAIR


def test_directions_are_told_in_words(bench: Twin):
    problem = Problem(bench, lift(bench, 1), ALL, noise=1e-3)
    found = check_identifiability(problem, {"arm.delay": 0.008})
    words = found.to_words()
    assert "arm.gear = 1 1: only in combination with arm.torque_constant." in words
    assert "has no effect on these recordings" in words
    assert "times the data" in words
    told = [direction.to_words() for direction in found.directions]
    assert any(
        set(text.split(", ")) == {"arm.gear up", "arm.torque_constant down"}
        or set(text.split(", ")) == {"arm.torque_constant up", "arm.gear down"}
        for text in told
    )


def test_a_belief_breaks_a_tie(bench: Twin):
    """Who knows the motor's constant can tell the gear."""
    from realworthy.parameters import GaussianBelief

    problem = Problem(bench, lift(bench, 2), (*GOOD, *PAIR), noise=1e-3)
    space = problem.space
    mean = problem.coordinates.to_z(space.nominal)
    covariance = np.diag([1.0] * 5 + [0.02**2])
    prior = GaussianBelief(space, mean, covariance)
    found = check_identifiability(problem, {"arm.delay": 0.008}, prior=prior)
    assert found["arm.gear"].verdict is ParameterVerdict.IDENTIFIED
    assert found["arm.gear"].sd == pytest.approx(0.02, rel=0.2)


def test_a_tolerance_decides_what_is_known(bench: Twin):
    problem = Problem(bench, lift(bench, 3), GOOD, noise=1e-3)
    strict = check_identifiability(problem, {"arm.delay": 0.008}, tolerance=1e-5)
    assert ParameterVerdict.IDENTIFIED not in {f.verdict for f in strict.findings}
    loose = check_identifiability(
        problem, {"arm.delay": 0.008}, tolerance=1e-5, tolerances={"arm.delay": 0.01}
    )
    assert loose["arm.delay"].verdict is ParameterVerdict.IDENTIFIED


def test_a_slow_motion_tells_less_of_inertia_and_delay(bench: Twin):
    """The condition number alone does not show it; standard deviations do."""

    def look(frequency: float):
        simulator = MujocoCpu(bind(bench), 1, substeps=2)
        t = simulator.period * np.arange(1500)
        volts = 2.0 * np.sin(2 * np.pi * frequency * t)
        recording = record(simulator, volts[:, None])[0]
        problem = Problem(bench, recording, GOOD, noise=1e-3, horizon=np.inf)
        return check_identifiability(problem, {"arm.delay": 0.008})

    slow, fast = look(0.2), look(2.0)
    assert slow["arm.armature"].sd > 2 * fast["arm.armature"].sd
    assert slow["arm.delay"].sd > 2 * fast["arm.delay"].sd
    assert slow.condition_number < 2 * fast.condition_number


def test_a_number_that_is_pushed_against_its_bound_is_said_to_be(bench: Twin):
    """A robot without delay, seen with its commands two rows late."""
    recording = lift(bench, 4)
    early = np.roll(recording.signals["arm.command"], 8)
    problem = Problem(
        bench, recording.with_signals({"arm.command": early}), GOOD, noise=1e-3
    )
    found = check_identifiability(problem, {"arm.delay": 0.0})
    assert found["arm.delay"].verdict is ParameterVerdict.AT_BOUND
