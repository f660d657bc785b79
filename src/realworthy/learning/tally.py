"""What rollouts brought, counted on the device and read once."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from realworthy.tasks.environment.environment import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutMetrics:
    """What worlds brought since the last reading; diverged steps are only counted."""

    step_count: int
    """Control steps, over all worlds."""
    reward: float
    """Mean of a step."""
    episode_count: int
    """Episodes that ended."""
    episode_return: float
    """Mean undiscounted return of episodes that ended; NaN if none did."""
    episode_steps: float
    """Mean length of episodes that ended; NaN if none did."""
    terminated: float
    """Share of ended episodes that did not run out of time; NaN if none ended."""
    success: float
    """Share of ended episodes that reached their goal; NaN if none ended."""
    invalid_count: int
    """Steps in which the physics diverged; nothing was learned from them."""
    terms: dict[str, float]
    """Reward term → mean of a step, before its weight."""


class Tally:
    """Adds up steps without waiting for the device."""

    def __init__(self, world_count: int, device: torch.device) -> None:
        self.returns = torch.zeros(world_count, device=device)
        """(worlds,) of the episode that runs."""
        self.lengths = torch.zeros(world_count, device=device)
        self._sums = torch.zeros(7, device=device)
        self._term_sums = torch.zeros(0, device=device)
        self._names: tuple[str, ...] = ()
        self._step_count = 0

    def add(self, step: Step) -> None:
        """One step of all worlds."""
        done = step.done
        reward = step.reward.masked_fill(step.invalid, 0.0)
        self.returns = self.returns + reward
        self.lengths = self.lengths + 1
        ended = done & ~step.invalid
        self._sums += torch.stack(
            [
                reward,
                ended,
                ended * self.returns,
                ended * self.lengths,
                ended & step.terminated,
                ended & step.success,
                step.invalid,
            ]
        ).sum(1)
        if step.terms:
            if not self._names:
                self._names = tuple(step.terms)
                self._term_sums = self._sums.new_zeros(len(self._names))
            terms = torch.stack([step.terms[name] for name in self._names])
            self._term_sums += terms.masked_fill(step.invalid, 0.0).sum(1)
        self.returns = self.returns.masked_fill(done, 0.0)
        self.lengths = self.lengths.masked_fill(done, 0.0)
        self._step_count += len(reward)

    def read(self) -> RolloutMetrics:
        """What was added since the last reading; waits for the device."""
        sums, term_sums = self._sums.tolist(), self._term_sums.tolist()
        reward, ended, returns, lengths, terminated, success, invalid = sums
        valid = max(1.0, self._step_count - invalid)
        metrics = RolloutMetrics(
            step_count=self._step_count,
            reward=reward / valid,
            episode_count=int(ended),
            episode_return=returns / ended if ended else math.nan,
            episode_steps=lengths / ended if ended else math.nan,
            terminated=terminated / ended if ended else math.nan,
            success=success / ended if ended else math.nan,
            invalid_count=int(invalid),
            terms={
                name: total / valid
                for name, total in zip(self._names, term_sums, strict=True)
            },
        )
        self._sums.zero_()
        self._term_sums.zero_()
        self._step_count = 0
        return metrics

    def restart(self) -> None:
        """All worlds begin a new episode."""
        self.returns = torch.zeros_like(self.returns)
        self.lengths = torch.zeros_like(self.lengths)

    def state_dict(self) -> dict[str, Tensor]:
        """The episodes that run."""
        return {"returns": self.returns.clone(), "lengths": self.lengths.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Goes on from `state_dict`."""
        self.returns = state["returns"].to(self._sums.device, copy=True)
        self.lengths = state["lengths"].to(self._sums.device, copy=True)
