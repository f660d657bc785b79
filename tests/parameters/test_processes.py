"""Numbers that move while a robot runs."""

import numpy as np
import pytest
from scipy import stats

from realworthy.errors import RealworthyError
from realworthy.parameters import ParameterSpace, Uniform
from realworthy.parameters.processes import Course, Drift, Jitter, Jump, Sag

from .conftest import make_parameter

DT = 0.02


def run(process, *, steps: int, worlds: int = 2000, seed: int = 1, **bounds):
    space = ParameterSpace([make_parameter(process.name, 1.0, **bounds)])
    course = Course(space, [process], worlds, seed=seed)
    rows = []
    for _ in range(steps):
        course.advance(DT)
        rows.append(course.now[:, 0].copy())
    return np.array(rows)


def test_jitter_is_the_base_plus_an_exponential_fresh_at_every_step():
    rows = run(Jitter("a.delay", 0.3), steps=3)
    assert stats.kstest(rows[0] - 1.0, stats.expon(scale=0.3).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(rows[0], rows[1])[0, 1]) < 0.1


def test_drift_has_its_spread_and_its_memory():
    rows = run(Drift("a.x", 0.2, 0.5), steps=200)
    assert rows[-1].std() == pytest.approx(0.2, rel=0.05)
    lag = round(0.5 / DT)
    kept = np.corrcoef(rows[-1], rows[-1 - lag])[0, 1]
    assert kept == pytest.approx(np.exp(-1), abs=0.06)


def test_jumps_come_at_their_rate_and_land_where_they_should():
    rows = run(Jump("trunk.mass", 0.5, Uniform(2.0, 3.0)), steps=100)
    waited = (rows[-1] == 1.0).mean()
    assert waited == pytest.approx(np.exp(-0.5 * 100 * DT), abs=0.03)
    landed = rows[-1][rows[-1] != 1.0]
    assert stats.kstest(landed, stats.uniform(2, 1).cdf).pvalue > 1e-3


def test_sag_follows_its_exponential():
    rows = run(Sag("all.torque_limit", 0.3, 0.4), steps=20, worlds=1)
    time = DT * np.arange(1, 21)
    np.testing.assert_allclose(rows[:, 0], 1 - 0.3 * (1 - np.exp(-time / 0.4)))


def test_a_course_stays_within_bounds_and_repeats_by_seed():
    process = Drift("a.x", 5.0, 0.5)
    rows = run(process, steps=50, lower=0.0, upper=2.0)
    assert rows.min() == 0.0
    assert rows.max() == 2.0
    np.testing.assert_array_equal(rows, run(process, steps=50, lower=0.0, upper=2.0))
    few = run(process, steps=50, worlds=3, lower=0.0, upper=2.0)
    np.testing.assert_array_equal(rows[:, :3], few)


def test_only_worlds_whose_numbers_changed_are_named():
    space = ParameterSpace([make_parameter("trunk.mass", 1.0)])
    course = Course(space, [Jump("trunk.mass", 2.0, Uniform(2.0, 3.0))], 500, seed=3)
    before = course.now.copy()
    changed = course.advance(DT)
    np.testing.assert_array_equal(changed, np.flatnonzero(course.now != before))
    assert 0 < len(changed) < 100


def test_a_saved_course_goes_on_exactly():
    space = ParameterSpace([make_parameter("a.x", 1.0), make_parameter("a.y", 2.0)])
    processes = [Drift("a.x", 0.2, 0.5), Sag("a.y", 0.3, 0.4)]
    whole, again = (Course(space, processes, 20, seed=4) for _ in range(2))
    for k in range(10):
        whole.restart(np.array([k]))
        whole.advance(DT)
    kept = whole.state_dict()
    now = whole.now.copy()
    for _ in range(10):  # what was saved does not move on
        whole.advance(DT)
    again.load_state_dict(kept)
    np.testing.assert_array_equal(again.now, now)
    for _ in range(10):
        again.advance(DT)
    np.testing.assert_array_equal(again.now, whole.now)


def test_two_processes_on_one_parameter_are_refused():
    space = ParameterSpace([make_parameter("a.x", 1.0)])
    with pytest.raises(RealworthyError, match="same parameter"):
        Course(space, [Jitter("a.x", 1.0), Sag("a.x", 0.1, 1.0)], 1, seed=0)
