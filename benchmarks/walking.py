"""How well a legged robot walks, and how soon, for the benchmarks of training."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.legged.quadruped import QuadrupedVelocity, quadruped_randomization

WORLDS = 1024
ERROR, FALLS = 0.25, 0.05
"""[m/s] RMS and share of episodes up to which it walks on commands."""


def build_worlds(
    count: int, seed: int, *, pushes: bool = True, coarse: bool = False
) -> TaskWorlds:
    return TaskWorlds(
        QuadrupedVelocity(),
        count,
        randomization=quadruped_randomization(pushes=pushes),
        seed=seed,
        coarse=coarse,
    )


@torch.no_grad()
def walk(worlds: TaskWorlds, act: Callable[[Observations], Tensor]) -> dict[str, float]:
    """How one whole episode of every world went: errors RMS, share of falls.

    How much actions change from step to step, RMS, while it is told to move and while
    it is told to stand.
    """
    task = worlds.task
    assert isinstance(task, QuadrupedVelocity | BipedVelocity)
    worlds.rewind()
    observations = worlds.reset()
    task.tally.restart()
    fell = torch.zeros(worlds.world_count, dtype=torch.bool, device=worlds.device)
    changed = torch.zeros(2, device=worlds.device, dtype=torch.float64)
    counted = torch.zeros_like(changed)
    last = None
    for _ in range(worlds.step_limit):
        action = act(observations)
        step = worlds.step(action)
        fell |= step.terminated
        observations = step.observations
        if last is not None:
            moving = task.commands.is_moving
            asked = torch.stack([moving, ~moving]) & ~step.done
            changed += asked.double() @ (action - last).double().square().mean(dim=1)
            counted += asked.sum(dim=1)
        last = action.clone()
    found = task.tally.measure()
    moving, standing = (changed / counted.clamp(min=1)).sqrt().tolist()
    return {
        "velocity_error": float(found.velocity_error),
        "yaw_error": float(found.yaw_error),
        "falls": float(fell.float().mean()),
        "slip": float(found.slip),
        "foot_travel": float(found.foot_travel),
        "change_moving": moving,
        "change_standing": standing,
    }


@dataclass
class Walk:
    """Evaluates a policy while it is learnt, at intervals of its own time.

    In 256 held-out episodes of 20 s with the twin's own step, randomized and noisy,
    without pushes; the time that looking takes does not count.
    """

    every: float
    """[s]"""
    seed: int
    reached: float | None = None
    """[s] of learning after which it walked first."""
    curve: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calm = build_worlds(256, self.seed + 1_000_003, pushes=False)
        self._looked = 0.0

    def look(
        self, seconds: float, steps: int, act: Callable[[Observations], Tensor]
    ) -> None:
        """If it is time."""
        if seconds - self._looked < self.every:
            return
        self._looked = seconds
        row = {"seconds": seconds, "steps": steps, **walk(self.calm, act)}
        self.curve.append(row)
        walks = row["velocity_error"] <= ERROR and row["falls"] <= FALLS
        if walks and self.reached is None:
            self.reached = seconds
        told = {name: round(value, 3) for name, value in row.items()}
        print(told, flush=True)
