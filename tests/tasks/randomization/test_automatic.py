"""Automatic randomization against a feasible box that is known."""

import numpy as np
import pytest
import torch
from scipy import stats

from realworthy.errors import RealworthyError
from realworthy.parameters import Binding, Parameter, ParameterSpace
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.automatic import (
    AutomaticRandomization,
    AutomaticSettings,
    BoxBelief,
)
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import load_twin

FEASIBLE = np.array([1.0, 0.3])
SETTINGS = AutomaticSettings(episode_count=20)


def make_space() -> ParameterSpace:
    return ParameterSpace(
        Parameter(
            name=f"arm.{kind}",
            kind=kind,
            unit="1",
            nominal=0.0,
            binding=Binding(("a",)),
        )
        for kind in ("first", "second")
    )


def build(kind: type[AutomaticRandomization] = AutomaticRandomization):
    steps = {"arm.first": (0.05, 0.05), "arm.second": (0.015, 0.015)}
    return kind(make_space(), steps, settings=SETTINGS)


class AlwaysGrows(AutomaticRandomization):
    """A stub that does not look at performance."""

    def record(self, e, performance) -> bool:
        return super().record(e, np.ones_like(performance))


def run(
    automatic: AutomaticRandomization,
    feasible: np.ndarray,
    *,
    rounds: int,
    first: int = 0,
) -> list[float]:
    """Entropies; a controller that succeeds where |e| is below what is feasible."""
    entropies = []
    for episode in range(first, first + rounds):
        e = automatic.belief.sample(200, seed=1, episode=episode)
        automatic.record(e, (np.abs(e) < feasible).all(1))
        entropies.append(automatic.entropy)
    return entropies


def is_settled(automatic: AutomaticRandomization, feasible: np.ndarray) -> bool:
    """Whether all four ends are within ±15 % of the truth."""
    ends = np.array(list(automatic.ends.values()))
    truth = np.stack([-feasible, feasible], axis=1)
    return bool((np.abs(ends - truth) <= 0.15 * np.abs(truth)).all())


def test_sides_settle_at_the_feasible_box() -> None:
    automatic = build()
    assert not is_settled(automatic, FEASIBLE)
    entropies = run(automatic, FEASIBLE, rounds=150)
    assert is_settled(automatic, FEASIBLE)
    rise, noise = entropies[-1] - entropies[0], 0.15
    assert rise > 2.0
    assert (np.diff(entropies) > -noise).all()
    highest = np.maximum.accumulate(entropies)
    assert (highest - entropies < noise).all()  # monotone up to noise


def test_sides_come_in_when_less_becomes_feasible() -> None:
    automatic = build()
    run(automatic, FEASIBLE, rounds=150)
    smaller = 0.5 * FEASIBLE
    assert not is_settled(automatic, smaller)
    run(automatic, smaller, rounds=250, first=150)
    assert is_settled(automatic, smaller)


def test_a_stub_that_always_grows_does_not_settle() -> None:
    automatic = build(AlwaysGrows)
    run(automatic, FEASIBLE, rounds=150)
    assert not is_settled(automatic, FEASIBLE)


def test_ends_never_shrink_past_the_nominal_nor_grow_past_their_limits() -> None:
    steps = {"arm.first": (0.5, 0.5)}
    limits = {"arm.first": (-0.25, 1.0)}
    automatic = AutomaticRandomization(
        make_space(), steps, limits=limits, settings=SETTINGS
    )
    assert automatic.ends == {"arm.first": (-0.25, 0.25)}
    for performance, expected in ((1.0, (-0.25, 1.0)), (0.0, (-0.25, 0.25))):
        for episode in range(20):
            e = automatic.belief.sample(200, seed=2, episode=episode)
            automatic.record(e, np.full(200, performance))
        assert automatic.ends == {"arm.first": pytest.approx(expected)}


def test_each_end_has_a_step_of_its_own_and_one_may_stay() -> None:
    for steps, expected in (((0.1, 0.4), (-0.25, 1.0)), ((0.0, 0.4), (0.0, 1.0))):
        automatic = AutomaticRandomization(
            make_space(), {"arm.first": steps}, settings=SETTINGS
        )
        half = (-steps[0] / 2, steps[1] / 2)
        assert automatic.ends == {"arm.first": pytest.approx(half)}
        while automatic.ends["arm.first"][1] < 1.0 - 1e-9:
            e = np.array([automatic.belief.ends[0]] * 20).reshape(-1, 1)
            automatic.record(e, np.ones(40))
        assert automatic.ends == {"arm.first": pytest.approx(expected)}


def test_middling_performance_moves_nothing() -> None:
    automatic = build()
    before = automatic.ends
    e = automatic.belief.sample(4000, seed=0)
    assert not automatic.record(e, np.full(4000, 0.65))
    assert automatic.ends == before


def test_an_end_is_judged_by_its_own_episodes_of_its_present_place() -> None:
    automatic = build()
    old = automatic.belief
    on_upper = np.array([[old.ends[0, 1], 0.0]])
    for _ in range(19):
        assert not automatic.record(on_upper, [1.0])
    assert not automatic.record([[0.0, 0.0]], [1.0])  # inside: it trains
    assert automatic.record(on_upper, [1.0])  # the twentieth
    (low, high), second = automatic.ends.values()
    assert (low, high) == pytest.approx((-0.025, 0.075))
    assert second == pytest.approx((-0.0075, 0.0075))
    # Episodes that began before the end moved are of a side that is no more.
    assert automatic.belief.find_sides(on_upper).tolist() == [-1]


def test_half_of_the_draws_lie_on_sides_chosen_evenly() -> None:
    belief = build().belief
    e = belief.sample(20_000, seed=4)
    sides = belief.find_sides(e)
    on_sides = int((sides >= 0).sum())
    assert stats.binomtest(on_sides, 20_000, 0.5).pvalue > 1e-3
    counts = np.bincount(sides[sides >= 0], minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-3
    inside = e[sides < 0]
    for column, (low, high) in zip(inside.T, belief.ends, strict=True):
        law = stats.uniform(low, high - low)
        assert stats.kstest(column, law.cdf).pvalue > 1e-3


def test_entropy_by_hand() -> None:
    # Widths of one step each: 0.05 and 0.015.
    expected = (np.log(0.05) + np.log(0.015)) / 2
    assert build().entropy == pytest.approx(expected)


def test_settings_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(RealworthyError, match="not below grow_at"):
        AutomaticSettings(grow_at=0.3, shrink_at=0.5)
    with pytest.raises(RealworthyError, match="above zero"):
        AutomaticRandomization(make_space(), {"arm.first": (0.0, 0.0)})


def test_running_worlds_take_up_a_box_that_has_grown() -> None:
    twin = load_twin("pendulum")
    steps = {"pendulum.mass": (0.02, 0.02), "joint.damping": (0.01, 0.01)}
    automatic = AutomaticRandomization(twin.space, steps, settings=SETTINGS)
    task = PendulumSwingUp(twin)
    task.seconds = 3 * task.period
    worlds = TaskWorlds(
        task, 64, randomization=Randomization(belief=automatic.belief), seed=0
    )
    before, changes = automatic.ends, 0
    for _ in range(18):
        e = worlds.e  # of the episodes that may end in this step
        done = worlds.step(torch.zeros(64, 1)).done.numpy()
        if automatic.record(e[done], np.ones(int(done.sum()))):
            worlds.randomize(Randomization(belief=automatic.belief))
            changes += 1
    assert changes > 0
    for name, (low, high) in automatic.ends.items():
        assert low < before[name][0]
        assert high > before[name][1]
    worlds.reset()
    drawn = worlds.e
    assert isinstance(automatic.belief, BoxBelief)
    assert (automatic.belief.find_sides(drawn) >= 0).sum() > 16
    assert (drawn >= automatic.belief.ends[:, 0]).all()
    found = worlds.simulator.field("body_mass")[:, -1]
    assert found == pytest.approx(drawn[:, 0])
