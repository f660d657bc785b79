from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import realworthy as rw
from realworthy.adaptation import AdaptSettings, planning
from realworthy.adaptation.mppi import Mppi, MppiSettings, weigh_plans
from realworthy.errors import RealworthyError
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.definition import TaskDefinition
from realworthy.twins import load_twin

SMALL = MppiSettings(plans=24, horizon=0.4, knots=3, latency=2)


def test_as_many_plans_count_as_were_asked_for():
    cost = np.random.default_rng(0).normal(size=(5, 200)) * [
        [1],
        [1e-3],
        [10],
        [50],
        [1],
    ]
    for share in (0.05, 0.15, 0.5):
        weights = weigh_plans(cost, share)
        np.testing.assert_allclose(weights.sum(1), 1.0)
        effective = 1 / np.square(weights).sum(1)
        np.testing.assert_allclose(effective, 200 * share, rtol=0.02)
        assert (weights.argmax(1) == cost.argmin(1)).all()


def roll(mppi: Mppi, steps: int, *, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Heights and actions of a carriage without delay or friction, by hand."""
    q, v, heights, actions = np.full((1, 1), 0.3), np.zeros((1, 1)), [], []
    for _ in range(steps):
        action = mppi.act(q, v)
        for _ in range(4):
            v = v + 0.005 * ((40 * action - 8 * v) / mass - 9.81)
            q = q + 0.005 * v
        heights.append(float(q[0, 0]))
        actions.append(float(action[0, 0]))
    return np.array(heights), np.array(actions)


def build(lift: TaskDefinition, mass: float, settings: MppiSettings = SMALL) -> Mppi:
    task = lift.build()
    task.twin = task.twin.with_values({"all.delay": 0.0})
    e = np.array([[mass]])
    return Mppi(task, 1, settings, names=("carriage.mass",), e=e)


def test_a_plan_is_followed_as_late_as_it_is_said_to_be(lift: TaskDefinition):
    _, actions = roll(build(lift, 1.0), 6, mass=1.0)
    assert (actions[:2] == 0).all()  # nothing was decided yet
    assert actions[2] != 0
    prompt = MppiSettings(plans=24, horizon=0.4, knots=3, latency=0)
    assert roll(build(lift, 1.0, prompt), 3, mass=1.0)[1][0] != 0


def test_planning_at_the_true_mass_holds_what_planning_at_a_wrong_one_does_not(
    lift: TaskDefinition,
):
    """2.5 kg, planned as 2.5 kg and as 0.5 kg."""
    right, wrong = (
        np.abs(roll(build(lift, mass), 75, mass=2.5)[0][40:]).mean()
        for mass in (2.5, 0.5)
    )
    assert right < 0.1
    assert wrong > 1.5 * right


def test_plans_are_repeated_from_their_seed(lift: TaskDefinition):
    first, second = (roll(build(lift, 1.0), 8, mass=1.0)[1] for _ in range(2))
    assert (first == second).all()
    mppi = build(lift, 1.0)
    again = [roll(mppi, 8, mass=1.0)[1]]
    mppi.forget(np.ones(1, bool))
    again.append(roll(mppi, 8, mass=1.0)[1])
    assert (again[0] == again[1]).all()


def test_plans_that_take_longer_than_allowed_are_counted(lift: TaskDefinition):
    mppi = build(lift, 1.0)
    roll(mppi, 4, mass=1.0)
    assert mppi.timing.plans == 2
    mppi.timing.add(1.0)
    assert mppi.timing.late >= 1


def test_a_planner_is_deployed_and_certified_like_any_policy(
    lift: TaskDefinition,
    lift_file: Path,
    settings: Callable[..., AdaptSettings],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(planning, "MppiSettings", lambda: SMALL)
    from msgspec.structs import replace

    from realworthy.certification.suite.suite import quick_suite

    robot = f"sim:{lift_file.with_name('hidden.reality.yaml')}"
    task = f"{lift_file}:Lift"
    found = rw.adapt(
        "mppi",
        task,
        tmp_path / "run",
        settings=settings(evaluation_episodes=1, trials=2, trial_seconds=0.6),
        robot=robot,
    )
    assert found.trial_count == 2
    assert found.policy.name == "policy.planner.yaml"
    assert found.numbers["real_time_factor"] > 0
    suite = quick_suite()
    suite = replace(suite, cells=suite.cells[:1], margins=(), coverage=None)
    suite = replace(suite, cells=(replace(suite.cells[0], episodes=2),))
    twin = str(lift_file.with_name("lift.xml"))
    certificate = rw.certify(
        found.policy, task=task, twin=twin, settings=rw.CertifySettings(suite=suite)
    )
    assert certificate.task


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(RealworthyError, match="base is not measured"):
        Mppi(find_task("quadruped").build(), 1, SMALL)
    with pytest.raises(RealworthyError, match="a planner is not"):
        Mppi(find_task("reach").build(), 1, SMALL)


def test_a_planner_over_several_draws_has_worlds_for_each(lift: TaskDefinition):
    task = lift.build(load_twin(lift.build().twin))
    e = np.array([[0.5], [1.0], [2.5]])
    mppi = Mppi(task, 2, SMALL, names=("carriage.mass",), e=e)
    action = mppi.act(np.full((2, 1), 0.1), np.zeros((2, 1)))
    assert action.shape == (2, 1)
    assert mppi._rollouts.world_count == 2 * 24 * 3
    mass = mppi._rollouts.field("body_mass")[:, 1].reshape(2, 24, 3)
    assert (mass == e[:, 0]).all()
