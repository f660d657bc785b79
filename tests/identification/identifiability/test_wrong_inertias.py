"""A residual at the noise beside inertias that are wrong fiftyfold (mujoco#3284)."""

import mujoco
import numpy as np
import pytest

from realworthy.identification import (
    ParameterVerdict,
    Problem,
    calibrate,
    check_identifiability,
)
from realworthy.identification.solver.least_squares import fit_least_squares
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind

ARM = """
<mujoco model="arm">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="0.1" armature="0.01"/>
      <inertial pos="0 0 -0.15" mass="1" diaginertia="0.008 0.008 0.0005"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02"/>
      <body name="lower" pos="0 0 -0.3">
        <joint name="elbow" axis="0 1 0" damping="0.05" armature="0.01"/>
        <inertial pos="0 0 -0.12" mass="0.6" diaginertia="{inertia}"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder" ctrlrange="-8 8"/>
    <motor name="elbow" joint="elbow" ctrlrange="-4 4"/>
  </actuator>
</mujoco>
"""
TRUE, WRONG = "0.005 0.005 0.0003", "0.25 0.005 0.25"  # of the plane, 0.005 alone acts
NOISE = 1e-4


def build(inertia: str) -> Twin:
    spec = mujoco.MjSpec.from_string(ARM.format(inertia=inertia))
    return Twin(name="arm", base_spec=spec, model="arm.xml")


@pytest.fixture(scope="module")
def recording() -> Recording:
    simulator = MujocoCpu(bind(build(TRUE)), 1, substeps=5)
    time = np.arange(500) * simulator.period
    shoulder = 2 * np.sin(5 * time) + np.sin(11 * time)
    elbow = 0.6 * np.sin(7 * time) + 0.4 * np.sin(3 * time)
    made = record(simulator, np.stack([shoulder, elbow], axis=1))[0]
    chance = np.random.default_rng(0)
    noisy = {
        name: values + NOISE * chance.standard_normal(len(values))
        for name, values in made.signals.items()
        if name.endswith(".position")
    }
    return made.with_signals(noisy)


def list_inertia(twin: Twin) -> list[str]:
    return [n for n in twin.space.names if n.startswith("lower.inertia.")]


def test_the_wrong_arm_replays_the_recording_to_its_noise(recording: Recording):
    wrong = build(WRONG)
    fit = fit_least_squares(Problem(wrong, [recording], ["elbow.damping"]))
    assert fit.reduced_chi2 < 1.3


def test_what_the_recording_cannot_tell_is_named(recording: Recording):
    wrong, true = build(WRONG), build(TRUE)
    names = list_inertia(wrong)
    found = check_identifiability(Problem(wrong, [recording], names))
    verdicts = {finding.name: finding for finding in found.findings}
    missed = [
        name
        for name in names
        if abs(wrong.space[name].nominal - true.space[name].nominal)
        > 4 * verdicts[name].sd + 1e-6
    ]
    trusted = [n for n in names if verdicts[n].verdict is ParameterVerdict.IDENTIFIED]
    assert not set(missed) & set(trusted)
    sure = [n for n in names if verdicts[n].verdict is not ParameterVerdict.IDENTIFIED]
    assert len(sure) >= 6  # of a plane's ten inertial numbers three act
    assert found.directions


def test_a_fit_from_there_is_no_better_than_its_verdicts(recording: Recording):
    wrong, true = build(WRONG), build(TRUE)
    names = [*list_inertia(wrong), "elbow.damping"]
    fit = fit_least_squares(Problem(wrong, [recording], names))
    assert fit.reduced_chi2 < 1.3
    far = [
        name
        for name in list_inertia(wrong)
        if abs(fit.e[name] - true.space[name].nominal) > 0.5
    ]
    assert far  # the residual is at the noise, and inertias are wrong
    found = check_identifiability(Problem(wrong, [recording], names), fit.e)
    verdicts = {finding.name: finding.verdict for finding in found.findings}
    assert all(verdicts[name] is not ParameterVerdict.IDENTIFIED for name in far)
    assert verdicts["elbow.damping"] is ParameterVerdict.IDENTIFIED
    assert fit.e["elbow.damping"] == pytest.approx(0.05, rel=0.05)


@pytest.mark.slow
def test_a_calibration_calls_no_wrong_inertia_identified(recording: Recording):
    """In a plane d1 and d3 act together alone: each is off by more than its sd."""
    wrong, true = build(WRONG), build(TRUE)
    names = list_inertia(wrong)
    found = calibrate(wrong, recording, parameters=[*names, "elbow.damping"])
    told = {e.name: e for e in found.estimates}
    far = [n for n in names if abs(told[n].mean - true.space[n].nominal) > 0.5]
    assert len(far) >= 2
    assert all(told[n].verdict is not ParameterVerdict.IDENTIFIED for n in far)
    assert told["elbow.damping"].verdict is ParameterVerdict.IDENTIFIED
