"""What worlds that differ teach: policies judged in worlds that they have not met.

Medians of three training seeds, 100 episodes each.
"""

from collections.abc import Callable
from statistics import median

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.identification.calibration.calibrate import calibrate
from realworthy.learning.growth import AtOnce, Automatic, BySuccess, WorldGrowth
from realworthy.learning.ppo import Ppo
from realworthy.learning.presets import find_preset
from realworthy.parameters import IndependentBelief, LogUniform, Uniform
from realworthy.parameters.published_tables import PENG_2018
from realworthy.tasks.catalogue import TASKS, build_task
from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.evaluate import Evaluation, evaluate
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.randomization.tables import apply_table, from_belief
from realworthy.tours import ROBOTS
from realworthy.tours.hidden_truth import hide, record_sines
from realworthy.twins import Twin, load_twin

pytestmark = pytest.mark.slow
ALIKE = Randomization(noise=1.0)
CARTPOLE = "cartpole_balance"


def learn(
    name: str, growth: WorldGrowth, *, seed: int, steps: int, twin: Twin | None = None
) -> Ppo:
    """A task by its preset, in worlds that differ as told."""
    preset = find_preset(name)
    worlds = TaskWorlds(
        build_task(name, twin or load_twin(TASKS[name].twin)),
        preset.world_count,
        randomization=growth.now,
        seed=seed,
    )
    worlds.on_end = growth.record
    learner = Ppo(worlds, preset.learner(), seed=seed)
    for done in range(0, steps, preset.world_count * learner.settings.horizon):
        if growth.advance(done):
            worlds.randomize(growth.now)
        learner.collect(worlds)
        learner.update()
    return learner


def judge(
    name: str,
    act: Callable[[Observations], Tensor],
    how: Randomization,
    *,
    twin: Twin | None = None,
) -> Evaluation:
    task = build_task(name, twin or load_twin(TASKS[name].twin))
    return evaluate(TaskWorlds(task, 100, randomization=how, seed=5_000_003), act)


def differ(delay: tuple[float, float]) -> Randomization:
    """Cart-poles with 0.3 to 10 times the damping, 0.3 to 4 times the pole's mass."""
    twin = load_twin("cartpole")
    space = twin.space.select(["all.delay", "cart.damping", "pole.mass"])
    damping, mass = space["cart.damping"].nominal, space["pole.mass"].nominal
    marginals = {
        "all.delay": Uniform(*delay),
        "cart.damping": LogUniform(0.3 * damping, 10 * damping),
        "pole.mass": LogUniform(0.3 * mass, 4 * mass),
    }
    return Randomization(belief=IndependentBelief(space, marginals), noise=1.0)


WANTED, LATE = differ((0.0, 0.1)), differ((0.09, 0.1))
"""[s] of delay: as practised in, and its last tenth."""


def fare(build: Callable[[], WorldGrowth], *, steps: int) -> float:
    """Success of cart-poles in late worlds."""
    found = []
    for seed in range(3):
        learner = learn(CARTPOLE, build(), seed=seed, steps=steps)
        found.append(judge(CARTPOLE, learner.act, LATE).success)
    print(found)
    return median(found)


def test_worlds_that_differ_teach_what_the_twin_alone_does_not():
    """Hidden plants of the same law, off the nominal: 1.3 times as good at least."""
    alone = fare(lambda: AtOnce(ALIKE), steps=600_000)
    differing = fare(lambda: AtOnce(WANTED), steps=600_000)
    still = judge(CARTPOLE, lambda seen: torch.zeros(len(seen["policy"]), 1), LATE)
    assert still.success <= 0.1
    assert differing >= 1.3 * alone


@pytest.mark.parametrize("kind", [BySuccess, Automatic])
def test_worlds_that_grow_teach_more_than_those_that_stay(
    kind: type[BySuccess] | type[Automatic],
):
    """Broken: nobody tells them that an episode succeeds, so that they never grow."""

    class Unheard(kind):
        def record(self, e: NDArray[np.float64], success: NDArray[np.bool_]) -> None:
            super().record(e, np.zeros_like(success))

    growing = fare(lambda: kind(WANTED, 128), steps=1_200_000)
    unheard = fare(lambda: Unheard(WANTED, 128), steps=1_200_000)
    assert growing >= 1.3 * unheard


def test_a_table_that_is_too_wide_has_its_price():
    """Of an arm that is as published: the specialist's success and the table's."""
    name, twin = "reach_wrist", load_twin(TASKS["reach_wrist"].twin)
    wide = Randomization(
        belief=apply_table(PENG_2018, twin).randomization.belief, noise=1.0
    )
    found = {}
    for said, how in (("alike", ALIKE), ("wide", wide)):
        rows = []
        for seed in range(3):
            learner = learn(name, AtOnce(how), seed=seed, steps=300_000)
            rows.append(judge(name, learner.act, ALIKE).success)
        print(said, rows)
        found[said] = median(rows)
    assert found["alike"] >= 0.9
    assert found["wide"] <= 0.95 * found["alike"]


def test_a_robot_is_best_served_by_its_own_posterior():
    """A hidden drive's; another drive's recordings make a belief as sure, but wrong."""
    robot = ROBOTS["diffdrive"]
    twin = load_twin(TASKS[robot.task].twin)
    truths = [hide(robot, twin, seed=seed) for seed in (12, 13)]
    believed = [
        calibrate(
            twin, record_sines(robot, truth, count=3, seconds=robot.recorded)
        ).twin
        for truth in truths
    ]
    wide = Randomization(
        belief=apply_table(PENG_2018, twin).randomization.belief, noise=1.0
    )
    ways = {
        "own": (believed[0], Randomization(belief=from_belief(believed[0]).belief)),
        "other's": (believed[1], Randomization(belief=from_belief(believed[1]).belief)),
        "wide": (twin, wide),
        "published": (twin, ALIKE),
    }
    real = twin.with_values(truths[0].file.parameters)
    found = {}
    for said, (practised, how) in ways.items():
        noisy = Randomization(belief=how.belief, noise=1.0)
        rows = []
        for seed in range(3):
            learner = learn(
                robot.task,
                AtOnce(noisy),
                seed=seed,
                steps=robot.steps,
                twin=practised,
            )
            rows.append(judge(robot.task, learner.act, ALIKE, twin=real).success)
        print(said, rows)
        found[said] = median(rows)
    assert found["own"] >= 0.9
    for said in ("other's", "wide", "published"):
        assert found["own"] >= 1.2 * found[said], said
