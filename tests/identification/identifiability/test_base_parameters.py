"""Base parameters against rank analysis of inverse dynamics, by hand and by engine."""

import mujoco
import numpy as np
import pytest

from realworthy.identification import Problem, check_identifiability, fit_least_squares
from realworthy.identification.identifiability.base_parameters import find_base
from realworthy.parameters.inertia import COMPONENTS
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind

PENDULUM = """
<mujoco model="pendulum">
  <option timestep="0.004"/>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="0.05"/>
      <inertial pos="0.02 0 -0.2" mass="0.5" diaginertia="0.003 0.003 0.0005"/>
    </body>
  </worldbody>
  <actuator><motor name="joint" joint="joint"/></actuator>
</mujoco>
"""
TEN = [f"link.inertia.{c}" for c in COMPONENTS]


@pytest.fixture(scope="module")
def pendulum() -> Twin:
    spec = mujoco.MjSpec.from_string(PENDULUM)
    return Twin(name="pendulum", base_spec=spec, model="pendulum.xml")


@pytest.fixture(scope="module")
def swings(pendulum: Twin) -> Recording:
    """4 s of torque-driven swinging with 0.2 mrad of noise."""
    t = np.arange(1000) * 0.004
    torque = 0.3 * np.sin(2.1 * t) + 0.2 * np.sin(5.3 * t) + 0.15 * np.sin(11 * t)
    simulator = MujocoCpu(bind(pendulum), 1, substeps=1)
    simulator.reset()
    clean = record(simulator, torque[:, None])[0]
    noise = 2e-4 * np.random.default_rng(0).standard_normal(len(clean.time))
    return Recording(
        clean.time,
        {
            "joint.position": clean.signals["joint.position"] + noise,
            "joint.command": clean.signals["joint.command"],
        },
    )


def rank_of_inverse_dynamics() -> int:
    """Of torque over the ten inertial numbers of a planar pendulum, numerically."""
    draw = np.random.default_rng(1)
    q, _, qdd = draw.normal(size=(3, 60))
    # τ = J q̈ − g (m c_x cos q − m c_z sin q)·…: columns are J, m c_x, m c_z
    regressor = np.stack([qdd, 9.81 * np.cos(q), 9.81 * np.sin(q)], axis=1)
    return int(np.linalg.matrix_rank(regressor))


def test_ten_numbers_of_a_pendulum_are_three_facts(pendulum: Twin, swings: Recording):
    problem = Problem(pendulum, swings, TEN, noise=2e-4, horizon=np.inf)
    found = check_identifiability(problem, tolerance=0.1)
    base = find_base(found, worst=0.5)
    assert rank_of_inverse_dynamics() == 3
    assert base.rank == 3
    assert len(base.riding) + len(base.silent) == 7
    # out of the plane nothing is told: y of the centre, and shears with y
    assert {"link.inertia.t2"} <= set(base.silent)
    assert "Not identifiable" in base.to_words()


def test_facts_are_those_of_mass_times_length_and_inertia(
    pendulum: Twin, swings: Recording
):
    """What a fit of all ten finds: J and m·c are right, whatever the ten are."""
    problem = Problem(pendulum, swings, TEN, noise=2e-4, horizon=np.inf)
    space = problem.space
    off = problem.coordinates.scale * np.random.default_rng(2).normal(size=10)
    start = space.nominal + 0.5 * off
    fit = fit_least_squares(problem, space.values(start))
    from realworthy.parameters.inertia import from_theta

    theta = np.array([fit.e[name] for name in TEN])
    body = from_theta(theta)
    moment = float(body.mass) * np.asarray(body.centre)
    about = float(body.inertia[1, 1]) + float(body.mass) * (
        body.centre[0] ** 2 + body.centre[2] ** 2
    )
    assert moment[[0, 2]] == pytest.approx([0.01, -0.1], abs=1e-3)
    assert about == pytest.approx(0.003 + 0.5 * (0.02**2 + 0.2**2), rel=0.01)
    # physical: positive mass, and moments that obey the triangle inequality
    moments = np.sort(np.linalg.eigvalsh(body.inertia))
    assert body.mass > 0
    assert moments[0] > 0
    assert moments[2] < moments[0] + moments[1]


def test_nothing_is_told_by_rest(pendulum: Twin):
    still = Recording(
        np.arange(200) * 0.004,
        {"joint.position": np.full(200, 0.0), "joint.command": np.zeros(200)},
    )
    problem = Problem(pendulum, still, ["joint.damping"], noise=1e-2, horizon=np.inf)
    found = check_identifiability(problem)
    assert find_base(found, worst=0.01).rank == 0
