"""What off-policy learners remember: the last steps of every world, in a ring.

Samples are windows of up to n steps. A window never crosses the end of an episode nor
the newest step, and what follows it is the true last observation of its episode, not
the first one of the next.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from realworthy.learning.learner import BadSettings, State
from realworthy.tasks.environment.environment import (
    ObservationGroup,
    Observations,
    Step,
)

_MAX_SHARE = 0.8
"""Of the free memory that a replay may take: the physics, networks and a checkpoint's
copy want the rest. Our choice, 2026-11-19; not measured."""
_BYTES = {torch.float32: 4, torch.bool: 1}


@dataclass(frozen=True, slots=True)
class Transitions:
    """Windows of steps; (samples, …) each. Observations are raw."""

    seen: Observations
    """By group, before the window."""
    action: Tensor
    """(samples, action_width) of the first step."""
    reward: Tensor
    """(samples,) Σ γᵏ rₖ over the steps of the window."""
    discount: Tensor
    """(samples,) γᵐ after m steps; 0 where the episode terminated with the last."""
    following: Observations
    """By group, after the last step, in the same episode."""
    weight: Tensor
    """(samples,) 1; 0 where the physics diverged in the first step."""


class ReplayBuffer:
    """(slots, worlds, …) tensors, overwritten in turn."""

    def __init__(
        self,
        slot_count: int,
        world_count: int,
        *,
        groups: Mapping[str, ObservationGroup],
        action_width: int,
        device: torch.device,
    ) -> None:
        self.slot_count, self.world_count = slot_count, world_count
        self.device = device

        def make(*width: int, dtype: torch.dtype = torch.float32) -> Tensor:
            shape = (slot_count, world_count, *width)
            return torch.zeros(shape, dtype=dtype, device=device)

        self.seen = {name: make(*group.shape) for name, group in groups.items()}
        """By group, before each step."""
        self.following = {name: make(*group.shape) for name, group in groups.items()}
        """By group, after each step, before the world began anew."""
        self.action = make(action_width)
        self.reward = make()
        self.terminated = make(dtype=torch.bool)
        self.ended = make(dtype=torch.bool)
        """Nothing after this step belongs to the same episode, as far as is known."""
        self.invalid = make(dtype=torch.bool)
        self.used = 0
        """Steps of each world that are held."""
        self._head = 0
        """Slot that is written next."""

    def put(self, observations: Observations, action: Tensor, step: Step) -> None:
        """One step of all worlds.

        Where the physics diverged it is stored as one that changed nothing.
        """
        at = self._head
        for name, seen in self.seen.items():
            before, after = observations[name], step.final[name]
            invalid = step.invalid.view(-1, *(1 for _ in before.shape[1:]))
            seen[at] = before
            self.following[name][at] = torch.where(invalid, before, after)
        self.action[at] = action
        self.reward[at] = step.reward.masked_fill(step.invalid, 0.0)
        self.terminated[at] = step.terminated & ~step.invalid
        self.ended[at] = step.done | step.invalid
        self.invalid[at] = step.invalid
        self._head = (at + 1) % self.slot_count
        self.used = min(self.used + 1, self.slot_count)

    def cut(self) -> None:
        """What is put next begins new episodes; those under way were interrupted."""
        if self.used:
            self.ended[self._head - 1] = True

    def draw(
        self,
        count: int,
        *,
        step_count: int,
        discount: float,
        generator: torch.Generator,
    ) -> Transitions:
        """`count` windows of up to `step_count` steps, from anywhere in the ring."""
        pick = torch.randint(
            self.used * self.world_count,
            (count,),
            generator=generator,
            device=self.device,
        )
        age, world = pick // self.world_count, pick % self.world_count
        return self.take(age, world, step_count=step_count, discount=discount)

    def take(
        self, age: Tensor, world: Tensor, *, step_count: int, discount: float
    ) -> Transitions:
        """Windows that begin `age` steps after the oldest one that is held."""
        oldest = self._head - self.used
        first = last = (oldest + age) % self.slot_count
        valid = ~self.invalid[first, world]
        goes_on = valid
        reward = torch.zeros_like(self.reward[first, world])
        worth = torch.ones_like(reward)
        for k in range(step_count):
            at = (first + k) % self.slot_count
            if k:
                # Not after an end, nor from a step into one that diverged, nor beyond
                # the newest, behind which the ring's oldest lies.
                is_held = age + k < self.used
                goes_on = goes_on & ~self.ended[last, world] & is_held
                goes_on = goes_on & ~self.invalid[at, world]
            reward = reward + goes_on * worth * self.reward[at, world]  # Σ γᵏ rₖ
            worth = torch.where(goes_on, discount * worth, worth)  # γᵐ
            last = torch.where(goes_on, at, last)
        return Transitions(
            seen={name: x[first, world] for name, x in self.seen.items()},
            action=self.action[first, world],
            reward=reward,
            discount=worth.masked_fill(self.terminated[last, world], 0.0),
            following={name: x[last, world] for name, x in self.following.items()},
            weight=valid.to(reward.dtype),
        )

    def state_dict(self) -> State:
        """What is held, in its slots."""
        tensors = {name: x[: self.used].clone() for name, x in self._list().items()}
        return {"tensors": tensors, "used": self.used, "head": self._head}

    def load_state_dict(self, state: State) -> None:
        """Goes on from `state_dict`, of as many worlds and slots."""
        used, tensors = state["used"], state["tensors"]
        assert isinstance(used, int)
        assert isinstance(tensors, dict)
        for name, x in self._list().items():
            x[:used] = tensors[name]
        head = state["head"]
        assert isinstance(head, int)
        self.used, self._head = used, head

    def _list(self) -> dict[str, Tensor]:
        own = {
            "action": self.action,
            "reward": self.reward,
            "terminated": self.terminated,
            "ended": self.ended,
            "invalid": self.invalid,
        }
        seen = {f"seen/{name}": x for name, x in self.seen.items()}
        after = {f"following/{name}": x for name, x in self.following.items()}
        return {**own, **seen, **after}


def count_bytes(
    slot_count: int,
    world_count: int,
    *,
    groups: Mapping[str, ObservationGroup],
    action_width: int,
) -> int:
    """That a `ReplayBuffer` takes: all groups twice, actions, rewards, three marks."""
    numbers = 2 * sum(group.size for group in groups.values()) + action_width + 1
    step = numbers * _BYTES[torch.float32] + 3 * _BYTES[torch.bool]
    return slot_count * world_count * step


def describe_memory(byte_count: int, device: torch.device) -> str:
    """How much that is of what is free, in words; raises where it is too much."""
    free = find_free_bytes(device)
    size = _say_bytes(byte_count)
    if free is None:
        return size
    if byte_count > _MAX_SHARE * free:
        raise BadSettings(
            f"The replay would take {size} on '{device}', of which "
            f"{_say_bytes(free)} are free; {_MAX_SHARE:.0%} of that is allowed.",
            hint="Choose fewer --worlds, or a smaller --replay-steps.",
        )
    return f"{size} of {_say_bytes(free)} free"


def find_free_bytes(device: torch.device) -> int | None:
    """Memory that may still be taken; None: nobody knows."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    found = [x for x in (_read_available(), _read_group_limit()) if x is not None]
    return min(found) if found else None


def _read_available() -> int | None:
    """Of the whole machine: as Linux tells, else all that is built in."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        values = dict(line.split(":", 1) for line in lines)
        return 1024 * int(values["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _read_group_limit() -> int | None:
    """Left of what a container may take (control groups of Linux, version 2)."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        return max(0, limit - used)
    except (OSError, ValueError):  # none, or "max"
        return None


def _say_bytes(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"
