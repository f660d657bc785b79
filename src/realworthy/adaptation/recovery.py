"""How long a policy takes to be good again after e has changed within an episode."""

import torch
from torch import Tensor

from realworthy.tasks.environment.evaluate import Act
from realworthy.tasks.environment.worlds import TaskWorlds

_CLOSED = 0.7
"""Share of the gap between randomization and the expert that counts as adapted: what
RMA itself closed of it, 21 of 24 points, less a margin."""
_WINDOW = 3.0
"""[s] after a change in which it is looked for."""


def measure_recovery(
    worlds: TaskWorlds, adapted: Act, expert: Act, baseline: Act
) -> float:
    """[s] from a change of e until the gap is closed again; inf: not within 3 s.

    The gap at k steps after a change is the mean reward that the expert has more, in
    the same worlds with the same changes, k steps after the same ones. It is closed
    again where it falls to 30 % of randomization's mean gap, and stays below on average
    until the end of the window.
    """
    steps = round(_WINDOW / worlds.period)
    rewards, since = [], torch.empty(0)
    for act in (adapted, expert, baseline):
        reward, since = _trace(worlds, act)
        rewards.append(reward)
    mine, best, plain = rewards
    after = [since == k for k in range(steps)]
    gap = torch.stack([(best - mine)[rows].mean() for rows in after if rows.any()])
    whole = torch.stack([(best - plain)[rows].mean() for rows in after if rows.any()])
    allowed = (1 - _CLOSED) * float(whole.mean())
    for k in range(len(gap)):
        if gap[k] <= allowed and gap[k:].mean() <= allowed:
            return k * worlds.period
    return float("inf")


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
