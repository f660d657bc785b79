"""Curricula: factors by hand, narrowed beliefs against their draws, running worlds."""

import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError
from realworthy.parameters import IndependentBelief, LogUniform, Uniform
from realworthy.parameters.processes import Drift
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.curriculum import (
    Curriculum,
    CurriculumSettings,
    NarrowedBelief,
    ease,
    ramp,
)
from realworthy.tasks.randomization.randomization import Pushes, Randomization
from realworthy.twins import load_twin

PUSHES = Pushes(speed=2.0, every=(0.05, 0.1))


def make_belief() -> IndependentBelief:
    space = load_twin("pendulum").space.select(["pendulum.mass", "all.delay"])
    mass = space["pendulum.mass"].nominal
    marginals = {
        "pendulum.mass": LogUniform(0.5 * mass, 2 * mass),
        "all.delay": Uniform(0.0, 0.04),
    }
    return IndependentBelief(space, marginals)


def test_the_factor_follows_success_between_its_ends() -> None:
    settings = CurriculumSettings(start=0.2, step=0.5, episode_count=4)
    curriculum = Curriculum(settings)
    assert not curriculum.record([1, 1, 1])
    assert curriculum.record([1])
    assert curriculum.factor == pytest.approx(0.7)
    assert not curriculum.record([1, 1, 0, 0])  # half: neither good nor bad
    assert curriculum.record([1, 1, 1, 1])
    assert curriculum.factor == 1.0
    assert not curriculum.record([1, 1, 1, 1])
    for expected in (0.5, 0.2):
        assert curriculum.record([0, 0, 0, 1])
        assert curriculum.factor == pytest.approx(expected)
    assert not curriculum.record([0, 0, 0, 0])


def test_a_ramp_by_hand() -> None:
    found = [ramp(p, start=0.2, end=0.4) for p in (0.0, 0.1, 0.2, 0.4, 1.0)]
    assert found == pytest.approx([0.2, 0.4, 0.6, 1.0, 1.0])


def test_a_narrowed_belief_is_the_belief_drawn_to_the_nominal() -> None:
    wide = make_belief()
    narrow = NarrowedBelief(wide, 0.25)
    # A delay of 0 … 40 ms around a nominal of 0 becomes 0 … 10 ms, not 15 … 25 ms.
    draws = narrow.sample(20_000, seed=0)
    assert draws[:, 1].min() == pytest.approx(0.0, abs=1e-5)
    assert draws[:, 1].max() == pytest.approx(0.01, abs=1e-5)
    for i, name in enumerate(narrow.space.names):
        assert narrow.mean[name] == pytest.approx(draws[:, i].mean(), rel=0.02)
        assert narrow.sd[name] == pytest.approx(draws[:, i].std(), rel=0.02)
    one = narrow.marginal(["all.delay"])
    assert one.log_density([0.005]) == pytest.approx(np.log(1 / 0.01))
    assert one.log_density([0.02]) == -np.inf
    assert narrow.condition({"pendulum.mass": 0.6}).space.names == ("all.delay",)
    same = NarrowedBelief(wide, 1.0).sample(10, seed=0)
    assert same == pytest.approx(wide.sample(10, seed=0))


def test_everything_that_makes_worlds_hard_is_eased() -> None:
    hard = Randomization(belief=make_belief(), noise=1.0, pushes=PUSHES, latency=(0, 2))
    easy = ease(hard, 0.5)
    assert easy.noise == 0.5
    assert easy.pushes == Pushes(speed=1.0, every=(0.05, 0.1))
    assert easy.latency == (0, 2)
    assert ease(Randomization(), 0.5) == Randomization()


@pytest.mark.parametrize("factor", [0.0, 1.5])
def test_factors_outside_their_range_are_refused(factor: float) -> None:
    with pytest.raises(RealworthyError, match="above 0 and at most 1"):
        NarrowedBelief(make_belief(), factor)


def test_running_worlds_get_harder() -> None:
    hard = Randomization(belief=make_belief(), noise=1.0, pushes=PUSHES)
    worlds = TaskWorlds(PendulumSwingUp(), 200, randomization=ease(hard, 0.01), seed=0)
    speed = worlds.scene.find("joint.velocity")

    def measure() -> tuple[np.ndarray, float, float]:
        """Spread of e, of what the actor sees beside the truth, and of pushes."""
        worlds.reset()
        e, noise, pushed = worlds.e, [], 0.0
        for _ in range(10):
            seen = worlds.step(torch.zeros(200, 1)).observations["policy"]
            noise.append(seen[:, 2] / 0.2 - worlds.scene.read(speed)[:, 0])
            pushed = max(pushed, float(worlds.pushing.last.abs().max()))
        return e.std(0), float(torch.stack(noise).std()), pushed

    e, noise, pushed = measure()
    worlds.randomize(hard)
    e_after, noise_after, pushed_after = measure()
    assert e_after / e == pytest.approx([100.0, 100.0], rel=0.3)
    # Float32 of a sum with the truth leaves some digits of the noise.
    assert noise_after == pytest.approx(0.05, rel=0.1)
    assert noise_after / noise == pytest.approx(100.0, rel=0.2)
    assert pushed < 0.02 < 1.5 < pushed_after <= 2.0
    # What the critic is told of e is in units of the present belief.
    told = worlds.observations["e"]
    assert told.std(0).tolist() == pytest.approx([1.0, 1.0], rel=0.2)


def test_pushes_that_are_new_wait_for_the_next_episode() -> None:
    task = PendulumSwingUp()
    worlds = TaskWorlds(task, 4, seed=0)
    worlds.randomize(Randomization(pushes=PUSHES))
    pushed = []
    for _ in range(8):
        worlds.step(torch.zeros(4, 1))
        pushed.append(float(worlds.pushing.last.abs().max()))
    assert max(pushed) == 0.0
    worlds.reset()
    for _ in range(8):
        worlds.step(torch.zeros(4, 1))
        pushed.append(float(worlds.pushing.last.abs().max()))
    assert max(pushed) > 0.5
    worlds.randomize(Randomization())
    worlds.step(torch.zeros(4, 1))
    assert float(worlds.pushing.last.abs().max()) == 0.0


def test_running_worlds_keep_which_numbers_differ() -> None:
    worlds = TaskWorlds(
        PendulumSwingUp(), 2, randomization=Randomization(belief=make_belief())
    )
    other = make_belief().marginal(["pendulum.mass"])
    with pytest.raises(RealworthyError, match=r"disagree about all\.delay"):
        worlds.randomize(Randomization(belief=other))
    with pytest.raises(RealworthyError, match="Latency and processes"):
        worlds.randomize(Randomization(belief=make_belief(), latency=(0, 1)))
    drift = Drift("pendulum.mass", 0.1, 1.0)
    with pytest.raises(RealworthyError, match="Latency and processes"):
        worlds.randomize(Randomization(belief=make_belief(), processes=(drift,)))


def test_another_seed_begins_anew() -> None:
    settings = Randomization(belief=make_belief(), noise=1.0)
    worlds = TaskWorlds(PendulumSwingUp(), 5, randomization=settings, seed=1)
    other = TaskWorlds(PendulumSwingUp(), 5, randomization=settings, seed=2)
    for _ in range(3):
        worlds.step(torch.zeros(5, 1))
    for one in (worlds, other):
        one.reseed(2)
        one.reset()
    assert np.array_equal(worlds.e, other.e)
    for _ in range(3):
        first, second = (one.step(torch.ones(5, 1)) for one in (worlds, other))
        assert torch.equal(first.observations["policy"], second.observations["policy"])


def test_recorded_steps_take_another_belief_but_no_other_noise() -> None:
    hard = Randomization(belief=make_belief(), noise=1.0)
    worlds = TaskWorlds(PendulumSwingUp(), 2, randomization=hard)
    worlds._is_recorded = True  # as on a GPU
    held = worlds._e
    worlds.randomize(
        Randomization(belief=NarrowedBelief(make_belief(), 0.5), noise=1.0)
    )
    assert worlds._e is held  # a graph reads this memory
    with pytest.raises(RealworthyError, match="part of the recorded steps"):
        worlds.randomize(ease(hard, 0.5))
