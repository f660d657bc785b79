"""Averages over processes: several machines or GPUs learn as one.

Each process holds its own worlds and the same weights. `torchrun … -m realworthy train`
does all of it. By hand: `join_team`, then build each learner with a seed of its own and
`average=team.average`, and call `share_weights` once. Every process must have equally
many worlds.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from realworthy.errors import RealworthyError
from realworthy.learning.normaliser import Average

T = TypeVar("T")


def average_over_processes(tensors: list[Tensor]) -> None:
    """Replaces tensors, in place, by their means over all processes; one message.

    All processes come out with the same bits.
    """
    flat = torch.cat([x.reshape(-1) for x in tensors])
    _check_group()
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for x in tensors:
        x.copy_(flat[at : at + x.numel()].view_as(x))
        at += x.numel()


def share_weights(*modules: nn.Module) -> None:
    """Gives every process the weights and statistics of the first."""
    _check_group()
    for module in modules:
        for x in (*module.parameters(), *module.buffers()):
            dist.broadcast(x.detach(), src=0)


def _check_group() -> None:
    if not (dist.is_available() and dist.is_initialized()):
        raise RealworthyError(
            "Averages over processes were asked for, but this process is alone.",
            hint="Start with torchrun and call torch.distributed.init_process_group.",
        )


@dataclass(frozen=True, slots=True)
class Team:
    """The processes that learn as one; the first decides, keeps and judges."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def average(self) -> Average | None:
        """What a learner averages gradients with; none where it is alone."""
        return average_over_processes if self.count > 1 else None

    def agree(self, *wishes: bool) -> tuple[bool, ...]:
        """What the first process wishes."""
        if self.count == 1:
            return wishes
        said: list[object] = [wishes]
        dist.broadcast_object_list(said, src=0)
        return said[0]  # pyright: ignore[reportReturnType]

    def share(self, work: Callable[[], T]) -> T:
        """Does some work in the first process; everybody gets what it returns."""
        said: list[object] = [work() if self.is_first else None]
        if self.count > 1:
            dist.broadcast_object_list(said, src=0)
        return said[0]  # pyright: ignore[reportReturnType]

    def gather(self, value: int) -> list[int]:
        """That of every process, the first's first."""
        if self.count == 1:
            return [value]
        said: list[object] = [None] * self.count
        dist.all_gather_object(said, value)
        return said  # pyright: ignore[reportReturnType]

    def choose_device(self, asked: str) -> str:
        """A GPU of its own for each process of a machine, where `cuda` was asked."""
        return f"cuda:{os.environ['LOCAL_RANK']}" if self._is_cuda(asked) else asked

    def _is_cuda(self, asked: str) -> bool:
        return self.count > 1 and asked == "cuda"


def join_team(device: str) -> Team:
    """The team that `torchrun` started this process in; alone without it."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Team()
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    return Team(dist.get_rank(), dist.get_world_size())
