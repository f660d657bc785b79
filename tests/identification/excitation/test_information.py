"""Information split by joint adds up, and predictions are those of a fit."""

import numpy as np
import pytest

from realworthy.identification import Problem, check_identifiability
from realworthy.identification.excitation.information import (
    colour_roughly,
    forecast,
    split_information,
)
from realworthy.identification.solver.jacobian import differentiate
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind, load_twin

from ..conftest import FIVE, SIGMA, multisine

ARM = ("shoulder_lift.kp", "elbow_flex.kp", "elbow_flex.damping", "all.delay")


@pytest.fixture(scope="module")
def swing(joint: Twin) -> Recording:
    simulator = MujocoCpu(bind(joint), 1, substeps=2, thread_count=1)
    return record(simulator, multisine(1, 3.0)[:, None])[0]


@pytest.fixture(scope="module")
def arm_problem() -> Problem:
    """Two motions of an arm."""
    arm = load_twin("arm")
    simulator = MujocoCpu(bind(arm), 2, substeps=4, thread_count=1)
    home = simulator.array("qpos")[0].copy()
    time = np.arange(150) * simulator.period
    moves = [0.1 * np.sin(2 * np.pi * f * time) for f in (0.8, 1.6)]
    commands = np.stack([home + m[:, None] * [0, 1, -1, 0, 0, 0, 0] for m in moves])
    recordings = record(simulator, commands)
    return Problem(arm, recordings, ARM, noise=SIGMA, horizon=np.inf)


def test_a_forecast_is_what_a_fit_would_be_told(joint: Twin, swing: Recording):
    problem = Problem(joint, swing, FIVE, noise=SIGMA, horizon=np.inf)
    e = {"joint.delay": 0.008}
    z = problem.coordinates.to_z(problem.space.vector(e))
    found, information = forecast(problem, z, np.ones(5))
    told = check_identifiability(problem, e)
    for one in found:  # the start is known here, and estimated there
        assert one.sd == pytest.approx(told[one.name].sd, rel=0.1)
        assert one.sd_alone == pytest.approx(told[one.name].sd_alone, rel=0.1)
    twice, _ = forecast(problem, z, np.ones(5), known=information)
    for one, two in zip(found, twice, strict=True):
        assert two.sd == pytest.approx(one.sd / np.sqrt(2), rel=1e-3)


def test_parts_by_motion_and_joint_add_up(arm_problem: Problem):
    z = arm_problem.start_z
    parts = split_information(arm_problem, z, None)
    assert parts.shape == (2, 7, 4, 4)
    starts = np.zeros((2, arm_problem.start_count))
    whole = differentiate(arm_problem, z, starts, by_start=False).by_z
    np.testing.assert_allclose(parts.sum((0, 1)), whole.T @ whole, rtol=1e-9)
    lift, elbow = sorted(arm_problem.tracks[0].joints).index("shoulder_lift"), 0
    assert parts[0, lift, 0, 0] > 4 * parts[0, elbow, 0, 0]
    assert parts[0, elbow, 1, 1] > 4 * parts[0, lift, 1, 1]


def test_a_rough_colouring_moves_two_gains_at_once_and_keeps_their_own_parts(
    arm_problem: Problem,
):
    z = arm_problem.start_z
    starts = np.zeros((2, arm_problem.start_count))
    colouring = colour_roughly(arm_problem, differentiate(arm_problem, z, starts))
    assert colouring.colours[0] == colouring.colours[1]
    exact = split_information(arm_problem, z, None)
    rough = split_information(arm_problem, z, colouring)
    for name in ("shoulder_lift", "elbow_flex"):
        j = sorted(arm_problem.tracks[0].joints).index(name)
        own = ARM.index(f"{name}.kp")
        assert rough[0, j, own, own] == pytest.approx(exact[0, j, own, own], rel=0.3)
