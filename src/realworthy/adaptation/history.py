"""The last instants of what a policy observes, as one observation of its contract.

A student needs no machinery of its own on a robot: its contract's terms have a history
(`Term.history`), which the observer of every policy stacks, in training as on a robot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import torch
from torch import Tensor

from realworthy.learning.normaliser import Normaliser
from realworthy.policies.observer import count_width
from realworthy.policies.terms import Linear, Term
from realworthy.tasks.task import Task

_ACTIONS = "past_actions"
"""Name of the term that is added where a task does not observe its own actions."""


@dataclass(frozen=True, slots=True)
class History:
    """Where each instant of each term stands in an observation with history."""

    terms: tuple[Term, ...]
    """The task's, with as many instants as the history has; actions are among them."""
    present: Tensor
    """(width,) places of what the task's own terms give."""
    frames: Tensor
    """(steps, frame width) places of every instant, the oldest first."""

    @classmethod
    def of(cls, task: Task, steps: int) -> "History":
        """Of a task's own terms; a term that looks further back keeps doing so."""
        own: Sequence[Term] = task.terms
        seen = {signal for term in own for signal in term.signals}
        more: tuple[Term, ...] = ()
        if missing := tuple(x for x in task.action.names if x not in seen):
            more = (Linear(name=_ACTIONS, signals=missing),)
        wide = [
            msgspec.structs.replace(term, history=max(term.history, steps))
            for term in (*own, *more)
        ]
        present: list[int] = []
        frames: list[list[int]] = [[] for _ in range(steps)]
        start = 0
        for i, term in enumerate(wide):
            # term after term, and within one the oldest instant first
            places = [
                list(range(start + k * term.width, start + (k + 1) * term.width))
                for k in range(term.history)
            ]
            if i < len(own):
                present += [x for now in places[-own[i].history :] for x in now]
            for frame, now in zip(frames, places[-steps:], strict=True):
                frame += now
            start += term.width * term.history
        return cls(tuple(wide), torch.tensor(present), torch.tensor(frames))

    @property
    def width(self) -> int:
        """Numbers in an observation."""
        return count_width(self.terms)

    @property
    def steps(self) -> int:
        return len(self.frames)

    @property
    def frame_width(self) -> int:
        """Numbers of one instant."""
        return self.frames.shape[1]

    def spread(self, normaliser: Normaliser) -> Normaliser:
        """Of the whole observation: every instant as the statistics of the present.

        `normaliser` knows what the task's own terms give; what follows is not read.
        """
        mean, scale = torch.zeros(self.width), torch.ones(self.width)
        width = len(self.present)
        mean[self.present] = normaliser.mean[:width]
        scale[self.present] = normaliser.scale[:width]
        newest = self.frames[-1]
        mean[self.frames], scale[self.frames] = mean[newest], scale[newest]
        found = Normaliser(self.width)
        found.fix(mean, scale)
        return found
