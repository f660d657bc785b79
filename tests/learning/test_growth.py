"""Worlds that come to differ: by time, by success, each number by itself."""

import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError
from realworthy.learning.growth import AtOnce, Automatic, BySuccess, ByTime
from realworthy.parameters import (
    IndependentBelief,
    LogUniform,
    ParameterSpace,
    Uniform,
)
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Pushes, Randomization
from realworthy.twins import load_twin

NAMES = ("pendulum.mass", "joint.damping")


def build_wanted() -> Randomization:
    space = load_twin("pendulum").space.select(list(NAMES))
    mass, damping = (space[name].nominal for name in NAMES)
    marginals = {
        NAMES[0]: Uniform(0.5 * mass, 1.5 * mass),
        NAMES[1]: LogUniform(0.25 * damping, 4 * damping),
    }
    pushes = Pushes(speed=1.0, every=(1.0, 2.0))
    return Randomization(
        belief=IndependentBelief(space, marginals), noise=1.0, pushes=pushes
    )


def measure_widths(how: Randomization) -> np.ndarray:
    """(d,) of what worlds have, as a share of the twin's numbers."""
    assert how.belief is not None
    drawn = how.belief.sample(2000, seed=1)
    return np.ptp(drawn, axis=0) / how.belief.space.nominal


def test_at_once_is_as_asked():
    wanted = build_wanted()
    growth = AtOnce(wanted)
    assert growth.now is wanted
    assert not growth.advance(10**9)


def test_by_time_a_tenth_becomes_the_whole():
    wanted = build_wanted()
    growth = ByTime(wanted, 1000)
    widths = measure_widths(wanted)
    assert measure_widths(growth.now) == pytest.approx(0.1 * widths, rel=0.05)
    assert growth.now.noise == pytest.approx(0.1)
    assert not growth.advance(10)
    assert growth.advance(500)
    assert growth.advance(1000)
    assert measure_widths(growth.now) == pytest.approx(widths, rel=0.05)
    assert growth.now.noise == 1.0


def test_by_success_worlds_follow_how_well_it_goes():
    growth = BySuccess(build_wanted(), 200)
    before = measure_widths(growth.now)
    for _ in range(4):
        growth.record(np.zeros((200, 2)), np.ones(200, dtype=bool))
    assert growth.advance(1)
    assert measure_widths(growth.now) == pytest.approx(7 * before, rel=0.05)
    assert not growth.advance(2)
    growth.record(np.zeros((200, 2)), np.zeros(200, dtype=bool))
    assert growth.advance(3)
    assert measure_widths(growth.now) == pytest.approx(5.5 * before, rel=0.05)


def play(growth: Automatic, *, bears: float, rounds: int) -> None:
    """Episodes that succeed up to `bears` times the twin's mass, whatever damping."""
    space: ParameterSpace = growth.box.space
    mass = space["pendulum.mass"].nominal
    for i in range(rounds):
        assert growth.now.belief is not None
        e = growth.now.belief.sample(600, seed=i)
        growth.record(e, e[:, space.names.index("pendulum.mass")] <= bears * mass)
        growth.advance(i)


def test_each_number_goes_as_far_as_the_policy_copes():
    """An end at 1.5 times the mass in five steps, so 1.2 is between two of them; what
    costs nothing goes to its limit, three times as far as asked: down, by the ratio."""
    wanted = build_wanted()
    growth = Automatic(wanted, 240)
    assert growth.now.noise == 1.0  # as asked from the start
    assert growth.now.pushes is not None
    assert (measure_widths(growth.now) < 0.15 * measure_widths(wanted)).all()
    play(growth, bears=1.2, rounds=400)
    ends, space = growth.box.ends, growth.box.space
    mass, damping = (space[name].nominal for name in NAMES)
    assert 1.1 <= ends["pendulum.mass"][1] / mass <= 1.3
    asked = 1 - 0.5 * 0.9  # of the mass: 5 % of the worlds are below
    assert ends["pendulum.mass"][0] / mass == pytest.approx(asked**3, abs=0.02)
    assert ends["joint.damping"][1] / damping > 8
    assert "Practice grew to" in growth.words
    assert "'pendulum.mass'" in growth.words  # the least, of these two


def test_nothing_cannot_grow():
    for kind in (Automatic, BySuccess):
        with pytest.raises(RealworthyError, match="nothing of e differs"):
            kind(Randomization(), 64)
    wanted = build_wanted()
    assert wanted.belief is not None
    fixed = Randomization(belief=IndependentBelief(wanted.belief.space, {}))
    with pytest.raises(RealworthyError, match="nothing of e differs"):
        Automatic(fixed, 64)


def test_what_goes_on_from_a_state_goes_the_same_way():
    for kind in (Automatic, BySuccess):
        first, second = (kind(build_wanted(), 200) for _ in range(2))
        success = np.arange(150) % 10 != 0
        assert first.now.belief is not None
        e = first.now.belief.sample(150, seed=3)
        first.record(e, success)
        second.load_state_dict(first.state_dict())
        assert first.state_dict() == second.state_dict()
        for growth in (first, second):
            growth.record(e, success)
            growth.advance(1)
        assert np.array_equal(measure_widths(first.now), measure_widths(second.now))


def test_practice_can_be_put_back_to_a_stage():
    """What was recorded since is next, and not what worlds have."""
    for kind in (Automatic, BySuccess):
        growth = kind(build_wanted(), 200)
        stage, words = growth.stage, growth.words
        before = measure_widths(growth.now)
        for i in range(4):
            assert growth.now.belief is not None
            e = growth.now.belief.sample(600, seed=i)
            growth.record(e, np.ones(600, dtype=bool))
            assert growth.advance(i)
        growth.record(growth.now.belief.sample(600, seed=9), np.ones(600, dtype=bool))
        assert growth.words != words
        assert (measure_widths(growth.now) > 1.5 * before).all()
        growth.go_back(stage)
        assert growth.words == words
        assert np.array_equal(measure_widths(growth.now), before)
    growth = ByTime(build_wanted(), 1000)
    stage = growth.stage
    assert growth.advance(900)
    growth.go_back(stage)
    assert growth.stage == stage == {"factor": pytest.approx(0.1)}


def test_worlds_tell_of_their_ends_with_the_e_that_they_had():
    wanted = build_wanted()
    task = PendulumSwingUp()
    task.seconds = 0.4
    worlds = TaskWorlds(task, 6, randomization=wanted, thread_count=1)
    had, told = worlds.e, []
    worlds.on_end = lambda e, success: told.append((e.copy(), success.copy()))
    for _ in range(10):
        worlds.step(torch.zeros(6, 1))
    assert len(told) == 1
    e, success = told[0]
    assert np.array_equal(e, had)
    assert not success.any()
    assert not np.array_equal(worlds.e, had)
