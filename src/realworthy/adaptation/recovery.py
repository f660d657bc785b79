"""How long a policy takes to be good again after e has changed within an episode."""

import math

import torch
from torch import Tensor

from realworthy.tasks.environment.evaluate import Act
from realworthy.tasks.environment.worlds import TaskWorlds

_CLOSED = 0.7
"""Share of the gap between randomization and the expert that counts as adapted: what
RMA itself closed of it, 21 of 24 points, less a margin."""
_WINDOW = 1.0
"""[s] after a change in which it is looked for: twice what RMA needs."""
_SMOOTHED = 0.1
"""[s] over which gaps are averaged: several steps, a fraction of what is looked for."""
_MIN_CHANGES = 20
"""So many changes must have been followed by an instant for its gap to count."""


def measure_recovery(
    worlds: TaskWorlds, adapted: Act, expert: Act, baseline: Act
) -> float:
    """[s] from a change of e until the gap is closed again; inf: not within 1 s.

    The gap at k steps after a change is the mean reward that the expert has more, in
    the same worlds with the same changes, k steps after the same ones. It is closed
    again after the last instant at which it is above 30 % of randomization's mean gap.
    """
    mine, since = _trace(worlds, adapted)
    best, plain = (_trace(worlds, act)[0] for act in (expert, baseline))
    return find_recovery(mine, best, plain, since, period=worlds.period)


def find_recovery(
    mine: Tensor, best: Tensor, plain: Tensor, since: Tensor, *, period: float
) -> float:
    """The same of (steps, worlds) rewards, and steps since e changed last."""
    after = [since == k for k in range(round(_WINDOW / period))]
    after = [rows for rows in after if int(rows.sum()) >= _MIN_CHANGES]
    if not after:
        return float("nan")
    gap = torch.stack([(best - mine)[rows].mean() for rows in after])
    whole = torch.stack([(best - plain)[rows].mean() for rows in after])
    width = max(1, round(_SMOOTHED / period))
    smooth = gap.unfold(0, width, 1).mean(1) if len(gap) >= width else gap
    above = (smooth > (1 - _CLOSED) * whole.mean()).nonzero()[:, 0]
    if not len(above):
        return 0.0
    last = int(above[-1])
    return float("inf") if last == len(smooth) - 1 else (last + width) * period


def describe_recovery(seconds: float) -> str:
    """In words."""
    gap = "70 % of the gap between randomization and the expert"
    if math.isnan(seconds):
        return f"e changed too seldom to tell how soon {gap} is closed again."
    if math.isinf(seconds):
        return f"Within 1 s after a change of e, {gap} is not closed for good."
    return f"After a change of e it takes {seconds:.2f} s until {gap} is closed again."


@torch.no_grad()
def _trace(worlds: TaskWorlds, act: Act) -> tuple[Tensor, Tensor]:
    """(steps, worlds) rewards of one episode, and steps since e changed last; −1
    before the first change and after an end."""
    worlds.rewind()
    seen = worlds.reset()
    e = seen["e"]
    since = torch.full((worlds.world_count,), -1)
    playing = torch.ones(worlds.world_count, dtype=torch.bool)
    rewards, times = [], []
    for _ in range(worlds.step_limit):
        step = worlds.step(act(seen))
        seen = step.observations
        now = step.final["e"]
        changed = (now != e).any(1)
        since = torch.where(changed, 0, torch.where(since >= 0, since + 1, since))
        rewards.append(step.reward)
        times.append(torch.where(playing, since, -1))
        playing &= ~step.done
        e = seen["e"]
    return torch.stack(rewards), torch.stack(times)
