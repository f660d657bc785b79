"""Derivatives against another integrator of differences, and colours against none."""

import mujoco
import numpy as np
import pytest

from realworthy.identification import Problem
from realworthy.identification.solver.jacobian import colour_columns, differentiate
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind
from tests.identification.linear import make_linear

ARM = """
<mujoco model="arm">
  <option timestep="0.004" integrator="implicitfast"/>
  <default><joint axis="0 1 0" damping="0.5" armature="0.05"/></default>
  <worldbody>
    <body name="a">
      <joint name="lift"/>
      <inertial pos="0.1 0 0" mass="0.3" diaginertia="0.002 0.002 0.002"/>
      <body name="b" pos="0.2 0 0">
        <joint name="elbow"/>
        <inertial pos="0.1 0 0" mass="0.2" diaginertia="0.001 0.001 0.001"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="lift" joint="lift" kp="20"/>
    <position name="elbow" joint="elbow" kp="15"/>
  </actuator>
</mujoco>
"""
NAMES = ("lift.damping", "elbow.damping", "lift.kp", "elbow.kp", "b.mass")


@pytest.fixture(scope="module")
def arm() -> Twin:
    spec = mujoco.MjSpec.from_string(ARM)
    return Twin(name="arm", base_spec=spec, model="arm.xml")


@pytest.fixture(scope="module")
def recording(arm: Twin) -> Recording:
    simulator = MujocoCpu(bind(arm), 1, substeps=1)
    t = 0.004 * np.arange(750)
    commands = 0.5 * np.stack([np.sin(3 * t), np.sin(5 * t + 1) - np.sin(1)], axis=1)
    return record(simulator, commands)[0]


def simulate(arm: Twin, recording: Recording, e: np.ndarray) -> np.ndarray:
    """(rows, joints) by a plain loop over one model, rows as in the recording."""
    model = bind(arm, arm.space.select(NAMES)).sample_model(e)
    model.opt.iterations = model.opt.ls_iterations = 100
    data = mujoco.MjData(model)
    data.qpos[:] = recording.stack("position", ("lift", "elbow"))[0]
    out = [data.qpos.copy()]
    for command in recording.stack("command", ("lift", "elbow"))[:-1]:
        data.ctrl[:] = command
        mujoco.mj_step(model, data)
        out.append(data.qpos.copy())
    return np.array(out)


def test_derivatives_match_a_plain_loop(arm: Twin, recording: Recording):
    problem = Problem(arm, recording, NAMES, noise=1e-3, estimate_starts=False)
    z = problem.start_z + 0.1
    found = differentiate(problem, z, np.zeros((1, 0)), step=1e-3).by_z
    for i in range(len(NAMES)):
        h = 2e-3 * np.eye(len(NAMES))[i]
        far = [
            simulate(arm, recording, problem.space.from_z(z + k * h))
            for k in (-2, -1, 1, 2)
        ]  # fourth order: (f₋₂ − 8 f₋₁ + 8 f₁ − f₂) / 12 h
        slope = (far[0] - 8 * far[1] + 8 * far[2] - far[3]) / (12 * 2e-3)
        expected = slope[1:].T.ravel() / 1e-3
        size = np.abs(expected).max()
        assert found[:, i] == pytest.approx(expected, abs=2e-3 * size)


def test_a_start_moves_its_own_piece_alone(arm: Twin, recording: Recording):
    problem = Problem(arm, recording, NAMES, noise=1e-3, horizon=1.0)
    starts = np.zeros((len(problem.pieces), 4))
    by_start = differentiate(problem, problem.start_z, starts).by_start
    moved = starts.copy()
    moved[1, 2] = 0.5
    before, after = (
        problem.residuals(problem.start_z, s[None]).values[0] for s in (starts, moved)
    )
    change = after - before
    own = problem.runs[1]
    assert np.abs(np.delete(change, np.r_[own])).max() == 0
    assert change[own] == pytest.approx(0.5 * by_start[own, 2], abs=1e-3)


def test_columns_that_move_different_joints_are_moved_together(
    arm: Twin, recording: Recording
):
    problem = Problem(arm, recording, NAMES, noise=1e-3, horizon=1.5)
    starts = np.zeros((len(problem.pieces), 4))
    exact = differentiate(problem, problem.start_z, starts)
    colouring = colour_columns(problem, exact)
    before = problem.evaluation_count
    quick = differentiate(problem, problem.start_z, starts, colouring=colouring)
    assert problem.evaluation_count - before < 2 * 9
    for column in range(5):
        apart = np.linalg.norm(quick.by_z[:, column] - exact.by_z[:, column])
        assert apart < 0.15 * np.linalg.norm(exact.by_z[:, column])


def test_one_sided_differences_are_half_the_work_and_nearly_the_same():
    problem = make_linear(3, k=2, upper=1.0)
    z, starts = np.ones(4), np.zeros((len(problem.runs), 2))
    at = problem.residuals(z[None], starts[None]).values[0]
    central = differentiate(problem, 0.5 * z, starts)
    one_sided = differentiate(problem, z, starts, residuals=at)  # at the upper bound
    assert one_sided.by_z == pytest.approx(central.by_z, abs=1e-6)
    assert one_sided.by_start == pytest.approx(central.by_start, abs=1e-6)
