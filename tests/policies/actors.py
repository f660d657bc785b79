"""Small trained-looking actors, and policies made of them."""

from pathlib import Path

import torch

from realworthy.learning.export import Exported, export_policy
from realworthy.learning.networks import Activation, Actor, build_network
from realworthy.learning.recurrent import RecurrentKind
from realworthy.policies import Contract
from tests.policies.examples import WIDTH, contract, robot


def actor(
    recurrent: RecurrentKind | None = None,
    *,
    activation: Activation = Activation.ELU,
    hidden: tuple[int, ...] = (32, 16),
    seed: int = 0,
) -> Actor:
    """With random weights, biases and normaliser."""
    generator = torch.Generator().manual_seed(seed)
    network = build_network(
        WIDTH,
        hidden,
        3,
        activation=activation,
        output_gain=1.0,
        recurrent=recurrent,
        recurrent_width=24,
        generator=generator,
    )
    made = Actor(network, WIDTH, 3, std=1.0)
    with torch.no_grad():
        for weights in network.parameters():
            weights += 0.1 * torch.randn(weights.shape, generator=generator)
    spread = torch.linspace(0.1, 5.0, WIDTH)
    made.normaliser.observe(torch.randn(500, WIDTH, generator=generator) * spread + 1)
    return made


def write(path: Path, made: Actor, terms: Contract | None = None) -> Exported:
    """A policy that sees what the example robot measures."""
    return export_policy(path, made, terms or contract(), measured=robot())
