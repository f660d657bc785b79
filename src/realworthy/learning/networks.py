"""Networks of actor and critic, with or without memory."""

import enum
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn

from realworthy.learning.gaussian import Gaussian
from realworthy.learning.images import ImageEncoder, ImageEncoders, ImageShape
from realworthy.learning.normaliser import Normaliser
from realworthy.learning.recurrent import Episodes, RecurrentKind, Unit

_SMALLEST_STD = 1e-6


class Activation(enum.Enum):
    """What stands between the layers of a network."""

    ELU = "elu"
    TANH = "tanh"
    RELU = "relu"
    SILU = "silu"

    def build(self) -> nn.Module:
        """A module that may work in place: none follows another activation."""
        match self:
            case Activation.ELU:
                return nn.ELU(inplace=True)
            case Activation.TANH:
                return nn.Tanh()
            case Activation.RELU:
                return nn.ReLU(inplace=True)
            case Activation.SILU:
                return nn.SiLU()


class Network(nn.Module, ABC):
    """From (…, input_width) to (…, output_width), remembering what it likes.

    Without memory hidden states have size zero, so that nobody needs to ask.
    """

    @abstractmethod
    def initial_hidden(self, world_count: int) -> Tensor:
        """(parts, worlds, width) state of a world that remembers nothing."""

    @abstractmethod
    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """One step of (worlds, input_width): outputs and the next hidden state."""

    @abstractmethod
    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        """Outputs of many samples at once, with gradients.

        With memory `x` is (steps, worlds, input_width), `hidden` what was held before
        the first step, and `episodes` says where worlds began anew. Without, `x` may
        have any shape and the others are not read.
        """


class Mlp(Network):
    """Linear layers with activations between them; no memory."""

    def __init__(
        self,
        input_width: int,
        hidden_widths: tuple[int, ...],
        output_width: int,
        *,
        activation: Activation,
        output_gain: float,
        generator: torch.Generator,
        layer_norm: bool = False,
        limit: float | None = None,
    ) -> None:
        """With a `limit` outputs stay within ± that."""
        super().__init__()
        layers: list[nn.Module] = []
        widths = (input_width, *hidden_widths)
        for a, b in pairwise(widths):
            layers.append(_build_linear(a, b, math.sqrt(2), generator))
            if layer_norm:
                layers.append(nn.LayerNorm(b, device=generator.device))
            layers.append(activation.build())
        layers.append(_build_linear(widths[-1], output_width, output_gain, generator))
        if limit is not None:
            layers.append(Bounded(limit))
        self.layers = nn.Sequential(*layers)

    def initial_hidden(self, world_count: int) -> Tensor:
        return torch.zeros(0, world_count, 0, device=next(self.parameters()).device)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return self.layers(x), hidden

    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        # Rows alone: activations in place on views of more axes would copy.
        return self.layers(x.flatten(0, -2)).unflatten(0, x.shape[:-1])

    def keep_outputs(self, count: int, *, limit: float) -> "Mlp":
        """The first `count` outputs, within ± limit, of these same weights."""
        *hidden, last = self.layers
        assert isinstance(last, nn.Linear)
        narrow = nn.Linear(last.in_features, count, device="meta")
        narrow.weight = nn.Parameter(last.weight.detach()[:count])
        narrow.bias = nn.Parameter(last.bias.detach()[:count])
        return Mlp._of(*hidden, narrow, Bounded(limit))

    @torch.no_grad()
    def fix_inputs(self, values: Tensor) -> "Mlp":
        """Without the last inputs, which are (width,) `values` for ever: a constant of
        the first layer. A copy."""
        first, *rest = deepcopy(self.layers)
        assert isinstance(first, nn.Linear)
        width = first.in_features - len(values)
        fixed = nn.Linear(width, first.out_features, device="meta")
        fixed.weight = nn.Parameter(first.weight[:, :width].clone())
        # W x + (V φ + b), where the layer was W x + V φ + b
        fixed.bias = nn.Parameter(first.bias + first.weight[:, width:] @ values)
        return Mlp._of(fixed, *rest)

    @staticmethod
    def _of(*layers: nn.Module) -> "Mlp":
        made = Mlp.__new__(Mlp)
        nn.Module.__init__(made)
        made.layers = nn.Sequential(*layers)
        return made


class Bounded(nn.Module):
    """limit · tanh(x): what ends a network whose outputs stay within ± limit."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        return self.limit * x.tanh()


class RecurrentNetwork(Network):
    """A recurrent unit, then an `Mlp`."""

    def __init__(self, unit: Unit, head: Mlp) -> None:
        super().__init__()
        self.unit = unit
        self.head = head

    def initial_hidden(self, world_count: int) -> Tensor:
        return self.unit.initial_hidden(world_count)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        remembered, hidden = self.unit.step(x, hidden)
        return self.head.layers(remembered), hidden

    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        assert hidden is not None
        assert episodes is not None
        return self.head.unroll(self.unit.unroll(x, hidden, episodes))


class SeeingNetwork(Network):
    """A vector and images, encoded, before another network."""

    def __init__(self, encoders: ImageEncoders, body: Network) -> None:
        super().__init__()
        self.encoders = encoders
        self.body = body

    def initial_hidden(self, world_count: int) -> Tensor:
        return self.body.initial_hidden(world_count)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return self.body(self.encoders(x), hidden)

    def unroll(
        self, x: Tensor, hidden: Tensor | None = None, episodes: Episodes | None = None
    ) -> Tensor:
        return self.body.unroll(self.encoders(x), hidden, episodes)


class Actor(nn.Module):
    """What acts: observations → a Gaussian of actions. The mean is what is deployed."""

    def __init__(
        self, network: Network, input_width: int, action_width: int, std: float
    ) -> None:
        super().__init__()
        self.normaliser = Normaliser(input_width)
        self.network = network
        self.log_std = nn.Parameter(torch.full((action_width,), math.log(std)))

    @property
    def std(self) -> Tensor:
        """(action_width,) the same in every state."""
        return self.log_std.exp().clamp(min=_SMALLEST_STD)

    def distribution(
        self, observation: Tensor, hidden: Tensor
    ) -> tuple[Gaussian, Tensor]:
        """One step of raw (worlds, width) observations; the next hidden state."""
        mean, hidden = self.network(self.normaliser(observation), hidden)
        return Gaussian(mean, self.std), hidden

    def forward(self, observation: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Deterministic actions, (worlds, action_width), and the next hidden state."""
        return self.network(self.normaliser(observation), hidden)


class Critic(nn.Module):
    """What judges: observations → expected discounted return."""

    def __init__(self, network: Network, input_width: int) -> None:
        super().__init__()
        self.normaliser = Normaliser(input_width)
        self.network = network

    def forward(self, observation: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(worlds,) values of raw (worlds, width) observations, next hidden state."""
        value, hidden = self.network(self.normaliser(observation), hidden)
        return value.squeeze(-1), hidden


def build_network(
    input_width: int,
    hidden_widths: tuple[int, ...],
    output_width: int,
    *,
    activation: Activation,
    output_gain: float,
    recurrent: RecurrentKind | None,
    recurrent_width: int,
    generator: torch.Generator,
    layer_norm: bool = False,
    images: tuple[ImageShape, ...] = (),
    image_channels: tuple[int, ...] = (),
    image_width: int = 0,
) -> Network:
    """A network with orthogonal weights drawn from `generator`, on its device.

    Numbers of `images` follow the `input_width` ones; each goes through convolutions
    with `image_channels` and a layer of `image_width` first.
    """
    encoders = [
        ImageEncoder(
            image,
            image_channels,
            image_width,
            activate=activation.build,
            generator=generator,
        )
        for image in images
    ]
    seen = ImageEncoders(input_width, encoders)
    input_width += len(images) * image_width
    unit = None
    if recurrent is not None:
        unit = Unit(input_width, recurrent_width, kind=recurrent, generator=generator)
    head = Mlp(
        recurrent_width if unit else input_width,
        hidden_widths,
        output_width,
        activation=activation,
        output_gain=output_gain,
        generator=generator,
        layer_norm=layer_norm,
    )
    body = RecurrentNetwork(unit, head) if unit else head
    return SeeingNetwork(seen, body) if images else body


def find_misfit(module: nn.Module, weights: Mapping[str, Tensor]) -> str | None:
    """Where `weights` do not fit a module, in words; None: they do."""
    own = module.state_dict()
    for name, x in own.items():
        if name not in weights:
            return f"there is no '{name}'"
        there, here = (" × ".join(map(str, y.shape)) for y in (weights[name], x))
        if there != here:
            return f"'{name}' is {there}, not {here}"
    more = sorted(weights.keys() - own.keys())
    return f"'{more[0]}' has no place" if more else None


def _build_linear(
    input_width: int, output_width: int, gain: float, generator: torch.Generator
) -> nn.Linear:
    linear = nn.Linear(input_width, output_width, device="meta")
    linear = linear.to_empty(device=generator.device)
    nn.init.orthogonal_(linear.weight, gain, generator=generator)
    nn.init.zeros_(linear.bias)
    return linear
