"""Recurrent units, and episodes cut out of rollouts for them."""

import enum
from dataclasses import dataclass

import torch
from torch import Tensor, nn


class RecurrentKind(enum.Enum):
    """Which recurrent unit."""

    LSTM = "lstm"
    GRU = "gru"


@dataclass(frozen=True, slots=True)
class Episodes:
    """Where each sample of a (steps, worlds) rollout stands in its episode."""

    time: Tensor
    """(steps, worlds) steps since the episode, or the rollout, began."""
    row: Tensor
    """(steps, worlds) which piece of an episode it is, numbered through all worlds."""
    world: Tensor
    """(pieces,) world of each piece."""
    starts_rollout: Tensor
    """(pieces,) bool: the piece goes on from before the rollout."""

    def pad(self, x: Tensor) -> Tensor:
        """(steps, worlds, width) → (steps, pieces, width), zero after each end."""
        padded = x.new_zeros(len(x), len(self.world), x.shape[-1])
        return padded.index_put((self.time, self.row), x)

    def unpad(self, padded: Tensor) -> Tensor:
        """Undoes `pad`."""
        return padded[self.time, self.row]


def split_episodes(done: Tensor) -> Episodes:
    """Pieces of episodes in a rollout whose steps ended where `done` (steps, worlds).

    Their number depends on the data: on CUDA this waits for the device.
    """
    step_count, world_count = done.shape
    begins = torch.ones_like(done)
    begins[1:] = done[:-1]
    piece = begins.T.flatten().cumsum(0).view(world_count, step_count).T - 1
    steps = torch.arange(step_count, device=done.device)[:, None]
    latest = torch.where(begins, steps, 0).cummax(0).values
    where = begins.T.flatten().nonzero().squeeze(-1)
    return Episodes(
        time=steps - latest,
        row=piece,
        world=where // step_count,
        starts_rollout=where % step_count == 0,
    )


class Unit(nn.Module):
    """One layer of LSTM or GRU; its state is one tensor, (parts, worlds, width)."""

    def __init__(
        self,
        input_width: int,
        width: int,
        *,
        kind: RecurrentKind,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        build = nn.LSTM if kind is RecurrentKind.LSTM else nn.GRU
        self.kind = kind
        self.width = width
        rnn = build(input_width, width, device="meta")
        self.rnn = rnn.to_empty(device=generator.device)
        for weights in self.rnn.parameters():
            nn.init.uniform_(weights, -(width**-0.5), width**-0.5, generator=generator)

    @property
    def part_count(self) -> int:
        """Tensors in a state: an LSTM keeps its cell beside its output."""
        return 2 if self.kind is RecurrentKind.LSTM else 1

    def initial_hidden(self, world_count: int) -> Tensor:
        """Zeros."""
        weights = next(self.rnn.parameters())
        return weights.new_zeros(self.part_count, world_count, self.width)

    def step(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(worlds, input_width) → (worlds, width), and the next state."""
        y, hidden = self._run(x[None], hidden)
        return y[0], hidden

    def unroll(self, x: Tensor, hidden: Tensor, episodes: Episodes) -> Tensor:
        """(steps, worlds, input_width) → (steps, worlds, width), in one padded run.

        Pieces that go on from before the rollout start from `hidden`, others from zero.
        """
        start = hidden[:, episodes.world] * episodes.starts_rollout[:, None]
        return episodes.unpad(self._run(episodes.pad(x), start)[0])

    def _run(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        if self.kind is RecurrentKind.LSTM:
            h, c = hidden[:1].contiguous(), hidden[1:].contiguous()
            y, (h, c) = self.rnn(x, (h, c))
            return y, torch.cat([h, c])
        return self.rnn(x, hidden.contiguous())


def forget(hidden: Tensor, done: Tensor) -> Tensor:
    """The hidden state with zeros in worlds that are `done`."""
    return hidden.masked_fill(done[:, None], 0.0)
