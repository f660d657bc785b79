"""Whole episodes of a task, for its tests."""

from dataclasses import dataclass

import torch
from torch import Tensor

from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task


@dataclass(frozen=True)
class Rolled:
    """The first episode of every world."""

    success: Tensor
    """(worlds,) bool"""
    failure: Tensor
    """(worlds,) `Failure` codes"""
    value: Tensor
    """(worlds,) sum of rewards"""

    @property
    def rate(self) -> float:
        return float(self.success.float().mean())


def roll(
    task: Task,
    world_count: int,
    *,
    with_reference: bool,
    randomization: Randomization | None = None,
) -> Rolled:
    """With the reference controller, or with actions uniform in ±1."""
    worlds = TaskWorlds(task, world_count, randomization=randomization, seed=1)
    reference = task.build_reference(worlds.scene) if with_reference else None
    numbers = torch.Generator().manual_seed(7)
    shape = (world_count, worlds.action_width)
    success = torch.zeros(world_count, dtype=torch.bool)
    over, failure, value = success.clone(), success.long(), torch.zeros(world_count)
    for _ in range(worlds.step_limit):
        if reference is None:
            action = 2 * torch.rand(shape, generator=numbers) - 1
        else:
            action = reference(worlds.scene)
        step = worlds.step(action)
        success |= step.success & ~over
        failure = torch.where(over, failure, step.failure)
        value += torch.where(over, 0.0, step.reward)
        over |= step.done
        if bool(over.all()):
            break
    assert bool(over.all())
    return Rolled(success, failure, value)
