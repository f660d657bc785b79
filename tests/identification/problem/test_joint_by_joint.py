"""Joints one by one: against the whole engine, and against planted numbers."""

import numpy as np
import pytest

from realworthy.identification.calibration.first_fits import fit_joint_by_joint
from realworthy.identification.calibration.parameter_choice import choose_parameters
from realworthy.identification.problem.joint_by_joint import JointByJointProblem
from realworthy.twins import Twin
from tests.identification.two_joints import JOINTS, NOISE, TRUTH, find, move, pose


def test_a_joint_alone_moves_as_in_the_whole_engine(published: Twin):
    """At the truth, what is left is noise and what joints do to each other."""
    true = published.with_values(TRUTH)
    problem = pose(true, move(true, (0.3, -0.4), seeds=2), list(TRUTH))
    servos = find(true)
    apart = JointByJointProblem(problem, list(TRUTH), servos)
    errors = apart.rmse(apart.start_z)
    wrong = apart.rmse(apart.start_z + np.log(1.3))
    assert (errors < 3 * NOISE).all()
    assert (wrong > 3 * errors).all()


def test_planted_numbers_are_found_from_a_gain_forty_times_off(published: Twin):
    recordings = move(published.with_values(TRUTH), (0.3, -0.4))
    names = choose_parameters(published, JOINTS)
    servos = find(published)
    found = fit_joint_by_joint(pose(published, recordings, names), names, servos)
    for name in ("shoulder.kp", "elbow.kp"):
        assert found.values[name] == pytest.approx(TRUTH[name], rel=0.1)
    for name in ("shoulder.coulomb_friction", "elbow.coulomb_friction"):
        assert found.values[name] == pytest.approx(TRUTH[name], rel=0.15)
    assert found.outlying == ()


def test_a_recording_of_something_else_is_named(published: Twin):
    """One of six has the goals of another motion beside its answer."""
    recordings = move(published.with_values(TRUTH), (0.3, -0.4), seeds=6)
    stolen = {
        f"{joint}.command": 3.0 * recordings[0].signals[f"{joint}.command"][::-1]
        for joint in JOINTS
    }
    recordings[3] = recordings[3].with_signals(stolen)
    names = choose_parameters(published, JOINTS)
    servos = find(published)
    found = fit_joint_by_joint(pose(published, recordings, names), names, servos)
    assert found.outlying == (3,)
    assert found.values["shoulder.kp"] == pytest.approx(TRUTH["shoulder.kp"], rel=0.2)
