"""Flow policies: a learned field of velocities that carries noise to actions.

At flow time τ = 0 there is noise ε, at τ = 1 the action a, and between them
x_τ = τ a + (1 − τ) ε. The field v(x_τ, τ, o) learns a − ε (Lipman et al. 2023), so that
following it from drawn noise draws actions from a distribution of any shape, and
following it from ε = 0 is an action without chance.
"""

import math

import torch
from torch import Tensor, nn

from realworthy.learning.networks import Mlp, Network
from realworthy.learning.recurrent import Episodes

_FREQUENCIES = 4
"""Octaves in which flow time is seen; 8 numbers, as flow policy optimization has it."""
TIME_WIDTH = 2 * _FREQUENCIES


def embed_time(time: Tensor) -> Tensor:
    """(…, 1) flow times → (…, 8) sines and cosines of π τ, 2π τ, 4π τ, 8π τ."""
    octaves = 2.0 ** torch.arange(_FREQUENCIES, device=time.device, dtype=time.dtype)
    angle = math.pi * octaves * time
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class Flow(Network):
    """Observations → actions, by `step_count` Euler steps along a field; no memory."""

    def __init__(self, field: Mlp, action_width: int, step_count: int) -> None:
        """`field` maps observation, x_τ and embedded τ, side by side, to velocities."""
        super().__init__()
        self.field = field
        self.action_width, self.step_count = action_width, step_count

    def find_velocity(self, seen: Tensor, x: Tensor, time: Tensor) -> Tensor:
        """v(x_τ, τ, o) of (…, width), (…, action_width) and (…, 1)."""
        return self.field.unroll(torch.cat([seen, x, embed_time(time)], dim=-1))

    def carry(self, seen: Tensor, noise: Tensor) -> Tensor:
        """(…, action_width) where noise of that shape ends:
        x ← x + v(x, k/K, o)/K, for k = 0 … K − 1."""
        x = noise
        for k in range(self.step_count):
            time = torch.full_like(x[..., :1], k / self.step_count)
            x = x + self.find_velocity(seen, x, time) / self.step_count
        return x

    def initial_hidden(self, world_count: int) -> Tensor:
        return self.field.initial_hidden(world_count)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """From ε = 0."""
        return self.unroll(x), hidden

    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        return self.carry(x, x.new_zeros(*x.shape[:-1], self.action_width))


def compute_flow_loss(velocity: Tensor, action: Tensor, noise: Tensor) -> Tensor:
    """‖v − (a − ε)‖² / √width of each (…, width): conditional flow matching.

    Sums over joints grow with their number, means hide what one of them does; the root
    lies between.
    """
    errors = (velocity - (action - noise)).square().sum(-1)
    return errors / math.sqrt(action.shape[-1])


def measure_spread(samples: Tensor, neighbour: int) -> Tensor:
    """(…) entropy [nat] of (…, count, width) samples, but for a constant.

    width · E log d, d to the k-th nearest neighbour (Kozachenko & Leonenko 1987).
    """
    apart = samples[..., :, None, :] - samples[..., None, :, :]
    squared = apart.square().sum(-1) + 1e-12  # finite slope at the sample itself
    nearest = squared.kthvalue(neighbour + 1, dim=-1).values  # the first is itself
    return 0.5 * samples.shape[-1] * nearest.log().mean(-1)


@torch.no_grad()
def follow(slow: nn.Module, quick: nn.Module, memory: float) -> None:
    """θ̄ ← memory · θ̄ + (1 − memory) · θ."""
    pairs = zip(slow.parameters(), quick.parameters(), strict=True)
    for mean, weights in pairs:
        mean.lerp_(weights, 1 - memory)
