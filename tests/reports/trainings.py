"""Trainings as a run would return them, without a run."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from realworthy.learning.runs import RunFolder
from realworthy.learning.training import Look, Training
from realworthy.tasks.environment.evaluate import Evaluation
from realworthy.tasks.environment.variety import Range, Variety
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.randomization import Pushes

NO_VARIETY = Variety(ranges=(), moving=(), noise={}, pushes=None, latency=(0.0, 0.0))
VARIETY = Variety(
    ranges=(
        Range(
            name="torso.mass",
            unit="kg",
            nominal=6.921,
            lower=6.013,
            middle=7.102,
            upper=9.317,
        ),
        Range(
            name="all.delay",
            unit="s",
            nominal=0.0,
            lower=0.0011,
            middle=0.0098,
            upper=0.0187,
        ),
        Range(
            name="hip.zero",
            unit="rad",
            nominal=0.01,
            lower=-0.0213,
            middle=0.0107,
            upper=0.0411,
        ),
        Range(
            name="knee.damping",
            unit="N·m·s/rad",
            nominal=0.58348,
            lower=0.58291,
            middle=0.58352,
            upper=0.58407,
        ),
        Range(
            name="floor.friction",
            unit="",
            nominal=0.8,
            lower=0.4312,
            middle=0.7913,
            upper=1.213,
        ),
    ),
    moving=("torso.mass", "floor.friction"),
    noise={".position": 0.0123, ".velocity": 0.317},
    pushes=Pushes(speed=0.53, every=(2.5, 4.25), start=1.5),
    latency=(0.0, 0.02),
)


def make_evaluation(
    successes: int = 251,
    count: int = 256,
    *,
    failures: dict[Failure, int] | None = None,
    invalid_count: int = 0,
    seed: int = 0,
) -> Evaluation:
    """So many of `count` episodes succeed; others fell, if nothing is said."""
    done = np.arange(count) < successes
    chance = np.random.default_rng(seed)
    if failures is None:
        failures = {Failure.FALL: count - successes} if successes < count else {}
    return Evaluation(
        returns=np.where(done, 17.3, 4.1) + chance.normal(size=count),
        successes=done,
        seconds=np.where(done, 20.0, 3.0),
        failures=failures,
        invalid_count=invalid_count,
    )


def make_looks(count: int) -> tuple[Look, ...]:
    """A policy that gets better by and by."""
    return tuple(
        Look(
            step_count=24_576 * (k + 1),
            seconds=2.75 * (k + 1),
            reward=0.9 - 0.7 * math.exp(-k / 7),
            success=round(256 * (1 - math.exp(-k / 5))) / 256,
            mean_return=18.0 - 13.0 * math.exp(-k / 6),
        )
        for k in range(count)
    )


def make_training(folder: Path | str = "runs/walk", **changes: object) -> Training:
    """A quadruped's, with everything that can differ."""
    made = Training(
        folder=RunFolder(folder),
        task="quadruped",
        twin="quadruped",
        variety=VARIETY,
        grown="",
        looks=make_looks(30),
        step_count=737_280,
        seconds=613.7,
        steps_per_second=1317.25,
        evaluation=make_evaluation(
            251,
            failures={Failure.FALL: 3, Failure.NO_PROGRESS: 2},
            invalid_count=3,
        ),
        at_nominal=make_evaluation(254, failures={Failure.FALL: 2}, seed=1),
        invalid_count=0,
        update_count=180,
        stopped_by="target",
    )
    return replace(made, **changes)
