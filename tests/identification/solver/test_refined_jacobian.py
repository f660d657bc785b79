"""Derivatives along directions: what can be exchanged tells nothing of its parts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import Problem
from realworthy.identification.problem.residuals import evaluate_at
from realworthy.identification.solver.jacobian import differentiate, refine_jacobian
from realworthy.identification.solver.least_squares import estimate_covariance, to_prior
from realworthy.identification.solver.linearisation import linearise
from realworthy.recordings import Recording
from realworthy.twins import Twin, load_twin
from tests.identification.conftest import JOINT, multisine, play_hidden
from tests.identification.linear import make_linear

TRUTH = {"joint.kd": 0.3, "joint.damping": 0.35}
"""[N·m·s/rad] where the twin has 0.2 and 0.3."""
NAMES = ("joint.kp", "joint.kd", "joint.damping", "joint.armature")


def write_braked(folder: Path, limit: float) -> Path:
    """A servo whose drive brakes as well as its joint."""
    servo = f'kp="15" kv="0.2" forcerange="{-limit} {limit}"'
    file = folder / "braked.xml"
    file.write_text(JOINT.replace('kp="15"', servo))
    return file


def record_braked(file: Path, count: int = 1, seconds: float = 2.0) -> list[Recording]:
    commands = [multisine(k, seconds) for k in range(count)]
    return play_hidden(file, TRUTH, commands, seed=7)


def find_sd(twin: Twin, recording: Recording, *, sharp: bool) -> dict[str, float]:
    """Of logarithms, at the truth."""
    problem = Problem(twin.with_values(TRUTH), recording, NAMES)
    point = evaluate_at(problem, problem.start_z)
    jacobian = differentiate(problem, point.z, point.starts)
    prior = to_prior(problem, None, point.z)
    at = linearise(problem, point, jacobian, prior, 3.0)
    better = refine_jacobian(problem, point, jacobian) if sharp else None
    covariance, _ = estimate_covariance(problem, at, better)
    return dict(zip(NAMES, np.sqrt(np.diag(covariance)), strict=True))


def test_columns_of_a_linear_problem_are_put_right():
    problem = make_linear(3, k=0)
    point = evaluate_at(problem, np.ones(4))
    exact = differentiate(problem, point.z, point.starts)
    chance = np.random.default_rng(0).normal(size=exact.by_z.shape)
    spoilt = replace(exact, by_z=exact.by_z * (1 + 0.3 * chance))
    assert refine_jacobian(problem, point, spoilt).by_z == pytest.approx(
        problem.a.reshape(-1, 4), abs=1e-6
    )


def test_brakes_that_can_be_exchanged_tell_nothing_of_each(tmp_path: Path):
    """Curves within a step make columns differ by a little; that is no knowledge."""
    file = write_braked(tmp_path, limit=50.0)
    (recording,) = record_braked(file)
    sd = find_sd(load_twin(file), recording, sharp=True)
    assert sd["joint.kd"] > 3  # the prior's: e-folds
    assert sd["joint.damping"] > 3
    before = find_sd(load_twin(file), recording, sharp=False)
    assert sd["joint.kp"] == pytest.approx(before["joint.kp"], rel=0.1)
    assert before["joint.kd"] < 0.5 * sd["joint.kd"]


def test_a_drive_at_its_limit_tells_its_brake_from_the_joints(tmp_path: Path):
    file = write_braked(tmp_path, limit=1.0)
    (recording,) = record_braked(file)
    sd = find_sd(load_twin(file), recording, sharp=True)
    assert max(sd.values()) < 0.02
