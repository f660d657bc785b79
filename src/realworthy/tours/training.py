"""Three ways to train for a robot that nobody knows exactly."""

import enum
from dataclasses import replace
from pathlib import Path

from realworthy.learning.presets import find_preset
from realworthy.learning.train import train
from realworthy.learning.training import TrainSettings
from realworthy.parameters.published_tables import PENG_2018
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.randomization.tables import apply_table, from_belief
from realworthy.tasks.task import Task
from realworthy.twins import Twin, load_twin


class Way(enum.StrEnum):
    """What the simulator was believed to be while the policy learned."""

    NOMINAL = "nominal"
    """The twin as it is."""
    WIDE = "wide"
    """Wide domain randomization around the twin (Peng 2018)."""
    CALIBRATED = "calibrated"
    """The twin fitted to recordings, and what they left open."""


def choose_twin(nominal: str, way: Way, calibrated: Path) -> Twin:
    """The twin that a way trains on."""
    return load_twin(str(calibrated) if way is Way.CALIBRATED else nominal)


def choose_worlds(twin: Twin, way: Way) -> Randomization:
    """How worlds differ; all are measured as well as the task says."""
    noise = Randomization(noise=1.0)
    if way is Way.NOMINAL:
        return noise
    if way is Way.WIDE:
        return replace(noise, belief=apply_table(PENG_2018, twin).randomization.belief)
    return replace(noise, belief=from_belief(twin).belief)


def train_way(
    task: str,
    way: Way,
    *,
    nominal: str,
    calibrated: Path,
    output: Path,
    steps: int,
    episodes: int,
    seed: int,
) -> tuple[Path, float]:
    """The policy's file, and its share of successes in worlds like those it had."""
    twin, definition = choose_twin(nominal, way, calibrated), find_task(task)
    preset = find_preset(definition)

    def build() -> Task:
        return definition.build(twin)

    done = train(
        TrainSettings(
            task=task,
            learner=preset.learner(),
            world_count=preset.world_count,
            coarse=preset.coarse,
            steps=steps,
            target=0.99,
            evaluation_episodes=episodes,
            thread_count=1,
            seed=seed,
        ),
        output=output,
        task=build,
        randomization=choose_worlds(twin, way),
    )
    return done.folder.policy, done.evaluation.success
