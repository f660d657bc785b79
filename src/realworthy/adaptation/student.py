"""Networks that infer z from a history, and the policy that acts on it.

ẑ_t = φ(o_{t−H:t}, a_{t−H−1:t−1}),  a_t = π(o_t, ẑ_t)
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from realworthy.adaptation.conditioned import ConditionedNetwork, Teacher
from realworthy.adaptation.history import History
from realworthy.learning.networks import Actor, Network
from realworthy.learning.recurrent import Episodes

_EMBEDDED = 32
"""Numbers that an instant becomes, and channels of the convolutions (Kumar et al. 2021,
§IV)."""
_KERNELS = {50: ((8, 4), (5, 1), (5, 1)), 20: ((6, 2), (4, 2)), 9: ((4, 2), (3, 1))}
"""Instants from which on → kernel and stride of each convolution; the first is RMA's,
the others leave three instants or so of shorter histories as well."""
_OSI_WIDTHS = (256, 128, 64)
_DROPOUT = 0.1


class ConvolutionOverTime(nn.Module):
    """φ of RMA: each instant embedded, convolved over time, then one layer.

    `nn.Conv1d` wants (batch, channels, time). (batch · time, channels) of the embedding
    has to be transposed for it: a reshape has the same shape, mixes instants with
    channels, and learns all the same, only worse.
    """

    def __init__(self, steps: int, frame_width: int, latent_width: int) -> None:
        super().__init__()
        self.embed = nn.Sequential(
            nn.Linear(frame_width, _EMBEDDED),
            nn.ReLU(),
            nn.Linear(_EMBEDDED, _EMBEDDED),
        )
        kernels = next((k for n, k in _KERNELS.items() if steps >= n), ())
        layers: list[nn.Module] = []
        length = steps
        for kernel, stride in kernels:
            layers += [nn.Conv1d(_EMBEDDED, _EMBEDDED, kernel, stride), nn.ReLU()]
            length = (length - kernel) // stride + 1
        self.convolve = nn.Sequential(*layers)
        self.read = nn.Linear(_EMBEDDED * length, latent_width)

    def forward(self, frames: Tensor) -> Tensor:
        """(worlds, latent) of (worlds, steps, frame width), the oldest first."""
        channels = self.embed(frames).transpose(1, 2)  # (worlds, channels, steps)
        return self.read(self.convolve(channels).flatten(1))


class LayersOverTime(nn.Module):
    """φ of UP-OSI: all instants side by side (Yu et al. 2017, §IV; their layers)."""

    def __init__(self, steps: int, frame_width: int, latent_width: int) -> None:
        super().__init__()
        widths = (steps * frame_width, *_OSI_WIDTHS)
        layers: list[nn.Module] = []
        for a, b in pairwise(widths):
            layers += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(_DROPOUT)]
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-1], latent_width))

    def forward(self, frames: Tensor) -> Tensor:
        return self.layers(frames.flatten(1))


class StudentNetwork(Network):
    """π(o, φ(history)); with `every` above 1 φ is asked that seldom, and π holds ẑ.

    What it remembers of a world is ẑ and the steps until φ is asked again. Of a world
    that has begun both are zero, which asks at once.
    """

    def __init__(
        self,
        teacher: ConditionedNetwork,
        infer: nn.Module,
        history: History,
        *,
        latent_width: int,
        limit: Tensor | None = None,
        every: int = 1,
    ) -> None:
        """`limit` (2, latent): ẑ is cut to what training knew."""
        super().__init__()
        self.teacher, self.infer = teacher, infer
        self.register_buffer("present", history.present)
        self.register_buffer("frames", history.frames)
        ends = torch.tensor([[-1e9], [1e9]]).expand(2, latent_width)
        self.register_buffer("limit", (ends if limit is None else limit).clone())
        self.every, self.latent_width = every, latent_width

    present: Tensor
    frames: Tensor
    limit: Tensor

    def read_frames(self, x: Tensor) -> Tensor:
        """(worlds, steps, frame width) of whole observations (worlds, width)."""
        flat = x.index_select(-1, self.frames.flatten())
        return flat.unflatten(-1, self.frames.shape)

    def infer_latent(self, x: Tensor) -> Tensor:
        """(worlds, latent) ẑ, within its limits."""
        z = self.infer(self.read_frames(x))
        return torch.minimum(torch.maximum(z, self.limit[0]), self.limit[1])

    def decide(self, x: Tensor, z: Tensor) -> Tensor:
        """(worlds, actions) in the present, for some z."""
        return self.teacher.decide(x.index_select(-1, self.present), z)

    def initial_hidden(self, world_count: int) -> Tensor:
        parts = 0 if self.every == 1 else 1
        width = 0 if self.every == 1 else self.latent_width + 1
        return torch.zeros(parts, world_count, width)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        z = self.infer_latent(x)
        if self.every == 1:
            return self.decide(x, z), hidden
        held, left = hidden[0].split([self.latent_width, 1], dim=-1)
        asks = (1 - left).clamp(0, 1)  # left counts whole steps: 1 where it is zero
        z = asks * z + (1 - asks) * held
        left = asks * (self.every - 1) + (1 - asks) * (left - 1)
        return self.decide(x, z), torch.cat([z, left], dim=-1)[None]

    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        return self.decide(x, self.infer_latent(x))


def build_student(
    teacher: Teacher,
    infer: nn.Module,
    *,
    latent_width: int,
    limit: Tensor | None = None,
    every: int = 1,
) -> Actor:
    """A student around φ, with the teacher's statistics of observations."""
    history = teacher.history
    network = StudentNetwork(
        teacher.network,
        infer,
        history,
        latent_width=latent_width,
        limit=limit,
        every=every,
    )
    actor = Actor(network, history.width, len(teacher.actor.log_std), 1.0)
    actor.normaliser = history.spread(teacher.actor.normaliser)
    return actor
