"""Running mean and variance of what a network sees."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn

Average: TypeAlias = Callable[[list[Tensor]], None]
"""Replaces tensors, in place, by their means over all processes."""

_FLOOR = 1e-2
"""Added to standard deviations, so that what hardly moves is not blown up."""


class Normaliser(nn.Module):
    """(x − mean) / (standard deviation + 0.01), of all that `observe` was shown.

    Numbers beyond its width, which are images, stay as they are. Calling it changes
    nothing; only `observe`, `fix` and `merge` do.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    @property
    def scale(self) -> Tensor:
        """(width,) what differences from the mean are divided by."""
        return self.variance.sqrt() + _FLOOR

    def forward(self, x: Tensor) -> Tensor:
        """(…, width) → the same, about zero and of about unit size."""
        width = len(self.mean)
        if x.shape[-1] == width:
            return (x - self.mean) / self.scale
        seen, images = x[..., :width], x[..., width:]
        return torch.cat([(seen - self.mean) / self.scale, images], dim=-1)

    @torch.no_grad()
    def observe(self, x: Tensor) -> None:
        """Merges the rows of (rows, width) into the statistics."""
        x = x[:, : len(self.mean)]
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        self.count += len(x)
        rate = (len(x) / self.count).to(mean.dtype)
        change = mean - self.mean
        self.mean.lerp_(mean, rate)
        spread = torch.addcmul(variance, change, mean - self.mean)
        self.variance.lerp_(spread, rate)

    @torch.no_grad()
    def fix(self, mean: Tensor, scale: Tensor) -> None:
        """From now on (x − mean) / scale; `scale` is 0.01 at least."""
        self.mean.copy_(mean)
        self.variance.copy_((scale - _FLOOR).square())

    @torch.no_grad()
    def merge(self, average: Average) -> None:
        """Joins the statistics of processes that saw equally many rows each.

        `count` stays what one process saw: it weighs the next rows of each.
        """
        mean = self.mean.clone()
        average([mean])
        spread = self.variance + (self.mean - mean).square()
        average([spread])
        self.mean.copy_(mean)
        self.variance.copy_(spread)
