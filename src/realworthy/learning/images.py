"""What networks see of images: convolutions before their layers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

_KERNEL, _STRIDE = 3, 2
"""Of every convolution: each halves height and width."""


@dataclass(frozen=True, slots=True)
class ImageShape:
    """An image, flat at the end of the numbers that a network sees."""

    channels: int
    height: int
    width: int
    lower: float
    upper: float
    """What its darkest and its brightest values are."""

    @property
    def size(self) -> int:
        """Numbers in it."""
        return self.channels * self.height * self.width


class ImageEncoder(nn.Module):
    """Convolutions that halve an image each, then a layer.

    (rows, size) → (rows, width). Values from `lower` to `upper` are seen as −1 … 1.
    """

    def __init__(
        self,
        image: ImageShape,
        channels: tuple[int, ...],
        width: int,
        *,
        activate: Callable[[], nn.Module],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.image = image
        layers: list[nn.Module] = []
        height, breadth = image.height, image.width
        for a, b in pairwise((image.channels, *channels)):
            convolution = nn.Conv2d(
                a, b, _KERNEL, _STRIDE, padding=_KERNEL // 2, device="meta"
            )
            layers += [_draw(convolution, generator), activate()]
            height, breadth = math.ceil(height / _STRIDE), math.ceil(breadth / _STRIDE)
        flat = height * breadth * (image.channels, *channels)[-1]
        linear = nn.Linear(flat, width, device="meta")
        layers += [nn.Flatten(), _draw(linear, generator), activate()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        lower, upper = self.image.lower, self.image.upper
        x = (x - lower) * (2 / (upper - lower)) - 1
        shape = self.image.channels, self.image.height, self.image.width
        return self.layers(x.reshape(-1, *shape))


class ImageEncoders(nn.Module):
    """(…, vector and images) → (…, width): a vector beside encoded images."""

    def __init__(self, vector_width: int, encoders: Sequence[ImageEncoder]) -> None:
        super().__init__()
        self.sizes = [vector_width, *(encoder.image.size for encoder in encoders)]
        self.encoders = nn.ModuleList(encoders)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() > 2:  # convolutions want rows
            return self(x.flatten(0, -2)).unflatten(0, x.shape[:-1])
        vector, *images = x.split(self.sizes, dim=-1)
        pairs = zip(self.encoders, images, strict=True)
        return torch.cat([vector, *(encode(image) for encode, image in pairs)], dim=-1)


def _draw(
    layer: nn.Conv2d | nn.Linear, generator: torch.Generator
) -> nn.Conv2d | nn.Linear:
    """The layer with orthogonal weights, on the generator's device."""
    layer = layer.to_empty(device=generator.device)
    nn.init.orthogonal_(layer.weight, math.sqrt(2), generator=generator)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer
