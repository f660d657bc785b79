"""Rollouts, time-major: what happened, what it was worth, and pieces to learn from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from realworthy.learning.gaussian import Gaussian
from realworthy.learning.recurrent import Episodes, split_episodes
from realworthy.tasks.environment.environment import (
    ObservationGroup,
    Observations,
    Step,
)


class Storage:
    """One rollout of all worlds; (steps, worlds, …) each, overwritten by the next.

    Observations are raw: statistics move on, and what was seen does not.
    """

    def __init__(
        self,
        step_count: int,
        world_count: int,
        *,
        policy_groups: Mapping[str, ObservationGroup],
        critic_groups: Mapping[str, ObservationGroup],
        action_width: int,
        device: torch.device,
    ) -> None:
        def make(*width: int, dtype: torch.dtype = torch.float32) -> Tensor:
            shape = (step_count, world_count, *width)
            return torch.zeros(shape, dtype=dtype, device=device)

        self.step_count, self.world_count = step_count, world_count
        groups = {**policy_groups, **critic_groups}
        self.seen = {name: make(*group.shape) for name, group in groups.items()}
        """By group, before each step."""
        self.final = {k: make(*group.shape) for k, group in critic_groups.items()}
        """What the critic sees after each step, before the world starts again."""
        self.action = make(action_width)
        self.mean = make(action_width)
        self.std = torch.ones(action_width, device=device)
        """The same throughout a rollout."""
        self.reward = make()
        self.terminated = make(dtype=torch.bool)
        self.truncated = make(dtype=torch.bool)
        self.invalid = make(dtype=torch.bool)
        self.value = make()
        """Of what was seen before each step."""
        self.next_value = make()
        """Of what followed it in the same episode."""
        self.actor_hidden = torch.zeros(0, world_count, 0, device=device)
        """What the actor remembered before the first step."""
        self.critic_hidden = torch.zeros(0, world_count, 0, device=device)
        """The same of the critic."""

    def put(
        self,
        t: int,
        observations: Observations,
        gaussian: Gaussian | None,
        action: Tensor,
        step: Step,
    ) -> None:
        """Row `t`: what was seen, what was done, what it brought.

        Without a `gaussian` the action came from another distribution.
        A step in which the physics diverged may have brought anything: it is stored as
        one that changed nothing.
        """
        for name, seen in self.seen.items():
            seen[t] = observations[name]
        self.action[t] = action
        if gaussian is not None:
            self.mean[t] = gaussian.mean
        for name, final in self.final.items():
            before, after = observations[name], step.final[name]
            invalid = step.invalid.view(-1, *(1 for _ in before.shape[1:]))
            final[t] = torch.where(invalid, before, after)
        self.reward[t] = step.reward.masked_fill(step.invalid, 0.0)
        self.terminated[t] = step.terminated
        self.truncated[t] = step.truncated
        self.invalid[t] = step.invalid

    @property
    def done(self) -> Tensor:
        """(steps, worlds) bool: an episode ended with this step."""
        return self.terminated | self.truncated | self.invalid


def compute_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    *,
    terminated: Tensor,
    done: Tensor,
    invalid: Tensor,
    discount: float,
    decay: float,
) -> Tensor:
    """Generalised advantages, all (steps, worlds) (Schulman et al. 2016).

    Â_t = Σ_l (γλ)^l δ_{t+l} (eq. 16), δ_t = r_t + γ V(s_{t+1}) − V(s_t), as a sum from
    the end: Â_t = δ_t + γλ Â_{t+1}. V(s_{t+1}) is 0 where the episode terminated, and
    the sum ends where it ended for any reason: time-outs bootstrap (Pardo et al. 2018).

    `next_value` is that of what followed each step in its own episode, also where time
    was up. Steps that are `invalid` have advantage zero: those before them see the
    value of the state in which things went wrong, and nothing of what followed.
    """
    # δ_t = r_t + γ V(s_{t+1}) − V(s_t); terminated: V(s_{t+1}) = 0
    delta = reward + discount * next_value.masked_fill(terminated, 0.0) - value
    delta = delta.masked_fill(invalid, 0.0)
    # γλ within an episode, 0 across its end
    carry = torch.full_like(delta, discount * decay).masked_fill(done, 0.0)
    advantage = torch.empty_like(delta)
    following = torch.zeros_like(delta[0])
    for t in reversed(range(len(delta))):
        # Â_t = δ_t + γλ Â_{t+1}, eq. 16 as a recursion
        following = torch.addcmul(delta[t], carry[t], following)
        advantage[t] = following
    return advantage


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples of one rollout as the losses want them.

    `…` is (samples,), or (steps, worlds) with memory. Inputs have one more axis in
    front for the elements of the task's symmetry group; the first is what happened.
    """

    actor: Tensor
    """(elements, …, actor_width) normalised."""
    critic: Tensor
    """(elements, …, critic_width) normalised."""
    action: Tensor
    """(elements, …, action_width)."""
    mean: Tensor
    """(…, action_width) of the distribution that the action came from."""
    numbers: Tensor
    """(…, 5) log probability, value, return, advantage, weight."""
    actor_hidden: Tensor | None = None
    critic_hidden: Tensor | None = None
    done: Tensor | None = None
    """(steps, worlds); only with memory, as are the hidden states."""
    episodes: Episodes | None = None
    """Where worlds began anew; only in minibatches, and only with memory."""

    def split(self, count: int, generator: torch.Generator) -> list["Samples"]:
        """`count` random minibatches: of samples or, with memory, of whole worlds."""
        size = self.mean.shape[-2]
        device = self.mean.device
        order = torch.randperm(size, generator=generator, device=device)

        def deal(x: Tensor | None, axis: int = -2) -> Iterator[Tensor | None]:
            if x is None:
                return iter([None] * count)
            return iter(x.index_select(axis, order).tensor_split(count, dim=axis))

        dealt = zip(
            deal(self.actor),
            deal(self.critic),
            deal(self.action),
            deal(self.mean),
            deal(self.numbers),
            deal(self.actor_hidden),
            deal(self.critic_hidden),
            deal(self.done, axis=-1),
            strict=True,
        )
        parts = [Samples(*fields) for fields in dealt]  # pyright: ignore[reportArgumentType]
        return [
            part
            if part.done is None
            else replace(part, episodes=split_episodes(part.done))
            for part in parts
        ]
