"""How well a quadruped walks, for the benchmarks of training."""

import torch

from realworthy.learning.ppo import Ppo
from realworthy.tasks.quadruped import QuadrupedVelocity
from realworthy.tasks.worlds import TaskWorlds


@torch.no_grad()
def walk(worlds: TaskWorlds, learner: Ppo) -> dict[str, float]:
    """How one whole episode of every world went: errors RMS, share of falls."""
    task = worlds.task
    assert isinstance(task, QuadrupedVelocity)
    worlds.chance.rewind()
    observations = worlds.reset()
    task.tally.restart()
    fell = torch.zeros(worlds.world_count, dtype=torch.bool, device=worlds.device)
    for _ in range(worlds.step_limit):
        step = worlds.step(learner.act(observations))
        fell |= step.terminated
        observations = step.observations
    found = task.tally.measure()
    return {
        "velocity_error": float(found.velocity_error),
        "yaw_error": float(found.yaw_error),
        "falls": float(fell.float().mean()),
        "slip": float(found.slip),
        "foot_travel": float(found.foot_travel),
    }
